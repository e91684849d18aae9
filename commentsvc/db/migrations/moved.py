"""The mark of a database whose comments are stored elsewhere now: no server may serve it again.

Otherwise a server that starts by itself, such as at the next reader's connection to systemd's
socket, would accept comments that nobody looks for. The mark is a row in the table of migration
steps, so that also an older version refuses the database: it knows no such step.
"""

# ruff: noqa: S608 - put together from constants only

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from commentsvc.db.engine import Location, describe, load_postgresql
from commentsvc.db.errors import DatabaseUnusable
from commentsvc.db.migrations.steps import HISTORY
from commentsvc.db.sqlite import connection as sqlite

PREFIX: Final = "moved: "
COPIED: Final = "copied to "
RESTORED: Final = "replaced by a backup"
PATIENCE: Final = 5.0  # seconds to wait for another program's lock
_MARK: Final = f"INSERT INTO {HISTORY} (name, applied) VALUES (?, CURRENT_TIMESTAMP)"
UNMARK: Final = f"DELETE FROM {HISTORY} WHERE name LIKE '{PREFIX}%'"


def refuse(location: Location, applied: Iterable[str]) -> None:
    """Raise DatabaseUnusable if the names of applied steps contain a mark."""
    for name in applied:
        if not name.startswith(PREFIX):
            continue
        how, shown = name.removeprefix(PREFIX), describe(location)
        if how.startswith(COPIED):
            raise DatabaseUnusable(
                f"{shown} was {how}, where the comments are stored now: set database.url to that"
                " (without it, the file in the data folder is used). To use the former one again,"
                f" without what was written since: commentsvc copy --undo --from {shown}"
            )
        raise DatabaseUnusable(
            f"{shown} was {how}. To use it again: commentsvc restore --data DIR {shown}"
        )


def mark(location: Location, how: str) -> None:
    """Note `how` the database was moved: COPIED and where to, or RESTORED. Raise DatabaseError."""
    _change(location, lambda run: run(_MARK, (PREFIX + how,)))


def unmark(location: Location) -> None:
    """Let the database be served again. Raise DatabaseError."""
    _change(location, lambda run: run(UNMARK, ()))


def _change(location: Location, work: Callable[[Callable[..., Any]], Any]) -> None:
    if isinstance(location, Path):
        try:
            with closing(sqlite.connect(location, PATIENCE, "synchronous=FULL")) as file:
                work(file.execute)
        except sqlite3.Error as error:
            raise sqlite.fault(error) or DatabaseUnusable(f"{location}: {error}") from error
        return
    load_postgresql()
    from commentsvc.db.postgresql.connection import PostgresqlConnection

    with closing(PostgresqlConnection(location)) as connection:
        work(connection.execute)
