"""Opinion: what a comment's reasons say of the classifier (see `delivery.classifier`).

A comment that would be shown at once waits for it, and has a line that says so. With the opinion
another line takes its place.
"""

from collections.abc import Sequence
from typing import Final

from commentsvc.spam.reasons import line

_WAITS: Final = line("classifier-waits", 0)
_SAYS: Final = line("classifier", 0)


def with_waiting(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return these reasons, and that the comment waits for the classifier and for nothing else."""
    return (*lines, _WAITS)


def without_waiting(lines: Sequence[str]) -> tuple[str, ...]:
    """Return these reasons without that the comment waits for the classifier."""
    return tuple(each for each in lines if each != _WAITS)


def with_opinion(lines: Sequence[str], opinion: str) -> tuple[str, ...]:
    """Return these reasons with what the classifier says, on one line and not empty."""
    return (*without_waiting(lines), line("classifier", 0, opinion))


def waits(lines: Sequence[str]) -> bool:
    """Return whether a comment waits for the classifier and for nothing else."""
    return _WAITS in lines


def is_given(lines: Sequence[str]) -> bool:
    """Return whether the classifier has given its opinion."""
    return any(each.startswith(f"{_SAYS} ") for each in lines)
