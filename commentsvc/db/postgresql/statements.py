"""PostgreSQL's text of the hot statements that it does not understand as SQLite does.

All others are the same, but for the signs of their parameters. A submission's statements also have
a text that does for many rows at once what they do for one: each statement takes PostgreSQL and the
driver 60 µs, several times as long as a row.
"""

# ruff: noqa: S608 - put together from constants only

import re
from typing import Final, NamedTuple

from commentsvc.db import statements
from commentsvc.db.postgresql import schema as postgresql
from commentsvc.db.schema import search

TWINS: Final = {
    statements.NEXT_ACT: (
        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END + 1 FROM change_id_seq"
    ),
    statements.ANCHORS: (
        "SELECT i.comment_id, i.anchor FROM json_array_elements_text(%s::json) AS j"
        " JOIN imported_comment AS i ON i.comment_id = j.value::bigint WHERE i.anchor <> ''"
    ),
    statements.DELETED_ABOVE: (
        "WITH RECURSIVE above (id, parent_id) AS ("
        " SELECT c.id, c.parent_id FROM comment AS c WHERE c.id IN"
        " (SELECT value::bigint FROM json_array_elements_text(%s::json))"
        " AND c.status <> 'approved'"
        " UNION SELECT c.id, c.parent_id FROM above JOIN comment AS c ON c.id = above.parent_id"
        " WHERE c.status <> 'approved'"
        ") SELECT id, parent_id FROM above ORDER BY id"
    ),
    statements.CHANGED: statements.CHANGED.replace(" max(", " greatest(").replace("?", "%s"),
    search.INDEX: f"{postgresql.INDEX} BETWEEN %s AND %s",
    search.COUNT: postgresql.COUNT,
}


class ManyRows(NamedTuple):
    """What does a statement for many rows: its parameter is a JSON list of objects.

    They have a row's values by these `names`. A query returns rows that begin with the number of
    the object, from 1; an INSERT returns ids.
    """

    names: tuple[str, ...]
    sql: str


def _given(columns: str) -> str:
    """Return the objects as rows "given" with these columns, and a number `n`."""
    return f"ROWS FROM (json_to_recordset(%s::json) AS ({columns})) WITH ORDINALITY AS given"


def _insertion(sql: str) -> ManyRows:
    """Return what does an INSERT for many rows."""
    found = re.fullmatch(r"INSERT INTO (\w+) \((.*)\) VALUES \([?, ]*\)(.*)", sql)
    assert found, "a hot INSERT names its columns, and binds each value"
    table, names, rest = found.groups()
    given = f"json_populate_recordset(NULL::{table}, %s::json) WITH ORDINALITY AS given"
    values = f"SELECT {names} FROM {given} ORDER BY given.ordinality"
    return ManyRows(
        tuple(names.split(", ")), f"INSERT INTO {table} ({names}) {values}{rest} RETURNING id"
    )


FOR_MANY: Final = {
    statements.FIND_THREAD: ManyRows(
        ("url", "site"),
        "SELECT n, s.id, t.url, t.id, t.title, t.state, t.alias_id"
        f" FROM {_given('url text, site text')} (url, site, n) JOIN site AS s ON s.name = site"
        " LEFT JOIN thread AS t ON t.site_id = s.id AND t.url = given.url",
    ),
    statements.FIND_PARENT: ManyRows(
        ("id", "thread_id"),
        f"SELECT n, 1 FROM {_given('id bigint, thread_id bigint')} (id, thread_id, n)"
        " JOIN comment AS c ON c.id = given.id AND c.thread_id = given.thread_id"
        " AND c.status <> 'deleted'",
    ),
    statements.INSERT_COMMENT: _insertion(statements.INSERT_COMMENT),
    statements.INSERT_KNOWN: _insertion(statements.INSERT_KNOWN),
    statements.RAISE_SITE: ManyRows(
        ("number", "id"),
        "UPDATE site AS s SET count = s.count + number"
        f" FROM {_given('number bigint, id bigint')} (number, id, n) WHERE s.id = given.id",
    ),
    statements.RAISE_THREAD: ManyRows(
        ("number", "id"),
        "UPDATE thread AS t SET count = t.count + number, version = t.version + 1"
        f" FROM {_given('number bigint, id bigint')} (number, id, n) WHERE t.id = given.id",
    ),
}
