"""The election of the leader, by an advisory lock of PostgreSQL.

A thread of each instance holds a connection and asks for the lock at each HEARTBEAT; the one that
gets it leads. PostgreSQL releases the lock when the connection is lost, so another instance gets
it at its next heartbeat. At most one instance may lead at a time:

    the leader's process ends            its connection is closed at once
    the leader is stopped or cut off     after LEASE_MS without an answer it does not consider
                                         itself the leader any more; PostgreSQL closes a connection
                                         from which it hears nothing for SILENCE_MS, which is longer
    PostgreSQL closes the connection     the leader notices at its next heartbeat; the next one
                                         begins only HEAD_START seconds after it got the lock

The same connection shows that all instances have the same secret key and settings: each holds a
shared lock for the digest of each section. Whoever finds a lock for another digest is refused
before it has written anything. The locks are those of living instances only, so settings can be
changed while none runs.
"""

# ruff: noqa: S608 - put together from constants only

import asyncio
import hashlib
import logging
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Final

import msgspec
import psycopg

from commentsvc.cluster.leader import Work, meanwhile
from commentsvc.db import postgresql_sessions
from commentsvc.db.connection import Row
from commentsvc.db.errors import DatabaseBusy, DatabaseError, DatabaseUnusable
from commentsvc.settings import everyday
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.schema import Settings
from commentsvc.util.clock import SYSTEM_CLOCK, Clock
from commentsvc.util.timestamps import MINUTE_MS

_log = logging.getLogger(__name__)

# Seconds between two heartbeats.
HEARTBEAT: Final = 0.5
# Milliseconds after a heartbeat was sent for which its answer makes an instance the leader.
LEASE_MS: Final = 2_000
# Milliseconds without a heartbeat after which PostgreSQL closes the connection.
SILENCE_MS: Final = 5_000
# Seconds from getting the lock until the work begins: a former leader ends its own meanwhile.
HEAD_START: Final = 1.5
# Milliseconds for which the locks of an instance that has stopped may outlive it.
PATIENCE_MS: Final = 1_000
# The lock of the leader: the beginning of the SHA-256 of "commentsvc leader", of 63 bits.
LOCK: Final = 0x7224_F300_DF72_D1D8
# Sections whose settings may differ between instances: they are about one machine.
LOCAL: Final = frozenset({"server", "database", "backup"})
SECRET_KEY: Final = "secret key"  # noqa: S105 - the name of a digest

_TAKE: Final = "SELECT pg_try_advisory_lock(%s)"
_AGREE: Final = "SELECT pg_advisory_lock_shared(%s, %s)"
_OTHERS: Final = (
    "SELECT l.classid::bigint, l.objid::bigint FROM pg_locks AS l JOIN pg_stat_activity AS a"
    " ON a.pid = l.pid AND a.datid = l.database WHERE l.locktype = 'advisory'"
    " AND l.objsubid = 2 AND l.granted AND l.classid::bigint = ANY(%s)"
    f" AND a.datname = current_database() AND {postgresql_sessions.MAY_BE_OURS}"
)


def agreement(loaded: LoadedSettings, keys: Sequence[bytes]) -> dict[str, int]:
    """Return a digest, of 31 bits, of what all instances must agree on; the clearest names first.

    Only values other than the defaults count, so that versions with different settings can run side
    by side during an upgrade. For the same reason, each everyday setting has a digest of its own:
    of the sites for which it is given, even as the default, since stored values do not change it.
    """
    settings = loaded.settings
    found = {SECRET_KEY: _lock_number(b"\n".join(keys))}
    for name in everyday.SETTINGS:
        sites = sorted(site for site, given in loaded.locations if given == name)
        found[name] = _lock_number(msgspec.json.encode(sites))
    for field in msgspec.structs.fields(Settings):
        if field.name not in LOCAL | {"auth"}:
            section = getattr(settings, field.name)
            tables = section if isinstance(section, tuple) else (section,)
            found[field.name] = _lock_number(msgspec.json.encode([*map(_chosen, tables)]))
    return found


def _chosen(section: msgspec.Struct) -> dict[str, object]:
    """Return the settings of a section that are not the defaults."""
    plain = type(section)()
    return {
        name: getattr(section, name)
        for name in section.__struct_fields__
        if getattr(section, name) != getattr(plain, name)
    }


def _lock_number(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=4).digest()) >> 1


class Disagreement(DatabaseUnusable):
    """Another instance on the database has another secret key or other settings."""


