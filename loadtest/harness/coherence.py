"""Clients of several instances that look for stale answers, lost comments and doubled ones.

Each writer submits with a key, to one instance after the other, until its comment is acknowledged.
Then all instances are asked for the count at once, on new connections, and readers ask all the
time. An answer is stale if it counts fewer comments than were acknowledged before the question.
"""

import asyncio
import contextlib
import json
import re
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Final, NamedTuple

from loadtest.harness.service import PATIENCE, ServiceError

PAGE: Final = "/post/"
ASKED: Final = f"GET /api/comments/count?url={PAGE} HTTP/1.1\r\nHost: localhost\r\n".encode()
LENGTH: Final = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
SUBMIT_PATIENCE: Final = 5.0  # seconds, after which another instance gets the submission
PAUSE: Final = 0.02  # seconds between two questions of a reader
RETRY: Final = 0.02  # seconds
USUAL: Final = frozenset({0, 200, 201, 503, 504})  # statuses while something fails; 0: no answer


class Stale(NamedTuple):
    """An answer with fewer comments than were acknowledged when it was asked for."""

    port: int
    counted: int
    acknowledged: int
    asked: float  # monotonic seconds
    answered: float


class CoherenceChecker:
    """Writers and readers of the instances at `ports`, as long as the block of `running`.

    `allowance` is how many seconds old an answer may be: 0 where coherence is strict. A reader asks
    `batch` times at once, and then pauses.
    """

    def __init__(self, ports: Sequence[int], allowance: float = 0.0, batch: int = 1) -> None:
        self.ports = [*ports]
        self.checks = 0
        self.stale: list[Stale] = []
        self.statuses: Counter[int] = Counter()  # of all answers; 0 where none came
        self.slowest = 0.0  # seconds from the first attempt until the acknowledgement
        self.messages: list[str] = []  # that were acknowledged
        self._allowance = allowance
        self._batch = batch
        self._moments: list[float] = []  # of each acknowledgement
        self._answered = [0.0 for _ in ports]  # when each reader last got a count
        self._asking: set[asyncio.Task[None]] = set()
        self._ending = False

    @asynccontextmanager
    async def running(self, writers: int) -> AsyncIterator[None]:
        """Write and read during the block; afterwards wait for all answers."""
        tasks = [asyncio.create_task(self._write(number)) for number in range(writers)]
        tasks += [asyncio.create_task(self._read(index)) for index in range(len(self.ports))]
        try:
            yield
        finally:
            self._ending = True
            await asyncio.gather(*tasks)
            await asyncio.gather(*self._asking)

    async def more(self, comments: int) -> None:
        """Wait until so many more comments are acknowledged, and as many checks made."""
        least = len(self._moments) + comments, self.checks + comments
        await self._until(
            lambda: len(self._moments) >= least[0] and self.checks >= least[1], "comments"
        )

    async def all_answer(self) -> float:
        """Wait until all instances give counts from now on; return the seconds that took."""
        begin = time.monotonic()
        await self._until(lambda: min(self._answered) > begin, "counts of all")
        return max(self._answered) - begin

    async def refusal(self) -> None:
        """Wait until something is refused."""
        before = self.statuses[503]
        await self._until(lambda: self.statuses[503] > before, "a refusal")

    async def all_refuse(self) -> None:
        """Wait until no instance has given a count for a tenth of a second."""
        await self._until(lambda: max(self._answered) < time.monotonic() - 0.1, "refusals")

    async def _until(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + 3 * PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise ServiceError(f"waited in vain for {what}; answers: {dict(self.statuses)}")
            await asyncio.sleep(RETRY)

    async def _write(self, writer: int) -> None:
        for number in count():
            begin = time.monotonic()
            key = f"writer-{writer:04}-comment-{number:08}"
            for attempt in count(writer + number):
                if self._ending:
                    return
                if await self._submit(self.ports[attempt % len(self.ports)], key) == 201:
                    break
                await asyncio.sleep(RETRY)
            self._moments.append(time.monotonic())
            self.messages.append(_message(key))
            self.slowest = max(self.slowest, self._moments[-1] - begin)
            for port in self.ports:
                task = asyncio.create_task(self._check(port))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)

    async def _submit(self, port: int, key: str) -> int:
        fields = {"url": PAGE, "author": "Ann", "message": _message(key), "key": key}
        body = json.dumps(fields)
        head = (
            "POST /api/comments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        status, _ = await self._exchange(port, (head + body).encode(), SUBMIT_PATIENCE)
        return status

    async def _check(self, port: int) -> None:
        """Ask for the count on a new connection."""
        asked = time.monotonic()
        status, body = await self._exchange(port, ASKED + b"Connection: close\r\n\r\n", PATIENCE)
        if status == 200:
            self._judge(port, asked, body)

    async def _exchange(self, port: int, request: bytes, patience: float) -> tuple[int, bytes]:
        """Return status and body of the answer; status 0 if there was none."""
        text = b""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(patience):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                try:
                    writer.write(request)
                    text = await reader.read()
                finally:
                    writer.close()
        head, _, body = text.partition(b"\r\n\r\n")
        status = int(head.split()[1]) if head else 0
        self.statuses[status] += 1
        return status, body

    async def _read(self, index: int) -> None:
        """Ask for the count all the time, on one connection, so that most answers are hits."""
        while not self._ending:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                async with asyncio.timeout(PATIENCE):
                    await self._read_on(index, self.ports[index])
            await asyncio.sleep(RETRY)

    async def _read_on(self, index: int, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        question = (ASKED + b"\r\n") * self._batch
        try:
            while not self._ending and self.ports[index] == port:
                asked = time.monotonic()
                writer.write(question)
                for _ in range(self._batch):
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = LENGTH.search(head)
                    assert length, head
                    body = await reader.readexactly(int(length[1]))
                    status = int(head[9:12])
                    self.statuses[status] += 1
                    if status == 200:
                        self._judge(port, asked, body)
                        self._answered[index] = asked
                await asyncio.sleep(PAUSE)
        finally:
            writer.close()

    def _judge(self, port: int, asked: float, body: bytes) -> None:
        """Compare an answer with what was acknowledged before it was asked for."""
        self.checks += 1
        counted = int(body[len(b'{"count":') : -1])
        acknowledged = bisect_right(self._moments, asked - self._allowance)
        if counted < acknowledged:
            self.stale.append(Stale(port, counted, acknowledged, asked, time.monotonic()))


def _message(key: str) -> str:
    return f"Comment {key}"
