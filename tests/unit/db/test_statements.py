"""Each static statement does the same as its peewee query, and uses an index."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import peewee
import pytest

from commentsvc import model
from commentsvc.comments import create, queries
from commentsvc.db import statements
from commentsvc.db.connection import Reader
from commentsvc.db.database import Database
from commentsvc.db.postgresql.statements import FOR_MANY
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.schema.imports import ImportedCommentTable
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.outbox import outbox
from tests.unit.database_fixture import NOW, add, decide, opened

C, T, S = CommentTable.alias("c"), ThreadTable.alias("t"), SiteTable.alias("s")
H = ChangeTable.alias("h")
fn = peewee.fn
APPROVED = peewee.SQL("c.status = 'approved'")
COLUMNS = (
    C.id,
    C.thread,
    C.parent,
    C.status,
    C.author,
    C.email,
    C.avatar,
    C.author_site,
    C.source,
    C.html,
    C.created_at,
    C.published_at,
    C.edited_at,
    C.votes,
    C.role,
    C.permalink,
    C.reader_id,
)
THREAD = (
    *(T.id, T.url, T.count, T.state, T.imported, T.pinned_id, T.likes, T.reposts),
    *(T.version, T.aliased),
)
PLACE = peewee.Tuple(C.published_at, C.id)


def in_list(*where: object) -> Any:  # Any: peewee's queries are typed by what they select
    return C.select(*COLUMNS).where(C.thread == 3, APPROVED, *where)


def entries(*where: object) -> Any:  # Any: as above
    joined = C.select(*COLUMNS, S.name, T.url, T.title).join(T, on=C.thread == T.id)
    return joined.join(S, on=C.site == S.id).where(*where)


def placed(query: Any) -> Any:  # Any: as above
    return query.join(T, on=C.thread == T.id).join(S, on=C.site == S.id)


def thread_of(*columns: object) -> Any:  # Any: as above
    return T.select(*columns).join(S, on=T.site == S.id).where(S.name == "blog", T.url == "/3/")


found = (
    S.select(S.id, T.url, T.id, T.title, T.state, T.aliased)
    .join(T, peewee.JOIN.LEFT_OUTER, on=(T.site == S.id) & (T.url == "/3/"))
    .where(S.name == "blog")
)
moderated = C.select(S.name, T.url, C.site, C.thread, C.status, C.published_at)
N = ChangeTable.alias("n")
again = N.select(1).where(
    N.comment == H.comment, N.id > H.id, N.field == H.field, N.undone_at.is_null()
)
changes = H.select(
    S.name,
    T.url,
    C.site,
    C.thread,
    H.comment,
    C.status,
    H.id,
    H.field,
    H.old,
    H.old_at,
    fn.EXISTS(again),
).where(H.undone_at.is_null(), H.field != "thread")
history = H.select(
    H.id,
    H.decision_id,
    H.comment,
    H.field,
    H.old,
    H.new,
    H.created_at,
    H.actor,
    H.undone_at,
    H.undone_by,
).order_by(H.id.desc())
moment = NOW + 500
touched = H.select(1).where(
    H.comment == C.id, (H.created_at >= moment) | (fn.coalesce(H.undone_at, 0) >= moment)
)


def above() -> Any:  # Any: as above
    hidden = peewee.SQL("c.status <> 'approved'")
    begun = C.select(C.id, C.parent).where(C.id.in_([13, 21]), hidden)
    tree = begun.cte("above", recursive=True, columns=("id", "parent_id"))
    further = C.select(C.id, C.parent).join(tree, on=C.id == tree.c.parent_id).where(hidden)
    whole = tree.union(further)
    return whole.select_from(whole.c.id, whole.c.parent_id).order_by(whole.c.id)


# The peewee query for each statement that reads, with its parameters.
READS: dict[str, tuple[Sequence[object], Any]] = {
    statements.FIND_THREAD: (("/3/", "blog"), found),
    statements.FIND_PARENT: (
        (65, 3),
        C.select(peewee.SQL("1")).where(C.id == 65, C.thread == 3, C.status != "deleted"),
    ),
    statements.FIND_KEY: (
        (create.digest("key 5", False),),
        C.select(*COLUMNS).where(C.key == create.digest("key 5", False)),
    ),
    statements.FIND_COMMENT: ((9,), placed(moderated).where(C.id == 9)),
    statements.CHANGES_OF_ACT: (
        (1,),
        placed(changes.join(C, on=H.comment == C.id)).where(H.decision_id == 1).order_by(H.id),
    ),
    statements.LAST_CHANGE: (
        (9,),
        placed(changes.join(C, on=H.comment == C.id))
        .where(H.comment == 9)
        .order_by(H.id.desc())
        .limit(1),
    ),
    statements.HISTORY: (
        (9, 5),
        history.where(H.comment == 9).limit(5),
    ),
    statements.HISTORY_OF_FIELD: (
        (9, "status", 5),
        history.where(H.comment == 9, H.field == "status").limit(5),
    ),
    statements.THREAD: (
        ("blog", "/3/"),
        thread_of(*THREAD),
    ),
    statements.ALIASED: (
        (3,),
        T.select(*THREAD).where(T.id == 3),
    ),
    statements.FIND_ALIASED: (
        (3,),
        T.select(T.site, T.url, T.id, T.title, T.state, T.aliased).where(T.id == 3),
    ),
    statements.FIRST_PUBLISHED: (
        (3,),
        C.select(C.published_at).where(C.thread == 3, APPROVED).order_by(C.published_at).limit(1),
    ),
    statements.LAST_PUBLISHED: (
        (1,),
        C.select(C.published_at)
        .where(C.site == 1, APPROVED)
        .order_by(C.published_at.desc())
        .limit(1),
    ),
    statements.TEXT_OF: ((9,), C.select(C.source, C.edited_at).where(C.id == 9)),
    statements.PINNED: ((73, 3), C.select(*COLUMNS).where(C.id == 73, C.thread == 3, APPROVED)),
    statements.ANCHORS: (
        ("[7, 8, 9]",),
        ImportedCommentTable.select(
            ImportedCommentTable.comment_id, ImportedCommentTable.anchor
        ).where(ImportedCommentTable.comment_id.in_([7, 8, 9]), ImportedCommentTable.anchor != ""),
    ),
    statements.DELETED_ABOVE: (("[13, 21]",), above()),
    statements.SITE_COUNT: (("blog",), S.select(S.count).where(S.name == "blog")),
    statements.LIST["oldest"]: (
        (3, moment, 40, 9),
        in_list((moment, 40) < PLACE).order_by(C.published_at, C.id).limit(9),
    ),
    statements.LIST["newest"]: (
        (3, moment, 40, 9),
        in_list((moment, 40) > PLACE).order_by(C.published_at.desc(), C.id.desc()).limit(9),
    ),
    statements.LIST["top"]: (
        (3, 2, 2, moment, 40, 9),
        in_list((C.votes < 2) | ((C.votes == 2) & ((moment, 40) < PLACE)))
        .order_by(C.votes.desc(), C.published_at, C.id)
        .limit(9),
    ),
    statements.CHANGED: (
        (3, moment, moment, 9),
        in_list((C.published_at >= moment) | fn.EXISTS(touched))
        .order_by(C.published_at, C.id)
        .limit(9),
    ),
    statements.VOTES: (
        (3,),
        C.select(C.id, C.votes).where(C.thread == 3, APPROVED, C.votes != 0),
    ),
    statements.LATEST_OF_SITE: (
        ("blog", 9, 2),
        entries(S.name == "blog", APPROVED)
        .order_by(C.published_at.desc(), C.id.desc())
        .limit(9)
        .offset(2),
    ),
    statements.LATEST_OF_THREAD: (
        ("blog", "/3/", 9, 2),
        entries(S.name == "blog", T.url == "/3/", APPROVED)
        .order_by(C.published_at.desc(), C.id.desc())
        .limit(9)
        .offset(2),
    ),
    statements.ENTRY_BY_ID: ((9,), entries(C.id == 9)),
    statements.LISTING: ((9,), entries(True).order_by(C.id.desc()).limit(9)),
    statements.LISTING_APPROVED: ((9,), entries(APPROVED).order_by(C.id.desc()).limit(9)),
    statements.LISTING_UNAPPROVED: (
        ("pending", 9),
        entries(C.status == "pending").order_by(C.id.desc()).limit(9),
    ),
}

inserted: dict[str, object] = {
    "site_id": 2,
    "thread_id": 3,
    "parent_id": 7,
    "status": "pending",
    "author": "Ann",
    "email": "",
    "avatar": "",
    "author_site": "",
    "source": "Hi",
    "html": "<p>Hi</p>",
    "created_at": NOW,
    "published_at": None,
    "key": b"key",
    "token_hash": b"t",
    "token_expires_at": 5,
    "score": 5,
    "reasons": "links +5 9",
    "network": b"network",
    "role": "owner",
    "moderator_id": None,
    "permalink": "https://rosa.example/",
    "reader_id": 7,
}
usual = {name: inserted[name] for name in [*inserted][: statements.INSERT_COMMENT.count("?")]}
token = {CommentTable.token_hash: b"new", CommentTable.token_expires_at: 6}

changed: dict[str, object] = {
    "decision_id": 5,
    "comment_id": 9,
    "field": "status",
    "old": "pending",
    "new": "spam",
    "old_at": None,
    "created_at": NOW,
    "actor": "Mo",
}

# The peewee query for each statement that writes.
WRITES: dict[str, tuple[Sequence[object], Any]] = {
    statements.INSERT_THREAD: (
        (2, "/new/"),
        ThreadTable.insert(site=2, url="/new/", title=""),
    ),
    statements.TITLE_THREAD: (
        ("Title", 3),
        ThreadTable.update(title="Title").where(ThreadTable.id == 3),
    ),
    statements.INSERT_COMMENT: (
        tuple(usual.values()),
        CommentTable.insert(usual).on_conflict(
            action="NOTHING", conflict_target=[CommentTable.key]
        ),
    ),
    statements.INSERT_KNOWN: (
        tuple(inserted.values()),
        CommentTable.insert(inserted).on_conflict(
            action="NOTHING", conflict_target=[CommentTable.key]
        ),
    ),
    statements.RAISE_THREAD: (
        (4, 3),
        ThreadTable.update(count=ThreadTable.count + 4, version=ThreadTable.version + 1).where(
            ThreadTable.id == 3
        ),
    ),
    statements.RAISE_SITE: (
        (4, 2),
        SiteTable.update(count=SiteTable.count + 4).where(SiteTable.id == 2),
    ),
    statements.CLEAR_KEY: ((9,), CommentTable.update(key=None).where(CommentTable.id == 9)),
    statements.RENEW_TOKEN: (
        (b"new", 6, 9),
        CommentTable.update(token).where(CommentTable.id == 9),
    ),
    statements.SET_TEXT: (
        ("New", "<p>New</p>", moment, 9),
        CommentTable.update(source="New", html="<p>New</p>", edited_at=moment).where(
            CommentTable.id == 9
        ),
    ),
    statements.SET_STATUS: (
        ("spam", moment, 9),
        CommentTable.update(status="spam", published_at=moment).where(CommentTable.id == 9),
    ),
    statements.INSERT_CHANGE: (tuple(changed.values()), ChangeTable.insert(changed)),
    statements.MARK_UNDONE: (
        (moment, "Mo", 3),
        ChangeTable.update(undone_at=moment, undone_by="Mo").where(ChangeTable.id == 3),
    ),
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory, engine: str) -> Iterator[Database]:
    """Return a database of two sites with 20 threads and 600 comments of every status."""
    random = Random(1)
    with opened(tmp_path_factory.mktemp("statements")) as database:
        database.write_now(queries.sync_sites, ["other"])
        for number in range(600):
            add(
                database,
                NOW + random.randrange(1000),
                site=random.choice(["blog", "other"]),
                url=f"/{random.randrange(10)}/",
                title=random.choice(["", "Title"]),
                status=random.choice(model.STATUSES),
                key=f"key {number}",
            )
        shuffled = "published_at = published_at - published_at + created_at"
        database.write_now(
            lambda tx: tx.execute(
                "UPDATE comment SET parent_id = id - 1 WHERE id % 8 BETWEEN 3 AND 7"
            )
        )
        imported = [
            (number, 1, b"%d" % number, f"#{number}" * (number % 2), 0) for number in range(20)
        ]
        database.write_now(
            lambda tx: tx.execute_many(
                "INSERT INTO imported_comment VALUES (?, ?, ?, ?, ?)", imported
            )
        )
        sql = f"UPDATE comment SET votes = id % 5 - 2, {shuffled}"
        database.write_now(lambda tx: tx.execute(sql))
        for to in ("approved", "spam", "deleted"):
            decide(database, to, *range(1, 50))
        yield database


@pytest.mark.parametrize("sql", READS)
def test_a_read_gives_the_rows_of_its_peewee_query(database: Database, sql: str) -> None:
    params, query = READS[sql]
    rows = run(database, sql, params)
    assert rows == database.read_now(Reader.query, query)
    assert rows


class UndoError(Exception):
    """Carries the state of the tables out of a transaction that must be rolled back."""


def outcome(database: Database, change: Callable[[Any], object]) -> object:
    def work(tx: Any) -> None:  # Any: a Transaction, passed on
        change(tx)
        tables = ("site", "thread", "comment", "change")
        rows = [tx.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in tables]
        if not tx.IS_FILE:  # PostgreSQL does not reuse ids after a rollback
            rows = [[row[1:] for row in each] for each in rows]
        raise UndoError(rows)

    with pytest.raises(UndoError) as info:
        database.write_now(work)
    return info.value.args[0]


@pytest.mark.parametrize("sql", WRITES)
def test_a_write_leaves_the_rows_of_its_peewee_query(database: Database, sql: str) -> None:
    params, query = WRITES[sql]
    assert outcome(database, lambda tx: tx.execute(sql, params)) == outcome(
        database, lambda tx: tx.change(query)
    )


# For each statement that PostgreSQL has in a form for many rows: such rows.
AWKWARD = 'A "quote" and a \\ back\\slash,\nanother line: \u00e9 \U0001f600 \\x41 {} \0'
COMMENT_ROWS: dict[str, list[tuple[object, ...]]] = {
    sql: [
        tuple((values | {"key": b"\x00\xff%d" % n, "source": AWKWARD * n}).values())
        for n in range(3)
    ]
    for sql, values in {
        statements.INSERT_COMMENT: usual,
        statements.INSERT_KNOWN: inserted,
    }.items()
}
TOGETHER: dict[str, list[tuple[object, ...]]] = {
    statements.FIND_THREAD: [
        ("/3/", "blog"),
        ("/none/", "other"),
        ("/3/", "nowhere"),
        ("/5/", "other"),
    ],
    statements.FIND_PARENT: [
        *((number, thread) for number in (9, 60, 200) for thread in range(1, 21)),
        (9_999, 3),
    ],
    **COMMENT_ROWS,
    statements.RAISE_THREAD: [(4, 3), (-1, 5), (1, 9_999)],
    statements.RAISE_SITE: [(4, 2), (-2, 1)],
}


@pytest.mark.parametrize("sql", [statements.FIND_THREAD, statements.FIND_PARENT])
def test_a_query_for_many_rows_finds_what_it_does_for_each(database: Database, sql: str) -> None:
    rows = TOGETHER[sql]
    found = database.write_now(lambda tx: tx.first_each(sql, rows))
    assert found == [next(iter(run(database, sql, row)), None) for row in rows]
    assert None in found
    assert {*found} != {None}
    assert database.write_now(lambda tx: tx.first_each(sql, [])) == []


@pytest.mark.parametrize("sql", [statements.RAISE_THREAD, statements.RAISE_SITE])
def test_a_change_for_many_rows_does_as_for_each(database: Database, sql: str) -> None:
    rows = TOGETHER[sql]
    assert outcome(database, lambda tx: tx.execute_many(sql, rows)) == outcome(
        database, lambda tx: [tx.execute(sql, row) for row in rows]
    )


@pytest.mark.parametrize("sql", COMMENT_ROWS)
def test_many_comments_are_inserted_as_each_alone_in_their_order(
    database: Database, sql: str
) -> None:
    comment_rows = COMMENT_ROWS[sql]
    ids: list[range | None] = []
    assert outcome(database, lambda tx: ids.append(tx.insert_each(sql, comment_rows))) == outcome(
        database, lambda tx: [tx.insert(sql, row) for row in comment_rows]
    )
    [made] = ids
    assert made is not None
    assert len(made) == 3
    twice = [*comment_rows, comment_rows[0]]
    outcome(database, lambda tx: ids.append(tx.insert_each(sql, twice)))
    assert ids[1] is None, "a key that exists is not stored again"

    def insert_again(tx: Any) -> None:  # Any: as above
        ids.append(tx.insert_each(sql, comment_rows))
        ids.append(tx.insert_each(sql, comment_rows))

    outcome(database, insert_again)
    assert ids.pop() is None, "nor do all of them"


@pytest.mark.parametrize("sql", TOGETHER.keys() - COMMENT_ROWS.keys())
def test_many_rows_are_found_by_an_index(database: Database, engine: str, sql: str) -> None:
    def plan(tx: Any) -> None:  # Any: as above
        tx.execute("SET LOCAL enable_seqscan = off")  # else it would scan the few rows of a test
        raise UndoError(tx._connection.run(f"EXPLAIN {FOR_MANY[sql].sql}", ("[]",)).fetchall())

    if engine == "postgresql":
        with pytest.raises(UndoError) as info:
            database.write_now(plan)
        assert "Seq Scan" not in str(info.value)
    assert TOGETHER.keys() == FOR_MANY.keys()


def test_every_statement_is_compared() -> None:
    hot = {
        value
        for name, value in vars(statements).items()
        if name.isupper() and not name.startswith("_") and isinstance(value, str) and " " in value
    } - {
        statements.COLUMNS,
        statements.ENTRY,
        statements.ENTRIES,
        statements.NEXT_ACT,
    }
    assert hot | set(statements.LIST.values()) == set(READS) | set(WRITES)


def run(database: Database, sql: str, params: Sequence[object] = ()) -> list[Any]:
    return database.read_now(lambda reader: reader.execute(sql, params).fetchall())


def plan(database: Database, sql: str, params: Sequence[object]) -> list[str]:
    return [row[3] for row in run(database, f"EXPLAIN QUERY PLAN {sql}", params)]


# They scan the whole table backwards, and stop early.
WALKS = {statements.LISTING, statements.LISTING_APPROVED}
# It sorts the comments of a thread: see the indexes in models.py.
SORTS = {statements.LIST["top"]}
# They scan the list of ids that they are given.
GIVEN = {statements.ANCHORS, statements.DELETED_ABOVE}


@pytest.mark.sqlite_only("it looks at SQLite's plan")
@pytest.mark.parametrize("sql", sorted((READS | WRITES).keys() - WALKS - SORTS - GIVEN))
def test_a_statement_neither_scans_nor_sorts(database: Database, sql: str) -> None:
    steps = plan(database, sql, (READS | WRITES)[sql][0])
    assert not [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step]


@pytest.mark.sqlite_only("it looks at SQLite's plan")
@pytest.mark.parametrize("sql", sorted(WALKS))
def test_a_list_of_nearly_everything_walks_backwards_and_stops(
    database: Database, sql: str
) -> None:
    steps = plan(database, sql, (9,))
    assert [step for step in steps if "SCAN" in step] == ["SCAN c"]
    assert not [step for step in steps if "TEMP B-TREE" in step]


@pytest.mark.sqlite_only("it looks at SQLite's plan")
@pytest.mark.parametrize("sql", sorted(GIVEN))
def test_given_comments_are_found_by_their_ids(database: Database, sql: str) -> None:
    steps = plan(database, sql, READS[sql][0])
    assert [step for step in steps if "USING INTEGER PRIMARY KEY (rowid=?)" in step]
    assert not {"SCAN c", "SCAN i"} & set(steps)


@pytest.mark.sqlite_only("it looks at SQLite's plan")
@pytest.mark.parametrize("sql", [*COMMENT_ROWS, outbox.insert_submitted.sql])
def test_a_row_is_checked_without_a_table_made_for_it(database: Database, sql: str) -> None:
    params = [None] * sql.count("?")
    steps = [row[1] for row in run(database, f"EXPLAIN {sql}", params)]
    assert "Insert" in steps
    assert "OpenEphemeral" not in steps


@pytest.mark.sqlite_only("it looks at SQLite's plan")
@pytest.mark.parametrize("sort", ["oldest", "newest"])
def test_a_list_by_time_goes_on_by_its_index(database: Database, sort: str) -> None:
    [step] = plan(database, statements.LIST[sort], READS[statements.LIST[sort]][0])
    assert "USING INDEX comment_by_time (thread_id=? AND " in step


@pytest.mark.sqlite_only("it looks at SQLite's plan")
def test_the_list_by_votes_reads_its_thread_alone(database: Database) -> None:
    steps = plan(database, statements.LIST["top"], READS[statements.LIST["top"]][0])
    assert steps[0].endswith("USING INDEX comment_by_time (thread_id=?)")


def test_a_comment_has_its_columns_in_the_order_of_its_fields(database: Database) -> None:
    names = [name.removeprefix("c.") for name in statements.COLUMNS.split(", ")]
    fields = list(model.Comment.__struct_fields__)
    assert [{"author_site": "site"}.get(name, name) for name in names] == fields


def test_sqlite_is_new_enough_for_strict_tables() -> None:
    assert sqlite3.sqlite_version_info >= (3, 37)
