"""Decisions on comments, undoing them, and their history."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commentsvc import model
from commentsvc.backup import integrity
from commentsvc.comments import queries, site_rows
from commentsvc.db.database import Database
from commentsvc.db.postgresql.schema import ENGINE
from commentsvc.errors import NothingToUndo, UnknownComment
from commentsvc.moderation import changes, history, undo
from commentsvc.moderation.changes import ChangeResult
from tests.unit.database_fixture import NOW, add, decide, opened, plan

TAGS = {"thread:blog:/post/", "site:blog"}


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    with opened(tmp_path, purged.extend) as database:
        yield database
        assert database.read_now(integrity.check) == []


def added(database: Database, status: str = "pending") -> int:
    return add(database, status=status).comment.id


def state(database: Database) -> list[tuple[int, str, int | None]]:
    query = "SELECT id, status, published_at FROM comment ORDER BY id"
    return database.read_now(lambda snapshot: snapshot.execute(query).fetchall())


def shown(database: Database) -> list[int]:
    page = database.read_now(queries.list_comments, ("blog", "/post/"), "oldest", 100, None)
    assert page.thread.count == len(page.items)
    assert page.thread.count == database.read_now(queries.site_count, "blog")
    return [comment.id for comment in page.items]


def take_back(database: Database, act: int, who: str = "Mo", now: int = NOW) -> ChangeResult:
    return database.write_now(undo.decision, act, who, now)


def undo_last(database: Database, *ids: int) -> ChangeResult:
    return database.write_now(undo.last, ids, "Mo", NOW + 9)


def test_approving_shows_a_comment_raises_the_counts_and_purges(
    database: Database, purged: list[str]
) -> None:
    ids = [added(database, status) for status in ("pending", "spam", "deleted", "approved")]
    purged.clear()
    outcome = decide(database, "approved", *ids, ids[0], now=NOW + 5)
    assert outcome.changed == (ids[0], ids[1])
    assert outcome.unchanged == {ids[2]: "deleted", ids[3]: "approved"}
    assert shown(database) == [ids[3], ids[0], ids[1]]
    assert [row[2] for row in state(database)] == [NOW + 5, NOW + 5, None, NOW]
    assert set(purged) == TAGS


@pytest.mark.parametrize("to", ["spam", "deleted"])
def test_what_is_no_longer_approved_is_neither_shown_nor_counted(
    database: Database, purged: list[str], to: str
) -> None:
    first, second = added(database, "approved"), added(database, "approved")
    purged.clear()
    assert decide(database, to, first).changed == (first,)
    assert shown(database) == [second]
    assert set(purged) == TAGS


def test_what_readers_do_not_see_purges_nothing(database: Database, purged: list[str]) -> None:
    pending = added(database)
    for to in ("spam", "deleted", "approved"):
        decide(database, to, pending)
    assert state(database) == [(pending, "deleted", None)]
    assert purged == []


@pytest.mark.parametrize("to", model.MOVES)
@pytest.mark.parametrize("status", model.STATUSES)
def test_a_status_changes_as_the_table_of_moves_says_and_undoing_restores_it(
    database: Database, status: str, to: str
) -> None:
    comment = added(database, status)
    before = state(database)
    outcome = decide(database, to, comment, now=NOW + 5)
    if status in model.MOVES[to]:
        assert outcome.changed == (comment,)
        assert state(database)[0][1] == to
        assert take_back(database, outcome.decision_id).changed == (comment,)
    else:
        assert outcome == ChangeResult(0, (), {comment: status})
    assert state(database) == before


def test_unknown_ids_are_all_named_and_nothing_is_changed(
    database: Database, purged: list[str]
) -> None:
    pending = added(database)
    with pytest.raises(UnknownComment, match="id 77, 88") as info:
        decide(database, "approved", pending, 77, 88)
    assert info.value.ids == (77, 88)
    assert database.read_now(queries.pending_ids) == [pending]
    assert database.read_now(history.entries, pending) == []
    assert purged == []


def test_a_decision_on_several_threads_and_sites_counts_each(database: Database) -> None:
    database.write_now(site_rows.sync, ["other"])
    pages = [("blog", "/a/"), ("blog", "/b/"), ("other", "/a/"), ("blog", "/a/")]
    ids = [add(database, status="pending", site=site, url=url).comment.id for site, url in pages]
    decide(database, "approved", *ids)
    counted = database.read_now(
        lambda snapshot: [queries.thread(snapshot, *at).count for at in pages]
    )
    assert counted == [2, 1, 1, 2]
    assert database.read_now(queries.site_count, "blog") == 3


def test_a_comment_comes_back_to_its_old_position(database: Database) -> None:
    ids = [add(database, NOW + number).comment.id for number in range(3)]
    act = decide(database, "deleted", ids[1], now=NOW + 9).decision_id
    take_back(database, act, now=NOW + 10)
    assert shown(database) == ids
    decide(database, "spam", ids[1], now=NOW + 11)
    decide(database, "approved", ids[1], now=NOW + 12)
    assert shown(database) == ids


def test_a_decision_is_undone_as_one_and_only_once(database: Database, purged: list[str]) -> None:
    ids = [added(database) for _ in range(3)]
    first = decide(database, "approved", *ids)
    purged.clear()
    assert take_back(database, first.decision_id).changed == tuple(ids)
    assert shown(database) == []
    assert set(purged) == TAGS
    with pytest.raises(
        NothingToUndo, match=f"decision {first.decision_id} does not exist, or has been undone"
    ):
        take_back(database, first.decision_id)
    with pytest.raises(NothingToUndo):
        take_back(database, 0)


def test_a_later_decision_is_not_overruled_by_undoing_an_earlier_one(database: Database) -> None:
    ids = [added(database) for _ in range(2)]
    first = decide(database, "approved", *ids)
    second = decide(database, "spam", ids[0])
    assert take_back(database, first.decision_id) == ChangeResult(0, (ids[1],), {ids[0]: "spam"})
    assert take_back(database, second.decision_id).changed == (ids[0],)
    assert take_back(database, first.decision_id).changed == (ids[0],)
    assert [row[1:] for row in state(database)] == [("pending", None)] * 2


def test_the_last_change_of_each_comment_is_undone(database: Database) -> None:
    ids = [added(database) for _ in range(3)]
    decide(database, "approved", *ids)
    decide(database, "deleted", ids[0])
    assert undo_last(database, ids[0], ids[1]).changed == (ids[0], ids[1])
    assert [row[1] for row in state(database)] == ["approved", "pending", "approved"]
    with pytest.raises(NothingToUndo, match=f"comment {ids[1]} has no change that could be undone"):
        undo_last(database, ids[0], ids[1])
    assert shown(database) == [ids[0], ids[2]], "a failure changes nothing"
    with pytest.raises(UnknownComment):
        undo_last(database, 77)


def test_the_last_decision_is_that_of_the_moderator_who_asks(database: Database) -> None:
    ids = [added(database) for _ in range(2)]

    def last(who: str) -> int:
        return database.read_now(undo.last_decision, who)

    first = decide(database, "approved", *ids, who="Ann").decision_id
    second = decide(database, "spam", ids[0], who="Bob").decision_id
    assert (last("Ann"), last("Bob"), last("Eve")) == (first, second, 0)
    take_back(database, second, who="Ann")
    assert (last("Ann"), last("Bob")) == (first, 0)


@pytest.mark.sqlite_only("it looks at SQLite's plan")
def test_the_last_decision_is_the_first_row_of_an_index(database: Database) -> None:
    steps = plan(database, undo.newest_decision, "Eve")
    assert len(steps) == 1
    assert "INDEX change_by_actor (actor>? AND actor<?)" in steps[0]


@pytest.mark.postgresql_only("SQLite has no statistics that lead to another plan")
def test_who_has_decided_nothing_reads_no_changes_of_others(database: Database) -> None:
    """Regression: PostgreSQL read all changes for it, 0.2 s of a million comments' queue."""
    decide(database, "approved", *(added(database) for _ in range(200)))
    sql, _ = undo.newest_decision.made_for(ENGINE)

    def explain(tx: Any) -> list[str]:  # Any: psycopg's connection is behind it
        tx._connection.run("ANALYZE change")
        tx._connection.run("SET LOCAL enable_seqscan = off")  # it has few rows, too
        return [row[0] for row in tx._connection.run(f"EXPLAIN {sql}", ("Eve", "Eve"))]

    steps = "\n".join(database.write_now(explain))
    assert "Index Scan Backward using change_by_actor" in steps
    assert "Sort" not in steps


