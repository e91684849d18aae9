"""Comments as a tree: replies below their parents."""

from typing import NamedTuple

import pytest

from commentsvc.comments.queries import DeletedComment
from commentsvc.comments.tree import DEPTH, Branch, build_tree
from tests.unit.processor_time import assert_quick


class Reply(NamedTuple):
    id: int
    parent: int | None = None


def shape(branches: list[Branch[Reply]]) -> str:
    return " ".join(
        f"{item.id}({shape(replies)})" if replies else str(item.id) for item, replies in branches
    )


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], ""),
        ([Reply(1), Reply(2)], "1 2"),
        ([Reply(1), Reply(2, 1), Reply(3, 2), Reply(4, 1)], "1(2(3) 4)"),
        ([Reply(2, 1), Reply(1)], "1(2)"),
        ([Reply(3, 1), Reply(2, 1), Reply(1)], "1(3 2)"),
        ([Reply(2, 1), Reply(3, 2)], "2(3)"),
    ],
)
def test_comments_grow_into_a_tree_in_their_order(items: list[Reply], expected: str) -> None:
    assert shape(build_tree(items)) == expected


def test_a_deleted_comment_stands_where_its_first_reply_would() -> None:
    shown = [Reply(1), Reply(4, 2), Reply(5, 3)]
    deleted = [DeletedComment(2, None), DeletedComment(3, 2)]
    assert shape(build_tree(shown, deleted)) == "1 2(4 3(5))"
    assert shape(build_tree([Reply(5, 3), Reply(4)], deleted[1:])) == "3(5) 4"


def test_a_tree_is_never_deeper_than_it_can_be_shown() -> None:
    branches, depth = build_tree([Reply(n, n - 1 or None) for n in range(1, 2_000)]), 0
    total = 0
    while branches:
        depth, total = depth + 1, total + len(branches)
        branches = branches[0][1]
    assert (depth, total) == (DEPTH + 1, 1_999)


CHAIN = [Reply(n, n - 1 or None) for n in range(1, 10_001)]
GONE = [DeletedComment(n, n - 1 or None) for n in range(1, 5_001)]


@pytest.mark.parametrize(
    ("shown", "deleted"),
    [(CHAIN, ()), ([Reply(n, 5_000) for n in range(5_001, 10_001)], GONE)],
    ids=["a chain of replies", "replies below a chain of deleted comments"],
)
def test_a_tree_takes_time_in_proportion(shown: list[Reply], deleted: list[DeletedComment]) -> None:
    """Otherwise these take seconds."""
    assert_quick(lambda: build_tree(shown, deleted), 100)
