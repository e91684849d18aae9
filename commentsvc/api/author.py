"""What readers do with existing comments: edit and delete their own, vote, and report.

An author is whoever has the edit token that came with the comment, until it expires. The comments
of a reader who signed in are found by the session. As in `api.comments`, the docstring of each
handler documents the API.
"""

import secrets
from collections.abc import Collection
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from commentsvc.api.parameters import AnyPageQuery, LanguageQuery, LanguageTag, PageQuery
from commentsvc.api.serialize import (
    CommentReactions,
    CommentSerializer,
    OwnComment,
    ReaderState,
    Revised,
    Votes,
    status,
)
from commentsvc.api.submit import BEARER_CHALLENGE, HttpSubmissions
from commentsvc.api.vote_limit import VoteLimit, VoterNetwork
from commentsvc.auth.edit_tokens import EditTokens
from commentsvc.comments import queries
from commentsvc.comments.submission import (
    EMAIL_LENGTH,
    KEY,
    WRONG_EMAIL,
    MalformedError,
    MessageBody,
    Submission,
    SubmissionError,
    is_email,
    message_from_json,
    message_from_text,
)
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot
from commentsvc.errors import ReactedBefore, TooManyVotes, UnknownComment
from commentsvc.feedback import reports
from commentsvc.feedback import votes as voting
from commentsvc.http.messages import (
    NOT_STORED,
    CorsPolicy,
    Headers,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    json_answer,
    too_fast,
)
from commentsvc.http.operation import handles, read_fields
from commentsvc.model import APPROVED, DELETED, Comment, Entry
from commentsvc.moderation import author_edits
from commentsvc.moderation.author_edits import EditCredentials
from commentsvc.readers import accounts
from commentsvc.util.client_network import network_of, wide_network
from commentsvc.util.i18n import gettext as _
from commentsvc.util.ratelimit import RateLimiter
from commentsvc.util.timestamps import rfc3339

# The possible votes, by the setting `comments.votes`.
VALUES: Final = {"off": (), "up": (0, 1), "both": (-1, 0, 1), "reactions": ()}
BALLOT_BYTES: Final = 1_024  # a vote, with the random word of its reader
REPORT_BYTES: Final = 8_192  # a report, with an explanation that may be written with escapes
REPORTS: Final = "10/hour"  # from one network
ONCE: Final = "1/day"  # votes of one network on one comment, if no network hashes are stored
DISABLED: Final = _("Voting is disabled on this site.")


Sent = TypeVar("Sent", bound=msgspec.Struct)
# The random word that identifies the browser of a vote or report.
Word = Annotated[
    str,
    Meta(
        description="A random word that the browser creates once and keeps.",
        pattern=rf"^{KEY}(?![\s\S])",
        extra={"message": "This must have 8 to 64 characters out of A-Z, a-z, 0-9, - . _ ~."},
    ),
]


class ReaderQuery(PageQuery, frozen=True):
    """A page, and the language of errors."""

    lang: LanguageTag = "en"


class SignOutQuery(AnyPageQuery, frozen=True):
    """The site, and how many sessions end."""

    everywhere: (
        Annotated[Literal["yes"], Meta(description="End all sessions of the reader.")] | UnsetType
    ) = UNSET
    lang: LanguageTag = "en"


class VoteRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A vote."""

    vote: Annotated[
        Literal[-1, 0, 1],
        Meta(
            description="0 withdraws a vote; -1 is possible if `voting` of the list is `both`.",
            extra_json_schema={"x-setting": "vote"},
        ),
    ]
    voter: Word


class CommentReactionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A reaction to a comment."""

    emoji: Annotated[
        str,
        Meta(
            description="One of those that the site has chosen; nothing takes the reaction back.",
            extra_json_schema={"x-setting": "emoji or nothing"},
        ),
    ]
    reader: Word


# Why a comment is reported: one of model.REPORT_REASONS.
ReportReason = Annotated[
    Literal["illegal", "abuse", "spam", "other"],
    Meta(description="Why: illegal content; insults, threats or harassment; spam; something else."),
]
Explanation = Annotated[
    str,
    Meta(
        description="An explanation for the moderators, of which one line is kept.",
        max_length=reports.EXPLANATION_LENGTH,
        extra={"message": f"This may have {reports.EXPLANATION_LENGTH} characters."},
    ),
]


class ReportRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A report."""

    reporter: Word
    reason: ReportReason | UnsetType = UNSET
    explanation: Explanation = ""
    name: Annotated[str, Meta(description="The reader's name.", max_length=reports.NAME_LENGTH)] = (
        ""
    )
    email: Annotated[
        str,
        Meta(
            description="An address that is mailed the decision, if `notices` of the list is true.",
            max_length=EMAIL_LENGTH,
        ),
    ] = ""
    in_good_faith: Annotated[
        bool, Meta(description="Whether the reader says that the report is accurate and complete.")
    ] = False


class FoundComment(NamedTuple):
    """The comment that a request is about, and the CORS headers of the answer."""

    entry: Entry
    headers: Headers


class AuthorActions:
    """The handlers for actions on one comment."""

    def __init__(
        self,
        service: ServiceContext,
        cors: CorsPolicy,
        submissions: HttpSubmissions,
        serializer: CommentSerializer,
    ) -> None:
        settings, keys = service.settings, service.keys
        self._votes = VALUES[settings.comments.votes]
        self._reacts = settings.comments.votes == "reactions"
        refusal = ReactedBefore if self._reacts else TooManyVotes
        self._limit = VoteLimit(service, "votes", refusal)
        self._once = service.lasting.get("once", RateLimiter, ONCE)
        self._reports = service.lasting.get("reports", RateLimiter, REPORTS)
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._tokens = EditTokens(keys)
        self._bounds = settings.comments
        self._database = service.database
        self._sites = service.sites
        self._clock = service.clock
        self._cors = cors
        self._submissions = submissions
        self._serializer = serializer

    @handles(
        "PATCH",
        "/api/comments/{id}",
        Revised,
        query=LanguageQuery,
        body=MessageBody,
        bearer="edit",
        errors=(400, 401, 403, 404, 415, 429, 503),
    )
    async def edit(self, request: Request) -> Response:
        """Edit your own comment.

        The edit token is in `Authorization: Bearer`. The status is ``pending`` if the new text, or
        the old one, has to be approved. 400 with the invalid fields, 401 without the token, 403
        after the edit time, or for a foreign page, 404, 415, 429, 503.
        """
        entry, headers = self._claim(request, request.number(), request.bearer())
        message = message_from_json(request.json(), self._bounds)
        comment = await self._edit(request, entry, message)
        shown = self._serializer.item(comment, entry.site)
        return json_answer(Revised(status(comment), shown), *headers)

    @handles(
        "DELETE",
        "/api/comments/{id}",
        query=LanguageQuery,
        bearer="edit",
        errors=(400, 401, 403, 404, 503),
    )
    async def delete(self, request: Request) -> Response:
        """Delete your own comment.

        The comment is no longer shown, replies to it are. The edit token is in
        `Authorization: Bearer`. 204 also if it is deleted already. 401, 403, 404 and 503 as
        for an edit.
        """
        entry, headers = self._claim(request, request.number(), request.bearer())
        now = self._clock.now_ms()
        await self._database.write(author_edits.delete, entry.comment.id, now)
        return Response(204, (NOT_STORED, *headers), b"")

    @handles(
        "POST",
        "/api/comments/{id}/votes",
        Votes,
        query=LanguageQuery,
        body=VoteRequest,
        errors=(400, 403, 404, 409, 415, 429, 503),
    )
    async def vote(self, request: Request) -> Response:
        """Vote for a comment, or withdraw the vote.

        `vote` is 1 (for), 0 (taken back) or, if the settings allow it, -1; `voter` is a random word
        that a browser makes once and keeps. The last vote of each voter counts. 400 with the
        invalid fields, 403 for a foreign page, 404, 409 from a network with too many votes on the
        comment, 415, 429, 503.
        """
        if not self._votes:
            raise HttpError(404, "not_found", DISABLED)
        number = request.number()
        _entry, headers = self._find(request, number)
        ballot = self._ballot(request.json())
        networks, now_ms = self.admit_vote(request, number).hashes, self._clock.now_ms()
        votes = await self._database.write(
            voting.vote, number, ballot.voter, ballot.vote, networks, now_ms
        )
        return json_answer(Votes(votes, ballot.vote), *headers)

    @handles(
        "POST",
        "/api/comments/{id}/reactions",
        CommentReactions,
        query=LanguageQuery,
        body=CommentReactionRequest,
        errors=(400, 403, 404, 409, 415, 429, 503),
    )
    async def react(self, request: Request) -> Response:
        """React to a comment with an emoji, or take the reaction back.

        The last reaction of each reader counts; `reader` is a random word that a browser makes once
        and keeps. ``{"reactions": {emoji: number}, "emoji"}`` has all emoji of the site in their
        configured order, and the reader's own. 400 with the invalid fields, 403 for a foreign page,
        404, also where `comments.votes` is not ``reactions``, 409 from a network with too many on
        the comment, 415, 429, 503.
        """
        number = request.number()
        entry, headers = self._find(request, number)
        example = '{"emoji": "👍", "reader": "…"}'
        sent = read_small(request.json(), CommentReactionRequest, example)
        check_emoji(sent.emoji, self._sites.options[entry.site].emoji, or_none=True)
        networks, now_ms = self.admit_vote(request, number).hashes, self._clock.now_ms()
        counts = await self._database.write(
            voting.react, number, sent.reader, sent.emoji, networks, now_ms
        )
        shown = self._sites.reactions(entry.site, counts)
        return json_answer(CommentReactions(shown, sent.emoji), *headers)

    async def react_by_form(self, request: Request, number: int, emoji: str) -> Entry:
        """Store the only reaction of a reader without a word, or with "" take it back.

        Return the comment. Raise HttpError, CommentsError.
        """
        entry, _headers = self._find(request, number)
        check_emoji(emoji, self._sites.options[entry.site].emoji, or_none=True)
        if emoji:
            networks = self.admit_only_vote(request, number)
        else:
            networks = self.admit_vote(request, number).hashes
        now = self._clock.now_ms()
        await self._database.write(voting.react_once, number, emoji, networks, now)
        return entry

    def find_reacted(self, request: Request, number: int) -> tuple[Entry, str]:
        """Return a comment, and the reaction of a reader without a word. Raise as above."""
        entry = self.find_shown(request, number)
        check_emoji("", self._sites.options[entry.site].emoji, or_none=True)
        networks = self._limit.network(request).hashes
        return entry, self._database.read_now(voting.reacted_once, number, networks)

    def admit_vote(self, request: Request, number: int) -> VoterNetwork:
        """Count a vote on the comment with that id. Raise HttpError 429 or TooManyVotes."""
        return self._limit.admit(request, b"%d" % number)

    def admit_only_vote(self, request: Request, number: int) -> tuple[bytes, ...]:
        """Do as `admit_vote` for a reader without a word; return the hashes for `vote_once`."""
        network, hashes = self.admit_vote(request, number)
        if not hashes and self._once.take(b"%d %b" % (number, network), self._clock.monotonic_ms()):
            raise ReactedBefore if self._reacts else TooManyVotes
        return hashes

    async def vote_by_form(self, request: Request, number: int, value: int) -> Entry:
        """Store the only vote of a reader without a word, or with 0 take it back.

        Return the comment as it was. Raise HttpError, CommentsError.
        """
        if value not in self._votes:
            raise HttpError(404, "not_found", DISABLED)
        entry, _headers = self._find(request, number)
        if value:
            networks, now = self.admit_only_vote(request, number), self._clock.now_ms()
            await self._database.write(voting.vote_once, number, value, networks, now)
        else:
            networks = self.admit_vote(request, number).hashes
            await self._database.write(voting.withdraw_once, number, networks)
        return entry

    async def report_by_form(self, request: Request, number: int, reason: reports.Reason) -> Entry:
        """Store a report by a reader without scripts; return the comment. Raise as above."""
        entry, _headers = self._find(request, number)
        hashes = self._limit.network(request).hashes
        word = hashes[0].hex() if hashes else secrets.token_urlsafe()
        await self._report(request, entry, word, reason)
        return entry

    def find_shown(self, request: Request, number: int) -> Entry:
        """Return a comment that a reader wants to report by a form. Raise as above."""
        entry, _headers = self._find(request, number)
        if entry.comment.status != APPROVED:
            raise UnknownComment([number])
        return entry

    async def edit_by_form(self, request: Request, number: int, token: str, message: str) -> Entry:
        """Change a comment whose edit token was in a form; return it. Raise as above."""
        entry, _headers = self._claim(request, number, token)
        text = message_from_text(message, self._bounds)
        return msgspec.structs.replace(entry, comment=await self._edit(request, entry, text))

    def find_by_form(self, request: Request, number: int, token: str) -> Entry:
        """Return a comment whose edit token was in a form. Raise as above."""
        entry, _headers = self._claim(request, number, token)
        if entry.comment.status == DELETED:
            raise UnknownComment([number])
        return entry

    async def delete_by_form(self, request: Request, number: int, token: str) -> Entry:
        """Delete a comment whose edit token was in a form; return it. Raise as above."""
        entry, _headers = self._claim(request, number, token)
        await self._database.write(author_edits.delete, number, self._clock.now_ms())
        return entry

    @handles(
        "POST",
        "/api/comments/{id}/reports",
        query=LanguageQuery,
        body=ReportRequest,
        errors=(400, 403, 404, 415, 429, 503),
    )
    async def report(self, request: Request) -> Response:
        """Report a comment to the moderators.

        `reporter` is a random word that a browser makes once and keeps; a second report of the same
        comment takes the place of the first. `reason` and `explanation` are shown to moderators,
        and are optional. Where `notices` of the list is true, so are `name`, `email` and
        `in_good_faith`; elsewhere they are not stored. 400 with the invalid fields, 403 for a
        foreign page, 404, 415, 429, 503.
        """
        entry, headers = self._find(request, request.number())
        sent = read_small(request.json(), ReportRequest, '{"reporter": "…"}', REPORT_BYTES)
        reason = reports.Reason(
            sent.reason or "",
            sent.explanation,
            sent.name,
            sent.email,
            in_good_faith=int(sent.in_good_faith),
        )
        await self._report(request, entry, sent.reporter, reason)
        return Response(204, (NOT_STORED, *headers), b"")

    async def _report(
        self, request: Request, entry: Entry, word: str, reason: reports.Reason
    ) -> None:
        """Store a report by the reader with that `word`.

        Raise HttpError 429, UnknownComment, SubmissionError.
        """
        if self._sites.options[entry.site].notices:
            email = reason.email.strip()
            if email and not is_email(email):
                raise SubmissionError({"email": WRONG_EMAIL})
            reason = reason._replace(email=email, language=request.language().tag)
        else:
            reason = reports.Reason(reason.code, reason.explanation)
        network = wide_network(network_of(self._proxies.client(request)))
        wait = self._reports.take(network, self._clock.monotonic_ms())
        if wait:
            raise too_fast(wait)
        now = self._clock.now_ms()
        await self._database.write(reports.report, entry.comment.id, word, now, reason)

    async def _edit(self, request: Request, entry: Entry, message: str) -> Comment:
        """Judge and store the new text of a comment. Raise HttpError, UnknownComment."""
        number = entry.comment.id
        if entry.comment.status == DELETED:
            raise UnknownComment([number])
        verdict = await self._submissions.check_edit(request, with_text(entry, message))
        now = self._clock.now_ms()
        return await self._database.write(author_edits.edit, number, message, verdict, now)

    @handles("GET", "/api/reader", ReaderState, bearer="reader", errors=(400, 401, 403, 503))
    async def reader(self, request: Request, query: ReaderQuery) -> Response:
        """Get the name of the reader who signed in, and this reader's comments on a page.

        The session's token is in `Authorization: Bearer`. 400, 401, 403.
        """
        page = self._sites.locate(query.url, query.site)
        headers = self._cors.check(request, page.site)
        who = self._submissions.reader(request, page.site)

        def work(snapshot: Snapshot) -> list[tuple[Entry, int]]:
            url = queries.thread(snapshot, *page).url
            found = []
            for number in accounts.own_comments(snapshot, who, url):
                entry, own = (
                    queries.find(snapshot, number),
                    author_edits.authorize(snapshot, number),
                )
                if entry and own and entry.comment.status != DELETED:
                    found.append((entry, own.token_expires_at))
            return found

        own = [
            OwnComment(
                status(entry.comment),
                self._serializer.item(entry.comment, entry.site),
                rfc3339(expires),
            )
            for entry, expires in await self._database.read(work)
        ]
        return json_answer(ReaderState(who.name, own), *headers)

    @handles("DELETE", "/api/reader", bearer="reader", errors=(400, 401, 403, 503))
    async def sign_out(self, request: Request, query: SignOutQuery) -> Response:
        """Sign a reader out in this browser, or everywhere.

        With `everywhere=yes` all sessions are over. The session's token is in `Authorization:
        Bearer`. 400, 401, 403.
        """
        site, _ = self._sites.page_or_site(query.url, query.site)
        headers = self._cors.check(request, site)
        who = self._submissions.reader(request, site)
        if query.everywhere:
            await self._database.write(accounts.end_sessions, who.id)
        else:
            await self._database.write(accounts.end_session, request.bearer())
        return Response(204, (NOT_STORED, *headers), b"")

    def _find(self, request: Request, number: int) -> FoundComment:
        """Return a comment, and the CORS headers. Raise HttpError 403, UnknownComment."""
        entry = self._database.read_now(queries.find, number)
        if entry is None:
            raise UnknownComment([number])
        return FoundComment(entry, self._check(request, entry))

    def _claim(self, request: Request, number: int, token: str) -> FoundComment:
        """Return a comment whose edit token is given, or the one of its author's session.

        Raise HttpError 401 or 403, UnknownComment.
        """

        def work(snapshot: Snapshot) -> tuple[Entry | None, EditCredentials | None]:
            return queries.find(snapshot, number), author_edits.authorize(snapshot, number)

        entry, own = self._database.read_now(work)
        if entry is None or own is None:
            raise UnknownComment([number])
        headers = self._check(request, entry)
        if not self._tokens.check(token, own.token_hash) and not self._wrote(entry, token):
            message = _(
                "Only the author can change a comment, and only in the browser that sent it."
            )
            raise HttpError(401, "token", message, headers=BEARER_CHALLENGE)
        if own.token_expires_at <= self._clock.now_ms():
            message = _("The time in which you could change this comment is over.")
            raise HttpError(403, "too_late", message)
        return FoundComment(entry, headers)

    def _wrote(self, entry: Entry, token: str) -> bool:
        """Return whether a token is that of the reader who signed in and wrote a comment."""
        if entry.comment.reader_id is None:
            return False
        who = self._database.read_now(accounts.of_token, token, self._clock.now_ms())
        return who is not None and who.id == entry.comment.reader_id

    def _check(self, request: Request, entry: Entry) -> Headers:
        """Return the CORS headers. Raise HttpError 403, UnknownSiteError if its site is gone."""
        return self._cors.check(request, self._sites.named(entry.site))

    def _ballot(self, body: bytes) -> VoteRequest:
        """Read a vote. Raise HttpError 400 that names all invalid fields."""
        ballot = read_small(body, VoteRequest, '{"vote": 1, "voter": "…"}')
        if ballot.vote not in self._votes:
            problem = f"This must be one of {', '.join(map(str, self._votes))}."
            raise HttpError(400, "invalid", "Please look at: vote.", {"vote": problem})
        return ballot


def check_emoji(emoji: str, offered: Collection[str], *, or_none: bool = False) -> None:
    """Raise HttpError if the emoji is not one of those `offered`; with `or_none` it may be ""."""
    if not offered:
        raise HttpError(404, "not_found", _("Reactions are disabled on this site."))
    if emoji not in offered and (emoji or not or_none):
        problem = f"This must be one of {', '.join(offered)}."
        raise HttpError(400, "invalid", "Please look at: emoji.", {"emoji": problem})


def read_small(body: bytes, kind: type[Sent], example: str, most: int = BALLOT_BYTES) -> Sent:
    """Decode JSON of at most `most` bytes. Raise HttpError 400, naming the invalid fields."""
    if len(body) > most:
        raise MalformedError(f"The body has at most {most} bytes.")
    try:
        sent = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MalformedError(f"The body must be JSON as {example}.") from None
    return read_fields(sent, kind)


def with_text(entry: Entry, message: str) -> Submission:
    """Return the comment as a submission with a new message."""
    comment = entry.comment
    return Submission(
        page=(entry.site, entry.url),
        author=comment.author,
        message=message,
        email=comment.email,
        avatar=comment.avatar,
        site=comment.site,
        parent=comment.parent_id,
        title=entry.title,
        key="",
        honeypot="",
        form_token=None,
        reader_id=comment.reader_id,
    )
