"""Access control: who asks for a moderation page, and whether what is sent comes from one.

Every route of a page is made by `AccessControl.page` (GET) or `AccessControl.form` (POST). Its
operation names the permission that it needs; who is not signed in is sent to sign in and comes back
afterwards, who may not do that is told so. Only what ANYBODY may do, signing in, is open to all.

A form is ours where three things say so: the cookie is sent by browsers for our own pages only
(SameSite=Strict), Sec-Fetch-Site or else Origin names our own origin, and the form holds the token
that belongs to the cookie. The blog may be on our site (blog.example, comments.blog.example), so
the cookie alone keeps no script of it away.

Our pages send no referrer, for which browsers write ``Origin: null``. Those too old for
Sec-Fetch-Site (before 2023) are believed then, and the token alone decides.

Whatever goes wrong is told by an HTML page.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from os import urandom
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec

from commentsvc.admin.login_limit import LoginLimiter
from commentsvc.admin.render import redirect, render
from commentsvc.api.errors import as_http
from commentsvc.auth import sessions
from commentsvc.auth.sessions import Cookies, Lifetime, Session
from commentsvc.auth.two_factor import TwoFactor
from commentsvc.comments.errors import NotPermitted
from commentsvc.context import ServiceContext
from commentsvc.http.forms import Form
from commentsvc.http.messages import Headers, HttpError, Request, Response, first
from commentsvc.http.operation import Operation, Query
from commentsvc.http.router import Route, route
from commentsvc.moderation import permissions
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.util.i18n import Language, find_language, speaking, spoken
from commentsvc.util.i18n import gettext as _
from commentsvc.util.timestamps import DAY_MS, HOUR_MS

TOKEN_FIELD: Final = "csrf_token"  # noqa: S105 - the name of a field
TARGET_LENGTH: Final = 1_000  # characters of the address of a page that is come back to
SIGN_IN: Final = "sign-in"


class RequestContext(msgspec.Struct, frozen=True):
    """Who asks, at the moment `now` (Unix milliseconds)."""

    token: str
    session: Session | None
    now: int

    @property
    def moderator(self) -> Session:
        """Who is signed in: behind `login_required` and `login_required_form` somebody is."""
        assert self.session is not None
        return self.session

    @property
    def actor(self) -> Actor:
        """What the moderator may do."""
        session = self.moderator
        return permissions.actor(session.moderator_id, session.name, session.role, session.sites)

    def may(self, permission: str) -> bool:
        """Return whether the moderator may do that: templates show nothing else."""
        return self.actor.may(permission)

    @property
    def language(self) -> Language:
        """The moderator's language, or else the one that is spoken already: the browser's."""
        tag = self.session.language if self.session else ""
        return find_language(tag) if tag else spoken()

    @property
    def csrf_token(self) -> str:
        """What each form of the page carries."""
        return sessions.csrf_token(self.token)


# Any: what a coroutine yields to the event loop is not ours to know.
PageResult = Coroutine[Any, Any, Response]
Shown = Callable[[Request, RequestContext], PageResult]
Acted = Callable[[Request, RequestContext, Form], PageResult]
Handler = Callable[[Request], PageResult]


def page_operation(
    method: str, path: str, summary: str, permission: Permission
) -> Operation[Query]:
    """Return the operation of a page of the moderators, which needs that permission."""
    return Operation(
        method=method,
        path=path,
        summary=summary,
        query=Query,
        ignores_unknown=True,
        for_moderators=True,
        permission=permission,
    )


def public_address(given: str, request: Request) -> str:
    """Return where the service is reached: as `given` in the settings, or as the browser says.

    The pages need https, but on one's own machine.
    """
    host = request.header("host") or ""
    own = urlsplit(f"//{host}").hostname in ("localhost", "127.0.0.1", "::1")
    return given or f"{'http' if own else 'https'}://{host}"


def foreign_form() -> HttpError:
    """Return the error for a form that is not one of ours."""
    return HttpError(
        403,
        "foreign_form",
        _(
            "This form was not sent by the moderation pages, so nothing was changed. If you did"
            " send it from there, open the page again and repeat it."
        ),
    )


def no_cookie() -> HttpError:
    """Return the error for a form of ours that came without our cookie."""
    return HttpError(
        403,
        "no_cookie",
        _(
            "Your browser did not send our cookie back. The moderation pages need cookies, and a"
            " browser keeps ours only where the address begins with https:// or is localhost."
        ),
    )


@dataclass(frozen=True, slots=True)
class Authentication:
    """How moderators prove who they are, and how often they may try."""

    cookies: Cookies
    lifetime: Lifetime
    limiter: LoginLimiter
    two_factor: TwoFactor

    @classmethod
    def of(cls, service: ServiceContext) -> "Authentication":
        """Return what the settings and the secret keys say."""
        settings = service.settings.moderation
        lifetime = Lifetime(
            most=settings.session_days * DAY_MS, idle=settings.session_idle_hours * HOUR_MS
        )
        return cls(Cookies(service.keys), lifetime, LoginLimiter(), TwoFactor(service.keys))


class AccessControl:
    """Makes the routes of pages and forms. `random` gives so many random bytes."""

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
        self._random = random

    def page(self, operation: Operation[Query], handler: Shown) -> Route:
        """Return the route on which those who may see what `handler` shows."""
        if operation.permission == Permission.ANYBODY:
            return route(operation, self._public_page(handler))
        return route(operation, self._login_required(operation.permission, handler))

    def form(self, operation: Operation[Query], handler: Acted) -> Route:
        """Return the route on which those who may do what `handler` does, by a form of ours."""
        if operation.permission == Permission.ANYBODY:
            return route(operation, self._public_form(handler))
        return route(operation, self._login_required_form(operation.permission, handler))

    def _public_page(self, handler: Shown) -> Handler:
        """Let anybody see what `handler` shows; who has no cookie yet gets one."""

        async def answer(request: Request) -> Response:
            context, given = self._greet(request)
            return _with(await handler(request, context), given)

        return _told(answer)

    def _login_required(self, permission: str, handler: Shown) -> Handler:
        """Let moderators with a permission see what `handler` shows."""

        async def answer(request: Request) -> Response:
            context = self._visit(request)
            if context is None and request.header("sec-fetch-site") == "cross-site":
                return _again(request)
            if context is None or context.session is None:
                return redirect(f"{SIGN_IN}?to={quote(_target(request), safe='')}")
            await self._touch(context.session, context.now)
            with speaking(context.language):
                _permit(context, permission)
                return await handler(request, context)

        return _told(answer)

    def _public_form(self, handler: Acted) -> Handler:
        """Let anybody do what `handler` does, by a form of ours."""

        async def answer(request: Request) -> Response:
            context = self._visit(request)
            if not _is_same_origin(request):
                raise foreign_form()
            if context is None:
                raise no_cookie()
            form = request.form()
            if not sessions.is_csrf_token(first(form, TOKEN_FIELD), context.token):
                raise foreign_form()
            with speaking(context.language):
                return await handler(request, context, form)

        return _told(answer)

    def _login_required_form(self, permission: str, handler: Acted) -> Handler:
        """Let moderators with a permission do what `handler` does, by a form of ours."""

        async def act(request: Request, context: RequestContext, form: Form) -> Response:
            if context.session is None:
                return redirect(SIGN_IN)
            await self._touch(context.session, context.now)
            _permit(context, permission)
            return await handler(request, context, form)

        return self._public_form(act)

    def renew(self) -> tuple[str, Headers]:
        """Return a new token, and the header that gives it to the browser in place of the old."""
        token, cookie = self._cookies.visit(self._random(sessions.TOKEN_SIZE))
        return token, (("Set-Cookie", cookie),)

    def _visit(self, request: Request) -> RequestContext | None:
        """Return who asks; None without a cookie that we signed."""
        token = self._cookies.token(request.header("cookie"))
        if token is None:
            return None
        now = self._clock.now_ms()
        session = self._database.read_now(sessions.find, token, self._lifetime, now)
        return RequestContext(token, session, now)

    def _greet(self, request: Request) -> tuple[RequestContext, Headers]:
        """Return who asks; with a new cookie where there is none yet."""
        context = self._visit(request)
        if context is not None:
            return context, ()
        token, given = self.renew()
        return RequestContext(token, None, self._clock.now_ms()), given

    async def _touch(self, session: Session, now: int) -> None:
        if now - session.seen_at >= sessions.TOUCH:
            await self._database.write(sessions.touch, session.id, now)


def _permit(context: RequestContext, permission: str) -> None:
    """Raise NotPermitted where the account may not do that."""
    if not context.may(permission):
        raise NotPermitted(f"{context.moderator.name} may not {permission}")


def _told(answer: Handler) -> Handler:
    """Return the same handler, in the browser's language, whose failures are pages."""

    async def tell(request: Request) -> Response:
        with speaking(request.language()):
            try:
                return await answer(request)
            except Exception as failure:
                error = as_http(failure)
                if error is None:
                    raise
            return render("problem.html", error.status, error.headers, message=error.message)

    return tell


def _with(response: Response, headers: Headers) -> Response:
    return msgspec.structs.replace(response, headers=(*response.headers, *headers))


def _is_same_origin(request: Request) -> bool:
    site = request.header("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.header("origin")
    return origin == "null" or (
        origin is not None and urlsplit(origin).netloc == (request.header("host") or "").lower()
    )


def _target(request: Request) -> str:
    """Return the page that is asked for, from the folder of the pages."""
    name = request.path.rpartition("/")[2]
    target = f"{name}?{request.query}" if request.query else name
    return target if len(target) <= TARGET_LENGTH else name


def _again(request: Request) -> Response:
    """Let the page ask for itself.

    Who follows a link from another site, such as a web mailer's, comes without the cookie although
    signed in. What our own page asks for then comes with it.
    """
    return render("reload.html", 200, (("Refresh", "0"),), target=_target(request))
