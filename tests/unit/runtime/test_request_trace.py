"""The request trace: lines reach their reader, complete and in order, up to the last ones."""

import os
import threading
from collections.abc import Iterator

import pytest

from commentsvc.runtime import request_trace
from commentsvc.runtime.request_trace import HIDDEN, without_secrets, writing


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, written = os.pipe()
    yield reading, written
    os.close(reading)
    for thread in threading.enumerate():
        if thread.name == "trace":  # else it would write to the next file with this number
            thread.join(120)
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
        assert lines.taken.wait(120)
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


def line(target: str, method: str = "GET") -> bytes:
    return f"trace 2026-11-21T09:41:07.216Z miss {method} 200 312 412.7 210 {target}\n".encode()


SECRET = "Zm9vYmFyYmF6cXV4MTIzNDU2"
WITH_SECRET = [
    *(f"/mail/decide?{name}={SECRET}" for name in ("t", "token", "state", "code", "k", "key", "x")),
    f"/mail/own?url=/p/&t={SECRET}&lang=de",
    f"/mail/own?{SECRET}",
    f"/mail/own?{SECRET}=1",
    f"/mail/own?lang=de&{SECRET}",
    f"/mail/own?%74={SECRET}",
    f"/mail/own?t%3D{SECRET}",
    f"/mail/own?LANG={SECRET}",
    f"/moderation/invite/{SECRET}",
    f"/moderation/invite/{SECRET}/",
    f"/feed/{SECRET.lower()}.atom",
    f"/isso/id/7/unsubscribe/ann@blog.example/{SECRET}",
    f"/api/comments?url=/p/?preview={SECRET}",
    f"/api/comments?url=/p/%3fpreview={SECRET}",
    f"/api/comments?url=https://blog.example/p/%23{SECRET}",
    f"//user:{SECRET}@blog.example/",
    f"http://user:{SECRET}@blog.example/api/comments",
    f"user:{SECRET}",
    f"{SECRET}",
]


@pytest.mark.parametrize("target", WITH_SECRET)
@pytest.mark.parametrize("more", ["", "..."])
def test_a_trace_has_no_secret(target: str, more: str) -> None:
    lines = without_secrets(line("/a") + line(target + more, "POST") + line("/b"))
    assert SECRET.encode().lower() not in lines.lower()
    assert HIDDEN in lines
    assert lines.startswith(line("/a"))
    assert lines.endswith(line("/b"))


def test_a_trace_of_what_is_no_request_has_none_of_it() -> None:
    lines = without_secrets(line("-", SECRET) + line(SECRET, "Authorization:"))
    assert SECRET.encode() not in lines
    assert lines.count(b"\n") == 2


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "*",
        "-",
        "/api/comments?url=/post/a-walk/&site=blog&lang=de&limit=20",
        "/api/comments/count?url=/p/",
        "/static/comment-thread.js",
        "/moderation/queue",
        "/feed.atom?url=https://blog.example/p/",
        "/comment/12",
    ],
)
def test_a_trace_tells_what_was_asked_for(target: str) -> None:
    assert without_secrets(line(target)) == line(target)
