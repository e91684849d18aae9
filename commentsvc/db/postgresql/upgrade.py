"""Bring a PostgreSQL database to the schema of this program, as `upgrade` does a file.

Before anything is written, the server and the database are checked: version, encoding, rights,
and whether the database is ours and not newer. All missing steps are one transaction.
"""

# ruff: noqa: S608 - put together from constants only

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg

from commentsvc.db.errors import DatabaseUnusable
from commentsvc.db.migrations import moved, steps
from commentsvc.db.migrations.steps import HISTORY
from commentsvc.db.postgresql import connection as postgresql
from commentsvc.db.postgresql import schema as schema
from commentsvc.db.schema.tables import TABLES
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.origin import address_key

VERIFIED_ADDRESS: Final = (
    'ALTER TABLE moderator ADD COLUMN IF NOT EXISTS verified_email TEXT COLLATE "C" NOT NULL'
    " DEFAULT ''",
    "ALTER TABLE moderator ADD COLUMN IF NOT EXISTS may_link BIGINT NOT NULL DEFAULT 0",
    'ALTER TABLE moderator ADD COLUMN IF NOT EXISTS asked_email TEXT COLLATE "C" NOT NULL'
    " DEFAULT ''",
    "ALTER TABLE moderator ADD COLUMN IF NOT EXISTS asked_at BIGINT NOT NULL DEFAULT 0",
)
ANSWERS_BY_MAIL: Final = (
    'ALTER TABLE received_mail ADD COLUMN IF NOT EXISTS doubt TEXT COLLATE "C" NOT NULL'
    " DEFAULT '' CHECK (doubt = '' OR doubt = 'quoting' OR doubt = 'uncertain'"
    " OR doubt = 'unreadable')",
    'CREATE TABLE IF NOT EXISTS mailbox (place TEXT COLLATE "C" NOT NULL PRIMARY KEY,'
    " validity BIGINT NOT NULL, uid BIGINT NOT NULL, read_at BIGINT NOT NULL)",
)
UPLOADERS: Final = (
    "ALTER TABLE image ADD COLUMN IF NOT EXISTS network BYTEA",
    "CREATE INDEX IF NOT EXISTS image_by_network ON image (created_at, network)"
    " WHERE network IS NOT NULL",
)
EMAIL_KEYS: Final = (
    *(
        f'ALTER TABLE {each} ADD COLUMN IF NOT EXISTS email_key TEXT COLLATE "C" NOT NULL'
        " DEFAULT ''"
        for each in steps.ADDRESSED
    ),
    "DROP TRIGGER comment_reworded ON comment",
    "DROP FUNCTION comment_reworded()",
    *schema.REWORDED,
)
REPORT_REASONS: Final = (
    "ALTER TABLE report ADD COLUMN IF NOT EXISTS reason TEXT COLLATE \"C\" NOT NULL DEFAULT ''"
    " CHECK (reason = '' OR reason = 'illegal' OR reason = 'abuse' OR reason = 'spam'"
    " OR reason = 'other')",
    'ALTER TABLE report ADD COLUMN IF NOT EXISTS explanation TEXT COLLATE "C" NOT NULL'
    " DEFAULT ''",
)
FORMER_IDS: Final = (
    'CREATE TABLE IF NOT EXISTS former_id (kind TEXT COLLATE "C" NOT NULL, former BIGINT NOT NULL,'
    " kept BIGINT NOT NULL, PRIMARY KEY (kind, former))"
)


def _in_its_types(statement: str) -> str:
    """Return a statement that is written for SQLite with the types of PostgreSQL."""
    types = {
        "INTEGER": "BIGINT",
        "TEXT": 'TEXT COLLATE "C"',
        "STRICT": "",
        "ADD COLUMN": "ADD COLUMN IF NOT EXISTS",
    }
    return re.sub(rf"\b({'|'.join(types)})\b", lambda found: types[found[1]], statement)