class Election:
    """Lets one of the instances on the PostgreSQL at `url` lead; see `leader.Leader`."""

    def __init__(self, url: str, agreed: Mapping[str, int], clock: Clock = SYSTEM_CLOCK) -> None:
        """Take the result of `agreement`."""
        self._url = url
        self._agreed = agreed
        self._clock = clock
        self._leads_until_ms = -1
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._connection: psycopg.Connection[Row] | None = None

    def __enter__(self) -> "Election":
        """Connect, and compare settings with the other instances.

        Raise DatabaseError; it is Disagreement if another instance has other settings.
        """
        self._connection = self._join()
        self._thread = threading.Thread(target=self._run, name="election", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the election; another instance can lead at once."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(LEASE_MS / 1_000)  # a connection that hangs is lost anyway

    def leads(self) -> bool:
        """Return whether this instance may do the leader's work now; any thread may ask."""
        return self._clock.monotonic_ms() < self._leads_until_ms

    async def run(self, *works: Work) -> None:
        """Do `works` whenever this instance leads, until cancelled."""
        while True:
            if self.leads():
                await asyncio.sleep(HEAD_START)
            if self.leads():
                _log.info("this instance leads: it sends messages, and deletes what is too old")
                async with meanwhile(*(work() for work in works)):
                    while self.leads():  # noqa: ASYNC110 - time alone ends it
                        await asyncio.sleep(HEARTBEAT / 2)
                _log.warning("this instance does not lead any more")
            await asyncio.sleep(HEARTBEAT / 2)

    def _join(self) -> psycopg.Connection[Row]:
        """Connect, and take the locks of the agreement. Raise DatabaseError."""
        connection = postgresql_sessions.dial(self._url)
        try:
            connection.execute(f"SET idle_session_timeout = {SILENCE_MS}")
            connection.execute(f"SET lock_timeout = {PATIENCE_MS}")
            mine = {
                _lock_number(name.encode()): (name, value) for name, value in self._agreed.items()
            }
            for kind, (_, value) in mine.items():
                connection.execute(_AGREE, (kind, value))
            _compare(connection, mine, self._clock)
        except psycopg.errors.LockNotAvailable as error:  # instances share these locks
            text = postgresql_sessions.stranger_with_lock(connection) or str(error)
            connection.close()
            raise DatabaseBusy(text) from error
        except psycopg.Error as error:
            connection.close()
            raise postgresql_sessions.fault(error) or DatabaseUnusable(str(error)) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _run(self) -> None:
        """Ask for the lock every HEARTBEAT, and connect again when the connection was lost."""
        while not self._ending.is_set():
            try:
                with closing(self._connection or self._join()) as connection:
                    self._compete(connection)
            except Disagreement as error:
                _log.critical("this instance stops: %s", error)
                os.kill(os.getpid(), signal.SIGTERM)
            except (DatabaseError, psycopg.Error):
                pass  # the writer reports it
            self._connection = None
            self._leads_until_ms = -1
            self._ending.wait(HEARTBEAT)

    def _compete(self, connection: psycopg.Connection[Row]) -> None:
        """Ask for the lock and then keep it until the end. Raise psycopg.Error."""
        has_lock = False
        look_ms = self._clock.monotonic_ms()
        while True:
            sent = self._clock.monotonic_ms()
            if has_lock:
                connection.execute("SELECT 1")
            else:
                [(has_lock,)] = connection.execute(_TAKE, (LOCK,)).fetchall()
            if has_lock:
                self._leads_until_ms = sent + LEASE_MS
            elif sent >= look_ms:
                look_ms = sent + MINUTE_MS
                if stranger := postgresql_sessions.stranger_with_lock(connection):
                    _log.error("this instance may be unable to lead: %s", stranger)
            if self._ending.wait(HEARTBEAT):
                return


def _compare(
    connection: psycopg.Connection[Row], mine: Mapping[int, tuple[str, int]], clock: Clock
) -> None:
    """Compare our names and digests, by their locks, with those of others. Raise Disagreement.

    PostgreSQL may release the locks of an instance a moment after that has stopped.
    """
    deadline_ms = clock.monotonic_ms() + PATIENCE_MS
    while True:
        others = connection.execute(_OTHERS, ([*mine],)).fetchall()
        differing = {kind for kind, value in others if value != mine[kind][1]}
        if not differing:
            return
        if clock.monotonic_ms() >= deadline_ms:
            first = next(name for kind, (name, _) in mine.items() if kind in differing)
            raise Disagreement(_disagreement(first))
        time.sleep(HEARTBEAT / 10)


def _disagreement(name: str) -> str:
    """Return what to do if another instance has other values in a section."""
    if name == SECRET_KEY:
        return (
            "another commentsvc with a different secret key uses this database: give all of them"
            " the same secret.key or auth.secret_key"
        )
    if name in everyday.SETTINGS:
        return (
            f"another commentsvc uses this database, and only one of them has {name} in its"
            " settings file or its environment: give it to all of them or to none"
        )
    table = "[[site]]" if name == "sites" else f"[{name}]"
    return (
        f"another commentsvc uses this database, and its settings in {table} differ: give all of"
        " them the same settings; to change settings, stop all of them first"
    )
