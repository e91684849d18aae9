"""The widget's files, as they are sent."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from commentsvc.api.static_files import lean
from tests.e2e.program import ROOT

WIDGET = ROOT / "static"
FILES = [path for path in WIDGET.rglob("*") if path.suffix in (".js", ".css")]
# A pattern, a template, a string or a comment, in which another may seem to begin; a word; a sign
TOKEN = re.compile(
    r"""
    /(?![/*])(?!(?<=[\w$)\]}"'`+-]\ /)(?<!return\ /)\ )(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/
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
        i(/ +/, j++ / 2, (k) / "/ ") + "l\\
  m"; return / n  /
    """
    assert lean("a.js", script) == (
        b"""let a="// b  c"+' "  '+`  ${d}  `;function e(){f(";}")}"""
        b"""return/[/"] /.test(a)?x+ +y- -z:1/2/3;in #g"""
        b""" i(/ +/,j++/2,(k)/"/ ")+"l\\\n  m";return/ n  /"""
    )


def test_a_stylesheet_is_sent_without_comments_and_spaces_that_have_no_meaning() -> None:
    style = b"""
        /* A; } */
        .a > .b :not(.c, .d) ,
        .e[class^="f, g"]  .h {
          width: calc( (1em + 2px) * 3 ) !important; /* B */
          &:hover { color: red; }
          & .i { --j: k  l; }
          content: '/* m  */;' "\\"  ; }"
        }
    """
    assert lean("a.css", style) == (
        b'.a>.b :not(.c,.d),.e[class^="f, g"] .h{width:calc((1em + 2px) * 3)!important;'
        b'&:hover{color:red}& .i{--j:k l}content:\'/* m  */;\' "\\"  ; }"}'
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


def unended(script: str) -> list[str]:
    """Return the lines that end neither a statement nor in the middle of an expression."""
    tokens = [found for found in TOKEN.finditer(script) if not found[0].startswith(("//", "/*"))]
    return [
        script[: before.end()].rpartition("\n")[2].strip()
        for before, after in pairwise(tokens)
        if "\n" in script[before.end() : after.start()]
        and re.fullmatch(r"""(?!(?:else|do)$)[\w$]+|.*["'`\]/]|\+\+|--""", before[0], re.DOTALL)
        and re.match(r"""(?!(?:in|of|instanceof|from|as)$)[\w$"'`(\[{#/!]|\+\+|--""", after[0])
    ]


def test_each_statement_ends_with_a_semicolon_as_lines_do_not_stay() -> None:
    lines = [
        "return\n(a)",
        "let a = 1\nlet b",
        "a\n++b",
        "a = b[0]\n`c`",
        'c = "d"\n[e]',
        "c = /d/\n!e",
    ]
    assert all(map(unended, lines))
    assert {path: unended(path.read_text()) for path in FILES if path.suffix == ".js"} == {
        path: [] for path in FILES if path.suffix == ".js"
    }
