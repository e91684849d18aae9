"""The limit of open files, and the log; tests/e2e/test_start_stop.py tests signals."""

import logging
import re
import resource
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.runtime import process
from commentsvc.runtime.process import OneLine

Limits = tuple[int, int]


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[Limits]:
    """Return the history of limits: a test appends the first one, `setrlimit` the others."""
    history: list[Limits] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: history[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: history.append(new))
    return history


def test_the_soft_limit_is_raised_to_what_is_needed(limits: list[Limits]) -> None:
    limits.append((1024, 524_288))
    process.raise_file_limit(20_000)
    assert limits[-1] == (20_000 + process.RESERVE, 524_288)


def test_a_soft_limit_that_suffices_stays(limits: list[Limits]) -> None:
    limits.append((65_536, 524_288))
    process.raise_file_limit(20_000)
    assert len(limits) == 1


def test_without_a_hard_limit_everything_is_allowed(limits: list[Limits]) -> None:
    limits.append((1024, resource.RLIM_INFINITY))
    process.raise_file_limit(1_000_000)
    limits.append((resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    process.raise_file_limit(1_000_000)
    assert limits[-1][0] == resource.RLIM_INFINITY


def test_a_hard_limit_that_is_too_low_is_all_we_get(limits: list[Limits]) -> None:
    limits.append((1024, 4096))
    process.raise_file_limit(20_000)
    assert limits[-1] == (4096, 4096)


def line(message: str, error: BaseException | None = None) -> str:
    exc_info = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord("commentsvc.x", 30, __file__, 1, message, (), exc_info)
    return OneLine().format(record)


def test_an_event_is_one_line_with_its_moment_level_and_module() -> None:
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
        logged = line("cannot answer", error)
    assert logged.isprintable()
    assert re.search(
        r"cannot answer: RuntimeError: it\\nfailed"
        r" \(test_process\.py:\d+ fail < test_process\.py:\d+ "
        r"test_.*\), after ValueError: invalid literal .* \(test_process\.py:\d+ fail\)$",
        logged,
    )


def test_an_event_without_an_exception_is_told_plainly() -> None:
    record = logging.LogRecord("x", 30, __file__, 1, "m %d", (7,), sys.exc_info())
    assert OneLine().format(record).endswith(" warning x: m 7")
