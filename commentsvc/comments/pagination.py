"""Where a list goes on: the opaque word that stands for a place in it.

A place is the sort values of the last comment shown, not a number of comments to skip: so
a comment that comes or goes between two pieces neither repeats nor hides another, and SQLite
begins each piece by its index. A client can make such a word by itself and reads nothing by it
that the list would not show, hence it is not signed.

Error: BadCursor, alone.
"""

import base64
import re
from typing import Final, Literal

from commentsvc.comments.errors import BadCursor
from commentsvc.model import Comment

Sort = Literal["oldest", "newest", "top"]

LENGTH: Final = 128  # characters; ours have 90 at most

_LEAST, _MOST = -(2**63), 2**63 - 1  # before and after everything that SQLite can store
_TEXT = re.compile(r"(oldest|newest|top)\.(-?[0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,18})")


def encode(sort: Sort, last: Comment) -> str:
    """The cursor behind the approved comment `last`."""
    text = f"{sort}.{last.votes}.{last.published_at}.{last.id}"
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def decode(sort: Sort, after: str | None) -> tuple[int, ...]:
    """The parameters by which `statements.LIST[sort]` goes on; None begins. Raises BadCursor."""
    if after is None:
        values = {"oldest": (0, _LEAST, 0), "newest": (0, _MOST, 0), "top": (_MOST, _LEAST, 0)}
        votes, published, comment_id = values[sort]
    else:
        votes, published, comment_id = _read(sort, after)
    return (votes, votes, published, comment_id) if sort == "top" else (published, comment_id)


def _read(sort: Sort, after: str) -> tuple[int, int, int]:
    try:
        if len(after) > LENGTH:
            raise ValueError("too long")
        padded = after.encode("ascii") + b"=" * (-len(after) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except ValueError as error:  # its subclasses tell what base64 or ASCII refused
        raise BadCursor("this is not a cursor of ours") from error
    found = _TEXT.fullmatch(text)
    if found is None or found[1] != sort:
        raise BadCursor(f"this is not a cursor of ours for the order {sort}")
    return int(found[2]), int(found[3]), int(found[4])
