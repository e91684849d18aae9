"""Control commands: as JSON, and what each one writes."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from commentsvc import errors
from commentsvc.comments import queries
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.database import Database
from commentsvc.errors import UnknownComment, UnknownThread
from commentsvc.feedback import reactions, views
from commentsvc.feedback.reactions import Reaction
from commentsvc.runtime.control_commands import (
    AddBan,
    Alias,
    ChangeStatus,
    Close,
    CommandResult,
    CorrectLanguage,
    EditText,
    ErasePerson,
    Merge,
    Move,
    Order,
    RemoveBan,
    Reset,
    UndoChange,
)
from commentsvc.spam import bans
from tests.unit.database_fixture import NOW, add, opened

ORDERS: dict[str, Order] = {
    '{"do":"changestatus","to":"spam","ids":[1],"all":false}': ChangeStatus(to="spam", ids=(1,)),
    '{"do":"undochange","ids":[]}': UndoChange(),
    '{"do":"edittext","id":1,"message":"x"}': EditText(id=1, message="x"),
    '{"do":"correctlanguage","id":1,"lang":"de"}': CorrectLanguage(id=1, lang="de"),
    '{"do":"close","site":"blog","url":"/a/","state":"open"}': Close("blog", "/a/", "open"),
    '{"do":"reset","site":"blog","url":"/a/","what":"views"}': Reset("blog", "/a/", "views"),
    '{"do":"move","site":"blog","url":"/a/","to":"/b/"}': Move("blog", "/a/", "/b/"),
    '{"do":"merge","site":"blog","url":"/a/","into":"/b/"}': Merge("blog", "/a/", "/b/"),
    '{"do":"addban","kind":"word","value":"tea","expires":null}': AddBan(kind="word", value="tea"),
    '{"do":"removeban","id":3}': RemoveBan(id=3),
    '{"do":"eraseperson","email":"a@b.example"}': ErasePerson(email="a@b.example"),
    '{"do":"alias","site":"blog","alias":"/b/","url":null}': Alias("blog", "/b/", None),
}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def do(database: Database, order: Order) -> CommandResult:
    return database.write_now(order.run, NOW)


@pytest.mark.parametrize("line", ORDERS)
def test_an_order_crosses_as_json(line: str) -> None:
    order = msgspec.json.decode(line, type=Order)
    assert order == ORDERS[line]
    assert msgspec.json.encode(order).decode() == line


@pytest.mark.parametrize(
    "line",
    ['{"do":"edittext","id":0,"message":"x"}', '{"do":"close","site":"b","url":"/","state":"shut"}',
     '{"do":"move","site":"b","url":"/"}', '{"do":"undochange","x":1}'],
)  # fmt: skip
def test_an_order_that_says_something_else_is_none(line: str) -> None:
    with pytest.raises(msgspec.MsgspecError):
        msgspec.json.decode(line, type=Order)


def test_a_thread_is_closed_moved_merged_and_named(database: Database) -> None:
    for url in ("/a/", "/b/"):
        add(database, url=url)

    def thread(url: str) -> tuple[str, int, str]:
        found = database.read_now(queries.thread, "blog", url)
        return found.url, found.count, found.state

    assert do(database, Close("blog", "/b/", "closed")) == CommandResult()
    assert do(database, Move("blog", "/a/", "/c/")) == CommandResult()
    assert do(database, Merge("blog", "/c/", "/b/")) == CommandResult(moved=1)
    assert do(database, Alias("blog", "/d/", "/a/")) == CommandResult()
    assert {thread(url) for url in ("/a/", "/b/", "/c/", "/d/")} == {("/b/", 2, "closed")}
    assert do(database, Alias("blog", "/d/", None)) == CommandResult()
    assert thread("/d/") == ("/d/", 0, "aging")
    with pytest.raises(UnknownThread):
        do(database, Close("blog", "/nobody/", "closed"))


def test_the_views_and_the_reactions_of_a_page_are_removed_by_its_alias_too(
    database: Database,
) -> None:
    page = PageRef("blog", "/a/")
    add(database, url="/a/")
    do(database, Alias("blog", "/b/", "/a/"))

    def numbers() -> tuple[int, dict[str, int]]:
        shown = database.read_now(views.views, *page)
        return shown, database.read_now(reactions.counts, 1)

    database.write_now(views.add, {page: 3})
    database.write_now(reactions.react, page, Reaction("👍", "a reader"), (), NOW)
    assert do(database, Reset("blog", "/b/", "views")) == CommandResult()
    assert numbers() == (0, {"👍": 1})
    assert do(database, Reset("blog", "/b/", "reactions")) == CommandResult()
    assert numbers() == (0, {})
    with pytest.raises(UnknownThread):
        do(database, Reset("blog", "/nobody/", "views"))


def test_a_comment_is_edited_and_the_edit_undone(database: Database) -> None:
    comment = add(database).comment.id
    assert do(database, EditText(id=comment, message="Better")) == CommandResult((comment,))
    assert do(database, UndoChange()) == CommandResult((comment,))
    [entry] = database.read_now(queries.listing, None, 9)
    assert entry.comment.source == "Hello *you*"


def test_a_language_is_corrected_and_that_undone(database: Database) -> None:
    def lang() -> str:
        [entry] = database.read_now(queries.listing, None, 9)
        return entry.comment.lang

    comment = add(database).comment.id
    was = lang()
    assert do(database, CorrectLanguage(id=comment, lang="ja")) == CommandResult((comment,))
    assert lang() == "ja"
    again = do(database, CorrectLanguage(id=comment, lang="ja"))
    assert again == CommandResult(unchanged={comment: "approved"})
    assert do(database, UndoChange()) == CommandResult((comment,))
    assert lang() == was
    with pytest.raises(UnknownComment):
        do(database, CorrectLanguage(id=comment + 1, lang="ja"))


def test_a_ban_is_made_and_lifted(database: Database) -> None:
    [ban_id] = do(database, AddBan(kind="word", value="Tea", expires=NOW)).changed
    [ban] = database.read_now(bans.listing)
    assert (ban.value, ban.actor, ban.created_at, ban.expires_at) == (
        "tea",
        "command line",
        NOW,
        NOW,
    )
    assert do(database, RemoveBan(id=ban_id)).changed == (ban_id,)
    with pytest.raises(errors.UnknownBan):
        do(database, RemoveBan(id=ban_id))
