"""Submitting, repeating, approving and listing: answers, counts, what is shown and purged."""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from commentsvc import errors
from commentsvc.backup import integrity
from commentsvc.comments import create, pagination, queries, site_rows
from commentsvc.comments.create import NewComment
from commentsvc.comments.pagination import Sort
from commentsvc.comments.queries import DeletedComment
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.errors import KeyConflict, ThreadClosed, UnknownParent, UnknownSite
from commentsvc.feedback import votes as voting
from commentsvc.model import Comment, thread_tag
from commentsvc.moderation import changes, pins, threads, undo
from tests.unit.database_fixture import HOUR, NOW, add, decide, new, opened


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    with opened(tmp_path, purged.extend) as database:
        yield database
        assert database.read_now(integrity.check) == []


def submit(database: Database, submission: NewComment, now: int = NOW) -> create.InsertResult:
    return database.write_now(create.add, submission, now)


def shown(
    database: Database, sort: Sort = "oldest", limit: int = 100, after: str | None = None
) -> queries.CommentList:
    return database.read_now(queries.list_comments, ("blog", "/post/"), sort, limit, after)


def stored(snapshot: Snapshot) -> list[tuple[object, ...]]:
    return snapshot.execute(
        "SELECT key, token_hash, token_expires_at FROM comment ORDER BY id"
    ).fetchall()


def test_an_approved_submission_is_shown_and_counted(database: Database, purged: list[str]) -> None:
    added = add(database, author="Ann", author_site="https://ann.example", email="a@b.example")
    assert (added.token_valid, added.repeated) == (True, False)
    assert added.comment.published_at == added.comment.created_at == NOW
    assert shown(database).items == [added.comment]
    assert database.read_now(lambda snapshot: queries.thread(snapshot, "blog", "/post/").count) == 1
    assert database.read_now(queries.site_count, "blog") == 1
    assert purged == ["thread:blog:/post/", "site:blog"]


def test_a_pending_submission_is_neither_shown_nor_counted_nor_purges(
    database: Database, purged: list[str]
) -> None:
    added = add(database, status="pending")
    assert added.comment.published_at is None
    assert shown(database).items == []
    assert database.read_now(queries.site_count, "blog") == 0
    assert database.read_now(queries.pending_ids) == [added.comment.id]
    assert purged == []


def test_the_first_submission_makes_the_thread(database: Database) -> None:
    for _ in range(4):
        add(database)
    [entry] = database.read_now(queries.latest, "blog", None, 1)
    assert (entry.site, entry.url) == ("blog", "/post/")
    assert shown(database).thread.count == 4


def test_a_site_that_is_not_configured_is_unknown(database: Database) -> None:
    with pytest.raises(UnknownSite, match="other"):
        add(database, site="other")


def test_configured_sites_are_made_once_and_never_removed(database: Database) -> None:
    add(database)
    database.write_now(site_rows.sync, ["blog", "other"])
    database.write_now(site_rows.sync, ["other"])
    add(database, site="other")
    assert database.read_now(queries.site_count, "blog") == 1
    assert database.read_now(queries.site_count, "other") == 1


def test_a_parent_must_stand_in_the_same_thread_and_not_be_deleted(database: Database) -> None:
    parent = add(database, status="pending").comment.id
    deleted = add(database, status="deleted").comment.id
    elsewhere = add(database, url="/other/").comment.id
    assert add(database, parent=parent).comment.parent_id == parent
    for unknown in (deleted, elsewhere, 999):
        with pytest.raises(UnknownParent, match=str(unknown)):
            add(database, parent=unknown)


def test_a_retry_with_the_clients_key_gives_the_same_comment_and_a_new_token(
    database: Database, purged: list[str]
) -> None:
    first = submit(database, new(key="secret"))
    purged.clear()
    retry = new(key="secret", token_hash=b"second token", token_expires_at=NOW + 2 * HOUR)
    again = submit(database, retry, NOW + 30 * HOUR)
    assert again == create.InsertResult(first.comment, token_valid=True, repeated=True)
    [row] = database.read_now(stored)
    assert row[1:] == (b"second token", NOW + 2 * HOUR)
    assert shown(database).thread.count == 1
    assert {*purged} == {thread_tag("blog", "/post/"), "site:blog"}, "others may not have done it"


def test_a_retry_says_what_became_of_the_comment(database: Database) -> None:
    submission = new(status="pending")
    first = submit(database, submission)
    decide(database, "approved", first.comment.id)
    again = submit(database, submission)
    assert again.repeated
    assert again.comment.status == "approved"


