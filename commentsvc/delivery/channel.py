"""Delivery: the interface of a channel, and its errors.

DeliveryError         the message was not taken; the text is the server's, for the moderator
  DeliveryRejected    this message never will be: its recipient does not exist
  TemporaryFailure    this message is not taken now
  ServerUnreachable   no message is taken now

What an operator can correct is never a DeliveryRejected.
"""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from commentsvc.db.connection import Snapshot
from commentsvc.db.schema.outbox import OutboxRow


class DeliveryError(Exception):
    """The message was not taken; the text says why."""


class DeliveryRejected(DeliveryError):
    """The server will never take this message."""


class TemporaryFailure(DeliveryError):
    """The server does not take this message now, for example because of greylisting or its text."""


class ServerUnreachable(DeliveryError):
    """The server takes nothing now: it is down, hangs, or refuses our login."""


class Connection(Protocol):
    """A connection on which several messages can be sent."""

    async def send(self, message: Any) -> None:  # Any: what its channel's `compose` made
        """Return when the server has taken the message. Raise DeliveryError."""


class Channel(Protocol):
    """A way to send messages."""

    def compose(self, snapshot: Snapshot, row: OutboxRow) -> Any | None:
        """Return the message for a row of the outbox; None if there is nothing to send."""

    def connect(self) -> AbstractAsyncContextManager[Connection]:
        """Open a connection for several messages. Raise ServerUnreachable."""
