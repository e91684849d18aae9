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

# Votes, the moment of publication and the id. The order of the list does not matter.
PATTERN: Final = r"^-?[0-9]{1,18}\.[0-9]{1,18}\.[0-9]{1,18}$"

_LEAST, _MOST = -(2**63), 2**63 - 1  # before and after everything that SQLite can store


def encode(last: Comment) -> str:
    """Return the cursor behind the approved comment `last`."""
    return f"{last.votes}.{last.published_at}.{last.id}"


def decode(sort: Sort, after: str | None) -> tuple[int, ...]:
    """The parameters by which `statements.LIST[sort]` goes on; None begins. Raises BadCursor."""
    if after is None:
        values = {"oldest": (0, _LEAST, 0), "newest": (0, _MOST, 0), "top": (_MOST, _LEAST, 0)}
        votes, published, comment_id = values[sort]
    else:
        votes, published, comment_id = _read(after)
    return (votes, votes, published, comment_id) if sort == "top" else (published, comment_id)


def _read(after: str) -> tuple[int, ...]:
    if not re.fullmatch(PATTERN, after):
        raise BadCursor("this is not a cursor of ours")
    return tuple(map(int, after.split(".")))
