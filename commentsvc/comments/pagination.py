"""Cursors: a text that stands for a place in a list, from which the list goes on.

A place is the sort values of the last comment shown, not a number of comments to skip. So a comment
that is added or removed between two pages of a list neither repeats nor hides another, and SQLite
finds the beginning of each page by an index. Cursors are not signed: with a forged one, a client
reads nothing that the list would not show.

The only error is BadCursor.
"""

import re
from typing import Final, Literal

from commentsvc.comments.errors import BadCursor
from commentsvc.model import Comment

Sort = Literal["oldest", "newest", "top"]

# Votes, the time of publication and the id of a comment; then the id of the pinned comment, which
# is shown before the list. The same pattern serves all sort orders.
PATTERN: Final = r"^-?[0-9]{1,18}\.[0-9]{1,18}\.[0-9]{1,18}(\.[0-9]{1,18})?$"

_MOST: Final = 10**18 - 1  # greater than everything that the pattern allows
# The beginning of a list: votes, published, id.
_BEGIN: Final = {"oldest": (0, 0, 0), "newest": (0, _MOST, 0), "top": (_MOST, 0, 0)}


def encode(sort: Sort, last: Comment | None, pinned: int = 0) -> str:
    """Return the cursor after the approved comment `last`; if None, of the list's beginning.

    `pinned` is the id of the comment before the list, 0 for none.
    """
    place = (last.votes, last.published_at, last.id) if last else _BEGIN[sort]
    return ".".join(map(str, (*place, pinned) if pinned else place))


def decode(sort: Sort, after: str | None) -> tuple[tuple[int, ...], int]:
    """Return the parameters for `statements.LIST[sort]` from a cursor, and the pinned comment's id.

    None stands for the beginning of the list, and 0 for no pinned comment. Raise BadCursor.
    """
    place = _BEGIN[sort] if after is None else _read(after)
    votes, published, comment_id, *pinned = place
    bound = (votes, votes, published, comment_id) if sort == "top" else (published, comment_id)
    return bound, pinned[0] if pinned else 0


def _read(after: str) -> tuple[int, ...]:
    if not re.fullmatch(PATTERN, after):
        raise BadCursor("this is not a cursor of ours")
    return tuple(map(int, after.split(".")))
