"""The spam checks of a submission.

Each check is independent and can be turned off. All of them run, so that a moderator sees every
reason. Nothing here reads the disk, and nothing waits.

When a form is opened, the widget fetches a form token and a proof-of-work challenge
(`issue_token`). A reader without JavaScript has neither, and clients of other systems know neither.
Their comments get points or are held, as the settings say. If a form token is required, the plain
form is shown again with one.
"""

from collections.abc import Sequence
from typing import Any, Final

from commentsvc.comments.submission import Submission
from commentsvc.markup.markdown import links
from commentsvc.settings.schema import Settings
from commentsvc.spam import opinion, score
from commentsvc.spam.duplicates import Duplicates
from commentsvc.spam.form_tokens import FormTokens, TokenCheck
from commentsvc.spam.policy import PolicyResult
from commentsvc.spam.proof_of_work import ProofOfWork
from commentsvc.spam.score import HOLD, Signal, Verdict
from commentsvc.spam.text_rules import TextRules
from commentsvc.util.client_network import wide_network
from commentsvc.util.lasting import Lasting
from commentsvc.util.ratelimit import RateLimiter

# The reasons of how a comment was sent.
OF_SENDING: Final = frozenset(
    ("hasty", "no-form-token", "no-work", "token-expired", "token-forged", "token-used")
)
_NO_FORM_TOKEN = TokenCheck(False, Signal(score.NO_FORM_TOKEN, "no-form-token"))
_NO_WORK = Signal(score.NO_WORK, "no-work")


class ContentChecks:
    """The checks of a text and its author that the settings turn on."""

    def __init__(self, settings: Settings, lasting: Lasting) -> None:
        wanted = settings.spam
        self._spam_from = wanted.spam_score
        self._asks_classifier = settings.judging_seconds > 0
        self._rules = TextRules(wanted.max_links, wanted.blocked_words, wanted.scripts)
        self._duplicates = lasting.get("texts", Duplicates) if wanted.duplicates else None
        # Without a limit for each network, a limit for the whole site makes no sense.
        self._site_limiter = lasting.get(
            "crowd", RateLimiter, "off" if wanted.rate_limit == "off" else wanted.site_rate_limit
        )

    def judge(
        self,
        submission: Submission,
        html: str,
        network: bytes,
        policy: PolicyResult,
        sent: Sequence[Signal],
        monotonic_ms: int,
    ) -> Verdict:
        """Return the verdict on a submission; `sent` are signals of how it was sent."""
        signals = [*self._signals(submission, html, network, policy, monotonic_ms), *sent]
        spam_from = self._spam_from
        if self._site_limiter.take(submission.page[0], monotonic_ms):
            signals.append(Signal(score.CROWD, "crowd"))
            spam_from = spam_from and spam_from + score.CROWD  # a crowd alone makes no comment spam
        return self._decide(signals, policy, spam_from)

    def judge_edit(
        self,
        submission: Submission,
        html: str,
        network: bytes,
        policy: PolicyResult,
        monotonic_ms: int,
    ) -> Verdict:
        """Return the verdict on the new text of a comment, however it was sent."""
        signals = self._signals(submission, html, network, policy, monotonic_ms)
        return self._decide(signals, policy, self._spam_from)

    def _decide(self, signals: list[Signal], policy: PolicyResult, spam_from: int) -> Verdict:
        """Return the verdict from the signals; an accepted comment is held for the classifier."""
        verdict = score.decide(tuple(signals), policy.holds_from, spam_from)
        if self._asks_classifier and verdict.decision == "accept":
            return verdict._replace(decision="hold", reasons=opinion.with_waiting(verdict.reasons))
        return verdict

    def _signals(
        self,
        submission: Submission,
        html: str,
        network: bytes,
        policy: PolicyResult,
        monotonic_ms: int,
    ) -> list[Signal]:
        """Return the signals of the text and of its author."""
        linked = links(html)
        signals = [*policy.signals, *self._rules.check(submission, linked)]
        if self._duplicates:
            signals += self._duplicates.check(
                submission, network, monotonic_ms, linked=bool(linked)
            )
        return signals


class SpamChecker:
    """The checks of submissions that the settings turn on."""

    def __init__(self, settings: Settings, keys: Sequence[bytes], lasting: Lasting) -> None:
        wanted = settings.spam
        self._content = ContentChecks(settings, lasting)
        self.check_edit = self._content.judge_edit
        self._mode = wanted.form_token
        self._form_tokens = lasting.get("form tokens", FormTokens, keys)
        numbers = wanted.proof_of_work
        self._work = lasting.get("work", ProofOfWork, keys, numbers) if numbers else None

    def form_token(self, site: str, now_ms: int) -> str:
        """Return a form token for a form of `site` at the time `now_ms` (Unix milliseconds)."""
        return self._form_tokens.make(site, now_ms)

    def issue_token(
        self, site: str, now_ms: int, monotonic_ms: int, network: bytes = b""
    ) -> dict[str, Any]:
        """Return what a form of `site` needs: ``{"form_token", "proof_of_work"?}``.

        `network` is that of the client. Any: see ProofOfWork.
        """
        form_token = self.form_token(site, now_ms)
        work = (
            {"proof_of_work": self._work.challenge(form_token, monotonic_ms, wide_network(network))}
            if self._work
            else {}
        )
        return {"form_token": form_token, **work}

    def check(
        self,
        submission: Submission,
        html: str,
        network: bytes,
        policy: PolicyResult,
        now_ms: int,
        monotonic_ms: int,
    ) -> Verdict:
        """Return the verdict on a submission from `network`."""
        if submission.honeypot:
            return score.TRAPPED
        checked = self._token_check(submission, now_ms)
        if self._mode == "require" and not checked.usable and submission.form_token is not None:
            return score.UNKNOWN_FORM
        sent = [checked.signal] if checked.signal and self._mode != "off" else []
        if self._work and self._lacks_work(submission, checked.usable):
            sent.append(_NO_WORK)
        return self._content.judge(submission, html, network, policy, sent, monotonic_ms)

    def _token_check(self, submission: Submission, now_ms: int) -> TokenCheck:
        """Check the form token; if one is required, an invalid one holds the comment."""
        checked = _NO_FORM_TOKEN
        if submission.form_token:
            site = submission.page[0]
            checked = self._form_tokens.check(
                submission.form_token, site, submission.fingerprint(), now_ms
            )
        if self._mode in ("hold", "require") and checked.signal and not checked.usable:
            return TokenCheck(False, checked.signal._replace(points=HOLD))
        return checked

    def _lacks_work(self, submission: Submission, usable: bool) -> bool:
        """Return whether required work is not done; without a form token none was required."""
        if not submission.form_token:
            return self._mode == "off"
        assert self._work is not None
        return not (
            usable and self._work.is_solved(submission.proof_of_work, submission.form_token)
        )
