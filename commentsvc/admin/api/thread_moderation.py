"""Moderation from the threads of a blog's pages: the JSON that the widget asks for.

It is apart from the API for programs, which no web page may use. The token of a blog session comes
in `Authorization: Bearer` and allows what `moderation.in_thread` does, on one site, for pages of
one origin. Only that origin may read the answers, nothing is cached, and no cookie is looked at.
"""

from collections.abc import Callable
from os import urandom
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from commentsvc.admin.api.comments import Id
from commentsvc.admin.api.token_access import WRONG_TOKENS
from commentsvc.api.author import read_small
from commentsvc.api.parameters import LanguageQuery, LanguageTag, PageQuery
from commentsvc.api.serialize import Answer, CommentSerializer, Item, Moment
from commentsvc.api.submit import BEARER_CHALLENGE
from commentsvc.auth import blog_sessions, sessions
from commentsvc.auth.blog_sessions import TOKEN_SIZE, BlogSession, BlogSessionRefused
from commentsvc.auth.sessions import Lifetime
from commentsvc.auth.signed_links import LENGTH, LinkError, SignedLinks
from commentsvc.comments.submission import message_from_text
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.errors import NotPermitted
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
from commentsvc.http.operation import handles, json_of
from commentsvc.model import APPROVED, DELETED
from commentsvc.moderation import in_thread, permissions, profiles
from commentsvc.moderation.in_thread import WaitingComments
from commentsvc.moderation.permissions import Actor
from commentsvc.util.client_network import network_of
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import origin
from commentsvc.util.ratelimit import NetworkLimiter
from commentsvc.util.timestamps import rfc3339

BASE: Final = "/api/thread-moderation"
BODY_BYTES: Final = 1_024  # all bodies but an answer's
ESCAPED: Final = 6  # bytes of a character of an answer, if it is written as \uXXXX
STATUS_OF: Final = {"approve": APPROVED, "delete": DELETED}
OVER: Final = _("This sign-in is over. Go to the moderation pages and come back to the blog.")

# The id of the last change that the moderator has seen.
Seen = Annotated[int, Meta(ge=0, le=10**18 - 1, description="`seen` of the list.")]


class WaitingQuery(PageQuery, frozen=True):
    """A page, and the language of errors."""

    lang: LanguageTag = "en"


class CodeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The code that the browser came back with, and the word of which it had sent the digest."""

    code: Annotated[str, Meta(min_length=1, max_length=LENGTH)]
    word: Annotated[str, Meta(min_length=32, max_length=64)]


class BegunSession(Answer, frozen=True):
    """A new token, and until when it is valid."""

    token: str
    expires: Moment


class WaitingList(Answer, frozen=True):
    """The comments of a page that wait, the oldest first, and whether there are `more`.

    Their `published` is when they were sent. `moderator` is the name under which answers appear.
    Decisions have to name `seen`.
    """

    moderator: str
    data: list[Item]
    seen: int
    more: bool = False


class ThreadDecisionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision on a comment."""

    action: Literal["approve", "delete"]
    id: Id
    seen: Seen


class ThreadAnswerBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The text of an answer."""

    message: Annotated[str, Meta(min_length=1, extra_json_schema={"x-setting": "message"})]
    seen: Seen


class ThreadDecisionResult(Answer, frozen=True):
    """What was done; `decision` is the number for undoing it, 0 if there is nothing to undo.

    If it was not `done`, the comment was changed meanwhile, its text if `edited`, by the moderator
    `actor`; "" if by its author or a program. `id` is that of an answer.
    """

    decision: int
    done: bool
    actor: str = ""
    edited: bool = False
    id: int = 0


class Admitted(NamedTuple):
    """A valid request: its session, what it may do, the headers of the answer, and the time."""

    session: BlogSession
    who: Actor
    headers: Headers
    now: int


_asks = {"query": LanguageQuery, "bearer": "blog"}


class ThreadModerationApi:
    """The handlers for moderators who are on a blog's page."""

    def __init__(
        self, service: ServiceContext, cors: CorsPolicy, serializer: CommentSerializer
    ) -> None:
        settings = service.settings
        self._database = service.database
        self._clock = service.clock
        self._sites = service.sites
        self._bounds = settings.comments
        self._lifetime = Lifetime.of(settings.moderation)
        self._links = SignedLinks(service.keys)
        self._cors = cors
        self._serializer = serializer
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._guesses = service.lasting.get("wrong tokens", NetworkLimiter, WRONG_TOKENS)

    @handles(
        "POST",
        f"{BASE}/session",
        {201: json_of(BegunSession)},
        query=LanguageQuery,
        body=CodeBody,
        errors=(400, 401, 403, 415, 429, 503),
    )
    async def begin(self, request: Request) -> Response:
        """Exchange the code of a moderator who agreed for a token.

        The token counts for two hours at most, for the page's site and origin. 401 for a code that
        is over, or for another browser or page.
        """
        sent = read_small(request.json(), CodeBody, '{"code": "…", "word": "…"}', BODY_BYTES)
        now, sender = self._clock.now_ms(), origin(request.header("origin") or "")

        try:
            agreed = blog_sessions.read_code(self._links, sent.code, sent.word, sender, now)
        except (BlogSessionRefused, LinkError) as error:
            raise self._guessed(request) from error

        def work(tx: Transaction) -> tuple[BegunSession, Headers]:
            token, made = blog_sessions.begin(tx, agreed, urandom(TOKEN_SIZE), self._lifetime, now)
            _who, headers = self._check(request, made)
            return BegunSession(token, rfc3339(made.expires_at)), headers

        try:
            begun, headers = await self._database.write(work)
        except (BlogSessionRefused, LinkError) as error:
            raise self._guessed(request) from error
        return json_answer(begun, *headers, status=201)

    @handles("DELETE", f"{BASE}/session", errors=(400, 401, 403, 429, 503), **_asks)
    async def end(self, request: Request) -> Response:
        """End the token."""
        call = self._admit(request)
        await self._database.write(blog_sessions.end, call.session.id)
        return _done(call)

    @handles(
        "POST", f"{BASE}/comments", WaitingList, bearer="blog", errors=(400, 401, 403, 429, 503)
    )
    async def waiting(self, request: Request, query: WaitingQuery) -> Response:
        """The comments of a page that wait.

        400 for a page of another site. Browsers do not name the origin of a page that gets
        something from its own origin, which a blog and its comments may share; so this is a POST.
        """
        call = self._admit(request)
        page = self._sites.locate(query.url, query.site or call.session.site)
        if page.site != call.session.site:
            raise NotPermitted("the token is for another site")
        if call.now - call.session.used_at >= sessions.TOUCH:
            await self._database.write(blog_sessions.touch, call.session.id, call.now)

        def work(snapshot: Snapshot) -> tuple[str, WaitingComments]:
            profile = profiles.find(snapshot, call.who.account_id)
            assert profile is not None, "a session ends with its account"
            return profile.author, in_thread.waiting(snapshot, call.who, page)

        name, found = await self._database.read(work)
        items = [
            replace(
                self._serializer.item(entry.comment, entry.site),
                published=rfc3339(entry.comment.created_at),
            )
            for entry in found.items
        ]
        return json_answer(WaitingList(name, items, found.seen, found.more), *call.headers)

    @handles(
        "POST",
        f"{BASE}/decisions",
        ThreadDecisionResult,
        body=ThreadDecisionBody,
        errors=(400, 401, 403, 404, 415, 429, 503),
        **_asks,
    )
    async def decide(self, request: Request) -> Response:
        """Approve a comment that waits, or delete one.

        Without effect if another moderator has decided on it, or its author has changed it, after
        the change `seen`.
        """
        call = self._admit(request)
        example = '{"action": "approve", "id": 1, "seen": 1}'
        sent = read_small(request.json(), ThreadDecisionBody, example, BODY_BYTES)
        return await self._decided(
            call, in_thread.decide, sent.id, STATUS_OF[sent.action], sent.seen, call.now
        )

    @handles(
        "DELETE",
        f"{BASE}/decisions/{{id}}",
        ThreadDecisionResult,
        errors=(400, 401, 403, 404, 409, 429, 503),
        **_asks,
    )
    async def undo(self, request: Request) -> Response:
        """Undo a decision that the account made since the token began."""
        call = self._admit(request)
        since = call.session.created_at
        return await self._decided(call, in_thread.undo, request.number(), since, call.now)

    @handles(
        "POST",
        f"{BASE}/comments/{{id}}/answers",
        ThreadDecisionResult,
        body=ThreadAnswerBody,
        errors=(400, 401, 403, 404, 409, 415, 429, 503),
        **_asks,
    )
    async def answer(self, request: Request) -> Response:
        """Answer a comment, and approve it if it waits."""
        call, example = self._admit(request), '{"message": "…", "seen": 1}'
        most = BODY_BYTES + ESCAPED * self._bounds.message_length
        sent = read_small(request.json(), ThreadAnswerBody, example, most)
        text = message_from_text(sent.message, self._bounds)
        number = request.number()
        return await self._decided(call, in_thread.answer, number, text, sent.seen, call.now)

    @handles(
        "PUT", f"{BASE}/comments/{{id}}/pin", errors=(400, 401, 403, 404, 409, 429, 503), **_asks
    )
    async def pin(self, request: Request) -> Response:
        """Pin a comment to the top of its page."""
        call = self._admit(request)
        await self._database.write(in_thread.pin, call.who, request.number(), pinned=True)
        return _done(call)

    @handles(
        "DELETE", f"{BASE}/comments/{{id}}/pin", errors=(400, 401, 403, 404, 429, 503), **_asks
    )
    async def unpin(self, request: Request) -> Response:
        """Unpin a comment."""
        call = self._admit(request)
        await self._database.write(in_thread.pin, call.who, request.number(), pinned=False)
        return _done(call)

    async def _decided(
        self, call: Admitted, work: Callable[..., in_thread.ThreadDecision], *given: object
    ) -> Response:
        made = await self._database.write(work, call.who, *given)
        result = ThreadDecisionResult(
            made.decision_id, made.done, made.actor, made.edited, made.comment_id
        )
        return json_answer(result, *call.headers)

    def _admit(self, request: Request) -> Admitted:
        """Return what the request's token allows. Raise HttpError 401, 403, 429, NotPermitted."""
        now, sent = self._clock.now_ms(), request.bearer()
        found = self._database.read_now(blog_sessions.find, sent, now) if sent else None
        if found is None:
            raise self._guessed(request) if sent else _over()
        who, headers = self._check(request, found)
        return Admitted(found, who, headers, now)

    def _guessed(self, request: Request) -> HttpError:
        """Count a wrong token or code; return the error for it: 401, or 429 after too many."""
        network = network_of(self._proxies.client(request))
        wait = self._guesses.take(network, self._clock.monotonic_ms())
        return too_fast(wait) if wait else _over()

    def _check(self, request: Request, session: BlogSession) -> tuple[Actor, Headers]:
        """Return what a session allows a page, and the CORS headers. Raise HttpError 403."""
        if origin(request.header("origin") or "") != session.origin:
            raise HttpError(
                403, "forbidden_origin", _("This sign-in is for pages of another site.")
            )
        headers = self._cors.check(request, self._sites.named(session.site))
        account = permissions.actor(
            session.moderator_id, session.moderator, session.role, session.role_sites
        )
        who = account.limited("decide", session.site)
        if not who.may_decide(session.site):
            raise NotPermitted(f"{who.name} may not decide on {session.site}")
        return who, headers


def _over() -> HttpError:
    return HttpError(401, "over", OVER, headers=BEARER_CHALLENGE)


def _done(call: Admitted) -> Response:
    return Response(204, (NOT_STORED, *call.headers), b"")
