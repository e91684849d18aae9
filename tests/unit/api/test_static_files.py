"""The widget's files, as they are sent."""

import re
from pathlib import Path

import pytest

from commentsvc.api.static_files import lean
from tests.e2e.program import ROOT

WIDGET = ROOT / "static"
FILES = [path for path in WIDGET.rglob("*") if path.suffix in (".js", ".css")]
# A pattern, a template, a string or a comment, in which another may seem to begin; a word; a sign
TOKEN = re.compile(
    r"""
    /(?![/*\ ])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/
    |`(?:[^`\\]|\\.)*` | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | /\*(?s:.*?)\*/ | //[^\n]* | [\w$]+ | \+\+ | -- | \S
    """,
    re.VERBOSE,
)


def test_a_script_is_sent_without_comments_and_white_space() -> None:
    script = b"""
        // A "
        /** B' */
        let a = "// b  c" + ' "  ' + `  ${d}  `; // e
        function e() { f(";}"); /* ; */ }
        return /[/"] /.test(a) ? x + +y - -z : 1 / 2 / /* f */ 3; in #g
    """
    assert lean("a.js", script) == (
        b"""let a="// b  c"+' "  '+`  ${d}  `;function e(){f(";}")}"""
        b"""return/[/"] /.test(a)?x+ +y- -z:1/2/3;in #g"""
    )


def test_a_stylesheet_is_sent_without_comments_and_spaces_that_have_no_meaning() -> None:
    style = b"""
        /* A; } */
        .a > .b :not(.c, .d) ,
        .e[class^="f, g"]  .h {
          width: calc( (1em + 2px) * 3 ) !important; /* B */
          &:hover { color: red; }
          & .i { --j: k  l; }
        }
    """
    assert lean("a.css", style) == (
        b'.a>.b :not(.c,.d),.e[class^="f, g"] .h{width:calc((1em + 2px) * 3)!important;'
        b"&:hover{color:red}& .i{--j:k l}}"
    )


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(WIDGET)) for path in FILES])
def test_nothing_else_of_a_file_is_lost(path: Path) -> None:
    """No template contains another, all tokens are there, and no two have become one."""
    text = path.read_text()
    assert not re.search(r"\$\{[^}]*`", text)
    rest = lean(path.name, path.read_bytes()).decode()
    before = ""
    for token in TOKEN.findall(text):
        if token.startswith(("//", "/*")):
            continue
        after = rest.removeprefix(" ")
        if token == ";" and after.startswith("}"):
            continue  # which ends a statement too
        assert after.startswith(token), before + rest[:80]
        joint = before[-1:] + token[0]
        assert (
            after != rest or joint in ("--", "++") or not re.fullmatch(r"[\w$]{2}|[+-]{2}", joint)
        )
        before, rest = token, after.removeprefix(token)
    assert not rest
