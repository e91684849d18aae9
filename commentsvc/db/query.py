"""Queries that are written once, in peewee, for every engine.

peewee takes 0.1 to 0.5 ms to make SQL of a query, many times as long as running it. That is fine
for what a moderator asks for now and then. What runs for each of many rows, or as part of a
submission, is `prepared`: peewee makes its SQL when it runs for the first time, and from then on
only values are bound. (What every request runs is written out by hand: `comments.statements`.)

    @prepared
    def _salt(moderator_id: Param) -> Query:
        return TwoFactorTable.select(TwoFactorTable.totp_salt).where(
            TwoFactorTable.moderator == moderator_id
        )

    row = reader.first(_salt, 7)
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import peewee

from commentsvc.db.schema.comments import schema

Select: TypeAlias = Any  # Any: peewee's stubs know no query that its methods give


class Param(peewee.ColumnBase):
    """Where the value with this `index` will be bound."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __sql__(self, ctx: Any) -> Any:  # Any: peewee's Context, which is not in its stubs
        with ctx(value_literals=False):
            return ctx.value(self.index, converter=False)


class Prepared:
    """A query whose SQL is made once. Each parameter of `build` is a value that it is run with.

    Constants, which must not be bytes, become part of the SQL. Where SQLite compares a bound value
    with the condition of an index, it makes a new plan each time that one is bound: 50 µs.
    """

    def __init__(self, build: Callable[..., Select], count: int | None = None) -> None:
        """Take the function, and how many values it takes where that is not said by itself."""
        self._build = build
        self._count = build.__code__.co_argcount if count is None else count
        self._sql = ""
        self._places: Sequence[int] = ()

    @property
    def sql(self) -> str:
        """The query's SQL."""
        if not self._sql:
            sql, self._places = self.made_for(schema)
            self._sql = sql  # last: another thread may read it meanwhile
        return self._sql

    def made_for(self, database: peewee.Database) -> tuple[str, Sequence[int]]:
        """Return SQL for an engine, and which value is to be bound in each of its places."""
        context: Any = database.get_sql_context(value_literals=True)  # Any: no stubs know it
        sql, places = context.parse(self._build(*map(Param, range(self._count))))
        return sql, places

    def bound(self, values: Sequence[object]) -> tuple[str, Sequence[object]]:
        """Return the SQL, and what is to be bound in it."""
        sql = self.sql
        return sql, [values[place] for place in self._places]

    def bound_each(
        self, rows: Iterable[Sequence[object]]
    ) -> tuple[str, Iterator[Sequence[object]]]:
        """As `bound`, for each of `rows`."""
        return self.sql, (self.bound(values)[1] for values in rows)


prepared: Final = Prepared  # as a decorator
Query: TypeAlias = peewee.BaseQuery | Prepared


def insertion(*columns: peewee.Field) -> Prepared:
    """Return the INSERT of a row of which the values of these columns are bound."""

    def build(*values: Param) -> Select:
        return columns[0].model.insert(dict(zip(columns, values, strict=True)))

    return Prepared(build, len(columns))


def bound(query: Query, values: Sequence[object]) -> tuple[str, Sequence[object]]:
    """Return the SQL of a query and what is to be bound in it; `values` are a prepared one's."""
    if isinstance(query, Prepared):
        return query.bound(values)
    sql, own = query.sql()
    return sql, own


def literal(value: str) -> peewee.SQL:
    """Return a word of ours that is part of the SQL.

    An index of some rows only is used where its condition stands in the query, not for a value that
    is bound.
    """
    return peewee.SQL(f"'{value}'")
