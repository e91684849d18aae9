"""Backups of PostgreSQL, made by pg_dump and read by pg_restore.

pg_dump reads the state that one of our transactions sees, so the rows of the file can be counted
against it: the file is read again as a whole before it gets its name. It is an ordinary archive
(format "custom"), which `pg_restore` can restore, too.

`restore` has pg_restore write the archive as SQL and runs that on a connection of ours. So all is
one transaction: the previous tables move to another schema, the new ones are made, brought up to
date and checked, and a failure or the end of this process leaves everything as it was.

The password is given to pg_dump in its environment, which other users cannot read.
"""

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, Final

import peewee
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from commentsvc import outbox
from commentsvc.backup import integrity
from commentsvc.backup.result import (
    ARCHIVE,
    HELD,
    BackupError,
    RestoreResult,
    begins_with,
    no_backup,
)
from commentsvc.db.errors import DatabaseUnusable
from commentsvc.db.migrations import moved
from commentsvc.db.migrations.steps import HISTORY
from commentsvc.db.migrations.upgrade import MAGIC
from commentsvc.db.postgresql import connection as postgresql
from commentsvc.db.postgresql import upgrade as postgresql_upgrade
from commentsvc.db.postgresql.connection import PostgresqlConnection, PostgresqlTransaction
from commentsvc.db.postgresql.schema import ANALYZE, SCHEMA
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.tables import TABLES
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.error_texts import error_text

# Seconds between two checks whether to go on.
ROUND: Final = 0.2
# The share of the work that is done when pg_dump has ended.
DUMPED: Final = 0.7
# Lines between two reports of the progress.
PIECE: Final = 10_000
# What must not be on a command line, which all users of the machine can see.
_SECRETS: Final = ("password", "sslpassword")
_NAMES: Final = {table._meta.table_name for table in TABLES}
_COPY: Final = re.compile(rb'COPY (?:\w+\.)?"?(\w+)"? \(.*\) FROM stdin;\n')
# Of pg_restore's script: commands of psql, and settings of the session, which are ours.
_LEFT_OUT: Final = re.compile(rb"\\|SET \w+ = |SELECT pg_catalog\.set_config\(")
_END: Final = b"\\.\n"

Statement = tuple[bytes, Iterator[bytes]]


