"""Access control of the moderation pages: who is signed in, and which forms are genuine.

A handler declares its operation: `get` and `post` name the path and the permission that it
requires, and its docstring begins with the summary. `AccessControl.routes` makes the routes. A
visitor who is not signed in is sent to the sign-in page and comes back afterwards; an account
without the permission gets an error. Only pages with the permission ANYBODY, for signing in, are
open to all.

A form is accepted if three checks succeed (against cross-site request forgery): browsers send the
cookie for our own pages only (SameSite=Strict), Sec-Fetch-Site or else Origin names our own origin,
and the form contains the token that belongs to the cookie. The cookie alone is not enough, since
the blog may be on the same site (blog.example, comments.blog.example) with scripts of its own.

Our pages send no referrer, so browsers send ``Origin: null``. For browsers without Sec-Fetch-Site
(before 2023) that is accepted, and the token alone decides.

All errors are HTML pages. That of a form of ours holds what was typed into it, in a form that sends
it again: whatever ended, the session, the cookie or the server, no text is lost. Passwords have to
be typed again, and a form from elsewhere is not shown.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from os import urandom
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from commentsvc.admin.login_limit import LoginLimiter
from commentsvc.admin.render import redirect, render
from commentsvc.api.errors import foreseen
from commentsvc.auth import sessions
from commentsvc.auth.sessions import Cookies, Lifetime, Session
from commentsvc.auth.two_factor import TwoFactor
from commentsvc.context import ServiceContext
from commentsvc.errors import NotPermitted
from commentsvc.http.forms import Form
from commentsvc.http.messages import Headers, HttpError, Request, Response, TrustedProxies, first
from commentsvc.http.operation import Operation, Query, declare, declared, summary_of
from commentsvc.http.router import Route, route
from commentsvc.moderation import permissions
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.util.i18n import (
    Language,
    Text,
    moderators_language,
    moderators_tags,
    speaking,
    spoken,
)
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import LOCAL_HOSTS, host_of, origin

TOKEN_FIELD: Final = "csrf_token"  # noqa: S105 - the name of a field
TARGET_LENGTH: Final = 4_000  # characters of the address to return to after signing in
SIGN_IN: Final = "sign-in"
BASE: Final = "/moderation"
# The fields into which people type, besides those for answers, and those that are never sent back.
TYPED: Final = frozenset(("message", "internal", "value", "name", "public_name", "site", "email"))
FOREIGN: Final = "foreign_form"
NO_COOKIE: Final = "no_cookie"
NOT_SIGNED_IN: Final = _("You are not signed in. Please sign in again.")
SIGNED_OUT: Final = (NO_COOKIE, "not_signed_in")
SECRET: Final = ("password", "new", "again", "code")


class RequestContext(msgspec.Struct, frozen=True):
    """A request and its session, at the time `now` (Unix milliseconds).

    `form` has the parameters of the query of a page, and the fields of a posted form. The answer
    has the `status` and, where a form cannot be accepted, says the `problem`.
    """

    request: Request
    token: str
    session: Session | None
    now: int
    form: Form
    status: int = 200
    problem: Text = ""

    def refused(self, status: int, problem: Text) -> "RequestContext":
        """Return the context of the page that shows a form again, and what is wrong with it."""
        return msgspec.structs.replace(self, status=status, problem=problem)

    def first(self, name: str) -> str:
        """Return the first value of a field of `form`, "" if there is none."""
        return first(self.form, name)

    @property
    def moderator(self) -> Session:
        """The session; it is set in all handlers that require a login."""
        assert self.session is not None
        return self.session

    @property
    def actor(self) -> Actor:
        """The moderator's permissions."""
        session = self.moderator
        return permissions.actor(session.moderator_id, session.name, session.role, session.sites)

    def may(self, permission: str) -> bool:
        """Return whether the moderator has a permission: templates leave out everything else."""
        return self.actor.may(permission)

    @property
    def language(self) -> Language:
        """The moderator's language, or else the current one, which is the browser's."""
        tag = self.session.language if self.session else ""
        return moderators_language(tag) if tag else spoken()

    @property
    def csrf_token(self) -> str:
        """The token for the forms of the page."""
        return sessions.csrf_token(self.token)


# Any: what a coroutine yields to the event loop does not matter
PageResult = Coroutine[Any, Any, Response]
Shown = Callable[[RequestContext], PageResult]
Handler = Callable[[Request], PageResult]
Declared = Callable[[Any, RequestContext], PageResult]  # Any: the object with the handler
H = TypeVar("H", bound=Declared)


def page_operation(
    method: str, path: str, summary: str, permission: Permission
) -> Operation[Query]:
    """Return the operation of the page `path`, below BASE, which requires that permission."""
    return Operation(
        method=method,
        path=BASE + path,
        summary=summary,
        query=Query,
        ignores_unknown=True,
        for_moderators=True,
        permission=permission,
    )