# As `upgrade.STEPS`, with the statements of each. The first is made from the models until it is
# released; a test holds what it makes. So the others find their columns in a new database.
STEPS: Final[dict[str, Callable[[], Iterable[str]]]] = {
    "0001_initial": schema.creation,
    "0002_verified_address": lambda: VERIFIED_ADDRESS,
    "0003_answers_by_mail": lambda: ANSWERS_BY_MAIL,
    "0004_uploaders": lambda: UPLOADERS,
    "0005_email_keys": lambda: EMAIL_KEYS,
    "0006_one_row_for_a_mailbox": lambda: (FORMER_IDS, *steps.ONE_ROW_FOR_A_MAILBOX),
    "0007_report_reasons": lambda: REPORT_REASONS,
    "0008_one_reader_for_a_mailbox": lambda: (FORMER_IDS, *steps.ONE_READER_FOR_A_MAILBOX),
    "0009_unlisted_pages": lambda: map(_in_its_types, steps.UNLISTED_PAGES),
    "0010_languages": lambda: map(_in_its_types, steps.LANGUAGES),
}

_FACTS: Final = (
    "SELECT current_setting('server_version_num')::int, current_setting('server_version'),"
    " current_database(), current_user, current_setting('server_encoding'), pg_is_in_recovery(),"
    " has_database_privilege(current_database(), 'CREATE'),"
    " EXISTS (SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu'),"
    f" to_regclass('{schema.SCHEMA}.{HISTORY}') IS NOT NULL"
)
# Tables that are not ours, except those of extensions.
_FOREIGN: Final = (
    "SELECT n.nspname || '.' || c.relname FROM pg_class AS c"
    " JOIN pg_namespace AS n ON n.oid = c.relnamespace"
    " WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname <> 'information_schema'"
    " AND n.nspname NOT LIKE 'pg\\_%' AND NOT EXISTS (SELECT 1 FROM pg_depend AS d"
    " WHERE d.objid = c.oid AND d.deptype = 'e') ORDER BY 1 LIMIT 1"
)
# Tables and sequences that may not be read and written. DELETE is for tables alone.
_FORBIDDEN: Final = (
    "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = to_regnamespace(%s)"
    " AND (c.relkind = 'r' AND NOT (has_table_privilege(c.oid, 'SELECT')"
    " AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')"
    " AND has_table_privilege(c.oid, 'DELETE'))"
    " OR c.relkind = 'S' AND NOT (has_sequence_privilege(c.oid, 'SELECT')"
    " AND has_sequence_privilege(c.oid, 'UPDATE'))) ORDER BY 1 LIMIT 1"
)
_MISSING: Final = (
    "SELECT name FROM unnest(%s::text[]) AS wanted (name)"
    f" WHERE to_regclass('{schema.SCHEMA}.' || name) IS NULL ORDER BY 1 LIMIT 1"
)

_SETTINGS: Final = (
    "SELECT current_setting('server_version'), current_setting('fsync'),"
    " current_setting('full_page_writes'),"
    " current_setting('max_connections')::int"
    " - current_setting('superuser_reserved_connections')::int"
    " - (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend'"
    " AND application_name <> 'commentsvc'),"
    " least(CASE WHEN r.rolconnlimit < 0 THEN 1000 ELSE r.rolconnlimit END,"
    " CASE WHEN d.datconnlimit < 0 THEN 1000 ELSE d.datconnlimit END),"
    " current_setting('synchronous_commit'), current_setting('synchronous_standby_names') <> '',"
    " (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    " FROM pg_roles AS r, pg_database AS d"
    " WHERE r.rolname = current_user AND d.datname = current_database()"
)


Connection: TypeAlias = psycopg.Connection[Any] | postgresql.PostgresqlConnection
# Standbys that are far behind; only some users may see how far.
_LATE: Final = (
    "SELECT application_name, extract(epoch FROM replay_lag)::int FROM pg_stat_replication"
    " WHERE replay_lag > make_interval(secs => %s) ORDER BY 1"
)
# Other users who may connect, except superusers. Each of them can send notifications, and take the
# locks of the instances.
_STRANGERS: Final = (
    "SELECT rolname FROM pg_roles WHERE rolcanlogin AND NOT rolsuper"
    " AND NOT pg_has_role(oid, current_user, 'MEMBER')"
    " AND has_database_privilege(oid, current_database(), 'CONNECT') ORDER BY 1 LIMIT 3"
)
_NAMES: Final = [table._meta.table_name for table in TABLES]
LATE: Final = 60  # seconds that a standby may be behind
DIFFERENCE_MS: Final = 5_000  # between two clocks


