"""A cursor marks where the next page of a list begins; nothing else is accepted as a cursor."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from commentsvc.comments import pagination, queries
from commentsvc.comments.pagination import Sort
from commentsvc.comments.queries import entry
from commentsvc.db.connection import Row
from commentsvc.db.database import Database
from commentsvc.errors import BadCursor
from commentsvc.feedback import reports
from commentsvc.model import Comment, Entry
from commentsvc.moderation import pins
from tests.unit.database_fixture import NOW, add, opened

SORTS: list[Sort] = list(get_args(Sort))
moments = st.integers(0, 10**15)
ids = st.integers(1, 10**17)


def comment(comment_id: int = 1, published: int = 0, votes: int = 0) -> Comment:
    texts = ("Ann", "", "", "", "Hi", "<p>Hi</p>")
    return Comment(comment_id, 1, None, "approved", *texts, published, published, None, votes)


@given(ids, moments, st.integers(-(10**9), 10**9), st.just(0) | ids)
def test_a_cursor_gives_back_the_position_it_was_made_of(
    comment_id: int, published: int, votes: int, pinned: int
) -> None:
    last = comment(comment_id, published, votes)
    for sort in SORTS:
        cursor = pagination.encode(sort, last, pinned)
        assert pagination.decode(sort, cursor) == ((votes, published, comment_id), pinned)


@pytest.mark.parametrize("sort", SORTS)
def test_a_cursor_without_a_comment_begins_the_list(sort: Sort) -> None:
    begin, _ = pagination.decode(sort, None)
    assert pagination.decode(sort, pagination.encode(sort, None, 7)) == (begin, 7)


@given(ids, moments)
def test_a_cursor_fits_into_a_query_string_as_it_is(comment_id: int, moment: int) -> None:
    assert set(pagination.encode("top", comment(comment_id, moment), comment_id)) <= set(
        "0123456789.-"
    )


@pytest.mark.parametrize(
    "text",
    [
        "é",
        "====",
        "a",
        "not a cursor!",
        "",
        "0.1",
        "0.1.2.3.4",
        "0.1.2.-3",
        "0.-1.2",
        "0.1.2\n",
        "0.1.٣",
        "0.1." + "9" * 19,
        "0.1." + "0" * 90,
        "A" * 10_000,
    ],
)
def test_what_is_not_ours_is_bad(text: str) -> None:
    with pytest.raises(BadCursor):
        pagination.decode("oldest", text)


@given(st.text(max_size=200))
def test_any_text_is_bad_or_a_position(text: str) -> None:
    try:
        position, _ = pagination.decode("newest", text)
    except BadCursor:
        return
    assert all(abs(value) < 2**63 for value in position)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def shown(
    database: Database, sort: Sort, limit: int = 100, after: str | None = None
) -> queries.CommentList:
    return database.read_now(queries.list_comments, ("blog", "/post/"), sort, limit, after)


ORDERS = {
    "oldest": lambda comment: (comment.published_at, comment.id),
    "newest": lambda comment: (-comment.published_at, -comment.id),
    "top": lambda comment: (-comment.votes, comment.published_at, comment.id),
}


def walk(database: Database, sort: Sort, limit: int, *, are_full: bool = True) -> list[Comment]:
    """Return all comments of a list, read in parts of `limit` comments, or fewer."""
    walked: list[Comment] = []
    after: str | None = None
    while True:
        page = shown(database, sort, limit, after)
        walked += page.items
        after = page.next
        if after is None:
            return walked
        assert len(page.items) == limit if are_full else 0 < len(page.items) <= limit


@pytest.mark.parametrize("sort", get_args(Sort))
def test_a_list_is_whole_and_in_order_whatever_the_size_of_its_pieces(
    database: Database, sort: Sort
) -> None:
    random = Random(sort)
    for _ in range(60):
        add(database, NOW + random.randrange(8), status=random.choice(["approved", "pending"]))
        add(database, NOW, url="/other/")
    votes = [(random.randrange(-2, 3), comment_id) for comment_id in range(1, 121)]
    sql = "UPDATE comment SET votes = ? WHERE id = ?"
    database.write_now(lambda tx: [tx.execute(sql, each) for each in votes])
    expected = sorted(shown(database, "oldest").items, key=ORDERS[sort])
    for limit in (1, 2, 7, 59, 100):
        assert walk(database, sort, limit) == expected


@pytest.mark.parametrize("sort", get_args(Sort))
def test_a_list_of_long_comments_comes_in_short_parts_and_is_whole(
    database: Database, sort: Sort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagination, "TEXTS", 100)
    monkeypatch.setattr(pagination, "PIECE", 3)
    ids = [
        add(database, NOW + number % 5, source="x" * (number * 7 % 60), html="y" * 20).comment.id
        for number in range(20)
    ]
    ids.append(add(database, NOW + 2, source="longer than a part" * 9).comment.id)
    pinned = ids[8]
    database.write_now(pins.pin, pinned)
    found = walk(database, sort, 7, are_full=False)
    assert [each.id for each in found[:1]] == [pinned]
    assert found[1:] == sorted(found[1:], key=ORDERS[sort])
    assert sorted(each.id for each in found) == ids


def test_a_part_ends_before_its_texts_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    one = comment()  # has 11 characters, and a name of 3, which pages show twice
    monkeypatch.setattr(pagination, "TEXTS", 3 * (11 + 6 + pagination.AROUND))
    assert pagination.first_part([one] * 3, 9) == ([one] * 3, False)
    assert pagination.first_part([one] * 4, 9) == ([one] * 3, True)
    assert pagination.first_part([one] * 4, 2) == ([one] * 2, True)
    liked = replace(one, reactions='{"👍":1,"🎉":20}')
    monkeypatch.setattr(pagination, "TEXTS", 2 * (11 + 6 + pagination.AROUND + 400))
    assert pagination.first_part([liked] * 3, 9) == ([liked] * 2, True)
    monkeypatch.setattr(pagination, "TEXTS", 5)
    assert pagination.first_part([one] * 2, 9) == ([one], True)
    assert pagination.first_part([], 9) == ([], False)


def test_no_more_long_comments_are_read_than_a_list_has_room_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest comments, replies and reports were all read, and most of them dropped."""
    monkeypatch.setattr(pagination, "TEXTS", 3 * (pagination.AROUND + 40))
    monkeypatch.setattr(pagination, "PIECE", 3)
    parent = add(database, NOW).comment.id
    for number in range(20):
        new = add(database, NOW + number, source="x" * 30, html="", parent=parent).comment.id
        database.write_now(reports.report, new, "a word of a reader", NOW)
    made: list[int] = []

    def counted(row: Row) -> Entry:
        made.append(row[0])
        return entry(row)

    monkeypatch.setattr(queries, "entry", counted)
    for read in (
        lambda snapshot: queries.latest(snapshot, "blog", None, 18),
        lambda snapshot: queries.latest(snapshot, "blog", "/post/", 18),
        lambda snapshot: queries.replies(snapshot, parent, 18),
        lambda snapshot: reports.reported(snapshot, None, 18),
    ):
        made.clear()
        found = database.read_now(read)
        assert (
            [each.comment.id for each in found]
            == made[:3]
            == [*range(parent + 20, parent + 17, -1)]
        )
        assert len(made) <= 6


def test_a_comment_that_comes_meanwhile_neither_repeats_nor_hides_another(
    database: Database,
) -> None:
    ids = [add(database, NOW + n).comment.id for n in range(4)]
    first = shown(database, "newest", 2)
    add(database, NOW + 10)
    second = shown(database, "newest", 2, first.next)
    assert [comment.id for comment in first.items + second.items] == ids[::-1]


def test_a_bad_cursor_is_bad_even_for_an_unknown_page(database: Database) -> None:
    with pytest.raises(BadCursor):
        database.read_now(queries.list_comments, ("blog", "/none/"), "top", 1, "x")


def test_a_list_goes_on_behind_the_same_comment_in_another_order(database: Database) -> None:
    ids = [add(database, NOW + n).comment.id for n in range(4)]
    after = shown(database, "oldest", 3).next
    assert [comment.id for comment in shown(database, "newest", 9, after).items] == ids[1::-1]
