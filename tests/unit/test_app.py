"""The composition root: that what it builds is undone, and the log. See also tests/journey."""

import gc
import logging
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc import app
from commentsvc.app import OneLine
from commentsvc.config import Server, Settings
from commentsvc.control import Control
from commentsvc.lock import Lock
from commentsvc.manager import Manager

SETTINGS = Settings(server=Server(listen="127.0.0.1:0", workers=2))


@pytest.fixture
def _process_as_before() -> Iterator[None]:
    """Give the log and the signals back to the tests, whatever the program did with them."""
    handlers, level = logging.root.handlers[:], logging.root.level
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    for number, handler in signals.items():
        signal.signal(number, handler)


def stop(_address: str) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def start(data: Path) -> app.Start:
    """A start without anything special, which ends at once."""
    return app.Start(data, None, stop, Manager({}, 0), takes_over=False)


def held() -> tuple[int, int]:
    """How many descriptors and OS threads this process holds, without what nobody refers to."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir())), len(list(Path("/proc/self/task").iterdir()))


@pytest.mark.usefixtures("_process_as_before")
def test_starting_and_stopping_leaves_descriptors_and_threads_as_they_were(
    tmp_path: Path,
) -> None:
    app.run(SETTINGS, start(tmp_path))  # what is made once and kept
    before = held()
    for _ in range(5):
        app.run(SETTINGS, start(tmp_path))
    assert held() == before
    assert not (tmp_path / "control.sock").exists()


@pytest.mark.usefixtures("_process_as_before")
def test_a_taken_port_leaves_nothing_held(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        settings = Settings(server=Server(listen=address))
        before = held()
        with pytest.raises(OSError, match=rf"Address already in use: '{address}'"):
            app.run(settings, start(tmp_path))
        assert held() == before
    with Lock(tmp_path):
        pass


@pytest.mark.usefixtures("_process_as_before")
def test_a_failure_of_the_last_step_undoes_all_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_control: Control) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Control, "start", fail)
    before = held()
    with pytest.raises(OSError, match="No space"):
        app.run(SETTINGS, start(tmp_path))
    assert held() == before
    with Lock(tmp_path):
        pass


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
        r"cannot answer: RuntimeError: it\\nfailed \(test_app\.py:\d+ fail < test_app\.py:\d+ test_"
        r".*\), after ValueError: invalid literal .* \(test_app\.py:\d+ fail\)$",
        told,
    )


def test_an_event_without_an_exception_is_told_plainly() -> None:
    record = logging.LogRecord("x", 30, __file__, 1, "m %d", (7,), sys.exc_info())
    assert OneLine().format(record).endswith(" warning x: m 7")
