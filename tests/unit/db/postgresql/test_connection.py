"""PostgreSQL: no answer before COMMIT, and reconnecting after a loss."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest

from commentsvc.backup import integrity
from commentsvc.comments import create, queries
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.db.errors import (
    DatabaseBusy,
    DatabaseError,
    DatabaseFull,
    DatabaseUnusable,
    DatabaseUnwritable,
)
from commentsvc.db.postgresql import connection as postgresql
from commentsvc.db.postgresql import upgrade as postgresql_upgrade
from commentsvc.db.schema.comments import SiteTable
from commentsvc.settings.schema import DatabaseSettings
from tests.e2e.program import wait_for
from tests.postgresql_server import Server
from tests.unit.database_fixture import NOW, add, new, opened, site, sites

pytestmark = pytest.mark.postgresql_only("test_sqlite.py is for SQLite")


# Tests have more patience: see conftest.py.
LOOP_PATIENCE = postgresql.LOOP_PATIENCE


@pytest.fixture
def server(postgresql_server: Server) -> Server:
    """Return the server whose databases `opened` uses in this test."""
    return postgresql_server


def end_connections(server: Server) -> None:
    """Have the server end all connections of services, as it does when it restarts."""
    server.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'commentsvc'"
    )


def test_a_lost_connection_fails_what_is_under_way_and_is_opened_again(
    server: Server, tmp_path: Path
) -> None:
    def lost(tx: Transaction) -> None:
        tx.execute("INSERT INTO site (name) VALUES ('lost')")
        end_connections(server)
        tx.execute("SELECT 1")

    with opened(tmp_path) as database:
        with pytest.raises(DatabaseBusy, match="PostgreSQL does not answer"):
            database.write_now(lost)
        assert add(database).comment.id == 1
        assert database.read_now(sites) == ["blog"]
        assert asyncio.run(database.read(sites)) == ["blog"]
        end_connections(server)
        assert database.read_now(sites) == ["blog"]
        assert asyncio.run(database.read_for_public(sites)) == ["blog"]


def test_the_event_loop_does_not_wait_for_a_new_connection(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dial, goes_on = postgresql.dial, threading.Event()

    def slow(url: str, **options: Any) -> psycopg.Connection[Any]:  # Any: as dial's
        assert goes_on.wait(120)
        return dial(url, **options)

    def is_refused() -> bool:
        try:
            return database.read_now(sites) != ["blog"]
        except DatabaseBusy:
            return True

    with opened(tmp_path) as database:
        monkeypatch.setattr(postgresql, "dial", slow)
        monkeypatch.setattr(postgresql, "LOOP_PATIENCE", LOOP_PATIENCE)
        end_connections(server)
        wait_for(is_refused, "the loss to be noticed")
        assert is_refused()
        assert not goes_on.is_set(), "nobody waited for the connection"
        goes_on.set()
        wait_for(lambda: not is_refused(), "the connection")


def test_the_event_loop_does_not_wait_for_a_database_that_hangs(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: while PostgreSQL hung, an instance answered nothing at all."""
    monkeypatch.setattr(postgresql, "LOOP_READ_PATIENCE", 0.3)
    monkeypatch.setattr(postgresql, "LOOP_REST_MS", 600_000)
    with opened(tmp_path) as database:
        with psycopg.connect(server.location(tmp_path)) as other:
            other.execute("LOCK TABLE commentsvc.site IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(DatabaseBusy, match="PostgreSQL does not answer"):
                database.read_now(sites)
        # The lock is free again, but the next statement might take as long.
        with pytest.raises(DatabaseBusy, match="PostgreSQL does not answer"):
            database.read_now(sites)
        assert asyncio.run(database.read(sites)) == ["blog"], "readers are not concerned"
        assert database._inline is not None
        monkeypatch.setattr(postgresql, "LOOP_READ_PATIENCE", 60)  # on a busy machine
        database._inline._connection._rest_until_ms = 0
        assert database.read_now(sites) == ["blog"]


def test_ids_of_many_at_once_follow_each_other_and_a_key_stores_once(
    server: Server, tmp_path: Path
) -> None:
    async def submit(database: Database) -> list[create.InsertResult]:
        items = [(new(key=f"key {number % 8}"), NOW) for number in range(16)]
        return await asyncio.gather(*(database.write_each(create.ADD, item) for item in items))

    with opened(tmp_path) as database:
        done = asyncio.run(submit(database))
        assert sorted(each.repeated for each in done) == [False] * 8 + [True] * 8
        assert len({each.comment.id for each in done}) == 8
        assert database.read_now(queries.site_count, "blog") == 8


def test_sums_are_integers_and_a_nul_is_replaced(server: Server, tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        [(total,)] = database.read_now(
            lambda snapshot: snapshot.execute("SELECT sum(id) FROM site")
        )
        assert repr(total) == "1"
        assert database.read_now(queries.site_count, "a\0b") == 0
        add(database, status="pending", title="a\0b")  # stored by a statement for many rows


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://postgres@/nowhere?host={folder}", 'database "nowhere" does not exist'),
        ("postgresql://nobody@/postgres?host={folder}", 'role "nobody" does not exist'),
        ("postgresql://postgres@/postgres?host={folder}/none", "PostgreSQL cannot be reached"),
        ("postgresql://postgres@127.0.0.1:1/postgres", "PostgreSQL cannot be reached.*refused"),
        ("postgresql://postgres@/postgres?colour=red", "database.url cannot be used"),
        ("postgresql://postgres@db..example/postgres", "database.url cannot be used: look at its"),
        ("postgresql://postgres:p@hush@db.invalid/postgres", "cannot be used.* as %XX"),
        ("postgresql://postgres@127.0.0.1:99999/postgres", "reached .*port number"),
    ],
)
def test_a_wrong_url_is_one_clear_line(server: Server, url: str, reason: str) -> None:
    database = Database(url.format(folder=server.folder), purge=lambda _: None)
    with pytest.raises(DatabaseUnusable, match=reason) as info:
        database.open()
    assert "\n" not in str(info.value)
    assert "hush" not in str(info.value)


