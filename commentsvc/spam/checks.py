"""Layers: all that a submission passes before it is judged.

DESIGN. Each layer knows one thing and can be off. All are asked, so that a moderator sees every
reason. Nothing here reads the disk, and nothing waits.

Who writes in the widget gets a stamp and some work for it when the form is opened (`invite`). A
reader without JavaScript has neither, an old client cannot know of any: they are doubted or held,
as the settings say. Where a stamp is required, the plain form is shown again with one in it.
"""

from collections.abc import Sequence
from typing import Any

from commentsvc.comments.markdown import links
from commentsvc.comments.submission import Submission
from commentsvc.settings.schema import Settings
from commentsvc.spam import score
from commentsvc.spam.duplicates import Duplicates
from commentsvc.spam.form_tokens import Look, Stamps
from commentsvc.spam.policy import Standing
from commentsvc.spam.proof_of_work import Work
from commentsvc.spam.score import HOLD, Finding, Verdict
from commentsvc.spam.text_rules import Rules
from commentsvc.util.ratelimit import Limiter

_UNSTAMPED = Look(False, Finding(score.UNSTAMPED, "no form stamp"))
_NO_WORK = Finding(score.NO_WORK, "no proof of work")


class Layers:
    """The layers as the settings have them."""

    def __init__(self, settings: Settings, keys: Sequence[bytes]) -> None:
        """Take the settings and the secret keys."""
        wanted = settings.spam
        self._spam_from = wanted.score
        self._honeypot = wanted.honeypot
        self._rules = Rules(wanted.links, wanted.words, wanted.scripts)
        self._duplicates = Duplicates() if wanted.duplicates else None
        # Without a limit for one network none for all of them makes sense.
        self._crowd = Limiter("off" if wanted.rate_limit == "off" else wanted.site_rate_limit)
        self._mode = wanted.stamp
        self._stamps = Stamps(keys)
        self._work = Work(keys, wanted.work) if wanted.work else None

    def stamp(self, site: str, now: float) -> str:
        """Give a form of `site` a stamp, at the moment `now` (Unix seconds)."""
        return self._stamps.make(site, now)

    def invite(self, site: str, now: float, monotonic: float) -> dict[str, Any]:
        """Give a form of `site` what it needs: ``{"stamp", "work"?}``. Any: see Work.

        `now` is Unix time, both clocks are in seconds.
        """
        stamp = self.stamp(site, now)
        work = {"work": self._work.ask(stamp, monotonic)} if self._work else {}
        return {"stamp": stamp, **work}

    def judge(
        self,
        submission: Submission,
        html: str,
        network: bytes,
        standing: Standing,
        clocks: tuple[float, float],
    ) -> Verdict:
        """Decide on a submission from `network`; for both clocks see `invite`."""
        now, monotonic = clocks
        if submission.honeypot and self._honeypot:
            return score.TRAPPED
        look = self._stamp(submission, now)
        if self._mode == "require" and not look.usable and submission.stamp is not None:
            return score.UNKNOWN_FORM
        findings = self._look(submission, html, network, standing, monotonic)
        if look.finding and self._mode != "off":
            findings.append(look.finding)
        if self._work and self._lacks_work(submission, look.usable):
            findings.append(_NO_WORK)
        if self._crowd.take(submission.place[0], monotonic):
            findings.append(Finding(score.CROWD, "the site gets more comments than usual"))
        return score.judge(tuple(findings), standing.holds_from, self._spam_from)

    def judge_edit(
        self,
        submission: Submission,
        html: str,
        network: bytes,
        standing: Standing,
        monotonic: float,
    ) -> Verdict:
        """Decide on the new text of a comment; who has its token needs no stamp and no work."""
        findings = self._look(submission, html, network, standing, monotonic)
        return score.judge(tuple(findings), standing.holds_from, self._spam_from)

    def _look(
        self,
        submission: Submission,
        html: str,
        network: bytes,
        standing: Standing,
        monotonic: float,
    ) -> list[Finding]:
        """See what is said, and by whom."""
        findings = [*standing.findings, *self._rules.look(submission, links(html))]
        if self._duplicates:
            findings += self._duplicates.look(submission, network, monotonic)
        return findings

    def _stamp(self, submission: Submission, now: float) -> Look:
        """Look at the stamp; where it has to be good, what is wrong with it holds the comment."""
        look = _UNSTAMPED
        if submission.stamp:
            site = submission.place[0]
            look = self._stamps.look(submission.stamp, site, submission.itself(), now)
        if self._mode in ("hold", "require") and look.finding and not look.usable:
            return Look(False, Finding(HOLD, look.finding.reason))
        return look

    def _lacks_work(self, submission: Submission, usable: bool) -> bool:
        """Say whether work was asked for and is not done; who has no stamp was not asked."""
        if not submission.stamp:
            return self._mode == "off"
        assert self._work is not None
        return not (usable and self._work.is_done(submission.work, submission.stamp))
