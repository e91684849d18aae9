"""The widget's files, as they are sent."""

import re
from pathlib import Path

import pytest

from commentsvc.api.static_files import LEAN, lean
from tests.e2e.program import ROOT

WIDGET = ROOT / "static"
FILES = [path for path in WIDGET.rglob("*") if path.suffix in LEAN]
# Ends of patterns and strings, which may contain what looks like a comment; and comments
LITERAL = re.compile(
    r"""\[(?:[^\]\\\n]|\\.)*\]/|`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|/\*.*?\*/|//[^\n]*""",
    re.DOTALL,
)


def test_scripts_and_stylesheets_are_sent_without_comments_and_indentation() -> None:
    assert lean(b'// A\n\n/**\n * B\n */\nlet a = "// b"; // c\n\n  /* d */\n  // e\n  f();\n') == (
        b'let a = "// b"; // c\nf();\n'
    )
    for path in FILES:
        sent = lean(path.read_bytes())
        assert lean(sent) == sent, path
        assert not re.search(rb"^(?:\s|//|/\*)", sent, re.MULTILINE), path


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(WIDGET)) for path in FILES])
def test_nothing_else_of_a_file_is_lost(path: Path) -> None:
    """No string has several lines, and without comments and white space both texts are equal."""
    text = path.read_text()
    strings = [each for each in LITERAL.findall(text) if each[:1] in "`\"'"]
    assert not [each for each in strings if "\n" in each]

    def bare(source: str) -> str:
        kept = LITERAL.sub(lambda found: "" if found[0][0] == "/" else found[0], source)
        return re.sub(r"\s+", "", kept)

    assert bare(lean(path.read_bytes()).decode()) == bare(text)