def get(path: str, permission: Permission) -> Callable[[H], H]:
    """Declare the operation of a handler that shows a page."""
    return lambda handler: declare(
        handler, page_operation("GET", path, summary_of(handler), permission)
    )


def post(path: str, permission: Permission) -> Callable[[H], H]:
    """Declare the operation of a handler of a posted form."""
    return lambda handler: declare(
        handler, page_operation("POST", path, summary_of(handler), permission)
    )


def public_address(given: str, request: Request) -> str:
    """Return the address of the service: `given` in the settings, or else from the request.

    The pages require https, except on the own machine.
    """
    host = request.header("host") or ""
    own = host_of(f"//{host}") in LOCAL_HOSTS
    return given or f"{'http' if own else 'https'}://{host}"


def foreign_form() -> HttpError:
    """Return the error for a form that is not one of ours."""
    return HttpError(
        403,
        FOREIGN,
        _(
            "This form was not sent by the moderation pages, so nothing was changed. If you did"
            " send it from there, open the page again and repeat it."
        ),
    )


def no_cookie() -> HttpError:
    """Return the error for a form of ours that came without our cookie."""
    return HttpError(
        403,
        NO_COOKIE,
        _(
            "Your browser did not send our cookie. The moderation pages need cookies, and "
            "browsers accept ours only if the address begins with https:// or is localhost."
        ),
    )


@dataclass(frozen=True, slots=True)
class Authentication:
    """The objects that check how moderators sign in, and how often they try."""

    cookies: Cookies
    lifetime: Lifetime
    limiter: LoginLimiter
    two_factor: TwoFactor
    proxies: TrustedProxies

    @classmethod
    def of(cls, service: ServiceContext) -> "Authentication":
        """Return the authentication for the settings and the secret keys."""
        lifetime = Lifetime.of(service.settings.moderation)
        limiter = LoginLimiter(service.database, service.keys[0])
        proxies = TrustedProxies(service.settings.server.trusted_proxies)
        return cls(Cookies(service.keys), lifetime, limiter, TwoFactor(service.keys), proxies)

    def is_plain(self, request: Request) -> bool:
        """Return whether a browser would send a password over plain HTTP, before we can refuse it.

        A terminator of TLS may say nothing; browsers send our cookie and Sec-Fetch-Site securely.
        """
        return not (
            self.proxies.keep_secret(request)
            or request.header("sec-fetch-site")
            or self.cookies.token(request.header("cookie"))
        )