def test_the_history_says_who_changed_what_when_and_who_took_it_back(database: Database) -> None:
    comment = added(database)
    first = decide(database, "approved", comment, who="Ann", now=NOW + 1)
    second = decide(database, "spam", comment, who="Bob", now=NOW + 2)
    take_back(database, second.decision_id, who="Eve", now=NOW + 3)
    changes = database.read_now(history.entries, comment)
    assert [
        (
            each.decision_id,
            each.old,
            each.new,
            each.actor,
            each.created_at,
            each.undone_at,
            each.undone_by,
        )
        for each in changes
    ] == [
        (second.decision_id, "approved", "spam", "Bob", NOW + 2, NOW + 3, "Eve"),
        (first.decision_id, "pending", "approved", "Ann", NOW + 1, None, None),
    ]
    assert database.read_now(history.entries, comment, 1) == changes[:1]


def test_the_history_of_an_erased_comment_goes_with_it(database: Database) -> None:
    comment = added(database)
    act = decide(database, "deleted", comment).decision_id
    database.write_now(lambda tx: tx.execute("DELETE FROM comment WHERE id = ?", (comment,)))
    assert database.read_now(history.entries, comment) == []
    assert decide(database, "deleted", added(database)).decision_id > act, (
        "no act is numbered twice"
    )


