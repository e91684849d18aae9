"""Request trace: writes the core's lines about requests to a file descriptor.

The workers put lines into bounded ring buffers and never wait. A thread reads the buffers several
times a second and writes the lines; if nobody reads them, only this thread waits, the buffers fill
up, and the core counts the lost lines.

A trace is kept and shown to others, so it has no secrets. What may be one is left out by rule, not
by a list of names: of a query, only the values of parameters in PUBLIC are shown; of a path, only
parts that look like names. The core writes neither header fields nor bodies.
"""

import os
import re
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

# Lines that each worker's buffer can hold: enough for 80,000 requests in a second.
LINES: Final = 4_096
# Parameters that say which page or list is wanted, and how it is shown.
PUBLIC: Final = frozenset(
    b"url uri path site lang language sort limit offset page pageSize view views viewed closed by"
    b" period parent counts nested_limit after before type".split()
)
HIDDEN: Final = b"***"
# A line of the core: its last column is the target. A request that cannot be parsed has anything.
_LINE: Final = re.compile(rb"^(trace \S+ \S+ )(\S+)( \S+ \S+ \S+ \S+ )(\S+)$", re.MULTILINE)
_METHOD: Final = re.compile(rb"[A-Z]{1,16}").fullmatch
_NAME: Final = re.compile(rb"[a-z._~-]*").fullmatch
_ADDRESS: Final = re.compile(rb"@|%40").search
_SHORT: Final = 12  # characters: no secret of ours is as short
_QUERY: Final = re.compile(rb"[?#]|%3[Ff]|%23")  # in the address of a page
# Seconds between two reads of the buffers.
PAUSE: Final = 0.05
# Seconds to write the last lines at the end.
PATIENCE: Final = 1.0


@contextmanager
def writing(take: Callable[[], bytes], descriptor: int) -> Iterator[None]:
    """Write everything that `take` returns to `descriptor` during the block, until that fails.

    `descriptor` must stay open: if nobody reads, the last write may go on after the block.
    """
    ended = threading.Event()

    def run() -> None:
        last = False
        while not last:
            last = ended.wait(PAUSE)
            while lines := take():
                if not _write(descriptor, without_secrets(lines)):
                    return

    # A daemon, so that a reader who has stopped reading does not keep the process from ending.
    writer = threading.Thread(target=run, name="trace", daemon=True)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join(PATIENCE)


def without_secrets(lines: bytes) -> bytes:
    """Return the core's lines, with HIDDEN for what may be a secret."""
    return _LINE.sub(_shown_line, lines)


def _shown_line(line: re.Match[bytes]) -> bytes:
    begin, method, middle, target = line.groups()
    shown = method if _METHOD(method) else HIDDEN
    if not target.startswith(b"/") or shown == HIDDEN:
        return begin + shown + middle + (target if target in (b"-", b"*") else HIDDEN)
    path, mark, query = target.partition(b"?")
    parts = b"/".join(map(_shown_part, path.split(b"/")))
    return begin + shown + middle + parts + mark + b"&".join(map(_shown_field, query.split(b"&")))


def _shown_part(part: bytes) -> bytes:
    """Return a part of a path if it is short, or looks like one of our names."""
    if len(part) <= _SHORT:
        return HIDDEN if _ADDRESS(part) else part
    return part if _NAME(part) else HIDDEN


def _shown_field(field: bytes) -> bytes:
    name, sign, value = field.partition(b"=")
    if not sign:
        return HIDDEN if field else b""
    if name not in PUBLIC:
        return _shown_part(name) + sign + HIDDEN
    if found := _QUERY.search(value):
        return name + sign + value[: found.start()] + HIDDEN
    return field


def _write(descriptor: int, lines: bytes) -> bool:
    """Write all of `lines`; return False if nobody can read them any more."""
    while lines:
        try:
            lines = lines[os.write(descriptor, lines) :]
        except BlockingIOError:  # another process has made it non-blocking
            select.select([], [descriptor], [])
        except OSError:
            return False
    return True
