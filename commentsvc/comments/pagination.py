"""The parts of a list, and cursors: texts that stand for a position from which the list goes on.

A position is the sort values of the last comment shown, not a number of comments to skip. So a
comment that is added or removed between two pages of a list neither repeats nor hides another, and
SQLite finds the beginning of each page by an index. Cursors are not signed: with a forged one, a
client reads nothing that the list would not show.

A part has a largest number of comments. It ends earlier if its comments are long, so that no answer
takes long to make.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, Literal

from markupsafe import escape

from commentsvc.errors import BadCursor
from commentsvc.model import Comment

Sort = Literal["oldest", "newest", "top"]

# Votes, the time of publication and the id of a comment; then the id of the pinned comment, which
# is shown before the list. The same pattern serves all sort orders.
PATTERN: Final = r"^-?[0-9]{1,18}\.[0-9]{1,18}\.[0-9]{1,18}(\.[0-9]{1,18})?$"

# The most bytes that the sources and the HTML of a part have together in JSON, with what each
# comment adds to the largest answer: AROUND bytes, and its names as HTML. A thousand usual comments
# have fewer. Whatever they are, to make an answer of so many takes less than 100 ms of a processor,
# and the cache has room for it (tests/unit/api/test_comments.py, tests/test_public_requests.py).
TEXTS: Final = 800_000
AROUND: Final = 300
REACTION: Final = 200  # bytes of an emoji with its number, which is a button on pages
# The most comments that are read at once: no further ones are read when a part has enough text.
PIECE: Final = 100

_MOST: Final = 10**18 - 1  # greater than everything that the pattern allows
# The beginning of a list: votes, published, id.
_BEGIN: Final = {"oldest": (0, 0, 0), "newest": (0, _MOST, 0), "top": (_MOST, 0, 0)}


def encode(sort: Sort, last: Comment | None, pinned: int = 0) -> str:
    """Return the cursor after the approved comment `last`; if None, of the list's beginning.

    `pinned` is the id of the comment before the list, 0 for none.
    """
    position = (last.votes, last.published_at, last.id) if last else _BEGIN[sort]
    return ".".join(map(str, (*position, pinned) if pinned else position))


def decode(sort: Sort, after: str | None) -> tuple[tuple[int, ...], int]:
    """Return after which votes, time and id a list begins, and the pinned comment's id.

    None stands for the beginning of the list, and 0 for no pinned comment. Raise BadCursor.
    """
    position = _BEGIN[sort] if after is None else _read(after)
    return position[:3], position[3] if len(position) > 3 else 0


def behind(last: Comment) -> tuple[int, ...]:
    """Return the votes, time and id after which a list goes on, behind the approved `last`."""
    return last.votes, last.published_at or 0, last.id


def first_part(comments: list[Comment], limit: int) -> tuple[list[Comment], bool]:
    """Return the first of `comments`, at least one if there are any, and whether others follow.

    There are at most `limit`, and fewer if these would have more than TEXTS bytes.
    """
    sizes = accumulate(map(_size, comments[:limit]))
    shown = comments[: max(1, bisect_right([*sizes], TEXTS))]
    return shown, len(shown) < len(comments)


def has_room(comments: Iterable[Comment]) -> bool:
    """Return whether further comments may fit into a part with these."""
    return sum(map(_size, comments)) <= TEXTS


def has_room_for_all(reactions: Iterable[str]) -> bool:
    """Return whether a list has room for the stored `reactions` of so many comments."""
    return sum(len(given.encode()) for given in reactions) <= TEXTS


def _size(comment: Comment) -> int:
    """Return the bytes of a comment's texts in JSON, which writes some characters as two.

    The HTML has those of the source. Pages name the author twice, for screen readers too.
    """
    source, names = comment.source, escape(comment.author * 2 + comment.site)
    escaped = source.count('"') + source.count("\\") + source.count("\n")
    texts = len(source.encode()) + len(comment.html.encode()) + 2 * escaped
    emoji = comment.reactions.count(":")
    return texts + len(names.encode()) + AROUND + REACTION * emoji


def _read(after: str) -> tuple[int, ...]:
    if not re.fullmatch(PATTERN, after):
        raise BadCursor("this is not a cursor of ours")
    return tuple(map(int, after.split(".")))
