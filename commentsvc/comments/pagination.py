"""Where a list goes on: the word that stands for a place in it.

A place is the sort values of the last comment shown, not a number of comments to skip: so
a comment that comes or goes between two pieces neither repeats nor hides another, and SQLite
begins each piece by its index. A client can make such a word by itself and reads nothing by it
that the list would not show, hence it is not signed.

Error: BadCursor, alone.
"""

import re
from typing import Final, Literal

from commentsvc.comments.errors import BadCursor
from commentsvc.model import Comment

Sort = Literal["oldest", "newest", "top"]

# Votes, the moment of publication, the id, and that of the pinned comment, which stands before the
# list. The order of the list does not matter.
PATTERN: Final = r"^-?[0-9]{1,18}\.[0-9]{1,18}\.[0-9]{1,18}(\.[0-9]{1,18})?$"

_MOST: Final = 10**18 - 1  # after everything that the pattern can say
# Where a list begins: votes, published, id.
_BEGIN: Final = {"oldest": (0, 0, 0), "newest": (0, _MOST, 0), "top": (_MOST, 0, 0)}


def encode(sort: Sort, last: Comment | None, pinned: int = 0) -> str:
    """Return the cursor behind the approved comment `last`, of the whole list if that is None.

    `pinned` is the id of the comment before the list, 0 for none.
    """
    place = (last.votes, last.published_at, last.id) if last else _BEGIN[sort]
    return ".".join(map(str, (*place, pinned) if pinned else place))


def decode(sort: Sort, after: str | None) -> tuple[tuple[int, ...], int]:
    """Return the parameters by which `statements.LIST[sort]` goes on, and what it leaves out.

    None begins. What is left out is the id of the pinned comment, 0 for none. Raise BadCursor.
    """
    place = _BEGIN[sort] if after is None else _read(after)
    votes, published, comment_id, *pinned = place
    bound = (votes, votes, published, comment_id) if sort == "top" else (published, comment_id)
    return bound, pinned[0] if pinned else 0


def _read(after: str) -> tuple[int, ...]:
    if not re.fullmatch(PATTERN, after):
        raise BadCursor("this is not a cursor of ours")
    return tuple(map(int, after.split(".")))