def upgrade(url: str) -> None:
    """Make the tables, or bring them up to date; quick where they are. Raises DatabaseError."""
    with _opened(url) as connection:
        if _is_complete(connection):
            return
        try:
            _run(connection)
        except psycopg.Error as error:
            connection.rollback()
            text = " ".join(str(error).split())
            raise postgresql.fault(error) or DatabaseUnusable(
                f"the database cannot be upgraded ({text})"
            ) from error


def is_current(url: str) -> bool:
    """Return whether there is nothing to upgrade. Raises DatabaseError as `upgrade` does."""
    with _opened(url, read_only=True) as connection:
        return _is_complete(connection)


@contextmanager
def _opened(url: str, *, read_only: bool = False) -> Iterator[psycopg.Connection[Any]]:
    """Connect during the block. Raises DatabaseError, also behind a pool that cannot be used."""
    with closing(postgresql.dial(url, read_only=read_only)) as connection:
        postgresql.refuse_transaction_pool(url, connection)
        yield connection


class ServerState(NamedTuple):
    """What a server is, and what is wrong with it: a line each."""

    version: str
    problems: list[str]


def examine(url: str) -> ServerState:
    """Look at a server and the database for faults of their settings. Raises DatabaseError."""
    with _opened(url, read_only=True) as connection:
        missing(connection)
        row = connection.execute(_SETTINGS).fetchone()
        assert row is not None, "it asks for one row"
        version, fsync, pages, free, limit, commit, has_standby, clock_ms = row
        difference = abs(clock_ms - SYSTEM_CLOCK.now_ms())
        late = connection.execute(_LATE, (LATE,)).fetchall()
        stranger = _strangers(connection)
    problems = [
        f"{name} is off: a power cut can destroy the database. Set it to on"
        for name, value in (("fsync", fsync), ("full_page_writes", pages))
        if value == "off"
    ]
    if min(free, limit) < postgresql.CONNECTIONS:
        problems.append(
            f"{min(free, limit)} connections are free, and a service takes"
            f" {postgresql.CONNECTIONS}: raise max_connections, or the limit of user or database"
        )
    if has_standby and commit in ("local", "remote_write"):
        problems.append(f"synchronous_commit is {commit}: a standby may lack what was acknowledged")
    problems += [f"the standby {name} is {seconds} seconds behind" for name, seconds in late]
    if stranger:
        problems.append(stranger)
    if difference > DIFFERENCE_MS:
        problems.append(
            f"its clock differs by {difference // 1_000} seconds: synchronize the clocks of both"
            " machines"
        )
    return ServerState(version, problems)


def strangers(url: str) -> str:
    """Return that other users may connect, and what to do; "" if none may. Raises DatabaseError."""
    with closing(postgresql.dial(url, read_only=True)) as connection:
        return _strangers(connection)


def _strangers(connection: psycopg.Connection[Any]) -> str:
    names = [name for (name,) in connection.execute(_STRANGERS)]
    if not names:
        return ""
    return (
        f"other users may connect to the database ({', '.join(names)}), and could disturb"
        f' the service: run REVOKE CONNECT ON DATABASE "{connection.info.dbname}" FROM PUBLIC'
    )


