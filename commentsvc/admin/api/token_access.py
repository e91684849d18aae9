"""Access of API clients: by a token of an account, in `Authorization: Bearer`.

A handler of the JSON API declares its operation: `endpoint` names the path and the permission that
it requires, the types of `call` and of the result are those of the query, the body and the answer,
and the docstring begins with the summary. `TokenAccess.routes` makes the routes. Tokens in URLs are
refused, since logs contain URLs. Answers are never stored and have no CORS headers: a token must
not be used in a web page.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, get_args

import msgspec

from commentsvc.api.errors import foreseen
from commentsvc.api.submit import BEARER_CHALLENGE
from commentsvc.auth import api_tokens, sessions
from commentsvc.auth.api_tokens import ApiToken
from commentsvc.comments.submission import MalformedError
from commentsvc.context import ServiceContext
from commentsvc.errors import NotPermitted
from commentsvc.http.messages import (
    NOT_STORED,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    json_answer,
    refusal,
    too_many,
)
from commentsvc.http.operation import (
    NOTHING,
    Content,
    Operation,
    Query,
    declare,
    declared,
    json_of,
    read_fields,
    summary_of,
)
from commentsvc.http.router import Route, route
from commentsvc.moderation import permissions
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.util.client_network import network_of
from commentsvc.util.i18n import said_duration, translate
from commentsvc.util.ratelimit import NetworkLimiter

BASE: Final = "/api/moderation"
WRONG_TOKENS: Final = "20/hour"  # from one network, at each instance: nobody guesses one
IN_ADDRESS: Final = ("token=", "access_token=", "api_key=")
NO_CORS: Final = ("Access-Control-Allow-Origin", "Access-Control-Expose-Headers")
DONE: Final = Response(204, (NOT_STORED,), b"")

Q = TypeVar("Q", bound=Query)
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Call(Generic[Q, B]):
    """A valid request for the account `who`, at the time `now` (Unix milliseconds).

    `body` is None for an operation without one.
    """

    request: Request
    who: Actor
    now: int
    query: Q
    body: B

    @property
    def number(self) -> int:
        """The number in the path."""
        return self.request.number()


Plain = Call[Query, None]
Asked = Call[Q, None]
Sent = Call[Query, B]
# Any: what a coroutine yields to the event loop does not matter; the query and body of any call
Handler = Callable[[Any], Coroutine[Any, Any, object]]
H = TypeVar("H", bound=Callable[..., Coroutine[Any, Any, object]])


def endpoint(
    method: str,
    path: str,
    permission: Permission,
    *,
    status: int = 200,
    content: Content | None = None,
    errors: tuple[int, ...] = (),
) -> Callable[[H], H]:
    """Declare the operation of a handler. `path` is below BASE.

    The `status` is 204 if the handler returns None. A handler that returns a Response names its
    `content`, all others return what becomes JSON. `errors` are those besides 400, 401, 403, 429
    and 503, those of a path with an id, and those of a body.
    """

    def declare_it(handler: H) -> H:
        types = handler.__annotations__
        query, body = get_args(types["call"])
        answer = types["return"]
        operation = Operation(
            method=method,
            path=BASE + path,
            summary=summary_of(handler),
            query=query,
            body=(json_of(body),) if body is not type(None) else (),
            answers={status: content or json_of(answer)} if answer else {204: NOTHING},
            errors=(400, 401, 403, 429, 503, *errors)
            + (404,) * ("{id}" in path)
            + (415,) * (body is not type(None)),
            permission=permission,
        )
        return declare(handler, operation)

    return declare_it


def refuse(status: int, code: str, message: str) -> HttpError:
    """Return the error for an unusable token."""
    headers = BEARER_CHALLENGE if status == 401 else ()
    return HttpError(status, code, message, headers=headers)


class TokenAccess:
    """Makes the routes of the JSON API."""

    def __init__(self, service: ServiceContext) -> None:
        self._database = service.database
        self._clock = service.clock
        self._proxies = TrustedProxies(service.settings.server.trusted_proxies)
        self._guesses = service.lasting.get("wrong tokens", NetworkLimiter, WRONG_TOKENS)

    def routes(self, api: object) -> list[Route]:
        """Return the routes of the methods of `api` that are endpoints."""
        return [
            route(operation, self._guarded(operation, handler))
            for operation, handler in declared(api)
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
            network = network_of(self._proxies.client(request))
            if wait := self._guesses.take(network, self._clock.monotonic_ms()):
                text = (
                    f"These were many wrong tokens. Try again in {translate(said_duration(wait))}."
                )
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
        [status], [sent, *_] = operation.answers, [*operation.body, NOTHING]

        async def answer(request: Request) -> Response:
            try:
                found, who = self.token(request, operation.permission)
                now = self._clock.now_ms()
                if now - found.used_at >= sessions.TOUCH:
                    await self._database.write(api_tokens.touch, found.id, now)
                query = operation.read(request)
                body = _body(request, sent.type) if sent.type else None
                result = await handler(Call(request, who, now, query, body))
            except Exception as failure:
                return refused(failure)
            if result is None:
                return DONE
            return result if isinstance(result, Response) else json_answer(result, status=status)

        return answer


def actor_of(token: ApiToken) -> Actor:
    """Return the current permissions of a token."""
    account = permissions.actor(token.moderator_id, token.moderator, token.role, token.role_sites)
    return account.limited(token.scope, token.sites)


def refused(failure: Exception) -> Response:
    """Return the answer for an exception, without CORS headers."""
    error = foreseen(failure)
    answer = refusal(error)
    kept = tuple(field for field in answer.headers if field[0] not in NO_CORS)
    return msgspec.structs.replace(answer, headers=kept)


def _body(request: Request, kind: type[msgspec.Struct]) -> msgspec.Struct:
    """Return the decoded JSON body of a request. Raise HttpError, MalformedError."""
    try:
        sent = msgspec.json.decode(request.json(), type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MalformedError("The body must be a JSON object.") from None
    return read_fields(sent, kind)
