"""Closing, moving, merging and aliases: what readers then get at each address."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commentsvc import errors
from commentsvc.backup import integrity
from commentsvc.comments import queries, site_rows
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.errors import UnknownThread, UrlTaken
from commentsvc.feedback import reactions
from commentsvc.moderation import authorized, changes, history, permissions, pins, threads, undo
from commentsvc.moderation.authorized import ThreadChange
from commentsvc.readers import follows
from tests.unit.database_fixture import NOW, add, decide, opened


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    """Open a database: /a/ has two approved comments and one of each other status, /b/ one."""
    with opened(tmp_path, purged.extend) as database:
        database.write_now(site_rows.sync, ["other"])
        first = add(database, url="/a/", title="A").comment.id
        add(database, url="/a/", parent=first)
        for status in ("pending", "spam", "deleted"):
            add(database, url="/a/", status=status)
        add(database, url="/b/")
        add(database, url="/b/", site="other")
        purged.clear()
        yield database
        assert database.read_now(integrity.check) == []


def do(database: Database, work: Callable[..., Any], *words: object) -> Any:  # Any: as it gives
    def write(tx: Transaction) -> Any:  # Any: as above
        return work(tx, "blog", *words)

    return database.write_now(write)


def counts(database: Database, *urls: str) -> list[int]:
    return database.read_now(
        lambda snapshot: [queries.thread(snapshot, "blog", url).count for url in urls]
    )


def where(database: Database) -> list[tuple[str, str, tuple[str, ...]]]:
    found = database.read_now(threads.listing, "", 100, None)
    return sorted((each.site, each.url, each.aliases) for each in found)


def latest(database: Database, url: str) -> list[str]:
    entries = database.read_now(queries.latest, "blog", url, 9)
    return [entry.url for entry in entries]


def test_a_moved_page_is_found_under_both_addresses(database: Database, purged: list[str]) -> None:
    do(database, threads.move, "/a/", "/new/")
    assert counts(database, "/a/", "/new/", "/b/") == [2, 2, 1]
    assert set(purged) == {"thread:blog:/a/", "thread:blog:/new/", "site:blog"}
    assert latest(database, "/a/") == latest(database, "/new/") == ["/new/", "/new/"]
    purged.clear()
    add(database, url="/a/")
    assert purged == ["thread:blog:/new/", "site:blog"], "answers are tagged with where it is"
    assert counts(database, "/a/", "/new/") == [3, 3]


@pytest.mark.parametrize(
    "change",
    [
        lambda tx: threads.set_state(tx, "blog", "/a/", "closed"),
        lambda tx: threads.set_title(tx, "blog", "/a/", "Another"),
        lambda tx: threads.move(tx, "blog", "/a/", "/new/"),
        lambda tx: threads.add_alias(tx, "blog", "/a/", "/alias/"),
        lambda tx: threads.merge(tx, "blog", "/b/", "/a/", "bob", NOW),
        lambda tx: pins.pin(tx, 1),
        lambda tx: reactions.react_once(tx, PageRef("blog", "/a/"), "👍", (), NOW),
        lambda tx: changes.change(tx, [1], "spam", "bob", NOW),
    ],
)
def test_each_change_that_readers_see_gives_the_thread_a_new_version(
    database: Database, purged: list[str], change: Callable[[Transaction], Any]
) -> None:
    before = database.read_now(queries.thread, "blog", "/a/")
    database.write_now(change)
    after = database.read_now(queries.thread, "blog", "/a/")
    assert f"thread:blog:{after.url}" in purged
    assert after.version > before.version


def test_a_page_may_move_back_and_forth(database: Database) -> None:
    for to in ("/new/", "/newer/", "/a/", "/a/", "/new/"):
        do(database, threads.move, "/a/", to)
        assert counts(database, "/a/", "/new/", to) == [2, 2, 2]
    assert where(database)[1] == ("blog", "/new/", ("/a/", "/newer/"))


def test_a_page_does_not_move_over_another(database: Database) -> None:
    add(database, url="/c/", status="pending")
    do(database, threads.add_alias, "/b/", "/b2/")
    for taken in ("/b/", "/c/", "/b2/"):
        with pytest.raises(UrlTaken, match=taken):
            do(database, threads.move, "/a/", taken)
        with pytest.raises(UrlTaken, match=taken):
            do(database, threads.add_alias, "/a/", taken)
    assert counts(database, "/a/", "/b/", "/c/") == [2, 1, 0]


def test_an_alias_leads_to_its_page_until_it_is_taken_away(
    database: Database, purged: list[str]
) -> None:
    do(database, threads.add_alias, "/a/", "/x/")
    do(database, threads.add_alias, "/x/", "/y/")
    assert counts(database, "/x/", "/y/") == [2, 2]
    assert set(purged) == {"thread:blog:/x/", "thread:blog:/y/", "thread:blog:/a/"}
    purged.clear()
    do(database, threads.remove_alias, "/x/")
    assert set(purged) == {"thread:blog:/x/", "thread:blog:/a/"}
    assert counts(database, "/x/", "/y/", "/a/") == [0, 2, 2]
    add(database, url="/x/")
    assert counts(database, "/x/", "/a/") == [1, 2]
    for url in ("/x/", "/a/", "/nobody/"):
        with pytest.raises(UnknownThread, match=url):
            do(database, threads.remove_alias, url)
    with pytest.raises(UrlTaken, match="own address"):
        do(database, threads.add_alias, "/y/", "/a/")


def test_an_address_where_nothing_was_said_may_become_an_alias(database: Database) -> None:
    do(database, threads.add_alias, "/a/", "/x/")
    do(database, threads.remove_alias, "/x/")
    do(database, threads.add_alias, "/b/", "/x/")
    assert counts(database, "/x/") == [1]


@pytest.mark.parametrize("work", [threads.move, threads.add_alias])
def test_who_follows_an_address_follows_the_page_that_comes_there(
    database: Database, work: Callable[..., None]
) -> None:
    database.write_now(follows.request, ("blog", "/new/"), "flo@blog.example", "", NOW)
    do(database, work, "/a/", "/new/")
    follower = database.read_now(follows.find, 1)
    assert follower is not None
    assert follower.thread_id == database.read_now(threads.find, "blog", "/a/").thread_id


@pytest.mark.parametrize("work", [threads.move, threads.add_alias])
def test_all_addresses_of_a_page_without_comments_lead_to_the_page_that_comes_there(
    database: Database, work: Callable[..., None]
) -> None:
    do(database, threads.add_alias, "/a/", "/empty/")
    do(database, threads.remove_alias, "/empty/")
    do(database, threads.add_alias, "/empty/", "/other/")
    do(database, work, "/a/", "/empty/")
    found = [database.read_now(threads.find, "blog", url) for url in ("/a/", "/empty/", "/other/")]
    assert len({*found}) == 1


def test_merging_puts_all_comments_under_one_page(database: Database, purged: list[str]) -> None:
    do(database, threads.add_alias, "/a/", "/older/")
    purged.clear()
    assert do(database, threads.merge, "/a/", "/b/", "Mo", NOW + 5).moved == 5
    assert counts(database, "/a/", "/b/", "/older/") == [3, 3, 3]
    assert {"thread:blog:/a/", "thread:blog:/b/", "site:blog"} == set(purged)
    assert where(database) == [("blog", "/b/", ("/a/", "/older/")), ("other", "/b/", ())]
    assert database.read_now(queries.site_count, "blog") == 3
    [entry] = database.read_now(threads.listing, "A", 9, None)
    assert (entry.url, entry.title, entry.state) == ("/b/", "A", "aging")
    ids = database.read_now(queries.pending_ids)
    decide(database, "approved", *ids)
    assert counts(database, "/a/", "/b/") == [4, 4]


def test_a_page_that_was_merged_is_not_closed_when_it_stands_for_itself(
    database: Database,
) -> None:
    do(database, threads.set_state, "/a/", "closed")
    do(database, threads.merge, "/a/", "/b/", "Mo", NOW)
    do(database, threads.remove_alias, "/a/")
    assert add(database, url="/a/").comment.status == "approved"


def test_a_merge_stands_in_each_history_and_is_not_undone(database: Database) -> None:
    [pending] = database.read_now(queries.pending_ids)
    act = decide(database, "approved", pending).decision_id
    do(database, threads.merge, "/a/", "/b/", "Mo", NOW + 5)
    [moved, approved] = database.read_now(history.entries, pending)
    assert (moved.field, moved.old, moved.new, moved.actor) == ("thread", "/a/", "/b/", "Mo")
    assert approved.decision_id == act
    assert database.read_now(undo.last_decision, "Mo") == act
    with pytest.raises(errors.NothingToUndo):
        database.write_now(undo.decision, moved.decision_id, "Mo", NOW)
    database.write_now(undo.last, [pending], "Mo", NOW)
    assert counts(database, "/b/") == [3]


def test_a_page_is_not_merged_with_itself_or_with_nothing(database: Database) -> None:
    do(database, threads.add_alias, "/a/", "/x/")
    with pytest.raises(UrlTaken, match="already the same page"):
        do(database, threads.merge, "/x/", "/a/", "Mo", NOW)
    for pair in (("/a/", "/nobody/"), ("/nobody/", "/a/")):
        with pytest.raises(UnknownThread, match="/nobody/ on blog"):
            do(database, threads.merge, *pair, "Mo", NOW)


def test_a_reply_under_the_old_address_finds_its_parent(database: Database) -> None:
    do(database, threads.merge, "/a/", "/b/", "Mo", NOW)
    assert add(database, url="/a/", parent=1).comment.parent_id == 1


def test_a_state_purges_what_shows_the_thread(database: Database, purged: list[str]) -> None:
    do(database, threads.add_alias, "/a/", "/x/")
    purged.clear()
    do(database, threads.set_state, "/x/", "closed")
    assert purged == ["thread:blog:/a/"]
    with pytest.raises(UnknownThread):
        do(database, threads.set_state, "/nobody/", "closed")


def test_threads_are_listed_newest_first_and_in_pieces(database: Database) -> None:
    def urls(containing: str = "", limit: int = 9, before: int | None = None) -> list[str]:
        found = database.read_now(threads.listing, containing, limit, before)
        return [f"{each.site}:{each.url}" for each in found]

    first = database.read_now(threads.listing, "", 1, None)[0]
    assert urls() == ["other:/b/", "blog:/b/", "blog:/a/"]
    assert urls(limit=1, before=first.id) == ["blog:/b/"]
    assert urls(containing="b/") == ["other:/b/", "blog:/b/"]
    assert urls(containing="A") == ["blog:/a/"], "in the title"
    assert urls(containing="%") == []


def test_nothing_but_the_verb_merge_merges_pages(database: Database) -> None:
    add(database, url="/a/")
    add(database, url="/b/")
    who = permissions.actor(1, "Mo", "owner", "")
    before = where(database)
    with pytest.raises(ValueError, match="combine"):
        database.write_now(authorized.change_thread, who, 1, ThreadChange("combine", "/b/"), NOW)
    assert where(database) == before
    assert (
        database.write_now(authorized.change_thread, who, 1, ThreadChange("merge", "/b/"), NOW) == 2
    )