def missing(connection: Connection, *, may_be_moved: bool = False) -> list[str]:
    """Return the steps that are missing. Raises DatabaseUnusable where it must be left alone.

    With `may_be_moved`, the mark of `moved` is ignored.
    """
    try:
        row = connection.execute(_FACTS).fetchone()
    except psycopg.errors.InsufficientPrivilege as error:
        user = connection.info.user
        raise DatabaseUnusable(_no_rights(user, f"{schema.SCHEMA}.{HISTORY}")) from error
    assert row is not None, "it asks for one row"
    number, version, database, user, encoding, is_standby, may_create, has_icu, is_ours = row
    if number // 10_000 < postgresql.OLDEST:
        raise DatabaseUnusable(
            f"PostgreSQL {version} is too old: {postgresql.OLDEST} or newer is needed"
        )
    if encoding != "UTF8":
        raise DatabaseUnusable(
            f"the database {database} has the encoding {encoding}: make one with UTF8"
        )
    if is_standby:
        raise DatabaseUnusable(
            "this PostgreSQL is a standby, which cannot be written: name the primary"
        )
    if not has_icu:
        raise DatabaseUnusable(
            "this PostgreSQL knows no ICU collations, which the search needs: install a build that"
            " does, as Debian's, and make a new database"
        )
    if not is_ours:
        _look_at_new(connection, database, user, may_create)
        return [*STEPS]
    applied = _applied(connection, database, user)
    if not may_be_moved:
        moved.refuse(_location(connection), applied)
    applied = {name for name in applied if not name.startswith(moved.PREFIX)}
    if newer := sorted(applied - set(STEPS)):
        raise DatabaseUnusable(
            f"the database {database} was written by a newer commentsvc (it knows {newer[-1]}):"
            " install that version, or restore a backup"
        )
    if table := connection.execute(_FORBIDDEN, (schema.SCHEMA,)).fetchone():
        raise DatabaseUnusable(_no_rights(user, table[0]))
    return [name for name in STEPS if name not in applied]


def _applied(connection: Connection, database: str, user: str) -> set[str]:
    """Return the names of the steps that were applied, and of a mark. Raise DatabaseUnusable."""
    try:
        return {name for (name,) in connection.execute(f"SELECT name FROM {HISTORY}")}
    except psycopg.errors.UndefinedColumn as error:
        raise DatabaseUnusable(_of_another(database, f"{schema.SCHEMA}.{HISTORY}", user)) from error


def _location(connection: Connection) -> str:
    """Return the URL of the database, without its password."""
    info = connection.info
    return f"postgresql://{info.user}@/{info.dbname}?host={info.host}&port={info.port}"


def _is_complete(connection: Connection) -> bool:
    """Return whether no step is missing. Raises DatabaseUnusable as `missing`, or without a table.

    Only `restore` goes on without one.
    """
    if missing(connection):
        return False
    if table := connection.execute(_MISSING, (_NAMES,)).fetchone():
        raise DatabaseUnusable(f"the table {table[0]} is missing: restore a backup")
    return True


def _look_at_new(connection: Connection, database: str, user: str, may_create: bool) -> None:
    foreign = connection.execute(_FOREIGN).fetchone()
    if foreign:
        raise DatabaseUnusable(_of_another(database, foreign[0], user))
    if not may_create:
        raise DatabaseUnusable(
            f"the user {user} may make no tables in the database {database}:"
            f' run ALTER DATABASE "{database}" OWNER TO "{user}"'
        )


def _of_another(database: str, table: str, user: str) -> str:
    return (
        f"the database {database} belongs to another program (it has the table {table}): make one"
        f" for commentsvc alone: createdb --owner={user} commentsvc"
    )


def _no_rights(user: str, table: str) -> str:
    return (
        f"the user {user} may not read and write {table}: connect as the user that made"
        " it, or grant the rights"
    )


def _run(connection: psycopg.Connection[Any]) -> None:
    """Run the missing steps, unless another program makes them just now."""
    connection.execute("BEGIN")
    postgresql.take_lock(connection)
    apply(connection)
    connection.execute("COMMIT")


def apply(connection: Connection) -> None:
    """Run the missing steps in the transaction that is open. Raises psycopg.Error and as above."""
    names = missing(connection)
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema.SCHEMA}")
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {HISTORY}"
        " (name TEXT PRIMARY KEY, applied TIMESTAMPTZ NOT NULL)"
    )
    for name in names:
        for sql in STEPS[name]():
            connection.execute(sql)
        if name == "0005_email_keys":
            _add_keys(connection)
        connection.execute(f"INSERT INTO {HISTORY} VALUES (%s, now())", (name,))


def _add_keys(connection: Connection) -> None:
    """Set the `email_key` of all rows that have an address."""
    for table in steps.ADDRESSED:
        rows = connection.execute(f"SELECT DISTINCT email FROM {table} WHERE email <> ''")
        typed = [email for (email,) in rows.fetchall()]
        connection.execute(
            f"UPDATE {table} SET email_key = k.email_key"
            " FROM unnest(%s::text[], %s::text[]) AS k (email, email_key)"
            f" WHERE {table}.email = k.email",
            (typed, [address_key(each) for each in typed]),
        )