def text(database: Database) -> tuple[str, str, int | None]:
    [entry] = database.read_now(queries.listing, None, 9)
    return entry.comment.source, entry.comment.html, entry.comment.edited_at


def edit(database: Database, comment_id: int, source: str, now: int = NOW) -> ChangeResult:
    return database.write_now(changes.edit, comment_id, source, "Mo", now)


def test_an_edit_changes_what_is_shown_and_is_undone(database: Database, purged: list[str]) -> None:
    comment = added(database, "approved")
    before = text(database)
    purged.clear()
    outcome = edit(database, comment, "*Better* <script>", NOW + 5)
    assert outcome.changed == (comment,)
    assert text(database) == (
        "*Better* <script>",
        "<p><em>Better</em> &lt;script&gt;</p>\n",
        NOW + 5,
    )
    assert set(purged) == TAGS
    purged.clear()
    assert take_back(database, outcome.decision_id).changed == (comment,)
    assert text(database) == (before[0], "<p>Hello <em>you</em></p>\n", None)
    assert set(purged) == TAGS


def test_an_edit_of_what_nobody_sees_purges_nothing(database: Database, purged: list[str]) -> None:
    comment = added(database)
    edit(database, comment, "Better")
    undo_last(database, comment)
    assert purged == []


def test_the_same_text_is_no_change(database: Database) -> None:
    comment = added(database)
    assert edit(database, comment, text(database)[0]) == ChangeResult(0, (), {comment: "pending"})
    assert database.read_now(history.entries, comment) == []
    with pytest.raises(UnknownComment):
        edit(database, 77, "Better")


def version(database: Database) -> int:
    return database.read_now(queries.thread, "blog", "/post/").version


def test_a_language_is_corrected_for_readers_and_undone(
    database: Database, purged: list[str]
) -> None:
    comment = added(database, "approved")
    begin = version(database)
    purged.clear()
    outcome = database.write_now(changes.correct_language, comment, "fr", "Mo", NOW + 5)
    assert (outcome.changed, set(purged)) == ((comment,), TAGS)
    page = ("blog", "/post/")
    [shown] = database.read_now(queries.changed, page, NOW + 5, 9, 9).items
    assert (shown.lang, shown.edited_at) == ("fr", None), "whoever is reading learns of it"
    [entry] = database.read_now(history.entries, comment)
    assert (entry.field, entry.old, entry.new, entry.actor) == ("lang", "", "fr", "Mo")
    same = database.write_now(changes.correct_language, comment, "fr", "Mo", NOW + 6)
    assert same == ChangeResult(0, (), {comment: "approved"})
    purged.clear()
    assert take_back(database, outcome.decision_id).changed == (comment,)
    assert database.read_now(queries.get, comment).comment.lang == ""
    assert (set(purged), version(database)) == (TAGS, begin + 2)
    with pytest.raises(UnknownComment):
        database.write_now(changes.correct_language, 77, "fr", "Mo", NOW)


def test_a_corrected_language_holds_up_no_decision_of_others(database: Database) -> None:
    comment = added(database)
    seen = database.read_now(lambda snapshot: snapshot.last_id("change"))
    database.write_now(changes.correct_language, comment, "fr", "Mo", NOW)
    decided = database.write_now(changes.change, [comment], "approved", "Jo", NOW, seen)
    assert decided.changed == (comment,)


def test_a_text_and_a_status_are_undone_each_by_itself(database: Database) -> None:
    comment = added(database)
    first = edit(database, comment, "Better")
    second = decide(database, "approved", comment)
    assert take_back(database, first.decision_id).changed == (comment,)
    assert take_back(database, second.decision_id).changed == (comment,)
    assert (text(database)[0], state(database)) == ("Hello *you*", [(comment, "pending", None)])
