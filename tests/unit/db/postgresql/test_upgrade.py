"""The schema that the migrations make in PostgreSQL, and databases that must not be touched."""

import hashlib
from collections.abc import Callable, Iterator

import psycopg
import pytest

from commentsvc.db.errors import DatabaseBusy, DatabaseUnusable
from commentsvc.db.migrations import steps, upgrade
from commentsvc.db.postgresql import schema as schema
from commentsvc.db.postgresql import upgrade as postgresql_upgrade
from commentsvc.db.schema.tables import TABLES
from tests.postgresql_server import Server
from tests.unit.database_fixture import BEFORE_KEYS, KEYED
from tests.unit.settable_clock import SettableClock

# As in test_upgrade.py: a hash of the schema that each migration made when it was released.
RELEASED = {
    "0001_initial": "ba42bc843fe8ed61",
    "0002_verified_address": "8c0df0da6e0971e3",
    "0003_answers_by_mail": "4d155ee3d0b3f5c2",
    "0004_uploaders": "3f0ae26d45dc8022",
    "0005_email_keys": "3944849448baeb12",
    "0006_one_row_for_a_mailbox": "e304c668ef38de6d",
    "0007_report_reasons": "9307eae8822bdb76",
    "0008_one_reader_for_a_mailbox": "ea01f1b224a3e297",
    "0009_unlisted_pages": "5df3be475f91f080",
    "0010_languages": "a0cadaf87014309d",
    "0011_private_notes": "1d9d21eb5bf927d5",
    "0012_mailed_comments": "9039ede00be2d814",
    "0013_trust_in_authors": "8639e77c155de52c",
    "0014_internal_notes": "42ecac07da1aea82",
    "0015_saved_replies": "b26e33c6e967de57",
    "0016_corrected_languages": "38920b199347587d",
    "0017_notices": "2568f082ad64ba0e",
    "0018_setting_changes": "4a3dc455cf5b8bc9",
    "0019_statements_of_reasons": "828b6254a0de112f",
    "0020_decision_counts": "514c407545d1bca5",
    "0021_blog_sessions": "27e1101900bf295c",
    "0022_comment_reactions": "4613198b2852cb98",
}

Make = Callable[[str], str]


@pytest.fixture
def make(postgresql_server: Server) -> Iterator[Make]:
    """Make a database for a test and run the SQL in it; return its URL."""
    server = postgresql_server

    def make(sql: str) -> str:
        server.run("CREATE DATABASE looked_at TEMPLATE template0")
        with psycopg.connect(server.url("looked_at"), autocommit=True) as connection:
            connection.execute(sql)
        return server.url("looked_at")

    yield make
    server.run("DROP DATABASE IF EXISTS looked_at WITH (FORCE)")


