"""The channel between instances: two connections to PostgreSQL, one that listens, one that speaks.

Each is opened again when it is lost. What is said is notified in a transaction of its own, whose
COMMIT does not wait for the disk: it would cost an fsync, and nothing of it is stored.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

import psycopg

from commentsvc.db import notices, postgresql
from commentsvc.db.notices import CHANNEL, Notice

_log = logging.getLogger(__name__)

# Seconds between two attempts to open a connection.
PAUSE: Final = 0.25
# Seconds after which a statement is given up, together with its connection.
PATIENCE: Final = 5.0
# Milliseconds between two checks of a connection on which nothing comes.
SILENCE_MS: Final = 2_000

# Several notices in one statement share a COMMIT.
_SPEAK: Final = (
    "SELECT pg_notify(channel, payload)"
    " FROM unnest(%s::text[], %s::text[]) AS said (channel, payload)"
)


class Talker(Protocol):
    """Who uses a channel; it is called on the channel's event loop."""

    def connected(self) -> None:
        """Begin anew: what comes from now on is complete, what came before may not be."""

    def disconnected(self) -> None:
        """Note that nothing comes until the next `connected`."""

    def heard(self, notice: Notice) -> None:
        """Take a notice, in the order of the commits."""

    def beat(self) -> Notice | None:
        """Return what is said regularly; None: nothing now. It is sent at once."""


class NotificationChannel:
    """Listens to all instances, and to what is said to `identity` alone; speaks for `talker`."""

    def __init__(self, url: str, identity: str, talker: Talker) -> None:
        self._url = url
        self._identity = identity
        self._talker = talker
        self._to_say: dict[tuple[str, type[Notice]], Notice] = {}
        self._something = asyncio.Event()
        self._all_said = asyncio.Event()

    def say(self, notice: Notice, to: str = "") -> None:
        """Notify all instances soon, or the one with the identity `to`.

        A newer notice of the same kind replaces one that was not sent yet.
        """
        self._to_say[(_channel(to), type(notice))] = notice
        self._all_said.clear()
        self._something.set()

    async def all_said(self) -> None:
        """Wait until nothing is to be said."""
        await self._all_said.wait()

    async def listen(self) -> None:
        """Pass on what is said, until cancelled; a lost connection is opened again."""
        is_told = False
        while True:
            try:
                async with _dialled(self._url) as connection:
                    for channel in (CHANNEL, _channel(self._identity)):
                        await connection.execute(f'LISTEN "{channel}"')
                    is_told = False
                    await self._listen_on(connection)
            except (psycopg.Error, OSError) as error:
                if not is_told:
                    text = " ".join(str(error).split())
                    _log.warning("the channel to other instances is lost (%s)", text)
                is_told = True
            await asyncio.sleep(PAUSE)

    async def _listen_on(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._talker.connected()
        try:
            async for notification in connection.notifies():
                self._talker.heard(notices.decode(notification.payload))
        finally:
            self._talker.disconnected()

    async def speak(self, every: float) -> None:
        """Send what is to be said, and a beat `every` so many seconds, until cancelled."""
        while True:
            with contextlib.suppress(psycopg.Error, OSError, TimeoutError):  # `listen` logs it
                async with _dialled(self._url) as connection:
                    await connection.execute("SET synchronous_commit = off")
                    await self._speak_on(connection, every)
            await asyncio.sleep(PAUSE)

    async def _speak_on(self, connection: psycopg.AsyncConnection[Any], every: float) -> None:
        now = asyncio.get_running_loop().time
        next_beat = now()
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._something.wait(), max(0.0, next_beat - now()))
            self._something.clear()
            if now() >= next_beat:
                next_beat = now() + every
                if beat := self._talker.beat():
                    self.say(beat)
            await self._send(connection)

    async def _send(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Send what is to be said; after a failure it is still to be said."""
        saying = dict(self._to_say)
        if saying:
            channels = [channel for channel, _ in saying]
            payloads = [notices.encode(notice) for notice in saying.values()]
            await asyncio.wait_for(connection.execute(_SPEAK, (channels, payloads)), PATIENCE)
        for key, notice in saying.items():
            if self._to_say[key] is notice:
                del self._to_say[key]
        if not self._to_say:
            self._all_said.set()


def _channel(identity: str) -> str:
    """Return the channel of one instance; without `identity`, the one of all."""
    return f"{CHANNEL}_{identity}" if identity else CHANNEL


@asynccontextmanager
async def _dialled(url: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """Open a connection in autocommit mode during the block. Raise psycopg.Error, OSError."""
    connection = await psycopg.AsyncConnection.connect(
        url,
        autocommit=True,
        connect_timeout=postgresql.DIAL_PATIENCE,
        tcp_user_timeout=SILENCE_MS,
        application_name="commentsvc",
        client_encoding="utf8",
    )
    try:
        yield connection
    finally:
        await connection.close()