def test_a_host_that_has_no_address_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nothing)
    with pytest.raises(
        DatabaseUnusable, match=r"reached \(failed to resolve host 'db\.lan'"
    ) as info:
        postgresql.dial("postgresql://comments@db.lan/comments")
    assert "\n" not in str(info.value)


def test_a_wrong_password_is_one_clear_line_without_it(server: Server) -> None:
    rules = server.folder / "data" / "pg_hba.conf"
    rules.write_text("local postgres guarded scram-sha-256\n" + rules.read_text())
    server.run("CREATE ROLE guarded LOGIN PASSWORD 'the right word'")
    server.run("SELECT pg_reload_conf()")
    url = f"postgresql://guarded:mistaken@/postgres?host={server.folder}"

    def fault() -> str:
        try:
            postgresql.dial(url).close()
        except DatabaseUnusable as error:
            return str(error)
        return "it connects, since the rules are not read yet"

    wait_for(lambda: "password authentication failed" in fault(), "the rules")
    message = fault()
    assert message.startswith("PostgreSQL cannot be reached (")
    assert "\n" not in message
    assert "mistaken" not in message


@pytest.fixture
def odd(server: Server, tmp_path: Path) -> Iterator[str]:
    """Make a database with unusual settings; return its URL. `opened` uses it, too."""
    server.run("CREATE DATABASE odd TEMPLATE template0")
    for name, value in ODD.items():
        server.run(f"ALTER DATABASE odd SET {name} = '{value}'")
    server._used[tmp_path] = "odd"
    yield server.url("odd")
    del server._used[tmp_path]
    server.run("DROP DATABASE odd WITH (FORCE)")


# Settings that an administrator may have chosen for all programs.
ODD = {
    "search_path": "pg_catalog",
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "on",
    "standard_conforming_strings": "off",
    "statement_timeout": "1h",
    "idle_in_transaction_session_timeout": "1h",
    "idle_session_timeout": "1h",
    "client_encoding": "LATIN1",
    "bytea_output": "escape",
    "timezone": "Asia/Kathmandu",
    "datestyle": "German, DMY",
}


