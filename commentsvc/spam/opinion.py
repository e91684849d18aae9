"""Opinion: the classifier's part of a comment's reasons (see `delivery.classifier`).

A comment that would be published at once waits for the classifier, and one of its reasons says so.
The classifier's opinion replaces that reason.
"""

from collections.abc import Sequence
from typing import Final

from commentsvc.spam.reasons import line

_WAITS: Final = line("classifier-waits", 0)
_SAYS: Final = line("classifier", 0)


def with_waiting(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return these reasons with one that says that the comment waits only for the classifier."""
    return (*lines, _WAITS)


def without_waiting(lines: Sequence[str]) -> tuple[str, ...]:
    """Return these reasons without the one that says that the comment waits."""
    return tuple(each for each in lines if each != _WAITS)


def with_opinion(lines: Sequence[str], opinion: str) -> tuple[str, ...]:
    """Return these reasons with the classifier's opinion, which is one non-empty line."""
    return (*without_waiting(lines), line("classifier", 0, opinion))


def waits(lines: Sequence[str]) -> bool:
    """Return whether a comment waits only for the classifier."""
    return _WAITS in lines


def is_given(lines: Sequence[str]) -> bool:
    """Return whether the classifier has given its opinion."""
    return any(each.startswith(f"{_SAYS} ") for each in lines)
