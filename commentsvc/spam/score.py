"""Spam score: which comments are refused, which wait for a moderator, which are published.

Each check gives signals, a reason with points, and `decide` adds the points up. No single automatic
check decides against a person: a reader without JavaScript, with an unusual text or an unlucky
network is held at worst. Refused are a filled honeypot, which is a field that no person can see,
and an unusable form token if the settings require one (`pending_limit` refuses what is too many). A
comment with many points is filed as spam (the setting `spam.spam_score`), and so is
one that resembles what moderators marked as spam before; there it costs no moderator's time, and
can still be found and restored.

All points are in this module, so that they can be compared. The reasons are stored as codes, which
`reasons` translates into the moderator's language.
"""

from functools import lru_cache
from typing import Final, Literal, NamedTuple

from commentsvc.spam.reasons import Reason, line

Decision = Literal["accept", "hold", "spam", "reject"]


class Signal(NamedTuple):
    """What a check found: its points, the code of the reason, and what it is about.

    `about` is a word, a name or a number of the comment, on one line, or "".
    """

    points: int
    reason: Reason
    about: str = ""


class Verdict(NamedTuple):
    """The decision, the sum of the points, and a line for each reason (see `reasons.line`)."""

    decision: Decision
    score: int = 0
    reasons: tuple[str, ...] = ()


HOLD: Final = 5  # holds a comment under the policy "suspicious"
MANY_LINKS: Final = HOLD
WORD: Final = HOLD
FOREIGN_SCRIPT: Final = 3
# The points of a text that another network sent before, of one that several did, and of a common
# sentence.
REPEATED, OFTEN_REPEATED, COMMON = 3, 6, 1
# The points of form tokens: missing, as for readers without JavaScript; expired; used faster than a
# person types; and two that the widget never sends: used twice, and forged.
NO_FORM_TOKEN, EXPIRED, HASTY, REPLAYED, FORGED = 3, 2, 3, 4, HOLD
NO_WORK: Final = 3
# The points of the Bayesian filter; the last are subtracted.
LIKE_SPAM, RATHER_LIKE_SPAM, LIKE_APPROVED = 9, HOLD, -3
# The points of all comments while a site's rate limit is exceeded: they wait, but are not filed as
# spam for that (see `checks`).
CROWD: Final = HOLD

# The points of a ban by a moderator: of an author, network, word or domain.
BANNED: Final = 100

# The score from which a comment waits, by the site's policy; for "first" see `policy`.
HOLDS_FROM: Final = {"all": 0, "first": 0, "suspicious": HOLD, "none": BANNED}

TRAPPED: Final = Verdict("reject", 100)
UNKNOWN_FORM: Final = Verdict("reject", HOLD)
_ACCEPTED: Final = Verdict("accept")
_HELD: Final = Verdict("hold")


@lru_cache(maxsize=1_024)
def decide(signals: tuple[Signal, ...], holds_from: int, spam_from: int) -> Verdict:
    """Return the verdict for the signals of all checks.

    A comment is held from the score `holds_from` on (0: always), and filed as spam from `spam_from`
    on (0: never).
    """
    if not signals:
        return _ACCEPTED if holds_from else _HELD
    score = max(0, sum(signal.points for signal in signals))
    reasons = tuple(line(signal.reason, signal.points, signal.about) for signal in signals)
    if spam_from and score >= spam_from:
        return Verdict("spam", score, reasons)
    return Verdict("hold" if score >= holds_from else "accept", score, reasons)
