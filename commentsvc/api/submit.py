"""HTTP submissions: CORS, the client's network and rate limits, before a submission is judged.

JSON, our form and Stacosys' forms are read and answered in different ways; this module has what
they share. `commentsvc.submissions.service` judges and stores a submission.
"""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from commentsvc.api.serialize import AskedOptions, FormOptions
from commentsvc.comments.page_urls import PageRef, SiteOptions
from commentsvc.comments.submission import (
    NO_EMAIL,
    AskedFields,
    NoteSubmission,
    Rules,
    Submission,
    SubmissionError,
    avatar,
)
from commentsvc.context import ServiceContext
from commentsvc.db.errors import DatabaseError
from commentsvc.http.messages import (
    CorsPolicy,
    Headers,
    HttpError,
    Request,
    TrustedProxies,
    too_fast,
)
from commentsvc.readers import accounts
from commentsvc.readers.accounts import SignedReader
from commentsvc.settings.types import HIDDEN, OPTIONAL, REQUIRED
from commentsvc.spam.score import Verdict
from commentsvc.submissions.service import Accepted, SubmissionService
from commentsvc.util.client_network import network_of
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import requested_language
from commentsvc.util.ratelimit import NetworkLimiter

# A text that the event loop renders takes up to 20 ms, so one network takes at most 2 % of it.
PREVIEWS: Final = "60/minute"

# Attempts for each allowed comment of a network: people have to correct mistakes.
ATTEMPTS: Final = 6

# What a comment that the database could not store costs its network: the author sends it again.
NOT_STORED: Final = -1.0

BEARER_CHALLENGE: Final = (("WWW-Authenticate", 'Bearer realm="commentsvc"'),)  # RFC 6750, 3
NO_NOTES: Final = _("Private notes are not accepted here, so nothing was sent.")
SIGNED_OUT: Final = _("You are not signed in. Please sign in again.")
MEMBERS_ONLY: Final = _("Only readers who have signed in can comment here. Please sign in first.")


