"""Whether PostgreSQL understands every query that the unit tests run with SQLite.

Queries are written once, with the models, for both engines. So what tests run is noted, and at the
end PostgreSQL plans each of them, in a database with the tables that the models say. It runs by
itself for a moment (single-user mode), in a temporary folder, without a server or a socket.

What is SQL for one engine alone is not looked at: the hot statements, and the search index.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import peewee
import pytest

from commentsvc.db import query, sqlite
from commentsvc.db.query import Prepared, Query
from commentsvc.db.schema import comments, imports, moderation, outbox, search
from tests.conftest import cannot_run

TABLES: Final = [
    table for part in (comments, imports, moderation, outbox, search) for table in part.TABLES
]
# Integers are of 64 bits, as SQLite's; texts sort and lose their capitals as SQLite's do.
ENGINE: Final = peewee.PostgresqlDatabase(
    None, field_types={"INT": "BIGINT", "AUTO": "BIGSERIAL", "TEXT": 'TEXT COLLATE "C"'}
)
TYPES: Final = {
    float: "double precision",
    str: "text",
    bytes: "bytea",
    memoryview: "bytea",
    type(None): "unknown",
}
PROGRAMS: Final = Path("/usr/lib/postgresql")  # by version; Debian has them in no PATH
USER: Final = "postgres"  # of Debian's package; PostgreSQL refuses to run as root

Noted = dict[str, tuple[Query, Sequence[object]]]  # by SQL for SQLite: the query and its values


@contextmanager
def noted() -> Iterator[Noted]:
    """Note all queries that are run meanwhile."""
    found: Noted = {}
    plain, of_prepared = query.bound, Prepared.bound

    def bound(each: Query, values: Sequence[object]) -> tuple[str, Sequence[object]]:
        made = plain(each, values)
        found.setdefault(made[0], (each, values))
        return made

    def bound_prepared(self: Prepared, values: Sequence[object]) -> tuple[str, Sequence[object]]:
        found.setdefault(self.sql, (self, values))
        return of_prepared(self, values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "bound", bound)
        patch.setattr(query.Prepared, "bound", bound_prepared)
        yield found


def faults(found: Noted) -> str:
    """Return what PostgreSQL has to say against queries; "" if nothing."""
    looked_at = [each for sql, each in found.items() if " MATCH " not in sql]
    statements = [*_schema(), *(_preparation(*each) for each in looked_at)]
    said = _run(";\n\n".join([*statements, ""]))
    return "\n".join(line for line in said.splitlines() if re.search("ERROR|STATEMENT|FATAL", line))


def _schema() -> Iterator[str]:
    for table in TABLES:
        schema: Any = peewee.SchemaManager(table, ENGINE)  # Any: peewee's stubs do not know it
        made = schema._create_table(safe=False).query()[0]
        yield made.replace(" AUTOINCREMENT", "").removesuffix(" STRICT")
        yield from (index.query()[0] for index in schema._create_indexes(safe=False))


def _preparation(each: Query, values: Sequence[object]) -> str:
    """Return the statement by which PostgreSQL plans a query, with its values' types."""
    if isinstance(each, Prepared):
        sql, places = each.made_for(ENGINE)
        bound = [values[place] for place in places]
    else:
        context: Any = ENGINE.get_sql_context()  # Any: as above
        sql, bound = context.sql(each).query()
    numbers = count(1)
    sql = re.sub("%s", lambda _: f"${next(numbers)}", sql)
    types = ", ".join(map(_type, bound))
    return f"PREPARE q{id(each)}{f' ({types})' if types else ''} AS {sql}"


def _type(value: object) -> str:
    """Return the type that a driver gives a value: the smallest that holds an integer."""
    if isinstance(value, int):
        return "integer" if abs(value) < 1 << 31 else "bigint"
    return TYPES[type(value)]


def _run(script: str) -> str:
    """Run SQL in a new database; return what PostgreSQL said."""
    versions = sorted(PROGRAMS.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if not versions:
        cannot_run("not installed: postgresql")
    programs = versions[-1].parent
    with tempfile.TemporaryDirectory() as folder:
        other: dict[str, Any] = {}  # Any: parameters of subprocess.run
        if os.geteuid() == 0:
            shutil.chown(folder, USER, USER)
            other = {"user": USER, "group": USER, "extra_groups": []}
        data = Path(folder, "data")
        made = [str(programs / "initdb"), "--no-sync", "--encoding=UTF8", "--no-locale", str(data)]
        subprocess.run(made, check=True, cwd=folder, capture_output=True, **other)
        single = [str(programs / "postgres"), "--single", "-j", "-F", "-D", str(data), "postgres"]
        done: subprocess.CompletedProcess[str] = subprocess.run(
            single, input=script, cwd=folder, capture_output=True, text=True, **other
        )
        return done.stderr
