"""Pages that have moved: their comments follow them, and come back."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commentsvc.backup import integrity
from commentsvc.comments import queries, site_rows
from commentsvc.db.database import Database
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.model import GONE, MOVED, THERE
from commentsvc.moderation import changes, moved_pages, threads
from commentsvc.moderation.moved_pages import BlogAnswer
from tests.unit.database_fixture import NOW, add, opened, plan


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    """Open a database: /a/ has two approved comments and a waiting one, /b/ and /c/ one each."""
    with opened(tmp_path, purged.extend) as database:
        database.write_now(site_rows.sync, ["other"])
        first = add(database, url="/a/", title="A").comment.id
        add(database, url="/a/", parent=first)
        add(database, url="/a/", status="pending")
        for url in ("/b/", "/c/"):
            add(database, url=url)
        add(database, url="/b/", site="other")
        yield database
        assert database.read_now(integrity.check) == []


def due(database: Database, *listed: str, now: int = NOW) -> list[str]:
    pages, back = database.read_now(moved_pages.unlisted, "blog", {*listed}, now, 100)
    database.write_now(moved_pages.save, back)
    return [url for _, url in pages]


def thread_id(database: Database, url: str) -> int:
    return database.read_now(threads.find, "blog", url).thread_id


def found(database: Database, url: str, target: str = "", state: str = MOVED) -> int:
    """Store that the blog answered this for a page; return the id of its thread."""
    number = thread_id(database, url)
    database.write_now(moved_pages.save, [BlogAnswer(number, url, state, target, NOW + 1)])
    return number


def act(database: Database, work: Callable[..., Any], *ids: int, now: int = NOW) -> list[int]:
    done: list[int] = database.write_now(work, ids, None, "mo", now)
    return done


def texts(database: Database, url: str) -> list[int]:
    found = database.read_now(queries.list_comments, ("blog", url), "oldest", 100, None)
    return [each.id for each in found.items]


def waiting(database: Database, state: str = MOVED) -> list[tuple[str, str, int]]:
    pages = database.read_now(moved_pages.waiting, None, state)
    return [(page.url, page.target, page.taken) for page in pages]


def test_pages_with_comments_that_are_not_listed_are_asked_for_once_they_are_due(
    database: Database,
) -> None:
    add(database, url="/waits/", status="pending")
    database.write_now(threads.move, "blog", "/c/", "/new/")
    assert due(database, "/b/") == ["/a/", "/new/"]
    found(database, "/a/", state=GONE)
    assert due(database, "/b/") == ["/new/"]
    assert due(database, "/b/", now=NOW + 1) == ["/new/", "/a/"]
    database.write_now(threads.move, "blog", "/a/", "/else/")
    assert due(database, "/b/") == ["/else/", "/new/"], "the answer was about another address"


def test_a_page_that_is_listed_again_waits_no_more(database: Database) -> None:
    found(database, "/a/", "/new/")
    assert waiting(database) == [("/a/", "/new/", 0)]
    assert due(database, "/a/", "/b/", "/c/") == []
    assert waiting(database) == []


def test_comments_follow_their_page_and_come_back(database: Database, purged: list[str]) -> None:
    number, gone = found(database, "/a/", "/new/"), found(database, "/c/", state=GONE)
    before = texts(database, "/a/")
    purged.clear()
    assert act(database, moved_pages.follow, number, gone, 99) == [number]
    assert texts(database, "/new/") == texts(database, "/a/") == before
    assert {"thread:blog:/a/", "thread:blog:/new/"} <= {*purged}
    assert (waiting(database), waiting(database, GONE)) == ([], [("/c/", "", 0)])
    assert act(database, moved_pages.follow, number) == [], "once"
    purged.clear()
    assert act(database, moved_pages.undo, number, gone) == [number]
    assert (texts(database, "/a/"), texts(database, "/new/")) == (before, [])
    assert {"thread:blog:/a/", "thread:blog:/new/"} <= {*purged}
    assert waiting(database) == [("/a/", "/new/", 0)]
    assert act(database, moved_pages.follow, number) == [number], "and again"


def test_comments_at_both_addresses_are_merged_and_separated(
    database: Database, purged: list[str]
) -> None:
    database.write_now(threads.add_alias, "blog", "/a/", "/older/")
    number = found(database, "/a/", "/b/")
    mine, theirs = texts(database, "/a/"), texts(database, "/b/")
    assert waiting(database) == [("/a/", "/b/", 1)]
    assert act(database, moved_pages.follow, number) == [number]
    assert sorted(texts(database, "/b/")) == sorted(mine + theirs)
    assert texts(database, "/older/") == texts(database, "/b/")
    answer = add(database, url="/b/", parent=mine[0]).comment.id
    below = add(database, url="/b/", parent=answer).comment.id
    new = add(database, url="/b/").comment.id
    changes_of_waiting = database.read_now(queries.pending_ids)
    purged.clear()
    assert act(database, moved_pages.undo, number) == [number]
    assert texts(database, "/a/") == texts(database, "/older/") == [*mine, answer, below]
    assert texts(database, "/b/") == [*theirs, new]
    assert {"thread:blog:/a/", "thread:blog:/b/"} <= {*purged}
    database.write_now(changes.change, changes_of_waiting, "approved", "mo", NOW)
    assert len(texts(database, "/a/")) == len(mine) + 3, "what waited came back, too"
    assert act(database, moved_pages.follow, number) == [number], "and again"
    assert texts(database, "/a/") == texts(database, "/b/")


def test_a_page_whose_comments_were_deleted_takes_back_no_others(database: Database) -> None:
    database.write_now(threads.add_alias, "blog", "/a/", "/empty/")
    database.write_now(threads.remove_alias, "blog", "/empty/")
    empty, full = found(database, "/empty/", "/b/"), found(database, "/c/", "/b/")
    [mine] = texts(database, "/c/")
    assert act(database, moved_pages.follow, empty, full) == [empty, full]
    assert act(database, moved_pages.undo, empty) == [empty]
    assert mine in texts(database, "/b/")
    assert act(database, moved_pages.undo, full) == [full]
    assert texts(database, "/c/") == [mine]


@pytest.mark.sqlite_only("it looks at SQLite's plan")
def test_a_merging_is_taken_back_without_reading_all_comments(database: Database) -> None:
    steps = " / ".join(plan(database, threads._giving_back(ChangeTable.decision_id == 1, 1, 2)))
    assert "INDEX comment_by_parent (parent_id=?)" in steps
    assert not re.search(r"SCAN (t2|comment)\b", steps), steps


def test_an_answer_about_a_page_that_moved_on_is_not_taken_back(database: Database) -> None:
    moved, merged = found(database, "/a/", "/new/"), found(database, "/c/", "/b/")
    assert act(database, moved_pages.follow, moved, merged) == [moved, merged]
    database.write_now(threads.move, "blog", "/new/", "/newer/")
    database.write_now(threads.remove_alias, "blog", "/c/")
    assert act(database, moved_pages.undo, moved, merged) == []
    assert len(texts(database, "/newer/")) == 2


def test_comments_stay_where_they_are_if_a_moderator_says_so(database: Database) -> None:
    moved, gone = found(database, "/a/", "/new/"), found(database, "/c/", state=GONE)
    there = found(database, "/b/", state=THERE)
    assert act(database, moved_pages.stay, moved, gone, there) == [moved, gone]
    found(database, "/a/", "/elsewhere/")
    assert due(database, "/b/", now=NOW + 10**12) == [], "nobody is asked again"
    assert (waiting(database), waiting(database, GONE)) == ([], [])
    assert act(database, moved_pages.undo, moved, gone) == [moved, gone]
    assert (waiting(database), waiting(database, GONE)) == ([("/a/", "/new/", 0)], [("/c/", "", 0)])


def test_one_decision_is_taken_back_as_one(database: Database) -> None:
    first, second = found(database, "/a/", "/new/"), found(database, "/c/", "/d/")
    third = found(database, "/b/", "/e/")
    act(database, moved_pages.follow, third, now=NOW)
    act(database, moved_pages.follow, first, second, now=NOW + 1)
    assert sorted(database.read_now(moved_pages.last, "mo")) == sorted([first, second])
    assert database.read_now(moved_pages.last, "ann") == []
    answered = database.read_now(moved_pages.answered, None, NOW + 1)
    assert sorted(page.id for page in answered) == sorted([first, second])


def test_pages_of_other_sites_are_neither_seen_nor_moved(database: Database) -> None:
    number = found(database, "/a/", "/new/")
    for work in (moved_pages.follow, moved_pages.stay, moved_pages.undo):
        assert database.write_now(work, [number], ("other",), "mo", NOW) == []
    assert database.read_now(moved_pages.waiting, ("other",), MOVED) == []
    assert act(database, moved_pages.follow, number) == [number]
    assert database.read_now(moved_pages.answered, ("other",), 0) == []


def test_a_thread_that_went_meanwhile_stops_no_search(database: Database) -> None:
    gone = BlogAnswer(999, "/gone/", GONE, "", NOW)
    there = BlogAnswer(thread_id(database, "/a/"), "/a/", MOVED, "/new/", NOW)
    database.write_now(moved_pages.save, [gone, there])
    assert waiting(database) == [("/a/", "/new/", 0)]


def test_comments_at_another_address_of_the_target_are_counted(database: Database) -> None:
    database.write_now(threads.add_alias, "blog", "/b/", "/b2/")
    number = found(database, "/a/", "/b2/")
    assert waiting(database) == [("/a/", "/b2/", 1)]
    assert act(database, moved_pages.follow, number) == [number]
    assert len(texts(database, "/b/")) == 3


@pytest.mark.parametrize(
    "moved",
    [
        {"/a/": "/new/", "/c/": "/new/"},  # a later merging at the new address of the first
        {"/a/": "/new/", "/b/": "/new/", "/c/": "/a/"},
        {"/c/": "/a/", "/b/": "/c/"},  # into a page that has followed itself
        {"/a/": "/b/", "/b/": "/a/"},
        {"/b/": "/c/", "/c/": "/a/", "/a/": "/b/"},
        {"/c/": "/b/", "/b/": "/a/", "/a/": "/b/"},
    ],
)
def test_pages_that_follow_each_other_all_come_back(
    database: Database, moved: dict[str, str]
) -> None:
    """The comments of a page that was merged at a new address went where the first came from."""
    before = {url: texts(database, url) for url in ("/a/", "/b/", "/c/")}
    ids = [found(database, url, target) for url, target in moved.items()]
    assert act(database, moved_pages.follow, *ids) == ids
    assert sorted(act(database, moved_pages.undo, *ids)) == sorted(ids)
    assert {url: texts(database, url) for url in before} == before
    assert waiting(database) == sorted(
        (url, target, len(before.get(target, []))) for url, target in moved.items()
    )


def test_a_page_does_not_go_back_with_the_comments_of_another(database: Database) -> None:
    first, second = found(database, "/a/", "/new/"), found(database, "/c/", "/new/")
    assert act(database, moved_pages.follow, first, second) == [first, second]
    assert act(database, moved_pages.undo, first) == [], "the other one comes first"
    assert act(database, moved_pages.undo, second) == [second]
    assert act(database, moved_pages.undo, first) == [first]
    follower, into = found(database, "/c/", "/a/"), found(database, "/b/", "/c/")
    before = {url: texts(database, url) for url in ("/a/", "/b/", "/c/")}
    assert act(database, moved_pages.follow, follower, into) == [follower, into]
    assert act(database, moved_pages.undo, follower) == [follower]
    assert act(database, moved_pages.undo, into) == [into]
    assert {url: texts(database, url) for url in before} == before
