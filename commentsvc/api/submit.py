"""Intake: the one way of a submission from a request into the database.

JSON, our form and Stacosys' form differ in how they say it and in how they are answered;
what happens between is here, once: may this page write, is this client too fast, is it
spam, what is its HTML, was it sent before. Nothing is stored unless all of that says yes, and the
answer comes after the COMMIT.

What comes within a turn of the loop is gathered and rendered by a `RenderQueue`, and goes to the
writer when the turn is over, which thus has it all in one transaction.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from commentsvc.api.serialize import Invitation
from commentsvc.auth.edit_tokens import EditTokens
from commentsvc.comments import create
from commentsvc.comments.create import InsertResult, NewComment
from commentsvc.comments.render_queue import RenderQueue
from commentsvc.comments.submission import Locate, Submission
from commentsvc.context import ServiceContext
from commentsvc.db.writer import Job
from commentsvc.http.messages import (
    CorsPolicy,
    Deferred,
    Headers,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    encode,
)
from commentsvc.model import APPROVED, PENDING, SPAM, Comment
from commentsvc.spam import score
from commentsvc.spam.bans import Bans
from commentsvc.spam.checks import SpamChecker
from commentsvc.spam.pending_limit import PendingLimit
from commentsvc.spam.policy import PolicyResult, SpamPolicy
from commentsvc.spam.score import Verdict
from commentsvc.util.client_network import NetworkHashes, network
from commentsvc.util.i18n import Message
from commentsvc.util.ratelimit import RateLimiter
from commentsvc.util.timestamps import MINUTE_MS

# A text of 8,000 characters takes up to 16 ms, so a network takes 2 % of the loop at most.
PREVIEWS: Final = "60/minute"

# Attempts for each comment that a network may send: people have to correct themselves.
ATTEMPTS: Final = 6

# What becomes of a submission by the verdict on it.
STATUS = {"accept": APPROVED, "hold": PENDING, "spam": SPAM}

TOO_FAST: Final = "You're going a little fast. Try again in {} seconds."

# What is said where nothing is stored.
REFUSED = {score.TRAPPED: Message("rejected"), score.UNKNOWN_FORM: Message("form_token")}


class Accepted(NamedTuple):
    """A stored comment, and the CORS fields of the answer that tells of it.

    `token` edits the comment until `token_expires_at` (Unix milliseconds), if there is one.
    """

    comment: Comment
    token: str | None
    token_expires_at: int
    headers: Headers


class PendingSubmission(NamedTuple):
    """A submission that may come in: its network, the monotonic moment, and the CORS fields."""

    submission: Submission
    network: bytes
    monotonic: float
    headers: Headers


class PreparedComment(NamedTuple):
    """What is about to be stored, when it came, its edit token, and the CORS fields."""

    new: NewComment
    now: int
    token: str
    headers: Headers


# Makes the answer that tells of an accepted submission.
Tell = Callable[[Accepted], Response]


class SubmissionService:
    """Takes submissions for all sites."""

    def __init__(self, service: ServiceContext, cors: CorsPolicy, bans: Bans) -> None:
        """Take what a submission meets; `bans` are told of changes by whoever has them too."""
        settings, database, keys = service.settings, service.database, service.keys
        self.bounds = settings.comments
        self._edit = settings.moderation.edit_minutes * MINUTE_MS
        self._spam_checker = SpamChecker(settings, keys)
        self._spam_policy = SpamPolicy(settings, database, bans)
        self._limiter = RateLimiter(settings.spam.rate_limit)
        self._attempts = RateLimiter(settings.spam.rate_limit, ATTEMPTS)
        self._pending_limit = PendingLimit(settings.spam, database)
        self._previews = RateLimiter(PREVIEWS)
        self._rendering = RenderQueue(service.clock.monotonic)
        self._hashes = NetworkHashes(keys[0], settings.privacy.keep_network_days)
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._replies = bool(settings.mail.host) and settings.mail.reply_notifications
        self._database = database
        self._sites = service.sites
        self._clock = service.clock
        self._cors = cors
        self._tokens = EditTokens(keys)

    def locator(self, name: str) -> Locate:
        """Return what finds the thread of a url on the site `name`; "" for what the url says.

        Raise UnknownSiteError.
        """
        self._sites.named(name)
        return partial(self._sites.locate, name=name) if name else self._sites.locate

    def form_token(self, site: str) -> str:
        """Give a form of `site` a form token alone: it cannot do any work."""
        return self._spam_checker.form_token(site, self._clock.now_ms() / 1_000)

    def invite(self, request: Request, site: str) -> Invitation:
        """Return what a form of `site` needs."""
        place = network(self._proxies.client(request))
        invitation = self._spam_checker.invite(
            site, self._clock.now_ms() / 1_000, self._clock.monotonic(), place
        )
        return Invitation(length=self.bounds.message_length, notify=self._replies, **invitation)

    def admit(self, request: Request) -> None:
        """Count an attempt to submit, before it is read. Raises HttpError 429.

        Reading costs time, also where nothing comes of it. What is refused then counts here alone.
        """
        self._visit(request, self._attempts, TOO_FAST)

    async def submit(self, request: Request, submission: Submission) -> Accepted:
        """Judge and store a submission.

        Raises HttpError 403, 429 or 400, CommentsError, DatabaseError; then nothing is stored.
        """
        arrival = self._admit(request, submission)
        draft = self._judge(arrival, await self._rendering.render(submission.message))
        added = await self._database.write_each(create.ADD, (draft.new, draft.now))
        return self._accept(draft, added)

    def begin(self, request: Request, submission: Submission, tell: Tell) -> Deferred:
        """As `submit`, but what `tell` makes of the outcome is given later.

        Raises HttpError 403 or 429; all else is given.
        """
        arrival, later = self._admit(request, submission), Deferred()
        self._rendering.add(submission.message, partial(self._store, arrival, tell, later))
        return later

    def preview(self, request: Request, message: str, tell: Callable[[str], Response]) -> Deferred:
        """Render `message`; what `tell` makes of the HTML is given later. Raises HttpError 429."""
        self._visit(request, self._previews, "Too many previews. Try again in {} seconds.")
        later = Deferred()
        self._rendering.add(
            message,
            lambda html: later.set_result(html if isinstance(html, Exception) else tell(html)),
        )
        return later

    def _store(
        self, arrival: PendingSubmission, tell: Tell, later: Deferred, html: str | Exception
    ) -> None:
        try:
            if isinstance(html, Exception):
                raise html
            draft = self._judge(arrival, html)
            done = partial(self._conclude, draft, tell, later)
            self._database.begin_each(create.ADD, (draft.new, draft.now), done)
        except Exception as error:
            later.set_result(error)

    def _conclude(
        self, draft: PreparedComment, tell: Tell, later: Deferred, job: Job[InsertResult]
    ) -> None:
        outcome: Response | Exception | None = job.error
        if job.result is not None:
            try:
                outcome = tell(self._accept(draft, job.result))
            except Exception as error:
                outcome = error
        assert outcome is not None, "a job has a result or an error"
        later.set_result(outcome)

    async def judge_edit(self, request: Request, submission: Submission) -> Verdict:
        """Judge the new text of a comment. Raises HttpError 429."""
        place, monotonic = self._visit(request, self._limiter, TOO_FAST)
        html = await self._rendering.render(submission.message)
        policy = self._standing(submission, html, place, self._clock.now_ms())
        return self._spam_checker.check_edit(submission, html, place, policy, monotonic)

    def is_past(self, moment: int | None) -> bool:
        """Whether `moment` (Unix milliseconds) has come; None never does."""
        return moment is not None and moment <= self._clock.now_ms()

    def _admit(self, request: Request, submission: Submission) -> PendingSubmission:
        headers = self._cors.check(request, submission.place[0])
        return PendingSubmission(
            submission, *self._visit(request, self._limiter, TOO_FAST), headers
        )

    def _judge(self, arrival: PendingSubmission, html: str) -> PreparedComment:
        (submission, place, monotonic, headers), now_ms = arrival, self._clock.now_ms()
        policy = self._standing(submission, html, place, now_ms)
        verdict = self._spam_checker.check(
            submission, html, place, policy, (now_ms / 1_000, monotonic)
        )
        if verdict.decision == "reject":
            message = REFUSED[verdict]
            raise HttpError(400, message.key, message)
        if verdict.decision == "hold":
            self._check_pending(submission.place[0], place, monotonic)
        token, token_hash = self._tokens.new_token()
        new = self._new(
            submission,
            html,
            verdict,
            self._hashes.hash(place, now_ms),
            (token_hash, now_ms + self._edit),
        )
        return PreparedComment(new, now_ms, token, headers)

    def _accept(self, draft: PreparedComment, added: InsertResult) -> Accepted:
        valid = added.token_valid and self._edit > 0
        token = draft.token if valid else None
        return Accepted(added.comment, token, draft.new.token_expires_at, draft.headers)

    def _check_pending(self, site: str, place: bytes, monotonic: float) -> None:
        """Count a comment that has to wait. Raises HttpError 429 where too many do."""
        refusal = self._pending_limit.take(site, place, monotonic)
        if refusal:
            headers = (("Retry-After", str(refusal.retry_after)),)
            raise HttpError(429, "too_many_pending", refusal.text, headers=headers)

    def _visit(self, request: Request, limiter: RateLimiter, refusal: str) -> tuple[bytes, float]:
        """Give the network and the monotonic moment of a request.

        Raises HttpError 429 with the text `refusal` where `limiter` lets the network wait.
        """
        place, monotonic = network(self._proxies.client(request)), self._clock.monotonic()
        wait = limiter.take(place, monotonic)
        if wait:
            headers = (("Retry-After", str(wait)),)
            raise HttpError(429, "too_many", refusal.format(wait), headers=headers)
        return place, monotonic

    def _standing(
        self, submission: Submission, html: str, place: bytes, now_ms: int
    ) -> PolicyResult:
        hashes = partial(self._hashes.hashes, place, now_ms)
        return self._spam_policy.check(submission, html, hashes, now_ms)

    def _new(
        self,
        submission: Submission,
        html: str,
        verdict: Verdict,
        network_hash: bytes | None,
        token: tuple[bytes, int],
    ) -> NewComment:
        site, url = submission.place
        content = (site, url, submission.author, submission.email, submission.message)
        return NewComment(
            site=site,
            url=url,
            title=submission.title,
            author=submission.author,
            email=submission.email,
            avatar=submission.avatar,
            author_site=submission.site,
            source=submission.message,
            html=html,
            parent=submission.parent,
            status=STATUS[verdict.decision],
            key=submission.key or encode((*content, submission.parent)).decode(),
            derived=not submission.key,
            token_hash=token[0],
            token_expires_at=token[1],
            open_for=self._sites.open_for(site),
            score=verdict.score,
            reasons="\n".join(verdict.reasons),
            network=network_hash,
            notify=submission.notify and self._replies,
        )
