"""Answers whose length is not known, which are sent in pieces, as their clients take them.

The core gives a request back when its client has taken all that was sent of the answer, or has left
(core/bridge/piece.h). So there is one piece of each answer in memory, and while that is taken, the
next one is made.
"""

import asyncio
import itertools
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, Protocol

from commentsvc.http.messages import Headers, Response
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.threads import DOWNLOADS, run_in

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_log = logging.getLogger(__name__)

# Bytes of the largest piece (core/base/limits.h).
LARGEST: Final = 131_072
# Milliseconds after which a written answer is given up: so long a client may hold a thread, and a
# state of the database.
LONGEST_MS: Final = 3_600_000


class BegunRequest(Protocol):
    """The part of a request of the core that an answer in pieces needs, see `_core.Request`."""

    @property
    def number(self) -> int:
        """The number that `begin` was given."""

    @property
    def left(self) -> bool:
        """Whether the client has left."""

    def begin(self, status: int, headers: Headers, body: bytes, number: int, /) -> bool:
        """Send the head and a first piece; return False if that is all, for HEAD."""

    def send(self, data: bytes, /) -> None:
        """Send one more piece."""

    def end(self, data: bytes = b"", /) -> None:
        """Send the last piece."""


class PieceSender:
    """Sends the answers of one Bridge that come in pieces."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._awaited: dict[int, asyncio.Future[BegunRequest]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, call: BegunRequest, response: Response) -> None:
        """Send the head of an answer and its `body`, and its `pieces` from then on.

        Raise ValueError for a head that cannot be sent.
        """
        number = next(self._numbers)
        if not call.begin(response.status, response.headers, response.body, number):
            return
        assert response.pieces is not None
        self._await(number)
        task = asyncio.get_running_loop().create_task(self._send(number, response.pieces))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def go_on(self, call: BegunRequest) -> None:
        """Take a request that the core has given back.

        If nobody waits for it, since its answer has failed, it is dropped, which ends the
        connection before the end of the body. So the client can tell that something is missing.
        """
        awaited = self._awaited.get(call.number)
        if awaited is not None and not awaited.done():
            awaited.set_result(call)

    async def stop(self) -> None:
        """Give up the answers that have not ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _await(self, number: int) -> None:
        self._awaited[number] = asyncio.get_running_loop().create_future()

    async def _send(self, number: int, pieces: AsyncGenerator[bytes]) -> None:
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    call = await self._awaited[number]
                    if call.left:
                        return
                    self._await(number)
                    call.send(piece)
            (await self._awaited[number]).end()
        except Exception as error:
            _log.error("cannot bring an answer to its end", exc_info=error)
        finally:
            del self._awaited[number]


class PieceFile:
    """A file that a thread writes, and whose bytes an event loop takes in pieces.

    A write waits until the piece before is taken. Each one raises BrokenPipeError once nobody takes
    them any more, or after LONGEST_MS. Short writes are collected; `flush` gives them away.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._given: asyncio.Queue[bytes] = asyncio.Queue()
        self._room = threading.Semaphore(1)
        self._left = False
        self._collected = bytearray()
        self._end_ms = SYSTEM_CLOCK.monotonic_ms() + LONGEST_MS

    def is_unwanted(self) -> bool:
        """Return whether no more should be written."""
        return self._left or SYSTEM_CLOCK.monotonic_ms() >= self._end_ms

    def check(self) -> None:
        """Raise BrokenPipeError if no more should be written."""
        if self.is_unwanted():
            raise BrokenPipeError

    def write(self, data: "ReadableBuffer", /) -> int:
        """Give `data` away, all of it, now or later; return its size."""
        self._collected += data
        while len(self._collected) >= LARGEST:
            self._give_in_turn(bytes(self._collected[:LARGEST]))
            del self._collected[:LARGEST]
        return memoryview(data).nbytes

    def flush(self) -> None:
        """Give away what was collected."""
        if self._collected:
            self._give_in_turn(bytes(self._collected))
            self._collected.clear()

    def _give_in_turn(self, piece: bytes) -> None:
        self.check()  # `leave` makes room once only
        rest_ms = self._end_ms - SYSTEM_CLOCK.monotonic_ms()
        self._room.acquire(timeout=max(0, rest_ms) / 1_000)
        self.check()
        self._give(piece)

    def _give(self, piece: bytes) -> None:
        self._loop.call_soon_threadsafe(self._given.put_nowait, piece)

    def run(self, write: "Callable[[PieceFile], object]") -> None:
        """Call `write` with this file, on a thread; its end is a piece of no bytes."""
        try:
            write(self)
            self.flush()
        finally:
            self._give(b"")

    async def take(self) -> bytes:
        """Return the next piece; b"" when all is written, or has failed."""
        piece = await self._given.get()
        self._room.release()
        return piece

    def leave(self) -> None:
        """Take no more."""
        self._left = True
        self._room.release()


async def written(write: Callable[[PieceFile], object]) -> AsyncGenerator[bytes]:
    """Yield what `write` writes to its file, on another thread. Raise what it raises."""
    file = PieceFile()
    writing = asyncio.create_task(run_in(DOWNLOADS, file.run, write))
    try:
        while piece := await file.take():
            yield piece
        await writing
    finally:
        file.leave()
        await asyncio.wait([writing])
        if not writing.cancelled():
            writing.exception()  # of a write for nobody; otherwise asyncio would log it
