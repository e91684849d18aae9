"""No error shows its number to an operator."""

import os
import re
import socket
from pathlib import Path

import pytest

import commentsvc
from commentsvc.util.error_texts import error_text

PACKAGE = Path(commentsvc.__file__).parent


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (OSError(5, os.strerror(5)), "Input/output error"),
        (OSError(2, "No such file", "/a"), "No such file: '/a'"),
        (ValueError("to x: [Errno 111] refused\n\tis it up?"), "to x: refused is it up?"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_an_error_is_one_line_without_a_number(error: Exception, text: str) -> None:
    assert error_text(error) == text


def test_no_text_of_an_oserror_is_shown_as_it_is() -> None:
    """Where an OSError becomes a text, `error_text` or `strerror` gives its words."""
    shown = re.compile(r"\{error\}|str\(error\)")
    handler = re.compile(
        r"^( *)except [^\n]*\b(?:OSError|ConnectionError)\b.*\n((?:\1 +.*\n)+)", re.M
    )
    found = {
        f"{path.relative_to(PACKAGE)}: {block[2].strip()}"
        for path in PACKAGE.rglob("*.py")
        for block in handler.finditer(path.read_text())
        if shown.search(block[2])
    }
    assert not found
