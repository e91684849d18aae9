"""Check that PostgreSQL accepts every query that the unit tests run with SQLite.

Queries are written once, as peewee expressions, for both engines. The queries that tests run are
collected, and at the end PostgreSQL plans each of them in a database with the tables of a new
service.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import psycopg
import pytest

from commentsvc.db import query
from commentsvc.db.postgresql.schema import ENGINE, SCHEMA
from commentsvc.db.query import Prepared, Query
from commentsvc.db.sqlite import connection as sqlite
from tests.postgresql_server import server

TYPES: Final = {
    float: "double precision",
    str: "text",
    bytes: "bytea",
    memoryview: "bytea",
    type(None): "unknown",
}

Noted = dict[str, tuple[Query, Sequence[object]]]  # by SQL for SQLite: query and values


@contextmanager
def noted() -> Iterator[Noted]:
    """Collect all queries that are run during the block."""
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
    """Return the errors of PostgreSQL about queries; "" if it accepts all."""
    said = []
    with server() as running:
        url = running.location(Path())
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"SET search_path = {SCHEMA}, pg_catalog")
            for each in found.values():
                sql = _preparation(*each)
                try:
                    connection.execute(sql)
                except psycopg.Error as error:
                    said.append(f"{error} in {sql}")
    return "\n".join(said)


def _preparation(each: Query, values: Sequence[object]) -> str:
    """Return the statement that has PostgreSQL plan a query with values of these types."""
    if isinstance(each, Prepared):
        sql, bound = each.bound_for(ENGINE, values)
    else:
        sql, bound = ENGINE.get_sql_context().sql(each).query()
    numbers = count(1)
    sql = re.sub("%s", lambda _: f"${next(numbers)}", sql)
    types = ", ".join(map(_type, bound))
    return f"PREPARE q{id(each)}{f' ({types})' if types else ''} AS {sql}"


def _type(value: object) -> str:
    """Return the PostgreSQL type that the driver gives to a value."""
    if isinstance(value, int):
        return "integer" if abs(value) < 1 << 31 else "bigint"
    return TYPES[type(value)]
