"""Spam score: what is refused, what waits for a moderator, what is shown at once.

Each check gives signals, a reason with its points, and `decide` adds them up. No single doubt of
ours decides over a person: a reader without JavaScript, with an unusual text or an unlucky network
is held at worst. Only a field that no person can see, filled, is refused. What several checks doubt
is filed as spam (the setting `spam.spam_score`), and so is what says nearly the same as what
moderators called spam before; there it costs no moderator's time, and can still be found and
undone.

The points stand here and nowhere else, so that all can be compared at a glance. The reasons are
stored as codes, which `reasons` says in the words of a moderator's language.
"""

from functools import lru_cache
from typing import Final, Literal, NamedTuple

from commentsvc.spam.reasons import Reason, line

Decision = Literal["accept", "hold", "spam", "reject"]


class Signal(NamedTuple):
    """What a check found: how much it weighs, the code of the reason, and what it is about.

    `about` is a word, a name or a number of the comment, on one line, or "".
    """

    points: int
    reason: Reason
    about: str = ""


class Verdict(NamedTuple):
    """The decision, the sum of the points and a line for each reason (see `reasons.line`)."""

    decision: Decision
    score: int = 0
    reasons: tuple[str, ...] = ()


HOLD: Final = 5  # holds a comment even where nothing else is moderated
MANY_LINKS: Final = HOLD
WORD: Final = HOLD
FOREIGN_SCRIPT: Final = 3
# Of a text that another network sent before, and then yet another one; and of a common sentence.
REPEATED, OFTEN_REPEATED, COMMON = 3, 6, 1
# Of forms: opened by nobody, as those of readers without JavaScript are; sent faster than a person
# types; and the worse ones, which no widget of ours sends.
NO_FORM_TOKEN, EXPIRED, HASTY, REPLAYED, FORGED = 3, 2, 3, 4, HOLD
NO_WORK: Final = 3
# By what moderators taught the filter (see `bayes`), which may take a little doubt away.
LIKE_SPAM, RATHER_LIKE_SPAM, LIKE_APPROVED = 9, HOLD, -3
# When a whole site gets more than it should, a wave may run: then all comments wait. None is filed
# as spam for that: see `checks`.
CROWD: Final = HOLD

# No doubt but a moderator's decision: a banned author, network, word or domain.
BANNED: Final = 100

# From how many points a comment waits, by the site's policy; for "first" see `policy`.
HOLDS_FROM: Final = {"all": 0, "first": 0, "suspicious": HOLD, "none": BANNED}

TRAPPED: Final = Verdict("reject", 100)
UNKNOWN_FORM: Final = Verdict("reject", HOLD)
_ACCEPTED: Final = Verdict("accept")
_HELD: Final = Verdict("hold")


@lru_cache(maxsize=1_024)
def decide(signals: tuple[Signal, ...], holds_from: int, spam_from: int) -> Verdict:
    """Decide on a submission by what the checks found.

    From `holds_from` points on it is held (0: always), from `spam_from` filed as spam (0: never).
    """
    if not signals:
        return _ACCEPTED if holds_from else _HELD
    score = max(0, sum(finding.points for finding in signals))
    reasons = tuple(line(finding.reason, finding.points, finding.about) for finding in signals)
    if spam_from and score >= spam_from:
        return Verdict("spam", score, reasons)
    return Verdict("hold" if score >= holds_from else "accept", score, reasons)
