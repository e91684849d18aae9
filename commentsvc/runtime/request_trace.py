"""Request trace: writes the core's lines about requests to a file descriptor.

The workers put lines into bounded ring buffers and never wait. A thread reads the buffers several
times a second and writes the lines; if nobody reads them, only this thread waits, the buffers fill
up, and the core counts the lost lines.
"""

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

# Lines that each worker's buffer can hold: enough for 80,000 requests in a second.
LINES: Final = 4_096
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
    """Write all of `lines`; return False if nobody can read them any more."""
    while lines:
        try:
            lines = lines[os.write(descriptor, lines) :]
        except BlockingIOError:  # another process has made it non-blocking
            select.select([], [descriptor], [])
        except OSError:
            return False
    return True
