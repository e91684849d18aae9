"""The threads for work that would hold up the event loop.

Each kind of work has threads of its own, so that none waits for another kind: what a hostile page
costs delays other pages, and neither passwords nor previews. This is the whole list;
tests/test_architecture.py says which module uses which, and nothing uses asyncio's own threads.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """Up to a number of threads, which start when they are first needed."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._pool: ThreadPoolExecutor | None = None

    def pool(self) -> ThreadPoolExecutor:
        """Return the threads."""
        self._pool = self._pool or ThreadPoolExecutor(self._most, self._name)
        return self._pool

    def stop(self) -> None:
        """Wait for what they do, and end them; they start again when they are needed."""
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


# Checks of passwords and passkeys.
ACCOUNTS: Final = Threads(2, "accounts")
# Comments that take long to render.
RENDERING: Final = Threads(2, "rendering")
# Pages, feeds and answers of other servers: strangers wrote them.
FOREIGN: Final = Threads(2, "foreign")
# Mails.
MAILS: Final = Threads(1, "mails")
# Answers that are compressed, and files that are written.
ANSWERS: Final = Threads(2, "answers")
# Files that are written for a client that takes them, at its speed.
DOWNLOADS: Final = Threads(2, "downloads")
# Starting, handing over and stopping.
PROCESS: Final = Threads(8, "process")

ALL: Final = (ACCOUNTS, RENDERING, FOREIGN, MAILS, ANSWERS, DOWNLOADS, PROCESS)


def stop_all() -> None:
    """Wait until all threads have ended."""
    for threads in ALL:
        threads.stop()


async def run_in(
    threads: Threads, work: Callable[P, T], *arguments: P.args, **named: P.kwargs
) -> T:
    """Return what `work` returns in one of the threads; as `asyncio.to_thread`."""
    call = partial(copy_context().run, work, *arguments, **named)
    return await asyncio.get_running_loop().run_in_executor(threads.pool(), call)