class HttpSubmissions:
    """Submissions, edits and previews that arrive by HTTP."""

    def __init__(
        self, service: ServiceContext, cors: CorsPolicy, submissions: SubmissionService
    ) -> None:
        settings, lasting = service.settings, service.lasting
        rate = settings.spam.rate_limit
        self._limiter = lasting.get("submissions", NetworkLimiter, rate)
        self._attempts = lasting.get("attempts", NetworkLimiter, rate, ATTEMPTS)
        self._previews = lasting.get("previews", NetworkLimiter, PREVIEWS)
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._bounds = settings.comments
        self._picture_bytes = settings.comments.image_kib << 10
        self._replies = bool(settings.mail.host) and settings.mail.reply_notifications
        self._with_readers = {
            site.name for site in settings.sites if site.sign_in and settings.server.public_url
        }
        self._by_mail = {site.name for site in settings.sites if site.comments_by_mail}
        self._sites = service.sites
        self._asks = {name: _asked(options) for name, options in service.sites.options.items()}
        self._database = service.database
        self._clock = service.clock
        self._cors = cors
        self._submissions = submissions

    def form_token(self, site: str) -> str:
        """Return a form token for a form of `site` that cannot do proof of work."""
        return self._submissions.form_token(site)

    def form_options(self, request: Request, site: str) -> FormOptions:
        """Return what a form of `site` needs: form token, proof of work and limits."""
        issued = self._submissions.issue_token(site, network_of(self._proxies.client(request)))
        options, mails = self._sites.options[site], self._replies
        return FormOptions(
            length=self._bounds.message_length,
            notify=mails and (options.asks.email != HIDDEN or options.members_only),
            sign_in=site in self._with_readers,
            images=self._picture_bytes if options.images else 0,
            by_mail=site in self._by_mail,
            asks=self._asks[site],
            notes=options.notes,
            **issued,
        )

    def rules(self, request: Request, locate: Callable[[str], PageRef], session: str = "") -> Rules:
        """Return what a submission is checked against; `locate` finds its page.

        `session` is the token of a reader who signed in, if the request has it in a form's field.
        """

        def asks(site: str) -> AskedFields:
            asked = self._sites.options[site].asks
            if not self._names_reader(request, site, session):
                return asked
            email = OPTIONAL if asked.email == REQUIRED else asked.email
            return asked._replace(author=OPTIONAL, email=email)  # `writer` has the reader's

        return Rules(self._bounds, locate, asks)

    def admit(self, request: Request) -> bytes:
        """Count an attempt to submit before it is read; return its network. Raise HttpError 429.

        Reading takes time even if the submission is invalid; invalid ones are counted only here.
        """
        network = self._network(request)
        self._count(network, self._attempts)
        return network

    async def submit(
        self, request: Request, network: bytes, submission: Submission, session: str = ""
    ) -> tuple[Accepted, Headers]:
        """Judge and store a submission; return the result and the CORS headers of the answer.

        `network` is what `admit` returned; `session` is as for `rules`. Raise HttpError 401, 403 or
        429, SubmissionError, CommentsError, DatabaseError; then nothing is stored.
        """
        headers = self._check(request, network, submission)
        submission = self._completed(request, submission, session)
        try:
            return await self._submissions.submit(submission, network), headers
        except DatabaseError:
            self._limiter.charge(network, NOT_STORED)
            raise

    async def submit_note(
        self, request: Request, network: bytes, note: NoteSubmission, session: str = ""
    ) -> Headers:
        """Judge and store a private note; return the CORS headers of the answer.

        The arguments are as for `submit`. Raise HttpError 401, 403, 404 or 429, SubmissionError,
        CommentsError, DatabaseError; then nothing is stored.
        """
        submission = note.submission
        if not self._sites.options[submission.page[0]].notes:
            raise HttpError(404, "no_notes", NO_NOTES)
        headers = self._check(request, network, submission)
        submission = self._completed(request, submission, session)
        if not submission.language:
            language = requested_language(request.query)
            submission = msgspec.structs.replace(submission, language=language)
        try:
            await self._submissions.submit_note(
                msgspec.structs.replace(note, submission=submission), network
            )
        except DatabaseError:
            self._limiter.charge(network, NOT_STORED)
            raise
        return headers

    async def preview(self, request: Request, message: str, page: PageRef) -> str:
        """Return the HTML of `message` as on the `page`. Raise HttpError 429."""
        self._count(self._network(request), self._previews)
        return await self._submissions.render(message, page)

    async def check_edit(self, request: Request, submission: Submission) -> Verdict:
        """Judge the new text of a comment. Raise HttpError 429."""
        network = self._network(request)
        self._count(network, self._limiter)
        return await self._submissions.check_edit(submission, network)

    def reader(self, request: Request, site: str) -> SignedReader:
        """Return the reader of the session whose token a request has. Raise HttpError 401."""
        return self._reader(request.bearer(), site)

    def _reader(self, token: str, site: str) -> SignedReader:
        if token:
            who = self._database.read_now(accounts.of_token, token, self._clock.now_ms())
            if who is not None and who.site == site and who.name:
                return who
        raise HttpError(401, "signed_out", SIGNED_OUT, headers=BEARER_CHALLENGE)

    def writer(self, request: Request, site: str, session: str = "") -> SignedReader | None:
        """Return the reader who signed in, None for a guest; `session` is as for `rules`.

        Raise HttpError 401 for a session that is over, and for a guest where only members write.
        """
        if self._names_reader(request, site, session):
            return self._reader(session or request.bearer(), site)
        if self._sites.options[site].members_only:
            raise HttpError(401, "signed_out", MEMBERS_ONLY, headers=BEARER_CHALLENGE)
        return None

    def _names_reader(self, request: Request, site: str, session: str) -> bool:
        """Return whether a request claims to be by a reader who has signed in on the site."""
        return site in self._with_readers and bool(session or request.header("authorization"))

    def _completed(self, request: Request, submission: Submission, session: str) -> Submission:
        """Return a submission with the author who has signed in, and the language for mails.

        Both are in the request, if at all. Raise HttpError 401, SubmissionError.
        """
        if submission.notify or submission.follow:
            language = requested_language(request.query)
            submission = msgspec.structs.replace(submission, language=language)
        site = submission.page[0]
        who = self.writer(request, site, session)
        if who is None:
            return submission
        email = who.email or submission.email
        if not email and self._sites.options[site].asks.email == REQUIRED:
            raise SubmissionError({"email": NO_EMAIL})
        return msgspec.structs.replace(
            submission, author=who.name, email=email, avatar=avatar(email), reader_id=who.id
        )

    def _check(self, request: Request, network: bytes, submission: Submission) -> Headers:
        """Return the CORS headers of the answer. Raise HttpError 403 or 429."""
        headers = self._cors.check(request, submission.page[0])
        self._count(network, self._limiter)
        return headers

    def _network(self, request: Request) -> bytes:
        return network_of(self._proxies.client(request))

    def _count(self, network: bytes, limiter: NetworkLimiter) -> None:
        """Raise HttpError 429 if the network exceeds `limiter`."""
        if wait := limiter.take(network, self._clock.monotonic_ms()):
            raise too_fast(wait)


def _asked(options: SiteOptions) -> AskedOptions | UnsetType:
    """Return what the forms of a site ask for; UNSET if that is the usual."""
    asks = AskedOptions(
        *options.asks[:4], guidelines=options.guidelines, members_only=options.members_only
    )
    return UNSET if asks == AskedOptions() else asks
