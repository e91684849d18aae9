"""The comments of a page as a tree of replies, for pages that are shown without the widget."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeAlias, TypeVar

from commentsvc.comments.queries import DeletedComment
from commentsvc.db.connection import Snapshot
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable
from commentsvc.model import APPROVED, DELETED


@prepared
def _find_deleted(comment_id: Param, thread_id: Param) -> Select:
    return CommentTable.select(CommentTable.id).where(
        CommentTable.id == comment_id,
        CommentTable.thread == thread_id,
        CommentTable.status == literal(DELETED),
    )


@prepared
def _find_reply(comment_id: Param) -> Select:
    query = CommentTable.select(CommentTable.id).where(
        CommentTable.parent == comment_id, CommentTable.status == literal(APPROVED)
    )
    return query.limit(1)


def has_replies(snapshot: Snapshot, comment_id: int) -> bool:
    """Return whether a comment has visible replies."""
    return snapshot.first(_find_reply, comment_id) is not None


def is_listed(snapshot: Snapshot, comment_id: int, thread_id: int) -> bool:
    """Return whether a comment of a thread was deleted and is listed for its replies."""
    return (
        snapshot.first(_find_deleted, comment_id, thread_id) is not None
        and snapshot.first(_find_reply, comment_id) is not None
    )


DEPTH: Final = 8  # levels of replies that are indented; deeper ones stand on the last level


class Reply(Protocol):
    """A comment that may reply to another one."""

    @property
    def id(self) -> int:
        """The id of the comment."""

    @property
    def parent(self) -> int | None:
        """The id of the comment that it replies to; None if it replies to none."""


C = TypeVar("C", bound=Reply)

# A comment and its replies.
Branch: TypeAlias = tuple[C | DeletedComment, list["Branch[C]"]]


def build_tree(shown: Sequence[C], deleted: Sequence[DeletedComment] = ()) -> list[Branch[C]]:
    """Return comments as a tree; on each level they keep their order.

    A deleted comment has the position of the first of its replies. A comment whose parent is not in
    the list is on the first level.
    """
    nodes: dict[int, tuple[Branch[C], int]] = {}
    roots: list[Branch[C]] = []
    # The id of a parent is smaller than those of its replies.
    comments: list[C | DeletedComment] = [*shown, *deleted]
    for comment in sorted(comments, key=lambda comment: comment.id):
        branch: Branch[C] = (comment, [])
        parent, depth = nodes.get(comment.parent or 0, (None, 0))
        (parent[1] if parent else roots).append(branch)
        nodes[comment.id] = (parent, depth) if parent and depth == DEPTH else (branch, depth + 1)
    gone = {comment.id: comment for comment in deleted}
    order: dict[int, int] = {}
    for number, item in enumerate(shown):
        order[item.id] = number
        above = gone.get(item.parent or 0)
        while above and above.id not in order:
            order[above.id] = number
            above = gone.get(above.parent or 0)
    # A comment on the last level stands for none of its own, so that no list is sorted twice.
    own = (branch[1] for number, (branch, _) in nodes.items() if branch[0].id == number)
    for siblings in (roots, *own):
        siblings.sort(key=lambda branch: order[branch[0].id])
    return roots
