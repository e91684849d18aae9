"""The log: one line per event on stderr, for the service manager to keep."""

import logging
import time
import traceback
from pathlib import Path


class OneLine(logging.Formatter):
    """One line per event, whatever a message holds: nobody can forge a second one.

    An exception follows as its text and the frames it came through, the innermost first.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line for `record`."""
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


def set_up() -> None:
    """Write one line per event to stderr, for the service manager to keep."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("commentsvc").setLevel(logging.INFO)
