"""Delivery: how a channel takes what the outbox gives it, and the ways in which it may fail.

DeliveryError    it was not taken; the text says what the other side said, for the moderator
  Refused        this one never will be
  Deferred       this one is not taken now
  Unreachable    nothing is taken now
"""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.db.sqlite import Reader


class DeliveryError(Exception):
    """It was not taken; the text says why."""


class DeliveryRejected(DeliveryError):
    """The other side will never take it."""


class TemporaryFailure(DeliveryError):
    """The other side does not take this one now, as mail servers do that greylist."""


class ServerUnreachable(DeliveryError):
    """The other side takes nothing now: it is down, hangs, or does not know us."""


class Connection(Protocol):
    """A conversation with the other side."""

    async def send(self, message: Any) -> None:  # Any: what its channel's `compose` made
        """Return when the other side has taken the message. Raise DeliveryError."""


class Channel(Protocol):
    """A way out of the service."""

    def compose(self, reader: Reader, post: OutboxRow) -> Any | None:
        """Return the message for a row of the outbox; None if there is nothing to send."""

    def connect(self) -> AbstractAsyncContextManager[Connection]:
        """Begin a conversation, which is for several messages. Raise Unreachable."""
