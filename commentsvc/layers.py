"""Layers: all that a submission passes before it is judged.

DESIGN. Each layer knows one thing and can be off. All are asked, so that a moderator sees every
reason. Nothing here reads the disk, and nothing waits.
"""

from commentsvc import spam
from commentsvc.config import Settings
from commentsvc.duplicates import Duplicates
from commentsvc.markup import links
from commentsvc.ratelimit import Limiter
from commentsvc.rules import Rules
from commentsvc.spam import Finding, Verdict
from commentsvc.standing import Standing
from commentsvc.submission import Submission


class Layers:
    """The layers as the settings have them."""

    def __init__(self, settings: Settings) -> None:
        """Take the settings."""
        wanted = settings.spam
        self._spam_from = wanted.score
        self._rules = Rules(wanted.links, wanted.words, wanted.scripts)
        self._duplicates = Duplicates() if wanted.duplicates else None
        # Without a limit for one network none for all of them makes sense.
        self._crowd = Limiter("off" if wanted.rate_limit == "off" else wanted.site_rate_limit)

    def judge(
        self, submission: Submission, html: str, network: bytes, now: float, standing: Standing
    ) -> Verdict:
        """Decide on a submission from `network`; `now` is a monotonic clock in seconds."""
        if submission.honeypot:
            return spam.TRAPPED
        findings = [*standing.findings, *self._rules.look(submission, links(html))]
        if self._duplicates:
            findings += self._duplicates.look(submission, network, now)
        if self._crowd.take(submission.place[0], now):
            findings.append(Finding(spam.CROWD, "the site gets more comments than usual"))
        return spam.judge(findings, standing.holds_from, self._spam_from)
