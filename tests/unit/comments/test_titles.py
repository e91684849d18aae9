"""Page titles: who may set one, and how it is stored."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.db.database import Database
from commentsvc.moderation import threads, undo
from tests.unit.database_fixture import NOW, add, decide, opened


@pytest.fixture
def purged() -> list[str]:
    return []


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    with opened(tmp_path, purged.extend) as database:
        yield database


def title(database: Database, url: str = "/post/") -> str:
    found = database.read_now(threads.listing, url, 9, None)
    return next(thread.title for thread in found if thread.url == url)


def set_title(database: Database, text: str) -> None:
    database.write_now(threads.set_title, "blog", "/post/", text)


@pytest.mark.parametrize("status", ["pending", "spam", "deleted"])
def test_only_an_approved_comment_names_its_page(database: Database, status: str) -> None:
    add(database, title="Buy pills", status=status)
    assert title(database) == ""
    add(database, title="")
    assert title(database) == ""
    for name in ("First", "Second"):
        add(database, title=name)
    assert title(database) == "First"


def test_a_page_gets_the_title_of_the_comment_that_is_approved_first(
    database: Database, purged: list[str]
) -> None:
    first, second = (add(database, title=t, status="pending").comment.id for t in ("One", "Two"))
    decide(database, "approved", second)
    assert title(database) == "Two"
    assert {"thread:blog:/post/", "site:blog"} <= {*purged}
    decide(database, "approved", first, now=NOW + 1)
    assert title(database) == "Two"


def test_a_comment_that_turns_out_to_be_spam_takes_its_title_along(database: Database) -> None:
    first, second, third = (
        add(database, title=t, status="pending").comment.id for t in ("Pills", "", "Post")
    )
    for number, comment in enumerate((first, second, third)):
        decide(database, "approved", comment, now=NOW + number)
    assert title(database) == "Pills"
    act = decide(database, "spam", first).decision_id
    assert title(database) == "Post"
    database.write_now(undo.decision, act, "Mo", NOW)
    assert title(database) == "Post", "the page has a name"
    decide(database, "deleted", third)
    assert title(database) == "Pills"
    decide(database, "spam", first)
    assert title(database) == ""
    add(database, title="Later")
    assert title(database) == "Later"


def test_taking_back_an_approval_takes_back_the_title(database: Database) -> None:
    pending = add(database, title="Post", status="pending").comment.id
    act = decide(database, "approved", pending).decision_id
    database.write_now(undo.decision, act, "Mo", NOW)
    assert title(database) == ""


def test_what_a_moderator_writes_stays(database: Database, purged: list[str]) -> None:
    first = add(database, title="Same").comment.id
    waiting = add(database, title="Other", status="pending").comment.id
    purged.clear()
    set_title(database, "Same")
    assert purged == ["thread:blog:/post/", "site:blog"]
    decide(database, "spam", first)
    decide(database, "approved", waiting)
    assert title(database) == "Same"
    set_title(database, "  New \n title")
    assert title(database) == "New title"
    set_title(database, "")
    add(database, title="By a comment")
    assert title(database) == "By a comment"


def test_a_title_goes_along_when_two_pages_are_merged(database: Database) -> None:
    add(database, url="/b/")
    pending = add(database, title="Post", status="pending").comment.id
    database.write_now(threads.merge, "blog", "/post/", "/b/", "Mo", NOW)
    decide(database, "approved", pending)
    assert title(database, "/b/") == "Post"