def columns(url: str) -> set[tuple[str, str, str, str]]:
    """Return all columns: table, name, type, and whether it may be null."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT table_name, column_name, data_type, is_nullable"
            " FROM information_schema.columns WHERE table_schema = 'commentsvc'"
        )
        return set(found.fetchall())


def test_the_steps_of_both_engines_have_the_same_names() -> None:
    assert [*postgresql_upgrade.STEPS] == [*upgrade.STEPS]


def test_no_released_step_was_edited() -> None:
    made = {
        name: hashlib.sha256("\n".join(step()).encode()).hexdigest()[:16]
        for name, step in postgresql_upgrade.STEPS.items()
    }
    assert made == RELEASED


def test_all_steps_together_give_the_tables_of_the_models(make: Make) -> None:
    types = {"INT": "bigint", "AUTO": "bigint", "TEXT": "text", "BLOB": "bytea"}
    url = make("SELECT 1")
    postgresql_upgrade.upgrade(url)
    postgresql_upgrade.upgrade(url)
    wanted = {
        (table._meta.table_name, field.column_name, types[kind], "YES" if field.null else "NO")
        for table in TABLES
        for field in table._meta.sorted_fields
        for kind in [getattr(field, "rel_field", field).field_type]
    }
    others = ("search", steps.HISTORY)
    assert {each for each in columns(url) if each[0] not in others} == wanted
    assert postgresql_upgrade.is_current(url)


def test_a_database_of_the_first_step_gets_what_the_others_make(make: Make) -> None:
    url = make("SELECT 1")
    postgresql_upgrade.upgrade(url)
    wanted = columns(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = commentsvc")
        for name in ("verified_email", "may_link", "asked_email", "asked_at"):
            connection.execute(f"ALTER TABLE moderator DROP COLUMN {name}")
        connection.execute(
            "INSERT INTO moderator (name, password_hash, created_at, email)"
            " VALUES ('ann', 'hash', 1, 'ann@blog.example')"
        )
        for name in ("reason", "explanation"):
            connection.execute(f"ALTER TABLE report DROP COLUMN {name}")
        connection.execute("ALTER TABLE outbox DROP COLUMN note_id")
        connection.execute("DROP TABLE unlisted_page, note")
        for table, column in (
            *(("thread", "lang"), ("thread", "ask_at"), ("comment", "lang")),
            *(("comment", "reactions"), ("vote", "emoji")),
        ):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        of_these = "LIKE ANY (ARRAY['0002%', '0007%', '0009%', '0010%', '0011%', '0022%'])"
        connection.execute(f"DELETE FROM {steps.HISTORY} WHERE name {of_these}")
    assert not postgresql_upgrade.is_current(url)
    postgresql_upgrade.upgrade(url)
    assert columns(url) == wanted
    with psycopg.connect(url) as connection:
        asked = "SELECT email, verified_email, may_link FROM commentsvc.moderator"
        assert connection.execute(asked).fetchall() == [("ann@blog.example", "", 0)]


def test_spellings_of_an_address_become_one_row(make: Make) -> None:
    url = make("SELECT 1")
    postgresql_upgrade.upgrade(url)
    wanted = columns(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = commentsvc")
        connection.execute("DROP TRIGGER comment_reworded ON comment")
        for sql in BEFORE_KEYS:
            connection.execute(sql)
        connection.execute(
            "CREATE TRIGGER comment_reworded AFTER UPDATE OF email ON comment"
            " FOR EACH ROW EXECUTE FUNCTION comment_reworded()"
        )
        connection.execute("UPDATE search_state SET indexed_until = 2")
        connection.execute(f"DELETE FROM {steps.HISTORY} WHERE name > '0004_uploaders'")
    postgresql_upgrade.upgrade(url)
    assert columns(url) == wanted
    with psycopg.connect(url) as connection:
        connection.execute("SET search_path = commentsvc")
        assert {sql: connection.execute(sql).fetchall() for sql in KEYED} == KEYED
        key = b"zoe@xn--bcher-kva.example".hex()
        found = "SELECT rowid FROM search WHERE words @@ to_tsquery('simple', %s) ORDER BY 1"
        assert connection.execute(found, (key,)).fetchall() == [(1,), (2,)]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("CREATE TABLE photos (x int)", r"belongs to another program .*public\.photos"),
        (
            "CREATE SCHEMA commentsvc; CREATE TABLE commentsvc.schema_migration (name text);"
            " INSERT INTO commentsvc.schema_migration VALUES ('0999_future')",
            "written by a newer commentsvc .*0999_future.*install that version",
        ),
        (
            "CREATE SCHEMA commentsvc; CREATE TABLE commentsvc.schema_migration (version int)",
            r"belongs to another program .*commentsvc\.schema_migration",
        ),
    ],
)
def test_a_database_that_is_not_ours_is_left_alone(make: Make, sql: str, reason: str) -> None:
    url = make(sql)
    before = columns(url)
    with pytest.raises(DatabaseUnusable, match=reason) as info:
        postgresql_upgrade.upgrade(url)
    assert "\n" not in str(info.value)
    assert columns(url) == before


def test_a_user_without_rights_is_told_what_to_do(postgresql_server: Server, make: Make) -> None:
    url = make("CREATE ROLE guest LOGIN")
    asked = postgresql_server.url("looked_at", user="guest")
    try:
        with pytest.raises(DatabaseUnusable, match=r"guest may make no tables .*OWNER TO"):
            postgresql_upgrade.upgrade(asked)
        postgresql_upgrade.upgrade(url)
        with pytest.raises(DatabaseUnusable, match="guest may not read and write"):
            postgresql_upgrade.upgrade(asked)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("GRANT USAGE ON SCHEMA commentsvc TO guest")
            connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA commentsvc TO guest")
            with pytest.raises(DatabaseUnusable, match=r"guest may not read and write .*_id_seq"):
                postgresql_upgrade.upgrade(asked)
            connection.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA commentsvc TO guest")
            postgresql_upgrade.upgrade(asked)
    finally:
        postgresql_server.run("DROP DATABASE looked_at WITH (FORCE)")
        postgresql_server.run("DROP ROLE guest")


def test_a_database_without_a_table_is_told(make: Make) -> None:
    url = make("SELECT 1")
    postgresql_upgrade.upgrade(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE commentsvc.report")
    for ask in (postgresql_upgrade.upgrade, postgresql_upgrade.is_current):
        with pytest.raises(DatabaseUnusable, match="the table report is missing: restore a backup"):
            ask(url)


def test_a_database_of_another_encoding_is_refused(postgresql_server: Server) -> None:
    server = postgresql_server
    server.run("CREATE DATABASE old_letters ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(DatabaseUnusable, match="encoding LATIN1"):
            postgresql_upgrade.upgrade(server.url("old_letters"))
    finally:
        server.run("DROP DATABASE old_letters")


def test_what_is_unsafe_or_too_narrow_is_told(
    postgresql_server: Server, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_upgrade, "SYSTEM_CLOCK", SettableClock(0))
    monkeypatch.setattr(
        postgresql_upgrade, "_LATE", "SELECT 'second', %s WHERE current_user = 'postgres'"
    )
    monkeypatch.setattr(
        postgresql_upgrade,
        "_SETTINGS",
        postgresql_upgrade._SETTINGS.replace("synchronous_standby_names') <> ''", "port') <> ''"),
    )
    url = make(
        "CREATE ROLE stranger LOGIN; ALTER DATABASE looked_at CONNECTION LIMIT 6;"
        " ALTER DATABASE looked_at SET synchronous_commit = local"
    )
    state = postgresql_upgrade.examine(url)
    postgresql_server.run("REVOKE CONNECT ON DATABASE looked_at FROM PUBLIC")
    revoked = postgresql_upgrade.examine(url)
    postgresql_server.run("DROP ROLE stranger")
    assert state.version[0].isdigit()
    problems = "; ".join(state.problems)
    assert "fsync is off: a power cut" in problems
    assert "6 connections are free, and a service takes 10" in problems
    assert "synchronous_commit is local: a standby may lack" in problems
    assert "the standby second is 60 seconds behind" in problems
    assert "its clock differs by" in problems
    assert "stranger), and could disturb the service: run REVOKE CONNECT ON DATABASE" in problems
    assert "REVOKE" not in "; ".join(revoked.problems)
    with pytest.raises(DatabaseUnusable, match="does not exist"):
        postgresql_upgrade.examine(postgresql_server.url("nowhere"))


def test_an_older_server_is_refused(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commentsvc.db.postgresql.connection.OLDEST", 99)
    with pytest.raises(DatabaseUnusable, match=r"PostgreSQL \d+.* is too old: 99 or newer"):
        postgresql_upgrade.upgrade(make("SELECT 1"))


def test_only_one_program_upgrades_the_database(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from commentsvc.db.postgresql import connection as postgresql

    url = make("SELECT 1")
    monkeypatch.setattr(postgresql, "PATIENCE", 1)
    with postgresql.dial(url) as other, other.transaction():
        postgresql.take_lock(other)
        with pytest.raises(DatabaseBusy, match=r"in use by another commentsvc \(its connection"):
            postgresql_upgrade.upgrade(url)
    assert not columns(url)