@pytest.mark.parametrize(
    "change",
    [
        {"source": "Bye"},
        {"author": "Eve"},
        {"email": "e@b.example"},
        {"author_site": "https://eve.example"},
        {"url": "/other/"},
        {"parent": 1},
    ],
)
def test_the_same_key_for_other_content_conflicts_and_stores_nothing(
    database: Database, change: dict[str, object]
) -> None:
    submit(database, new(key="secret"))
    with pytest.raises(KeyConflict):
        submit(database, new(key="secret", token_hash=b"stolen", **change))
    rows = database.read_now(stored)
    assert [row[1] for row in rows] == [b"first token"]
    threads = "SELECT count(*) FROM thread"
    assert database.read_now(lambda snapshot: snapshot.execute(threads).fetchone()) == (1,)


def test_the_same_content_within_the_hour_is_one_comment_without_a_new_token(
    database: Database,
) -> None:
    first = submit(database, new(key="digest", derived=True))
    again = submit(database, new(key="digest", derived=True, token_hash=b"stolen"), NOW + HOUR - 1)
    assert again == create.InsertResult(first.comment, token_valid=False, repeated=True)
    assert [row[1] for row in database.read_now(stored)] == [b"first token"]


def test_the_same_content_after_the_hour_is_a_new_comment(database: Database) -> None:
    first = submit(database, new(key="digest", derived=True))
    second = submit(database, new(key="digest", derived=True), NOW + HOUR)
    assert (second.token_valid, second.repeated) == (True, False)
    assert second.comment.id != first.comment.id
    assert [row[0] is None for row in database.read_now(stored)] == [True, False]
    assert submit(database, new(key="digest", derived=True), NOW + HOUR + 1).repeated


def test_the_same_content_after_the_hour_still_needs_its_parent(database: Database) -> None:
    with pytest.raises(UnknownParent):
        submit(database, new(key="digest", derived=True, parent=5))
    parent = add(database, status="pending").comment.id
    submit(database, new(key="digest", derived=True, parent=parent))
    database.write_now(
        lambda tx: tx.execute("UPDATE comment SET status = 'deleted' WHERE id = ?", (parent,))
    )
    assert submit(database, new(key="digest", derived=True, parent=parent), NOW + 1).repeated
    with pytest.raises(UnknownParent):
        submit(database, new(key="digest", derived=True, parent=parent), NOW + HOUR)


def test_nobody_gets_the_token_of_another_by_making_the_derived_key(database: Database) -> None:
    submit(database, new(key="digest", derived=True))
    stranger = submit(database, new(key="digest", token_hash=b"stranger"))
    assert not stranger.repeated
    assert [row[1] for row in database.read_now(stored)] == [b"first token", b"stranger"]


def test_no_key_is_stored_as_it_is(database: Database) -> None:
    submit(database, new(key="a secret of the client"))
    [(key, *_)] = database.read_now(stored)
    assert isinstance(key, bytes)
    assert len(key) == create.KEY_BYTES


def test_pages_without_comments_count_nothing(database: Database) -> None:
    add(database)
    found = database.read_now(
        lambda snapshot: {
            url: queries.thread(snapshot, "blog", url).count for url in ["/post/", "/none/"]
        }
    )
    assert found == {"/post/": 1, "/none/": 0}
    assert (
        database.read_now(lambda snapshot: queries.thread(snapshot, "other", "/post/").count) == 0
    )
    assert database.read_now(queries.site_count, "other") == 0
    page = database.read_now(queries.list_comments, ("other", "/post/"), "top", 5, None)
    nothing = queries.Thread(0, "/post/", 0, "aging")
    assert page == queries.CommentList([], nothing, None, None)


def test_the_latest_are_approved_and_of_the_page_or_the_site(database: Database) -> None:
    database.write_now(site_rows.sync, ["other"])
    ids = [
        add(database, NOW + n, url=f"/{n % 2}/", title=f"Post {n % 2}").comment.id for n in range(4)
    ]
    add(database, NOW + 9, status="pending")
    add(database, NOW + 9, site="other")
    of_site = database.read_now(queries.latest, "blog", None, 3)
    assert [entry.comment.id for entry in of_site] == [ids[3], ids[2], ids[1]]
    assert [(entry.url, entry.title) for entry in of_site[:2]] == [
        ("/1/", "Post 1"),
        ("/0/", "Post 0"),
    ]
    of_page = database.read_now(queries.latest, "blog", "/0/", 3)
    assert [entry.comment.id for entry in of_page] == [ids[2], ids[0]]
    assert database.read_now(queries.latest, "blog", "/none/", 3) == []


