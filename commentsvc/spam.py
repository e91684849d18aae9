"""Spam: what is refused, what waits for a moderator, what is shown at once.

DESIGN. `judge` is a pure function of a submission's traits and the settings. It gives every reason
it found, so that a moderator sees why a comment waits. A verdict never deletes: reject means that
nothing is stored and the client is told so.
"""

from dataclasses import dataclass
from typing import Literal

Decision = Literal["accept", "hold", "reject"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision and its reasons, short words that a moderator can read."""

    decision: Decision
    reasons: tuple[str, ...] = ()


_ACCEPTED = Verdict("accept")
_TRAPPED = Verdict("reject", ("honeypot filled",))


def judge(*, honeypot: str, links: int, policy: str, most_links: int) -> Verdict:
    """Decide on a submission.

    `honeypot` is the field that people do not see; `links` is how many the comment has. `policy` is
    ``all`` (every comment waits) or ``none``; with 0 `most_links` the links do not matter.
    """
    if honeypot:
        return _TRAPPED
    reasons = []
    if policy == "all":
        reasons.append("every comment is moderated")
    if most_links and links > most_links:
        reasons.append(f"{links} links")
    return Verdict("hold", tuple(reasons)) if reasons else _ACCEPTED
