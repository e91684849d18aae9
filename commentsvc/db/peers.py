"""The other instances of the service on the same database, as the writer knows them.

With SQLite there are none. With PostgreSQL, one transaction at a time changes the database, as with
SQLite: what it has read stays true until its COMMIT. The writer tells the others what a transaction
makes stale.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from commentsvc.db.connection import Transaction
from commentsvc.db.notices import CHANNEL, PurgeNotice, encode

# The advisory lock of whoever changes the database: the beginning of the SHA-256 of "commentsvc".
LOCK: Final = 0x74E8_2C24_FC9C_6FC0


class Peers(Protocol):
    """Instances that each have a cache of their own."""

    def begin(self, transaction: Transaction) -> None:
        """Wait until no other transaction changes the database; none does before this one ends."""

    def notify_purge(self, transaction: Transaction, tags: Sequence[str]) -> None:
        """Tell them, as a part of the transaction, what its COMMIT makes stale."""

    def when_seen(self, then: Callable[[], None]) -> None:
        """Call `then` once no instance uses what the last transaction made stale.

        It was committed, and its tags are purged here. `then` may be called on any thread.
        """


class NoPeers:
    """A database that only this process writes."""

    def begin(self, transaction: Transaction) -> None:
        """Do nothing: BEGIN IMMEDIATE waits."""

    def notify_purge(self, transaction: Transaction, tags: Sequence[str]) -> None:
        """Do nothing."""

    def when_seen(self, then: Callable[[], None]) -> None:
        then()


class UnawaitedPeers:
    """Instances that are told, for a command: they may use what is stale for some milliseconds."""

    def begin(self, transaction: Transaction) -> None:
        transaction.exclude_others()

    def notify_purge(self, transaction: Transaction, tags: Sequence[str]) -> None:
        notify(transaction, PurgeNotice("", 0, tuple(tags)))

    def when_seen(self, then: Callable[[], None]) -> None:
        then()


def notify(transaction: Transaction, notice: PurgeNotice) -> None:
    """Have PostgreSQL deliver a notice if the transaction is committed."""
    transaction.execute("SELECT pg_notify(?, ?)", (CHANNEL, encode(notice)))