def test_a_listing_is_newest_first_by_status_or_of_all(database: Database) -> None:
    ids = [add(database, status=status).comment.id for status in ("pending", "approved", "pending")]

    def listed(status: str | None, limit: int) -> list[int]:
        entries = database.read_now(queries.listing, status, limit)
        return [entry.comment.id for entry in entries]

    assert listed("pending", 9) == [ids[2], ids[0]]
    assert listed("pending", 1) == [ids[2]]
    assert listed("spam", 9) == []
    assert listed(None, 2) == [ids[2], ids[1]]


def test_a_closed_thread_takes_nothing_but_a_retry(database: Database) -> None:
    first = submit(database, new(key="secret"))
    database.write_now(threads.set_state, "blog", "/post/", "closed")
    for submission in (new(), new(parent=first.comment.id), new(parent=77)):
        with pytest.raises(ThreadClosed, match="/post/ takes no more comments"):
            submit(database, submission)
    assert submit(database, new(key="secret")).comment == first.comment
    database.write_now(threads.set_state, "blog", "/post/", "open")
    assert not add(database).repeated


def test_a_thread_closes_by_its_age_unless_a_moderator_keeps_it_open(database: Database) -> None:
    add(database, status="pending", open_for=HOUR)
    add(database, NOW + 50 * HOUR, open_for=HOUR)
    add(database, NOW + 51 * HOUR - 1, open_for=HOUR)
    with pytest.raises(ThreadClosed):
        add(database, NOW + 51 * HOUR, open_for=HOUR)
    add(database, NOW + 99 * HOUR)
    database.write_now(threads.set_state, "blog", "/post/", "open")
    add(database, NOW + 99 * HOUR, open_for=HOUR)


def test_a_page_tells_when_it_closes(database: Database) -> None:
    def closes(open_for: int) -> int | None:
        ref = ("blog", "/post/")
        page = database.read_now(queries.list_comments, ref, "oldest", 9, None, open_for)
        return page.closes

    assert closes(HOUR) is None
    add(database, NOW + 5)
    assert (closes(0), closes(HOUR)) == (None, NOW + 5 + HOUR)
    for state, moment in (("closed", 0), ("open", None), ("aging", NOW + 5 + HOUR)):
        database.write_now(threads.set_state, site="blog", url="/post/", state=state)
        assert closes(HOUR) == moment


def merged(database: Database, before: list[Comment], since: int) -> list[Comment] | None:
    """Return what a client shows that had the comments `before` and asks for changes since then.

    None if the counts show that it misses something.
    """
    page = database.read_now(queries.changed, ("blog", "/post/"), since, 100, 100)
    known = {each.id: each for each in (*before, *page.items)}
    if len(known) != page.thread.count or page.votes is None:
        return None
    votes = page.votes
    return [replace(each, votes=votes.get(each.id, 0)) for each in known.values()]


def by_id(items: list[Comment]) -> list[Comment]:
    return sorted(items, key=lambda comment: comment.id)


def test_what_was_added_or_changed_is_all_that_is_needed(database: Database) -> None:
    for _ in range(3):
        add(database)
    waiting = add(database, status="pending").comment.id
    before = shown(database).items
    later = NOW + HOUR
    add(database, now=later)
    decide(database, "approved", waiting, now=later)
    database.write_now(changes.edit, 2, "New", "Mo", later)
    database.write_now(voting.vote, 1, "a voter", 1, [], later)
    changed = database.read_now(queries.changed, ("blog", "/post/"), later, 100, 100)
    assert {each.id for each in changed.items} == {2, waiting, 5}
    assert merged(database, before, later) is not None
    assert by_id(merged(database, before, later) or []) == by_id(shown(database).items)
    decide(database, "deleted", 3, now=later)
    assert merged(database, before, later) is None


