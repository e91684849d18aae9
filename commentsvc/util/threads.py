"""The threads for work that would hold up the event loop.

Each kind of work has threads of its own, so that none waits for another kind: what a hostile page
costs delays other pages, and neither passwords nor previews. This is the whole list;
tests/test_architecture.py says which module uses which, and nothing uses asyncio's own threads.
The threads are started when they are first needed.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Checks of passwords and passkeys.
ACCOUNTS: Final = ThreadPoolExecutor(2, "accounts")
# Comments that take long to render.
RENDERING: Final = ThreadPoolExecutor(2, "rendering")
# Pages, feeds and answers of other servers: strangers wrote them.
FOREIGN: Final = ThreadPoolExecutor(2, "foreign")
# Mails.
MAILS: Final = ThreadPoolExecutor(1, "mails")
# Answers that are compressed, and files that are written.
ANSWERS: Final = ThreadPoolExecutor(2, "answers")
# Starting, handing over and stopping.
PROCESS: Final = ThreadPoolExecutor(8, "process")


async def run_in(
    threads: ThreadPoolExecutor, work: Callable[P, T], *arguments: P.args, **named: P.kwargs
) -> T:
    """Return what `work` returns in one of the threads; as `asyncio.to_thread`."""
    call = partial(copy_context().run, work, *arguments, **named)
    return await asyncio.get_running_loop().run_in_executor(threads, call)
