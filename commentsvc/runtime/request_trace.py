"""Trace: the core's lines about requests, on their way to whoever follows them.

The workers put lines into bounded rings and never wait. An thread of ours looks into
them several times a second and writes what it finds; when that is not read, it alone waits, the
rings fill up, and the core counts the lines that are lost.
"""

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

# Lines that each worker may hold: enough for 80,000 requests in a second.
LINES: Final = 4_096
# Between two looks; in seconds.
PAUSE: Final = 0.05
# For the last lines, at the end; in seconds.
PATIENCE: Final = 1.0


@contextmanager
def writing(take: Callable[[], bytes], descriptor: int) -> Iterator[None]:
    """Write all that `take` gives to `descriptor`, until it fails; the rest at the end."""
    ended = threading.Event()

    def run() -> None:
        last = False
        while not last:
            last = ended.wait(PAUSE)
            while lines := take():
                if not _write(descriptor, lines):
                    return

    # A daemon, so that a reader who has stopped reading does not keep the process from ending.
    writer = threading.Thread(target=run, name="trace", daemon=True)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join(PATIENCE)


def _write(descriptor: int, lines: bytes) -> bool:
    """Write all of `lines`; False when nobody will ever read them."""
    while lines:
        try:
            lines = lines[os.write(descriptor, lines) :]
        except BlockingIOError:  # somebody who shares it wants it so
            select.select([], [descriptor], [])
        except OSError:
            return False
    return True
