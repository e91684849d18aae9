"""Process: the signals that stop it, the limit of open files, the format of the log.

The first SIGTERM or SIGINT stops the server gracefully; the second ends the process at once, which
loses nothing that was acknowledged.

The kernel gives a process a soft limit of open files, often 1024 for the sake of old programs that
use select(), and a hard limit, up to which the process may raise the soft one itself.
"""

import asyncio
import logging
import resource
import signal
import time
import traceback
from pathlib import Path
from typing import Final

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
STDIN: Final = 0


def expect_stop() -> asyncio.Event:
    """Return an event that the first signal sets, on this loop."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()

    def stop() -> None:
        stopping.set()
        end_at_once()

    for number in SIGNALS:
        loop.add_signal_handler(number, stop)
    return stopping


def expect_end_of_input(stopping: asyncio.Event) -> None:
    """Set `stopping` when standard input ends: whoever started this process is gone."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(STDIN)
        stopping.set()

    loop.add_reader(STDIN, stop)


def end_at_once() -> None:
    """Let the next signal end the process."""
    for number in SIGNALS:
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)


# Open files besides the connections: the database, sockets, the core's own, files being read.
RESERVE: Final = 300


def raise_file_limit(connections: int) -> None:
    """Raise the soft limit so that `connections` fit, or as far as the hard limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVE
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


class OneLine(logging.Formatter):
    """Formats an event as one line, whatever its message contains, so that no line is forged.

    An exception follows as its text and its stack frames, the innermost first.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line for `record`."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        line = f"{moment} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1]:
            line += f": {_trace(record.exc_info[1])}"
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def _trace(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    path = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames))
    text = f"{type(error).__name__}: {error} ({path})"
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{text}, after {_trace(cause)}" if cause else text


def set_up_logging() -> None:
    """Write one line per event to stderr, for the service manager to keep."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("commentsvc").setLevel(logging.INFO)
