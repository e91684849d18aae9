"""The channel between instances: two connections to PostgreSQL, one for LISTEN, one for NOTIFY.

Each is opened again when it is lost. Notices are sent in a transaction of their own, whose COMMIT
does not wait for the disk: that would cost an fsync, and nothing is stored.
"""

import asyncio
import contextlib
import logging
from typing import Any, Final, Protocol

import psycopg

from commentsvc.db import notices, postgresql_sessions
from commentsvc.db.notices import CHANNEL, Notice
from commentsvc.util.error_texts import error_text

_log = logging.getLogger(__name__)

# Seconds between two attempts to open a connection.
PAUSE: Final = 0.25
# Seconds after which a statement is given up, together with its connection.
PATIENCE: Final = 5.0
# Milliseconds between two checks of a connection on which nothing comes.
SILENCE_MS: Final = 2_000

# Several notices in one statement share a COMMIT.
_NOTIFY: Final = (
    "SELECT pg_notify(channel, payload)"
    " FROM unnest(%s::text[], %s::text[]) AS sent (channel, payload)"
)


class ChannelListener(Protocol):
    """Who uses a channel; it is called on the channel's event loop."""

    def connected(self) -> None:
        """Begin anew: from now on no notice is missing, but earlier ones may be."""

    def disconnected(self) -> None:
        """Note that no notice arrives until the next `connected`."""

    def receive(self, notice: Notice) -> None:
        """Take a notice, in the order of the commits."""

    def heartbeat(self) -> Notice | None:
        """Return the notice to send at the next heartbeat; None if there is none."""


class NotificationChannel:
    """Receives notices to all instances and to `identity`, for `listener`; sends its notices."""

    def __init__(self, url: str, identity: str, listener: ChannelListener) -> None:
        self._url = url
        self._identity = identity
        self._listener = listener
        self._unsent: dict[tuple[str, type[Notice]], Notice] = {}
        self._has_unsent = asyncio.Event()
        self._all_sent = asyncio.Event()

    def notify(self, notice: Notice, to: str = "") -> None:
        """Notify all instances soon, or the one with the identity `to`.

        A newer notice of the same kind replaces one that was not sent yet.
        """
        self._unsent[(_channel(to), type(notice))] = notice
        self._all_sent.clear()
        self._has_unsent.set()

    async def all_sent(self) -> None:
        """Wait until all notices are sent."""
        await self._all_sent.wait()

    async def listen(self) -> None:
        """Pass on received notices, until cancelled; a lost connection is opened again."""
        is_logged = False
        while True:
            try:
                async with postgresql_sessions.dialled(self._url, SILENCE_MS) as connection:
                    for channel in (CHANNEL, _channel(self._identity)):
                        await connection.execute(f'LISTEN "{channel}"')
                    is_logged = False
                    await self._listen_on(connection)
            except Exception as error:  # whatever it is, without a channel each answer is slow
                if not is_logged:
                    text = error_text(error)
                    _log.warning("the channel to other instances is lost (%s)", text)
                is_logged = True
            await asyncio.sleep(PAUSE)

    async def _listen_on(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._listener.connected()
        try:
            async for notification in connection.notifies():
                self._listener.receive(notices.decode(notification.payload))
        finally:
            self._listener.disconnected()

    async def send(self, every: float) -> None:
        """Send the notices, and a heartbeat `every` so many seconds, until cancelled."""
        while True:
            with contextlib.suppress(Exception):  # `listen` logs a loss
                async with postgresql_sessions.dialled(self._url, SILENCE_MS) as connection:
                    await connection.execute("SET synchronous_commit = off")
                    await self._send_on(connection, every)
            await asyncio.sleep(PAUSE)

    async def _send_on(self, connection: psycopg.AsyncConnection[Any], every: float) -> None:
        now = asyncio.get_running_loop().time
        next_heartbeat = now()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(next_heartbeat):  # without a task, as wait_for has
                    await self._has_unsent.wait()
            self._has_unsent.clear()
            if now() >= next_heartbeat:
                next_heartbeat = now() + every
                if heartbeat := self._listener.heartbeat():
                    self.notify(heartbeat)
            await self._send(connection)

    async def _send(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Send the notices that wait; after a failure they still wait."""
        sending = dict(self._unsent)
        if sending:
            channels = [channel for channel, _ in sending]
            payloads = [notices.encode(notice) for notice in sending.values()]
            async with asyncio.timeout(PATIENCE):
                await connection.execute(_NOTIFY, (channels, payloads))
        for key, notice in sending.items():
            if self._unsent[key] is notice:
                del self._unsent[key]
        if not self._unsent:
            self._all_sent.set()


def _channel(identity: str) -> str:
    """Return the channel of one instance; without `identity`, the one of all."""
    return f"{CHANNEL}_{identity}" if identity else CHANNEL
