"""A TCP relay between an instance and PostgreSQL, which delays answers and cuts connections."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CHUNK: Final = 65_536
LISTEN: Final = b'LISTEN "'


@dataclass(eq=False)
class _Link:
    """A connection of the instance; `listens` once it has said LISTEN."""

    writer: asyncio.StreamWriter
    listens: bool = False


class Relay:
    """Passes the connections of one instance on to the server whose socket is `target()`."""

    def __init__(self, target: Callable[[], Path]) -> None:
        self.latency = 0.0  # seconds before each piece of an answer
        self.channel_latency = 0.0  # the same, on connections that listen
        self.port = 0
        self._target = target
        self._links: set[_Link] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Accept connections on `port`."""
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self, *, listening: bool = False) -> None:
        """Close all connections, or only those that listen."""
        for link in self._links:
            if link.listens or not listening:
                link.writer.transport.abort()

    async def close(self) -> None:
        """Accept nothing any more, and close all connections."""
        if self._server is not None:
            self._server.close()
        while self._links:
            self.cut()
            await asyncio.sleep(0.01)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = _Link(writer)
        self._links.add(link)
        try:
            with contextlib.suppress(OSError):
                theirs, to_them = await asyncio.open_unix_connection(self._target())
                try:
                    tasks = [
                        asyncio.create_task(self._ask(link, reader, to_them)),
                        asyncio.create_task(self._answer(link, theirs)),
                    ]
                    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    for task in tasks:
                        task.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)
                finally:
                    to_them.transport.abort()
        finally:
            self._links.discard(link)
            writer.close()

    async def _ask(
        self, link: _Link, reader: asyncio.StreamReader, to_them: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(CHUNK):
            link.listens = link.listens or LISTEN in data
            to_them.write(data)

    async def _answer(self, link: _Link, theirs: asyncio.StreamReader) -> None:
        while data := await theirs.read(CHUNK):
            latency = self.latency + self.channel_latency * link.listens
            if latency:
                await asyncio.sleep(latency)
            link.writer.write(data)
