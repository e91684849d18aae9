"""The log: whatever happens is told on one line."""

import logging
import re
import sys

from hypothesis import given
from hypothesis import strategies as st

from commentsvc.runtime.logs import OneLine


def line(message: str, error: BaseException | None = None) -> str:
    exc_info = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord("commentsvc.x", 30, __file__, 1, message, (), exc_info)
    return OneLine().format(record)


def test_an_event_is_one_line_with_its_moment_level_and_place() -> None:
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ warning commentsvc\.x: refused", line("refused")
    )


@given(st.text(st.characters(codec=None)))
def test_no_message_makes_a_second_line_or_commands_a_terminal(message: str) -> None:
    assert line(message).isprintable()


def fail() -> None:
    try:
        int("x")
    except ValueError as error:
        raise RuntimeError("it\nfailed") from error


def test_an_exception_is_told_with_its_way_and_cause_on_the_same_line() -> None:
    try:
        fail()
    except RuntimeError as error:
        told = line("cannot answer", error)
    assert told.isprintable()
    assert re.search(
        r"cannot answer: RuntimeError: it\\nfailed \(test_logs\.py:\d+ fail < test_logs\.py:\d+ "
        r"test_.*\), after ValueError: invalid literal .* \(test_logs\.py:\d+ fail\)$",
        told,
    )


def test_an_event_without_an_exception_is_told_plainly() -> None:
    record = logging.LogRecord("x", 30, __file__, 1, "m %d", (7,), sys.exc_info())
    assert OneLine().format(record).endswith(" warning x: m 7")
