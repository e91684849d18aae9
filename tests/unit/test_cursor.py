"""A cursor names a place in a list of one order, and nothing else is a cursor."""

import base64
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc import cursor
from commentsvc.cursor import BadCursor, Sort
from commentsvc.models import Comment

SORTS: list[Sort] = list(get_args(Sort))
moments = st.integers(0, 10**15)
ids = st.integers(1, 10**17)


def comment(comment_id: int = 1, published: int = 0, votes: int = 0) -> Comment:
    texts = ("Ann", "", "", "", "Hi", "<p>Hi</p>")
    return Comment(comment_id, 1, None, "approved", *texts, published, published, None, votes)


@given(ids, moments, st.integers(-(10**9), 10**9))
def test_a_cursor_gives_back_the_place_it_was_made_of(
    comment_id: int, published: int, votes: int
) -> None:
    last = comment(comment_id, published, votes)
    for sort in ("oldest", "newest"):
        assert cursor.decode(sort, cursor.encode(sort, last)) == (published, comment_id)
    place = (votes, votes, published, comment_id)
    assert cursor.decode("top", cursor.encode("top", last)) == place


@given(ids, moments)
def test_a_cursor_fits_into_a_query_string_and_its_own_bound(comment_id: int, moment: int) -> None:
    for sort in SORTS:
        text = cursor.encode(sort, comment(comment_id, moment))
        assert len(text) <= cursor.LENGTH
        assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize("sort", SORTS)
def test_a_cursor_of_another_order_is_bad(sort: Sort) -> None:
    for other in set(SORTS) - {sort}:
        with pytest.raises(BadCursor, match=sort):
            cursor.decode(sort, cursor.encode(other, comment()))


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "é",
        "====",
        "a",
        "not a cursor!",
        encoded("oldest"),
        encoded("oldest.0.1"),
        encoded("oldest.0.1.2.3"),
        encoded("oldest.0.-1.2"),
        encoded("oldest.0.1.2\n"),
        encoded("oldest.0.1.٣"),
        encoded("oldest.0.1." + "9" * 19),
        encoded("oldest.0.1." + "0" * 90),
        "A" * 10_000,
    ],
)
def test_what_is_not_ours_is_bad(text: str) -> None:
    with pytest.raises(BadCursor):
        cursor.decode("oldest", text)


@given(st.text(max_size=200))
def test_any_text_is_bad_or_a_place(text: str) -> None:
    try:
        place = cursor.decode("newest", text)
    except BadCursor:
        return
    assert all(abs(value) < 2**63 for value in place)