class AccessControl:
    """Makes the routes of pages and forms. `random(n)` returns n random bytes."""

    def __init__(
        self,
        service: ServiceContext,
        authentication: Authentication,
        random: Callable[[int], bytes] = urandom,
    ) -> None:
        self._database = service.database
        self._cookies = authentication.cookies
        self._lifetime = authentication.lifetime
        self._clock = service.clock
        self._sites = service.sites
        self._random = random

    def routes(self, pages: object) -> list[Route]:
        """Return the routes of the methods of `pages` that are declared by `get` or `post`."""
        return [
            route(operation, self._guarded(operation, handler))
            for operation, handler in declared(pages)
        ]

    def _guarded(self, operation: Operation[Any], handler: Shown) -> Handler:
        """Return the handler of a page, for those who have the operation's permission."""
        permission, is_form = operation.permission, operation.method == "POST"
        if permission != Permission.ANYBODY:
            answer = self._login_required_form if is_form else self._login_required
            return self._errors_as_pages(answer(permission, handler))
        return self._errors_as_pages((self._public_form if is_form else self._public_page)(handler))

    def _public_page(self, handler: Shown) -> Handler:
        """Return a handler for everybody; it sets the cookie if there is none."""

        async def answer(request: Request) -> Response:
            context = self._visit(request, request.parameters())
            if context is None and request.header("sec-fetch-site") == "cross-site":
                return _again(request)  # a new cookie would take the place of one that is hidden
            context, given = (context, ()) if context else self._greet(request)
            return _with(await handler(context), given)

        return answer

    def _login_required(self, permission: str, handler: Shown) -> Handler:
        """Return a handler of a page for moderators with a permission."""

        async def answer(request: Request) -> Response:
            context = self._visit(request, request.parameters())
            if context is None and request.header("sec-fetch-site") == "cross-site":
                return _again(request)
            if context is None or context.session is None:
                return redirect(f"{SIGN_IN}?to={quote(_target(request), safe='')}")
            await self._touch(context.session, context.now)
            with speaking(context.language):
                _permit(context, permission)
                return await handler(context)

        return answer

    def _public_form(self, handler: Shown) -> Handler:
        """Return a handler for everybody that accepts only our forms."""

        async def answer(request: Request) -> Response:
            context = self._visit(request, {})
            if not _is_same_origin(request):
                raise foreign_form()
            if context is None:
                raise no_cookie()
            context = msgspec.structs.replace(context, form=request.form())
            if not sessions.is_csrf_token(context.first(TOKEN_FIELD), context.token):
                raise foreign_form()
            with speaking(context.language):
                return await handler(context)

        return answer

    def _login_required_form(self, permission: str, handler: Shown) -> Handler:
        """Return a handler for moderators with a permission that accepts only our forms."""

        async def act(context: RequestContext) -> Response:
            if context.session is None:
                return redirect(SIGN_IN)
            await self._touch(context.session, context.now)
            _permit(context, permission)
            return await handler(context)

        guarded = self._public_form(act)

        async def answer(request: Request) -> Response:
            context = self._visit(request, {})
            if context is not None and context.session is None and _kept(request):
                raise HttpError(403, "not_signed_in", NOT_SIGNED_IN)
            return await guarded(request)

        return answer

    def renew(self) -> tuple[str, Headers]:
        """Return a new token, and the header that gives it to the browser in place of the old."""
        token, cookie = self._cookies.visit(self._random(sessions.TOKEN_SIZE))
        return token, (("Set-Cookie", cookie),)

    def _visit(self, request: Request, form: Form) -> RequestContext | None:
        """Return the context of a request; None without a cookie that we signed."""
        token = self._cookies.token(request.header("cookie"))
        if token is None:
            return None
        now = self._clock.now_ms()
        session = self._database.read_now(sessions.find, token, self._lifetime, now)
        return RequestContext(request, token, session, now, form)

    def _greet(self, request: Request) -> tuple[RequestContext, Headers]:
        """Return the context of somebody without a cookie, and the header that sets one."""
        token, given = self.renew()
        context = RequestContext(request, token, None, self._clock.now_ms(), request.parameters())
        return context, given

    async def _touch(self, session: Session, now: int) -> None:
        if now - session.seen_at >= sessions.TOUCH:
            await self._database.write(sessions.touch, session.id, now)

    def _errors_as_pages(self, answer: Handler) -> Handler:
        """Return `answer` wrapped so that it uses the browser's language and HTML for errors."""

        async def handle(request: Request) -> Response:
            with speaking(request.language(moderators_tags())):
                try:
                    return await answer(request)
                except Exception as failure:
                    error = foreseen(failure)
                kept = _kept(request)
                given: Headers = ()
                token = self._cookies.token(request.header("cookie"))
                if kept and token is None:
                    token, given = self.renew()
                return render(
                    "problem.html",
                    error.status,
                    (*error.headers, *given),
                    message="" if kept and error.code == FOREIGN else error.message,
                    kept=kept,
                    action=_target(request),
                    csrf_token=sessions.csrf_token(token) if kept and token else "",
                    secrets=[name for name in SECRET if kept and name in request.form()],
                    is_signed_out=error.code in SIGNED_OUT,
                    blogs=self._sites.blogs(),
                )

        return handle


def _permit(context: RequestContext, permission: str) -> None:
    """Raise NotPermitted if the account does not have the permission."""
    if not context.may(permission):
        raise NotPermitted(f"{context.moderator.name} may not {permission}")


def _with(response: Response, headers: Headers) -> Response:
    return msgspec.structs.replace(response, headers=(*response.headers, *headers))


def _is_same_origin(request: Request) -> bool:
    site = request.header("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    sent, own = request.header("origin") or "", (request.header("host") or "").lower()
    return sent == "null" or (own != "" and origin(sent).partition("://")[2] == own)


class KeptField(NamedTuple):
    """A field of a form that was refused; `is_typed` if a person wrote the value."""

    name: str
    value: str
    is_typed: bool


def _kept(request: Request) -> list[KeptField]:
    """Return the fields of a form that a page of ours sent, if somebody typed a text into it."""
    is_known = request.header("sec-fetch-site") is not None or request.header("origin") != "null"
    if request.method != "POST" or not (is_known and _is_same_origin(request)):
        return []
    try:
        form = request.form()
    except HttpError:
        return []
    fields = [
        KeptField(name, value, name in TYPED or name.startswith("text."))
        for name, values in form.items()
        for value in values
        if name not in (TOKEN_FIELD, *SECRET) and (value or not name.startswith("text."))
    ]
    return fields if any(each.is_typed and each.value.strip() for each in fields) else []


def _target(request: Request) -> str:
    """Return the requested page, relative to the folder of the pages."""
    name = request.path.rpartition("/")[2]
    target = f"{name}?{request.query}" if request.query else name
    return target if len(target) <= TARGET_LENGTH else name


def _again(request: Request) -> Response:
    """Return a page that requests the same address again.

    Somebody who follows a link from another site, such as webmail, comes without the SameSite
    cookie, though signed in. The second request comes from our own page, so it has the cookie.
    """
    return render("reload.html", 200, (("Refresh", "0"),), target=_target(request))
