"""The submission service: judges and stores what readers submit, by HTTP or by mail.

It renders the comment's HTML, runs the spam checks and the site's policy, makes an edit token, and
stores the comment with the status of the verdict. It knows nothing of HTTP; submissions by HTTP
pass `api.submit` first.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from commentsvc.auth.edit_tokens import EditTokens
from commentsvc.comments import create, rendering
from commentsvc.comments.create import NewComment
from commentsvc.comments.page_urls import PageRef
from commentsvc.comments.submission import NoteSubmission, Submission, SubmissionError
from commentsvc.context import ServiceContext
from commentsvc.errors import SubmissionRefused, TooManyPending
from commentsvc.markup import image_names, people
from commentsvc.markup.markdown import NOBODY
from commentsvc.model import APPROVED, NEW, PENDING, SPAM, Comment
from commentsvc.moderation import private_notes
from commentsvc.moderation.private_notes import NewNote
from commentsvc.readers import subscriptions
from commentsvc.spam import opinion, score
from commentsvc.spam.bans import Bans
from commentsvc.spam.checks import SpamChecker
from commentsvc.spam.model_cache import ModelCache
from commentsvc.spam.pending_limit import PendingLimit
from commentsvc.spam.policy import Decided, SpamPolicy
from commentsvc.spam.protected_names import ProtectedNames
from commentsvc.spam.score import Verdict
from commentsvc.submissions.renderer import Renderer
from commentsvc.util.client_network import NetworkHashes
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import address_key
from commentsvc.util.ratelimit import NetworkLimiter
from commentsvc.util.timestamps import MINUTE_MS

# How often comments of a network may have somebody, who has not agreed before, asked about mails.
QUESTIONS: Final = "20/day"

# Pictures in one comment. Each takes up to 400 KB, and readers load all of a thread.
IMAGES: Final = 4

# The status of a submission by its verdict.
STATUS: Final = {"accept": APPROVED, "hold": PENDING, "spam": SPAM}

# The code and the message of refused submissions.
REFUSED: Final = {
    score.TRAPPED: (
        "rejected",
        _(
            "A hidden field was filled in, as spam programs do, so this was treated as spam and "
            "is not stored. If you wrote it, reload the page and leave that field empty."
        ),
    ),
    score.UNKNOWN_FORM: (
        "form_token",
        _(
            "To keep spam programs out, this form must be sent once more. Your text is still "
            "here: please send it again. (API clients: get a form token from GET /api/form-token, "
            "and wait a few seconds.)"
        ),
    ),
}

_encode = msgspec.json.Encoder().encode


class Accepted(msgspec.Struct, frozen=True):
    """A stored comment. `token` edits it until `token_expires_at` (Unix ms), if there is one."""

    comment: Comment
    token: str | None
    token_expires_at: int


class PreparedComment(msgspec.Struct, frozen=True):
    """A comment that is about to be stored, the time, and its edit token."""

    new: NewComment
    now_ms: int
    token: str


class SubmissionService:
    """Accepts submissions for all sites. A `network` is a result of `client_network.network`."""

    def __init__(self, service: ServiceContext, bans: Bans, names: ProtectedNames) -> None:
        """Take the service, and the caches of bans and protected names.

        The caller of `bans.forget` and `names.forget` has the same objects.
        """
        settings, database, keys = service.settings, service.database, service.keys
        self._edit = settings.moderation.edit_minutes * MINUTE_MS
        self._replies = bool(settings.mail.host) and settings.mail.reply_notifications
        self._spam_checker = SpamChecker(settings, keys, service.lasting)
        self._hashes = NetworkHashes(keys[0], settings.privacy.keep_network_days)
        model = ModelCache(database) if settings.spam.bayes else None
        decided = Decided(bans, names, model)
        self._spam_policy = SpamPolicy(settings, database.read_now, decided, self._hashes)
        self._pending_limit = PendingLimit(settings.spam, database, service.lasting)
        is_limited = settings.spam.rate_limit != "off"
        self._questions = service.lasting.get(
            "questions", NetworkLimiter, QUESTIONS if is_limited else "off"
        )
        self._tokens = EditTokens(keys)
        self._renderer = Renderer(service.clock)
        self._database = database
        self._sites = service.sites
        self._clock = service.clock

    def form_token(self, site: str) -> str:
        """Return a form token for a form of `site` that cannot do proof of work."""
        return self._spam_checker.form_token(site, self._clock.now_ms())

    def issue_token(self, site: str, network: bytes) -> dict[str, Any]:  # Any: see SpamChecker
        """Return what a form of `site` needs; `network` is the client's."""
        now_ms, monotonic_ms = self._clock.now_ms(), self._clock.monotonic_ms()
        return self._spam_checker.issue_token(site, now_ms, monotonic_ms, network)

    async def submit(self, submission: Submission, network: bytes) -> Accepted:
        """Judge and store a submission from `network`; return after the COMMIT.

        Raise CommentsError or DatabaseError; then nothing is stored.
        """
        html = await self.render(submission.message, submission.page)
        prepared = self._prepare(submission, network, html)
        added = await self._database.write_each(create.ADD, (prepared.new, prepared.now_ms))
        valid = added.token_valid and self._edit > 0
        expires_at = prepared.new.token_expires_at
        return Accepted(added.comment, prepared.token if valid else None, expires_at)

    async def submit_note(self, note: NoteSubmission, network: bytes) -> None:
        """Judge and store a private note; it is judged here alone, and no other service sees it.

        Raise CommentsError or DatabaseError; then nothing is stored.
        """
        submission = note.submission
        words = f"{note.quote}\n\n{submission.message}" if note.quote else submission.message
        judged = msgspec.structs.replace(submission, message=words)
        html = await self._renderer.render(words)
        is_spam = self._judge(judged, network, html).decision == "spam"
        refusal = self._pending_limit.take_of_network(network, self._clock.monotonic_ms())
        if refusal:
            raise TooManyPending(refusal.text, refusal.retry_after)
        now_ms = self._clock.now_ms()
        site, url = submission.page
        new = NewNote(
            site=site,
            url=url,
            title=submission.title,
            author=submission.author,
            email=submission.email,
            quote=note.quote,
            message=submission.message,
            language=submission.language or self._sites.options[site].language,
            may_thank=note.may_thank,
            state=SPAM if is_spam else NEW,
            key=submission.key,
            network=self._hashes.hash(network, now_ms),
        )
        await self._database.write(private_notes.add, new, now_ms)

    async def render(self, message: str, page: tuple[str, str]) -> str:
        """Return the HTML of `message` on `page`."""
        site = self._sites.options[page[0]]
        named: Mapping[str, int] = NOBODY
        if "@" in message and people.names(message):
            named = await self._database.read(rendering.find_people_on, PageRef(*page), message)
        return await self._renderer.render(message, site.math, named, site.images)

    async def check_edit(self, submission: Submission, network: bytes) -> Verdict:
        """Judge the new text of a comment. Raise SubmissionError for too many images."""
        self._check_images(submission.message)
        html = await self._renderer.render(submission.message)
        policy = self._spam_policy.check(submission, html, network, self._clock.now_ms())
        monotonic_ms = self._clock.monotonic_ms()
        return self._spam_checker.check_edit(submission, html, network, policy, monotonic_ms)

    def _prepare(self, submission: Submission, network: bytes, html: str) -> PreparedComment:
        """Judge a submission. Raise SubmissionError, SubmissionRefused or TooManyPending."""
        if "image:" in submission.message:
            self._check_images(submission.message)
        now_ms, monotonic_ms = self._clock.now_ms(), self._clock.monotonic_ms()
        verdict = self._judge(submission, network, html)
        if verdict.decision == "hold":
            # The limit of a network protects moderators; the classifier takes comments as fast as
            # they come. That of a site holds for it too: the classifier may be down.
            counted = None if opinion.waits(verdict.reasons) else network
            refusal = self._pending_limit.take(submission.page[0], counted, monotonic_ms)
            if refusal:
                raise TooManyPending(refusal.text, refusal.retry_after)
        wants_mail = submission.notify or submission.follow
        if wants_mail and self._asks_too_much(submission, network, monotonic_ms):
            submission = msgspec.structs.replace(submission, notify=False, follow=False)
        token, token_hash = self._tokens.new_token()
        network_hash = self._hashes.hash(network, now_ms)
        new = self._new(submission, html, verdict, network_hash, (token_hash, now_ms + self._edit))
        return PreparedComment(new, now_ms, token)

    def _judge(self, submission: Submission, network: bytes, html: str) -> Verdict:
        """Return the verdict on a submission. Raise SubmissionRefused."""
        now_ms, monotonic_ms = self._clock.now_ms(), self._clock.monotonic_ms()
        policy = self._spam_policy.check(submission, html, network, now_ms)
        verdict = self._spam_checker.check(submission, html, network, policy, now_ms, monotonic_ms)
        if verdict.decision == "reject":
            raise SubmissionRefused(*REFUSED[verdict])
        return verdict

    def _asks_too_much(self, submission: Submission, network: bytes, monotonic_ms: int) -> bool:
        """Return whether a network has had too many addresses asked whether they want mails.

        Then the comment is stored without that wish: its owner may not know of it.
        """
        if self._database.read_now(subscriptions.has_confirmed, submission.email):
            return False
        return self._questions.take(network, monotonic_ms) > 0

    def _check_images(self, message: str) -> None:
        number = len(image_names.names(message))
        if number > IMAGES:
            raise SubmissionError(
                {
                    "message": _(
                        "This has %(number)s pictures; at most %(limit)s are allowed.",
                        number=number,
                        limit=IMAGES,
                    )
                }
            )

    def _new(
        self,
        submission: Submission,
        html: str,
        verdict: Verdict,
        network_hash: bytes | None,
        token: tuple[bytes, int],
    ) -> NewComment:
        site, url = submission.page
        options = self._sites.options[site]
        email = address_key(submission.email)
        content = (site, url, submission.author, email, submission.message)
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
            key=submission.key or _encode((*content, submission.parent)).decode(),
            derived=not submission.key,
            token_hash=token[0],
            token_expires_at=token[1],
            open_for=options.open_for,
            score=verdict.score,
            reasons="\n".join(verdict.reasons),
            network=network_hash,
            notify=submission.notify and self._replies,
            follow=submission.follow and self._replies,
            language=submission.language or options.language,
            permalink=submission.permalink,
            reader_id=submission.reader_id,
            any_parent=submission.any_parent,
        )
