"""Attempts to sign in, and requests for mails, in the database.

So they count for all instances, and after a restart. Each key has a bucket of tokens, as in
`util.ratelimit`. Its row only says when the bucket will be full again (the generic cell rate
algorithm, ITU-T I.371): a full bucket needs no row. The keys are keyed digests: the database shows
neither names nor addresses nor networks.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from peewee import Case

from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import SignInAttemptTable
from commentsvc.util.client_network import wide_network
from commentsvc.util.ratelimit import WIDE


class Rate(NamedTuple):
    """So many attempts in a period of milliseconds."""

    times: int
    period_ms: int

    @property
    def pause_ms(self) -> int:
        """The milliseconds after which one more attempt is allowed."""
        return self.period_ms // self.times


class Bucket(NamedTuple):
    """Whose attempts of a kind are counted, and at which rate. The kind has at most 16 bytes."""

    kind: bytes
    whose: bytes
    rate: Rate


def buckets_of_network(kind: bytes, network: bytes, rate: Rate) -> list[Bucket]:
    """Return the bucket of a network and, for IPv6, that of its /48, which has WIDE times the rate.

    See `util.ratelimit`.
    """
    own, wide = Bucket(kind, network, rate), wide_network(network)
    if wide == network:
        return [own]
    return [own, Bucket(kind, wide, Rate(WIDE * rate.times, rate.period_ms))]


class AttemptLimiter:
    """Counts attempts."""

    def __init__(self, database: Database, key: bytes) -> None:
        """Take the secret `key` of the digests."""
        self._database = database
        self._key = hashlib.blake2b(key, digest_size=32).digest()

    async def take(self, buckets: Sequence[Bucket], now: int) -> int:
        """Count an attempt in each of `buckets`, up to one that is empty.

        `now` is in Unix milliseconds. Return 0 if none is empty, otherwise the seconds to wait.
        Raise DatabaseError.
        """
        rates = [(self._digest(bucket), bucket.rate) for bucket in buckets]
        return await self._database.write(_take_each, rates, now)

    def _digest(self, bucket: Bucket) -> bytes:
        digest = hashlib.blake2b(bucket.whose, digest_size=16, key=self._key, person=bucket.kind)
        return digest.digest()


def _take_each(tx: Transaction, rates: Sequence[tuple[bytes, Rate]], now: int) -> int:
    for key, rate in rates:
        if wait := take(tx, key, rate, now):
            return wait
    return 0


@prepared
def _take(key: Param, now: Param, pause: Param, latest: Param) -> Select:
    """Return the query that counts an attempt, unless the bucket is empty.

    `latest` is the last time at which the bucket may become full, so that it has a token now.
    """
    full_at = SignInAttemptTable.full_at
    begin = Case(None, [(full_at > now, full_at)], now)
    return SignInAttemptTable.insert(key=key, full_at=now + pause).on_conflict(
        conflict_target=[SignInAttemptTable.key],
        update={full_at: begin + pause},
        where=full_at <= latest,
    )


@prepared
def _full_at(key: Param) -> Select:
    return SignInAttemptTable.select(SignInAttemptTable.full_at).where(
        SignInAttemptTable.key == key
    )


@prepared
def _drop_full(now: Param) -> Select:
    return SignInAttemptTable.delete().where(SignInAttemptTable.full_at < now)


def take(tx: Transaction, key: bytes, rate: Rate, now: int) -> int:
    """Count an attempt with `key` at `now` (Unix milliseconds); return 0 if it is allowed.

    Otherwise count nothing and return the seconds to wait.
    """
    tx.change(_drop_full, now)
    latest = now + rate.period_ms - rate.pause_ms
    if tx.change(_take, key, now, rate.pause_ms, latest):
        return 0
    row = tx.first(_full_at, key)
    assert row is not None, "its bucket is not full"
    return max(1, -(-(int(row[0]) - latest) // 1_000))