def dump(
    url: str, part: Path, unwanted: Callable[[], bool], on_progress: Callable[[float], None]
) -> None:
    """Write an archive of all tables to `part`, and count its rows. Raise BackupError as `backup`.

    Raise DatabaseError, too.
    """
    with contextlib.closing(postgresql.dial(url, read_only=True)) as connection:
        if postgresql_upgrade.missing(connection):
            raise DatabaseUnusable("the database has no tables of this version yet")
        program = _program("pg_dump", connection.info.server_version // 10_000)
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            [(snapshot,)] = connection.execute("SELECT pg_export_snapshot()").fetchall()
            counts = {
                name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()[0][0]  # noqa: S608 - our names
                for name in sorted(_NAMES)
            }
            _run_dump([program, f"--snapshot={snapshot}", f"--file={part}"], url, unwanted)
        except psycopg.Error as error:
            text = error_text(error)
            raise postgresql.fault(error) or BackupError(f"no backup was made ({text})") from error
    on_progress(DUMPED)
    _compare(part, counts, unwanted, lambda share: on_progress(DUMPED + (1 - DUMPED) * share))


def _program(name: str, server: int) -> str:
    """Return the path of a program that can work for a server of that major version."""
    path = shutil.which(name)
    package = f"install the package postgresql-client-{server}"
    if path is None:
        raise BackupError(f"{name} is not installed: {package}")
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\(PostgreSQL\) (\d+)", said)
    if found is None:
        raise BackupError(f"{path} does not work: {package}")
    if int(found[1]) < server:
        raise BackupError(
            f"{path} is of PostgreSQL {found[1]}, too old for the server's {server}: {package}"
        )
    return path


def _run_dump(words: list[str], url: str, unwanted: Callable[[], bool]) -> None:
    given: dict[str, Any] = conninfo_to_dict(url)  # Any: as in psycopg
    secret = given.get("password")
    conninfo = make_conninfo(**{key: each for key, each in given.items() if key not in _SECRETS})
    words += [
        "--format=custom",
        "--encoding=UTF8",
        "--no-password",
        f"--schema={SCHEMA}",
        f"--dbname={conninfo}",
    ]
    environ = {**os.environ, "PGAPPNAME": "commentsvc backup"}
    if secret:
        environ["PGPASSWORD"] = str(secret)
    with _started(words, environ) as process:
        while process.poll() is None:
            if unwanted():
                process.terminate()
                raise BackupError("The copy was not finished, because the program is stopping.")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(ROUND)
        _raise_if_failed(process)


@contextlib.contextmanager
def _started(
    words: list[str], environ: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program during the block; it writes its errors to a file, for `_raise_if_failed`."""
    with subprocess.Popen(
        words,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def _raise_if_failed(process: subprocess.Popen[bytes]) -> None:
    """Raise BackupError with what a program said, if it failed; all of its output was read."""
    assert process.stderr is not None
    text = " ".join(process.stderr.read().decode(errors="replace").split())
    if process.wait():
        raise BackupError(f"{text[:500]}.")


def _compare(
    part: Path,
    counts: Mapping[str, int],
    unwanted: Callable[[], bool],
    on_progress: Callable[[float], None],
) -> None:
    """Read all of an archive. Raise BackupError unless its tables have that many rows."""
    total, read = sum(counts.values()) or 1, 0
    found = dict.fromkeys(counts, 0)
    with _script(part) as statements:
        for statement, rows in statements:
            copied = _COPY.fullmatch(statement)
            name = copied[1].decode() if copied else ""
            for _ in rows:
                if name in found:
                    found[name] += 1
                read += 1
                if read % PIECE == 0:
                    on_progress(min(read / total, 1))
                    if unwanted():
                        raise BackupError("The copy was not finished, because the program stops.")
    for name, number in counts.items():
        if found[name] != number:
            raise BackupError(
                f"The backup has {found[name]} rows of the table {name} instead of {number}, so it"
                " was deleted."
            )


@contextlib.contextmanager
def _script(archive: Path) -> Iterator[Iterator[Statement]]:
    """Yield the statements of an archive. Raise BackupError if it cannot be read to its end."""
    words = [_program("pg_restore", 0), "--no-owner", "--no-privileges", f"--schema={SCHEMA}"]
    with _started([*words, "--file=-", str(archive)]) as process:
        assert process.stdout is not None
        yield _statements(process.stdout)
        try:
            _raise_if_failed(process)
        except BackupError as error:
            reason = "is cut off or damaged. Copy it again, or restore another backup"
            if "unsupported version" in str(error):
                reason = "is of a newer PostgreSQL: install its package postgresql-client"
            raise BackupError(f"{archive} {reason}: {error}") from error


def _statements(lines: IO[bytes]) -> Iterator[Statement]:
    """Yield each statement, or some of them, with the rows that follow; they are read in order."""
    text: list[bytes] = []
    for line in lines:
        if _COPY.fullmatch(line):
            yield b"".join(text), iter(())
            text = []
            yield line, takewhile(_END.__ne__, lines)
        elif not _LEFT_OUT.match(line):
            text.append(line)
    yield b"".join(text), iter(())


def restore(
    url: str,
    source: Path,
    *,
    force: bool = False,
    send: bool = False,
    on_progress: Callable[[float], None] = lambda _: None,
) -> RestoreResult:
    """Replace the tables of the database at `url` by those of an archive; as `backup.restore`.

    The previous tables are kept in another schema. Raise BackupError or
    DatabaseError; then nothing is changed.
    """
    _check_archive(source)
    with contextlib.closing(PostgresqlConnection(url)) as connection:
        try:
            missing = postgresql_upgrade.missing(connection, may_be_moved=True)
            is_ours = len(missing) < len(postgresql_upgrade.STEPS)
            postgresql.refuse_others(connection, "restore")
            connection.run("BEGIN")
            postgresql.take_lock(connection)
            kept = _set_aside(connection) if is_ours else ""
            connection.run(f"CREATE SCHEMA {SCHEMA}")
            on_progress(0.1)
            _load(connection, source)
            on_progress(0.8)
            if connection.run(f"SELECT to_regclass('{SCHEMA}.{HISTORY}')").fetchone()[0] is None:
                raise BackupError(f"{source} has no tables of commentsvc, so it is no backup.")
            connection.run(moved.UNMARK)
            postgresql_upgrade.apply(connection)
            connection.run(ANALYZE)
            transaction = PostgresqlTransaction(connection, [])
            faults = integrity.check(transaction)
            if faults and not force:
                raise BackupError(
                    f"{source} is complete, but {faults[0]} ({len(faults)} such faults). Restore "
                    "another backup, or use --force to restore this one."
                )
            held = 0 if send else outbox.hold(transaction, HELD, SYSTEM_CLOCK.now_ms())
            count, newest = peewee.fn.COUNT(CommentTable.id), peewee.fn.MAX(CommentTable.created_at)
            [(comments, latest)] = transaction.query(CommentTable.select(count, newest))
            postgresql.refuse_others(connection, "restore")
            connection.run("COMMIT")
        except psycopg.Error as error:
            text = error_text(error)
            raise postgresql.fault(error) or BackupError(
                f"{source} cannot be restored ({text})"
            ) from error
    on_progress(1)
    return RestoreResult(comments, latest, None, faults, held, kept)


def _check_archive(source: Path) -> None:
    if not source.is_file():
        raise BackupError(f"{source} is not a file. Name a backup.")
    if begins_with(source, MAGIC):
        raise BackupError(f"{source} is a backup of SQLite's: `commentsvc copy` can store it here.")
    if not begins_with(source, ARCHIVE):
        raise BackupError(no_backup(source))


def _set_aside(connection: PostgresqlConnection) -> str:
    """Move the tables to a schema of another name; return that."""
    seconds, rest = divmod(SYSTEM_CLOCK.now_ms(), 1_000)  # two may follow within a second
    name = f"{SCHEMA}_{time.strftime('%Y%m%dt%H%M%S', time.gmtime(seconds))}{rest:03}z"
    connection.run(f"ALTER SCHEMA {SCHEMA} RENAME TO {name}")
    return name


def _load(connection: PostgresqlConnection, source: Path) -> None:
    """Run the script of an archive, in which all names have their schema."""
    connection.run("SET LOCAL search_path = ''; SET LOCAL check_function_bodies = off")
    with _script(source) as statements:
        for statement, rows in statements:
            if _COPY.fullmatch(statement):
                connection.load_text(statement, rows)
            elif statement.strip():
                connection.run(statement.decode())
    connection.run(f"SET LOCAL search_path = {SCHEMA}, pg_catalog")
