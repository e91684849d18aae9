"""Access of API clients: by a token of an account, in `Authorization: Bearer`.

`TokenAccess.routes` makes every route of the JSON API. Its operation names the permission that it
requires, like those of the pages. Tokens in URLs are refused, since logs contain URLs. Answers are
never stored and have no CORS headers: a token must not be used in a web page.
"""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

import msgspec

from commentsvc.api.errors import as_http
from commentsvc.api.submit import CHALLENGE
from commentsvc.auth import api_tokens, sessions
from commentsvc.auth.api_tokens import ApiToken
from commentsvc.comments.submission import MalformedError
from commentsvc.context import ServiceContext
from commentsvc.errors import NotPermitted
from commentsvc.http.messages import (
    JSON,
    NO_SNIFFING,
    NOT_STORED,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    encode,
    refusal,
    too_many,
)
from commentsvc.http.operation import Operation, read_fields
from commentsvc.http.router import Route, route
from commentsvc.moderation import permissions
from commentsvc.moderation.permissions import Actor
from commentsvc.util.client_network import network
from commentsvc.util.ratelimit import NetworkLimiter

S = TypeVar("S", bound=msgspec.Struct)
# Any: what a coroutine yields to the event loop does not matter
Handler = Callable[[Request, Actor], Coroutine[Any, Any, Response]]
WRONG_TOKENS: Final = "20/hour"  # from one network, at each instance: nobody guesses one
IN_ADDRESS: Final = ("token=", "access_token=", "api_key=")
NO_CORS: Final = ("Access-Control-Allow-Origin", "Access-Control-Expose-Headers")


def refuse(status: int, code: str, message: str) -> HttpError:
    """Return the error for an unusable token."""
    headers = CHALLENGE if status == 401 else ()
    return HttpError(status, code, message, headers=headers)


class TokenAccess:
    """Makes the routes of the JSON API."""

    def __init__(self, service: ServiceContext) -> None:
        self._database = service.database
        self._clock = service.clock
        self._proxies = TrustedProxies(service.settings.server.trusted_proxies)
        self._guesses = NetworkLimiter(WRONG_TOKENS)

    def routes(self, handlers: Sequence[tuple[Operation[Any], Handler]]) -> list[Route]:
        """Return the routes of `handlers`, for tokens with the operation's permission."""
        return [
            route(operation, self._guarded(operation, handler)) for operation, handler in handlers
        ]

    def token(self, request: Request, permission: str) -> tuple[ApiToken, Actor]:
        """Return the token of a request and its permissions. Raise HttpError, NotPermitted."""
        if any(name in request.query for name in IN_ADDRESS):
            raise refuse(400, "token_in_address", "Send the token in a header, never in a URL.")
        sent = request.bearer()
        if not sent:
            raise refuse(401, "no_token", "Send a token: `Authorization: Bearer TOKEN`.")
        found = self._database.read_now(api_tokens.find, sent)
        if found is None:
            place = network(self._proxies.client(request))
            if wait := self._guesses.take(place, self._clock.monotonic_ms()):
                text = f"These were many wrong tokens. Try again in {wait} s."
                raise too_many(text, wait, "too_many_attempts")
            raise refuse(401, "token", "This token does not exist, or is revoked.")
        if found.expires_at <= self._clock.now_ms():
            raise refuse(401, "token_expired", "This token has expired. Make a new one.")
        who = actor_of(found)
        if not who.may(permission):
            raise NotPermitted(f"the token may not {permission}")
        return found, who

    def _guarded(
        self, operation: Operation[Any], handler: Handler
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def answer(request: Request) -> Response:
            try:
                found, who = self.token(request, operation.permission)
                now = self._clock.now_ms()
                if now - found.used_at >= sessions.TOUCH:
                    await self._database.write(api_tokens.touch, found.id, now)
                return await handler(request, who)
            except Exception as failure:
                return refused(failure)

        return answer


def actor_of(token: ApiToken) -> Actor:
    """Return the current permissions of a token."""
    account = permissions.actor(token.moderator_id, token.moderator, token.role, token.role_sites)
    return account.limited(token.scope, token.sites)


def refused(failure: Exception) -> Response:
    """Return the answer for an exception, without CORS headers."""
    error = as_http(failure)
    if error is None:
        raise failure
    answer = refusal(error)
    kept = tuple(field for field in answer.headers if field[0] not in NO_CORS)
    return msgspec.structs.replace(answer, headers=kept)


def answered(value: object, status: int = 200) -> Response:
    """Return a JSON answer."""
    return Response(status, (("Content-Type", JSON), NOT_STORED, NO_SNIFFING), encode(value))


def body(request: Request, kind: type[S]) -> S:
    """Return the decoded JSON body of a request. Raise HttpError, MalformedError."""
    try:
        sent = msgspec.json.decode(request.json(), type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MalformedError("The body must be a JSON object.") from None
    return read_fields(sent, kind)