def test_a_list_of_changes_that_is_not_whole_has_no_votes(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then a client asks for the list, which has the votes of its comments alone."""
    for number in range(5):
        add(database, NOW + number)

    def changed(since: int, limit: int, votes: int) -> tuple[int, int | None, int]:
        found = database.read_now(queries.changed, ("blog", "/post/"), since, limit, votes)
        return (
            len(found.items),
            None if found.votes is None else len(found.votes),
            len(found.reactions),
        )

    later = NOW + HOUR
    for number, emoji in ((1, "👍"), (2, "🎉"), (3, "👍")):
        database.write_now(voting.react, number, f"reader {number}", emoji, [], later)
    assert changed(later, 9, 100) == (0, 3, 3)
    assert changed(later, 9, 3) == (0, 3, 3)
    assert changed(later, 9, 2) == (0, None, 0), "more comments have votes"
    assert changed(NOW, 4, 9) == (4, None, 0), "more comments are new"
    database.write_now(pins.pin, 5)
    assert changed(later, 9, 3) == (1, 3, 3)
    monkeypatch.setattr(pagination, "TEXTS", 2 * len('{"👍":1}'.encode()))
    assert changed(later, 9, 3) == (1, None, 0), "the reactions are too long"


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_nobody_is_shown_what_is_not_true(database: Database, seed: int) -> None:
    """The widget's rule for prerendered pages: `changed` makes them right, or the count differs."""
    random = Random(seed)
    add(database, url="/other/")
    for number in range(4):
        add(database, now=NOW + number)
    for number in (2, 3):  # which may be undone later
        edit = partial(changes.edit, comment_id=number, source="Old", who="Mo", now=NOW + 3)
        database.write_now(edit)
    decide(database, "spam", 4, now=NOW + 3)
    before, since = shown(database).items, NOW + 4
    assert merged(database, before, since) == before
    for moment in range(since, since + 12):
        ids = [each.comment.id for each in database.read_now(queries.listing, None, 100)]
        chosen = random.choice(ids)

        def act(tx: Transaction, moment: int = moment, chosen: int = chosen) -> object:
            match random.randrange(5):
                case 0:
                    return changes.edit(tx, chosen, f"Text {moment}", "Mo", moment)
                case 1:
                    return undo.last(tx, [chosen], "Mo", moment)
                case 2:
                    return create.add(tx, new(), moment)
                case 3:
                    return threads.merge(tx, "blog", "/other/", "/post/", "Mo", moment)
                case _:
                    to = random.choice(["approved", "deleted", "spam"])
                    return changes.change(tx, [chosen], to, "Mo", moment)

        with contextlib.suppress(errors.UrlTaken, errors.NothingToUndo):
            database.write_now(act)
        seen = merged(database, before, since)
        if seen is not None:
            assert by_id(seen) == by_id(shown(database).items)


def test_a_clock_that_is_set_back_puts_no_comment_above_older_ones(database: Database) -> None:
    first = add(database, NOW).comment.id
    second = add(database, NOW - HOUR).comment.id
    pending = add(database, NOW - HOUR, status="pending").comment.id
    decide(database, "approved", pending, now=NOW - HOUR)
    assert [comment.id for comment in shown(database).items] == [first, second, pending]
    assert {comment.published_at for comment in shown(database).items} == {NOW}
    fourth = add(database, NOW + 1).comment
    assert fourth.published_at == NOW + 1


def test_of_a_long_row_of_deleted_ancestors_the_nearest_are_named(database: Database) -> None:
    """An import may bring tens of thousands of them below one comment."""
    above = None
    for _ in range(30):
        above = add(database, parent=above).comment.id
    decide(database, "deleted", *range(1, 30))
    nearest = range(30 - queries.ABOVE, 30)
    assert shown(database).deleted == [DeletedComment(each, each - 1) for each in nearest]


def test_what_is_deleted_is_named_while_it_has_replies(database: Database) -> None:
    """Comments 2, 3 and 5 are deleted; no visible comment replies to the last one."""
    add(database)
    for parent in (1, 2, 3, 1, 4):
        add(database, parent=parent)
    decided = decide(database, "deleted", 2, 3, 5)
    assert [comment.id for comment in shown(database).items] == [1, 4, 6]
    assert shown(database).deleted == [DeletedComment(2, 1), DeletedComment(3, 2)]
    database.write_now(undo.decision, decided.decision_id, "Mo", NOW)
    assert shown(database).deleted == []


def test_a_parent_on_another_piece_of_the_list_is_not_called_deleted(database: Database) -> None:
    add(database)
    add(database, parent=1)
    first = shown(database, limit=1)
    assert [comment.id for comment in shown(database, after=first.next).items] == [2]
    assert shown(database, after=first.next).deleted == []
