"""A thread in two levels, as other systems show it: top-level comments and their descendants.

Our threads may have any depth, so a reply is shown below the top-level comment that it descends
from. A deleted comment is listed only if it is a top-level comment with replies.

Of the whole thread only ids and sort values are read; texts only for the comments that are shown.
Replies are left out, and then top-level comments, if the texts are too long for an answer: see
`pagination`.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Literal, NamedTuple

import peewee
from msgspec.structs import replace

from commentsvc.comments import pagination, queries
from commentsvc.comments.page_urls import PageRef
from commentsvc.comments.queries import Thread
from commentsvc.db.connection import Snapshot
from commentsvc.db.query import Among, Param, Select, ids_text, literal, prepared
from commentsvc.db.schema.comments import CommentTable, VoteTable
from commentsvc.model import APPROVED, Comment

Order = Literal["newest", "oldest", "upvotes"]

# The columns of `Comment`, in the order of its fields.
_COLUMNS = queries.ENTRY[: len(Comment.__struct_fields__)]


@prepared
def _find_positions(thread_id: Param) -> Select:
    return (
        CommentTable.select(
            CommentTable.id, CommentTable.parent, CommentTable.published_at, CommentTable.votes
        )
        .where(CommentTable.thread == thread_id, CommentTable.status == literal(APPROVED))
        .order_by(CommentTable.published_at, CommentTable.id)
    )


@prepared
def _find_above(ids: Param) -> Select:
    """Return the query for comments and their ancestors, each once, however many share one."""
    start = CommentTable.select(CommentTable.id, CommentTable.parent).where(
        Among(CommentTable.id, ids)
    )
    above = start.cte("above", recursive=True, columns=("id", "parent_id"))
    upper = CommentTable.alias()
    step = upper.select(upper.id, upper.parent).join(above, on=(upper.id == above.c.parent_id))
    whole = above.union(step)
    return whole.select_from(whole.c.id, whole.c.parent_id)


class Position(NamedTuple):
    """The position of a comment: `parent` is its top-level comment, None if it is one.

    `created` is when it was published, in microseconds of Unix time. It is unique in a thread, so
    that a client can continue after it.
    """

    id: int
    parent: int | None
    created: int
    votes: int
    deleted: bool = False


class TwoLevelSelection(NamedTuple):
    """What a client asks for; None means all.

    With a `parent`, only its replies are listed. `after` is in microseconds, as `Position.created`.
    The total of a page is that of all comments if `counts_all`, else of its top-level comments.
    """

    parent: int | None = None
    limit: int | None = None
    nested_limit: int | None = None
    after: int = 0
    order: Order = "oldest"
    offset: int = 0
    counts_all: bool = False


class Shown(NamedTuple):
    """A comment, its position, and how many readers have voted against it.

    `reply_to` is the comment that it answers, which may be deleted.
    """

    position: Position
    comment: Comment | None
    dislikes: int
    reply_to: int | None


class Level(NamedTuple):
    """Comments of one level: how many there are, how many further ones are left out, and these."""

    total: int
    hidden: int
    comments: list[Shown]


class TwoLevels(NamedTuple):
    """A part of a thread: the level that was asked for, and the levels below its comments, by id.

    `total` is the number of a page's comments as the client expects it, see `TwoLevelSelection`.
    """

    thread: Thread
    total: int
    level: Level
    below: dict[int, Level]


class OneLevel(NamedTuple):
    """A part of a thread, and the number of all its comments."""

    thread: Thread
    total: int
    comments: list[Shown]


def read(snapshot: Snapshot, page: PageRef, selection: TwoLevelSelection, most: int) -> TwoLevels:
    """Return a part of the thread of a page, with at most `most` comments."""
    thread = queries.thread(snapshot, *page)
    levels = _levels(_positions(snapshot, thread.id), selection.after)
    counts = {parent: len(level) for parent, level in levels.items()}
    beside = levels.get(selection.parent, [])
    if selection.parent is None:
        beside = _sorted(beside, selection.order)
    limit = most if selection.limit is None else min(selection.limit, most)
    offset = selection.offset
    chosen = beside[offset : offset + limit]
    room = most - len(chosen)
    nested: dict[int, list[Position]] = {}
    for each in chosen if selection.parent is None else ():
        limit = room if selection.nested_limit is None else min(selection.nested_limit, room)
        nested[each.id] = levels.get(each.id, [])[:limit]
        room -= len(nested[each.id])
    shown = _read_comments(snapshot, [*chosen, *(one for many in nested.values() for one in many)])
    chosen = [one for one in chosen if one.id in shown]
    nested = {
        top: [one for one in many if one.id in shown]
        for top, many in nested.items()
        if top in shown
    }
    total = counts.get(selection.parent, 0)
    return TwoLevels(
        thread,
        sum(counts.values()) if selection.counts_all and selection.parent is None else total,
        Level(total, total - len(chosen) - offset, [shown[one.id] for one in chosen]),
        {
            parent: Level(
                counts.get(parent, 0),
                counts.get(parent, 0) - len(many),
                [shown[one.id] for one in many],
            )
            for parent, many in nested.items()
        },
    )


def read_flat(snapshot: Snapshot, page: PageRef, order: Order, limit: int, offset: int) -> OneLevel:
    """Return a part of the thread of a page without its levels: `limit` comments from `offset`."""
    thread = queries.thread(snapshot, *page)
    positions = [each for each in _positions(snapshot, thread.id) if not each.deleted]
    chosen = _sorted(positions, order)[offset : offset + limit]
    shown = _read_comments(snapshot, chosen)
    return OneLevel(thread, len(positions), [*shown.values()])


def tops_of(snapshot: Snapshot, ids: Iterable[int | None]) -> dict[int, int]:
    """Return the id of the top-level ancestor of each comment, or its own; None is left out."""
    wanted = [each for each in ids if each is not None]
    return _tops(dict(snapshot.query(_find_above, ids_text(wanted)))) if wanted else {}


def dislikes(snapshot: Snapshot, ids: Sequence[int]) -> dict[int, int]:
    """Return how many readers have voted against the comments, by the ids of those with any."""
    query = VoteTable.select(VoteTable.comment, peewee.fn.COUNT(VoteTable.value)).where(
        VoteTable.comment.in_(ids), VoteTable.value == -1
    )
    return dict(snapshot.query(query.group_by(VoteTable.comment)))


def _positions(snapshot: Snapshot, thread_id: int) -> list[Position]:
    """Return the positions of all visible comments of a thread, oldest first."""
    rows = snapshot.query(_find_positions, thread_id)
    parents = {row[0]: row[1] for row in rows}
    gone = {each.id: each.parent for each in queries.deleted_above(snapshot, parents)}
    tops = _tops(parents | gone)
    positions: list[Position] = []
    last = 0
    for comment_id, _parent, published_at, votes in rows:
        last = max(published_at * 1_000, last + 1)
        top = tops[comment_id]
        positions.append(Position(comment_id, None if top == comment_id else top, last, votes))
    empty = [comment_id for comment_id in gone if tops[comment_id] == comment_id]
    if empty:
        query = CommentTable.select(
            CommentTable.id, CommentTable.created_at, CommentTable.votes
        ).where(CommentTable.id.in_(empty))
        for comment_id, created_at, votes in snapshot.query(query):
            positions.append(Position(comment_id, None, created_at * 1_000, votes, deleted=True))
        positions.sort(key=lambda each: (each.created, each.id))
    return positions


def _tops(parents: Mapping[int, int | None]) -> dict[int, int]:
    """Return the id of each comment's top-level comment; a parent's id is the smaller one."""
    tops: dict[int, int] = {}
    for comment_id in sorted(parents):
        parent = parents[comment_id]
        tops[comment_id] = comment_id if parent is None else tops.get(parent, comment_id)
    return tops


def _levels(positions: Iterable[Position], after: int) -> dict[int | None, list[Position]]:
    levels: dict[int | None, list[Position]] = {}
    for each in positions:
        if each.created > after:
            levels.setdefault(each.parent, []).append(each)
    return levels


def _sorted(positions: list[Position], order: Order) -> list[Position]:
    if order == "newest":
        return positions[::-1]
    if order == "upvotes":
        return sorted(positions, key=lambda each: -each.votes)
    return positions


def _read_comments(snapshot: Snapshot, positions: Sequence[Position]) -> dict[int, Shown]:
    """Return the comments at `positions` by id, as many as fit; a deleted one has no content."""
    found = _comments(snapshot, [position.id for position in positions if not position.deleted])
    comments = {comment.id: comment for comment in found}
    fitting = [*takewhile(lambda position: position.deleted or position.id in comments, positions)]
    against = dislikes(snapshot, [position.id for position in fitting])
    return {
        position.id: Shown(
            position,
            None if position.deleted else replace(comments[position.id], parent_id=position.parent),
            against.get(position.id, 0),
            None if position.deleted else comments[position.id].parent_id,
        )
        for position in fitting
    }


def _comments(snapshot: Snapshot, ids: Sequence[int]) -> list[Comment]:
    """Return the comments `ids`, in this order; only the first if the others are too long."""
    found: list[Comment] = []
    for first in range(0, len(ids), pagination.PIECE):
        piece = ids[first : first + pagination.PIECE]
        query = CommentTable.select(*_COLUMNS).where(CommentTable.id.in_(piece))
        rows = {row[0]: row for row in snapshot.query(query)}
        found += [Comment(*rows[comment_id]) for comment_id in piece]
        if not pagination.has_room(found):
            break
    return pagination.first_part(found, len(found))[0]
