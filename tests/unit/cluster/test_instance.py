"""Two instances on one PostgreSQL: what one changes, the other one purges before it is answered."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import psycopg
import pytest

from commentsvc.cluster.instance import PAST, Instance
from commentsvc.cluster.membership import MOST_OTHERS, SILENCE_MS
from commentsvc.cluster.notifications import NotificationChannel
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseBusy
from commentsvc.db.peers import LOCK
from commentsvc.db.postgresql import connection as postgresql
from commentsvc.model import EVERY_TAG
from tests.postgresql_server import Server
from tests.unit.database_fixture import location, site, sites

pytestmark = pytest.mark.postgresql_only("a file has one instance")

PATIENCE = 120.0


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(location(tmp_path))


def await_that(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.002)


class NotedCache:
    """A cache that notes what it is told; `open_gate` lets purges pass."""

    def __init__(self) -> None:
        self.purged: list[str] = []
        self.emptied = 0
        self.lease = float("inf")
        self.gate = threading.Event()
        self.gate.set()

    def purge(self, tags: Sequence[str]) -> None:
        self.gate.wait(PATIENCE)
        self.purged += tags

    def purge_all(self) -> None:
        self.emptied += 1

    def set_lease(self, until: float) -> None:
        self.lease = until

    @property
    def is_leased(self) -> bool:
        return time.monotonic() < self.lease


class Member:
    """An instance with a database, and a cache that notes."""

    def __init__(self, url: str, *, strict: bool = True) -> None:
        self.cache = NotedCache()
        self.instance = Instance(url, self.cache, strict=strict)
        self.database = Database(url, purge=lambda _tags: None)

    def __enter__(self) -> "Member":
        assert self.cache.lease == PAST
        self.instance.start()
        self.database.open(peers=self.instance)
        await_that(lambda: self.cache.is_leased, "the first lease")
        return self

    def knows_another(self) -> bool:
        return self.instance.state().instances == 2

    def __exit__(self, *_: object) -> None:
        self.cache.gate.set()
        self.database.close_now()
        self.instance.stop()
        assert not self.cache.is_leased


@contextlib.contextmanager
def two(url: str, *, strict: bool = True) -> Iterator[tuple[Member, Member]]:
    """Run two instances that know each other."""
    with Member(url, strict=strict) as first, Member(url, strict=strict) as second:
        for each in (first, second):
            await_that(each.knows_another, "the other one")
        yield first, second


def test_an_answer_waits_until_the_other_instance_has_purged(url: str) -> None:
    with two(url) as (first, second):
        second.cache.gate.clear()
        threading.Timer(0.05, second.cache.gate.set).start()
        for number in range(20):
            first.database.write_now(site(f"site {number}", f"site:{number}"))
            assert second.cache.purged[-1] == f"site:{number}"
        assert second.instance.state().remote_purges == 20
        await_that(lambda: first.instance.state().waiting == 0, "nothing to be open")


def test_memory_is_told_before_the_cache_is_purged_and_of_a_new_channel_too(url: str) -> None:
    with two(url) as (first, second):
        purges: list[tuple[tuple[str, ...], int]] = []
        second.instance.on_remote.append(
            lambda tags: purges.append((tuple(tags), len(second.cache.purged)))
        )
        first.database.write_now(site("new", "memory:bans", "site:new"))
        assert purges == [(("memory:bans", "site:new"), 0)]
        assert second.cache.purged == ["memory:bans", "site:new"]
        many = [f"thread:blog:/a/very/long/address/of/a/page/{number}/" for number in range(300)]
        emptied = second.cache.emptied
        first.database.write_now(site("many", *many))
        assert purges[1][0] == (EVERY_TAG,)
        assert second.cache.emptied == emptied + 1


def test_an_instance_that_hangs_delays_a_strict_answer_by_its_lease(url: str) -> None:
    with two(url) as (first, second):
        second.cache.gate.clear()
        first.database.write_now(site("one", "a"))
        assert "a" not in second.cache.purged
        assert not second.cache.is_leased, "or it could still answer without the change"
        assert time.monotonic() >= second.cache.lease + (SILENCE_MS - 1_000) / 1_000 - 0.005


def test_a_bounded_answer_waits_for_nobody(url: str) -> None:
    with two(url, strict=False) as (first, second):
        second.cache.gate.clear()
        first.database.write_now(site("one", "a"))
        assert "a" not in second.cache.purged
        second.cache.gate.set()
        await_that(lambda: "a" in second.cache.purged, "the purge")


def test_a_command_that_writes_is_heard_by_all(url: str) -> None:
    command = Database(url, purge=lambda _tags: None)
    with two(url) as members:
        command.open()
        command.write_now(site("one", "a"))
        command.close_now()
        await_that(lambda: all("a" in each.cache.purged for each in members), "the purges")


def test_a_lost_channel_begins_anew_with_an_empty_cache(
    url: str, postgresql_server: Server
) -> None:
    with two(url) as (first, second):
        emptied = second.cache.emptied
        postgresql_server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        )
        await_that(lambda: second.cache.emptied > emptied, "an empty cache")
        await_that(lambda: second.cache.is_leased and first.cache.is_leased, "new leases")
        assert second.instance.state().losses == 1
        first.database.write_now(site("one", "a"))
        assert second.cache.purged == ["a"]


def test_an_instance_stops_even_where_python_loses_a_cancellation(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before 3.12, `asyncio.wait_for` goes on when what it waits for comes at the same moment."""

    def losing(work: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def lost(*args: object) -> None:
            with contextlib.suppress(asyncio.CancelledError):
                await work(*args)
            await work(*args)

        return lost

    for name in ("listen", "send"):
        monkeypatch.setattr(NotificationChannel, name, losing(getattr(NotificationChannel, name)))
    with Member(url):
        pass
    assert not [thread for thread in threading.enumerate() if thread.name == "channel"]


@pytest.fixture
def stranger(
    url: str, postgresql_server: Server
) -> Iterator[Callable[[], psycopg.Connection[object]]]:
    """Return what connects as a user who may do nothing but connect."""
    postgresql_server.run("CREATE ROLE stranger LOGIN")
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    asked = postgresql_server.url(str(name), user="stranger")
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(psycopg.connect(asked, autocommit=True))
    postgresql_server.run("DROP ROLE stranger")


# What NOTIFY takes, but no instance sends.
FORGED = (
    *(f'["purge","{origin}",1,["a"]]' for origin in ("x" * 100, "a\\u0000", "0" * 16 + "\\n")),
    "\N{SNOWMAN}",
    '["leave","",' + "[" * 7_900,
    f'["purge","{"0" * 16}",{"9" * 3_000},["a"]]',
)


def test_a_notice_of_a_stranger_cannot_stop_an_instance(
    url: str, stranger: Callable[[], psycopg.Connection[object]]
) -> None:
    """Whoever may connect can notify; its "seen" cannot be sent to a channel of such a name."""
    with Member(url) as member:
        connection = stranger()
        for payload in FORGED:
            member.cache.emptied = 0
            connection.execute("SELECT pg_notify('commentsvc', %s)", [payload])
            await_that(lambda: member.cache.emptied, "an empty cache, to be safe")
            assert member.instance.state().losses == 0, payload[:100]
        lease = member.cache.lease
        await_that(lambda: member.cache.lease > lease, "a further lease")
        member.database.write_now(site("one", "a"))
        assert member.instance.state().losses == 0


def test_who_pretends_to_be_many_instances_delays_an_answer_by_a_lease_at_most(
    url: str, stranger: Callable[[], psycopg.Connection[object]]
) -> None:
    with Member(url) as member:
        stranger().execute(
            "SELECT pg_notify('commentsvc', format('[\"join\",\"%s\",1]', lpad(n::text, 16, '0')))"
            " FROM generate_series(1, 10000) AS n"
        )
        await_that(lambda: member.instance.state().instances > MOST_OTHERS, "the others")
        begun = time.monotonic()
        member.database.write_now(site("one", "a"))
        waited = time.monotonic() - begun
        assert member.instance.state().instances <= MOST_OTHERS + 1
        assert waited < 15, "of a second; the machine may be busy"
        assert member.instance.state().losses == 0


def test_a_stranger_who_holds_the_lock_is_named_and_nothing_waits_for_ever(
    url: str,
    stranger: Callable[[], psycopg.Connection[object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postgresql, "WRITER_PATIENCE", 1)
    with Member(url) as member:
        connection = stranger()
        connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        named = (
            rf"the user stranger, .*\(connection {connection.info.backend_pid}, .*REVOKE CONNECT"
        )
        with pytest.raises(DatabaseBusy, match=named):
            member.database.write_now(site("one", "a"))
        connection.execute("SELECT pg_advisory_unlock_all()")
        member.database.write_now(site("one", "a"))
        assert member.database.read_now(sites) == ["one"]


class LostAnswers:
    """Peers of a writer that is not told of a COMMIT, as after a lost connection."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def begin(self, transaction: Transaction) -> None:
        self._instance.begin(transaction)

    def notify_purge(self, transaction: Transaction, tags: Sequence[str]) -> None:
        self._instance.notify_purge(transaction, tags)

    def when_seen(self, then: Callable[[], None]) -> None:
        then()


def test_what_was_committed_without_an_answer_is_purged_here_too(url: str) -> None:
    with Member(url) as member:
        database = Database(url, purge=lambda _tags: None)
        database.open(peers=LostAnswers(member.instance))
        database.write_now(site("one", "a"))
        await_that(lambda: "a" in member.cache.purged, "the purge")
        database.close_now()


def test_one_transaction_at_a_time_changes_the_database(url: str) -> None:
    """What a transaction finds missing, no other one adds meanwhile."""
    reading, going_on = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        assert "new" not in sites(tx)
        reading.set()
        assert going_on.wait(PATIENCE)
        site("new")(tx)

    def quick(tx: Transaction) -> bool:
        return "new" in sites(tx)

    found: list[bool] = []
    with two(url) as (first, second):
        one = threading.Thread(target=first.database.write_now, args=(slow,))
        one.start()
        assert reading.wait(PATIENCE)
        other = threading.Thread(target=lambda: found.append(second.database.write_now(quick)))
        other.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        with psycopg.connect(url, autocommit=True) as connection:
            await_that(lambda: connection.execute(waiting).fetchone() == (1,), "the second writer")
        going_on.set()
        one.join()
        other.join()
    assert found == [True]