def test_settings_of_a_database_do_not_reach_our_sessions(odd: str, tmp_path: Path) -> None:
    wanted = {
        "search_path": "commentsvc, pg_catalog",
        "default_transaction_isolation": "read committed",
        "default_transaction_read_only": "off",
        "standard_conforming_strings": "on",
        "statement_timeout": "0",
        "idle_in_transaction_session_timeout": "0",
        "idle_session_timeout": "0",
        "client_encoding": "UTF8",
    }

    async def of_channel(name: str) -> str:
        async with postgresql.dialled(odd, 2_000) as connection:
            cursor = await connection.execute(f"SHOW {name}")
            return str((await cursor.fetchone() or ("",))[0])

    with contextlib.closing(postgresql.dial(odd)) as connection:
        for name, value in wanted.items():
            assert connection.execute(f"SHOW {name}").fetchone() == (value,), name
            assert asyncio.run(of_channel(name)) == value, name
    postgresql_upgrade.upgrade(odd)
    with opened(tmp_path) as database:
        stored = add(
            database, source="\\ 'Ω' \\", token_hash=b"\\\0\xff", status="approved"
        ).comment
        [(source, token)] = database.read_now(
            lambda snapshot: snapshot.execute("SELECT source, token_hash FROM comment").fetchall()
        )
        assert (stored.id, source, bytes(token)) == (1, "\\ 'Ω' \\", b"\\\0\xff")
        assert database.read_now(integrity.check) == []


@pytest.mark.parametrize(("setting", "value"), [("full", "on"), ("normal", "off")])
def test_the_writer_waits_for_the_disk_as_the_settings_say(
    server: Server, tmp_path: Path, setting: Literal["full", "normal"], value: str
) -> None:
    def shown(tx: Transaction, name: str) -> str:
        return str(tx.execute(f"SHOW {name}").fetchone()[0])

    with opened(tmp_path, settings=DatabaseSettings(synchronous=setting)) as database:
        assert database.write_now(shown, "synchronous_commit") == value
        assert database.write_now(shown, "lock_timeout") == f"{postgresql.WRITER_PATIENCE}s"
        idle = database.write_now(shown, "idle_in_transaction_session_timeout")
        assert idle == f"{postgresql.IDLE}s"


def test_a_long_result_is_fetched_in_pieces(server: Server, tmp_path: Path) -> None:
    def first_two(tx: Transaction) -> list[int]:
        tx.execute("INSERT INTO site (name) SELECT 'site ' || n FROM generate_series(1, 2500) AS n")
        rows = tx.each(SiteTable.select(SiteTable.id).order_by(SiteTable.id))
        found = [next(rows)[0], next(rows)[0]]
        with contextlib.closing(rows):  # type: ignore[type-var]  # it is a generator
            return found

    with opened(tmp_path) as database:
        assert database.write_now(first_two) == [1, 2]


def test_nothing_runs_outside_of_a_transaction_whose_connection_was_lost(
    server: Server, tmp_path: Path
) -> None:
    """The loss may be noticed between two statements, after the answer to the first."""

    def lost(tx: Transaction) -> None:
        tx.execute("INSERT INTO site (name) VALUES ('one')")
        tx._connection.close()

    def refused(tx: Transaction) -> None:
        lost(tx)
        with contextlib.suppress(psycopg.Error):
            tx.execute("SELECT 1")
        tx.execute("INSERT INTO site (name) VALUES ('two')")

    with opened(tmp_path) as database:
        for work in (lost, refused):
            with pytest.raises(DatabaseBusy, match="lost during a transaction"):
                database.write_now(work)
        database.write_now(site("three"))
        assert database.read_now(sites) == ["blog", "three"]


def test_a_commit_of_a_transaction_that_has_failed_is_an_error(
    server: Server, tmp_path: Path
) -> None:
    def failing(tx: Transaction) -> None:
        tx.execute("INSERT INTO site (name) VALUES ('one')")
        with contextlib.suppress(psycopg.Error):
            tx.execute("SELECT 1 / 0")

    with opened(tmp_path) as database:
        with pytest.raises(DatabaseBusy, match="rolled back"):
            database.write_now(failing)
        assert database.read_now(sites) == ["blog"]


@pytest.mark.parametrize(
    ("state", "meaning"),
    [
        ("53100", DatabaseFull),  # disk_full
        ("53200", DatabaseUnwritable),  # out_of_memory
        ("25006", DatabaseUnwritable),  # read_only_sql_transaction
        ("58030", DatabaseUnwritable),  # io_error
        ("53300", DatabaseBusy),  # too_many_connections
        ("XX001", DatabaseUnusable),  # data_corrupted
    ],
)
def test_only_a_full_disk_is_called_full(state: str, meaning: type[DatabaseError]) -> None:
    assert type(postgresql.fault(psycopg.errors.lookup(state)("x"))) is meaning
