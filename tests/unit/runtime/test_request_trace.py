"""The request trace: lines reach their reader, complete and in order, up to the last ones."""

import os
import threading
from collections.abc import Iterator

import pytest

from commentsvc.runtime import request_trace
from commentsvc.runtime.request_trace import writing


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, written = os.pipe()
    yield reading, written
    os.close(reading)
    for thread in threading.enumerate():
        if thread.name == "trace":  # else it would write to the next file with this number
            thread.join(30)
    os.close(written)


class Lines:
    """A source of lines, which returns its pieces one by one."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)
        self.taken = threading.Event()

    def __call__(self) -> bytes:
        if self.pieces:
            return self.pieces.pop(0)
        self.taken.set()
        return b""


def test_lines_are_written_while_it_runs(pipe: tuple[int, int]) -> None:
    reading, written = pipe
    lines = Lines(b"1\n", b"2\n")
    with writing(lines, written):
        assert lines.taken.wait(30)
        assert os.read(reading, 100) == b"1\n2\n"


def test_what_is_left_at_the_end_is_written(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, written = pipe
    monkeypatch.setattr(request_trace, "PAUSE", 1_000)
    with writing(Lines(b"1\n", b"2\n"), written):
        pass
    assert os.read(reading, 100) == b"1\n2\n"


def test_lines_that_do_not_fit_into_the_pipe_arrive_whole(pipe: tuple[int, int]) -> None:
    reading, written = pipe
    os.set_blocking(written, False)
    text = b"".join(b"%d\n" % n for n in range(100_000))
    with writing(Lines(text), written):
        read = b""
        while len(read) < len(text):
            read += os.read(reading, 65_536)
    assert read == text


def test_a_reader_that_is_gone_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, written = os.pipe()
    os.close(reading)
    monkeypatch.setattr(request_trace, "PATIENCE", 30)
    lines = Lines(b"1\n", b"2\n")
    with writing(lines, written):
        pass
    os.close(written)
    assert lines.pieces == [b"2\n"]


def test_a_reader_that_has_stopped_reading_does_not_keep_it_from_ending(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, written = pipe
    monkeypatch.setattr(request_trace, "PATIENCE", 0.05)
    with writing(Lines(b"x" * 1_000_000), written):
        pass
    os.read(reading, 10)  # so that the thread's write ends in the middle when the pipe is closed
