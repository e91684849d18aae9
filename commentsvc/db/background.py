"""Background work that uses the database, and goes on after a fault."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from commentsvc.db.errors import DatabaseError

_log = logging.getLogger(__name__)


async def attempt(work: Callable[[], Awaitable[object]], name: str) -> None:
    """Do `work` once, and log an error under its `name`.

    A DatabaseError is not logged: submissions fail too then, and that is logged.
    """
    try:
        await work()
    except DatabaseError:
        pass
    except Exception:
        _log.exception("%s goes on after an error", name)


async def repeat(work: Callable[[], Awaitable[object]], name: str, pause: float) -> None:
    """Do `work` every so many seconds until cancelled, whatever it raises."""
    while True:
        await attempt(work, name)
        await asyncio.sleep(pause)
