"""Queries that are written once, in peewee, and run on every database engine.

peewee takes 0.1 to 0.5 ms to compile a query to SQL, many times as long as SQLite takes to run it.
That is fine for the pages of a moderator. A query that runs for each of many rows, or as part of a
submission, is `prepared`: it is compiled when it first runs, and later only its values are bound.

    @prepared
    def _salt(moderator_id: Param) -> Query:
        return TwoFactorTable.select(TwoFactorTable.totp_salt).where(
            TwoFactorTable.moderator == moderator_id
        )

    row = snapshot.first(_salt, 7)
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import peewee

from commentsvc.db.schema.comments import is_for_sqlite, schema

Select: TypeAlias = Any  # Any: peewee's stubs do not type what its methods return


class Param(peewee.ColumnBase):
    """A placeholder for the value with this `index`."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __sql__(self, ctx: Any) -> Any:  # Any: peewee's Context, which is not in its stubs
        with ctx(value_literals=False):
            return ctx.value(self.index, converter=False)


class Among(peewee.ColumnBase):
    """A condition: `column` has one of the ids that `ids_text` made `ids` of.

    PostgreSQL looks an array's elements up by an index; it may read whole tables for a subquery.
    """

    def __init__(self, column: peewee.Field, ids: Param | str) -> None:
        self.column = column
        self.ids = ids

    def __sql__(self, ctx: Any) -> Any:  # Any: as in Param
        begin, end = _AMONG_IN_SQLITE if is_for_sqlite(ctx) else _AMONG_IN_POSTGRESQL
        return ctx.sql(self.column).literal(begin).sql(self.ids).literal(end)


_AMONG_IN_SQLITE: Final = (" IN (SELECT value FROM json_each(", "))")
_AMONG_IN_POSTGRESQL: Final = (
    " = ANY (ARRAY(SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(",
    " AS json))))",
)


def ids_text(ids: Iterable[int]) -> str:
    """Return ids for Among: as a JSON array."""
    return msgspec.json.encode(list(ids)).decode()


class Prepared:
    """A query that is compiled once. Each parameter of `build` stands for a value to bind.

    Constants become part of the SQL; they must not be bytes. A constant is better than a bound
    value where it decides whether SQLite uses a partial index: SQLite would plan the query again
    each time the value is bound, which takes 50 µs.
    """

    def __init__(self, build: Callable[..., Select], count: int | None = None) -> None:
        """Take the function, and how many values it takes if its signature does not tell."""
        self._build = build
        self._count = build.__code__.co_argcount if count is None else count
        self._sql = ""
        self._indexes: Sequence[int] = ()
        self._others: dict[peewee.Database, tuple[str, Sequence[int]]] = {}

    @property
    def sql(self) -> str:
        """The query's SQL."""
        if not self._sql:
            sql, self._indexes = self.made_for(schema)
            self._sql = sql  # set last, since another thread may check it at any time
        return self._sql

    def made_for(
        self, database: peewee.Database, values: Sequence[peewee.Node] = ()
    ) -> tuple[str, Sequence[int]]:
        """Return the SQL for an engine, and the index of the value for each of its placeholders.

        `values` are other SQL than placeholders.
        """
        context: Any = database.get_sql_context(value_literals=True)  # Any: no stubs know it
        sql, indexes = context.parse(self._build(*values or map(Param, range(self._count))))
        return sql, indexes

    def bound(self, values: Sequence[object]) -> tuple[str, Sequence[object]]:
        """Return the SQL and the values for its placeholders."""
        sql = self._sql or self.sql
        return sql, [values[index] for index in self._indexes]

    def bound_for(
        self, database: peewee.Database, values: Sequence[object]
    ) -> tuple[str, Sequence[object]]:
        """As `bound`, for an engine other than SQLite."""
        made = self._others.get(database)
        if made is None:
            made = self._others[database] = self.made_for(database)
        sql, indexes = made
        return sql, [values[index] for index in indexes]

    def bound_each(
        self, rows: Iterable[Sequence[object]]
    ) -> tuple[str, Iterator[Sequence[object]]]:
        """Return the SQL and the values for its placeholders for each of `rows`."""
        sql, indexes = self.sql, self._indexes
        if indexes == list(range(self._count)):
            return sql, iter(rows)
        return sql, ([values[index] for index in indexes] for values in rows)


prepared: Final = Prepared  # as a decorator
Query: TypeAlias = peewee.BaseQuery | Prepared


def insertion(
    *columns: peewee.Field, key: Sequence[peewee.Field] = (), change: Sequence[peewee.Field] = ()
) -> Prepared:
    """Return the INSERT of a row, with a value to bind for each of these columns.

    If there is a row with the same `key`, its columns `change` get the new values instead, or
    nothing is changed.
    """

    def build(*values: Param) -> Select:
        row = columns[0].model.insert(dict(zip(columns, values, strict=True)))
        if change:
            return row.on_conflict(conflict_target=key, preserve=change)
        return row.on_conflict(action="NOTHING", conflict_target=key) if key else row

    return Prepared(build, len(columns))


def bound(query: Query, values: Sequence[object]) -> tuple[str, Sequence[object]]:
    """Return the SQL of a query and the values to bind; `values` are for a prepared query."""
    if isinstance(query, Prepared):
        return query.bound(values)
    sql, own = query.sql()
    return sql, own


def literal(value: str) -> peewee.SQL:
    """Return a constant text that becomes part of the SQL, and is not bound.

    SQLite uses a partial index only if the condition of the index stands in the query as a literal.
    """
    return peewee.SQL(f"'{value}'")
