"""Router: finds the handler for a method and path, and turns errors into answers.

A pattern is a whole path, in which ``{id}`` stands for a number, or ends in ``/{path}`` and then
matches everything below it. A whole path has priority over such a pattern, a longer pattern over a
shorter one. A handler that is a plain function is called on the event loop, so it may only do short
indexed reads. A coroutine is returned to be awaited. The function `to_http` maps exceptions to HTTP
errors, which are in the language of the query's `lang`. Other exceptions pass through, and the
server logs them once.
"""

import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from commentsvc.http.messages import (
    NUMBER,
    CorsPolicy,
    HttpError,
    Request,
    Response,
    refusal,
    too_large,
)
from commentsvc.http.operation import Operation, declared
from commentsvc.util.i18n import requested_language

# Any: what a coroutine yields to the event loop does not matter
HandlerResult = Response | Coroutine[Any, Any, Response]
Handler = Callable[[Request], HandlerResult]
ToHttp = Callable[[Exception], HttpError | None]


BELOW = "/{path}"
NOTHING_HERE = ("not_found", "There is nothing at this address.")


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the table. A GET route answers HEAD too.

    A route without an `operation` is in no document. `target_rule` is as in core/http/target.h.
    """

    method: str
    pattern: str
    handler: Handler
    operation: Operation[Any] | None = None  # Any: the type of its query
    target_rule: str = "without"


def route(operation: Operation[Any], handler: Handler) -> Route:
    """Return the route of an operation, answered by `handler`."""
    return Route(operation.method, operation.path, handler, operation, operation.target_rule)


def bound(operation: Operation[Any], handler: Callable[..., HandlerResult]) -> Handler:
    """Return a handler of requests, made of one that takes the `request`, its `query`, or neither.

    An invalid query is refused, also where the handler takes none, unless the operation ignores it.
    An answer is cached only if the operation is, and if each parameter has an effect.
    """
    takes = handler.__annotations__
    names = [name for name in ("request", "query") if name in takes]
    reads = "query" in takes or not operation.ignores_unknown

    def answer(request: Request) -> HandlerResult:
        given = {"request": request, "query": operation.read(request) if reads else None}
        result = handler(*(given[name] for name in names))
        if operation.has_effect(request.query):
            return result
        return _uncached(result) if isinstance(result, Response) else _uncached_later(result)

    return answer


def _uncached(answer: Response) -> Response:
    return msgspec.structs.replace(answer, tags=())


async def _uncached_later(answer: Awaitable[Response]) -> Response:
    return _uncached(await answer)


def declared_routes(
    *owners: object, wrap: Callable[[Handler], Handler] = lambda handler: handler
) -> list[Route]:
    """Return the routes of the operations that methods of `owners` handle; `wrap` wraps each."""
    return [
        route(operation, wrap(bound(operation, handler)))
        for owner in owners
        for operation, handler in declared(owner)
    ]


def target_rules(routes: Iterable[Route]) -> bytes:
    """Return the rules by which the core drops parameters that a path does not know.

    See core/http/target.h. Reads alone are cached, and a few POST requests of foreign clients. The
    core looks through the rules at each miss, so those that drop nothing are left out, unless a
    later one would match their path.
    """
    rules = [
        (each.pattern.replace("{id}", "#").replace("{path}", "*"), each.method, each.target_rule)
        for each in routes
        if each.method == "GET" or (each.method == "POST" and each.target_rule.startswith("only"))
    ]
    rules.sort(key=lambda rule: (rule[0].endswith("*"), -len(rule[0])))  # as the Router finds them
    kept: list[tuple[str, str, str]] = []
    wide: list[tuple[str, str]] = []
    for path, method, rule in reversed(rules):
        is_below = any(method == other and path.startswith(start) for other, start in wide)
        if rule != "without" or is_below:
            kept.append((path, method, rule))
            if path.endswith("*"):
                wide.append((method, path[:-1]))
    return "".join(f"{method} {path} {rule}\n" for path, method, rule in reversed(kept)).encode()


def _allow(methods: Iterable[str]) -> str:
    """Return the value of the Allow header for a path with these methods."""
    return ", ".join(sorted({*methods, "OPTIONS", *(["HEAD"] if "GET" in methods else [])}))


def _options(methods: Iterable[str], _request: Request) -> Response:
    """Answer OPTIONS for moderators' paths: without CORS, since no other origin may use them."""
    return Response(204, (("Allow", _allow(methods)),), b"")


class Router:
    """Answers requests from the table of routes."""

    def __init__(
        self, routes: Iterable[Route], origins: CorsPolicy, to_http: ToHttp, max_body: int
    ) -> None:
        """Take the routes; of two for the same method and pattern, the first one is used.

        `to_http` returns the HttpError for an exception, None for an unforeseen one. A body may
        have `max_body` bytes, unless its operation takes a file; the core limits those.
        """
        self._max_body = max_body
        self._with_file = set[Handler]()
        routes = list(routes)
        self.target_rules = target_rules(routes)
        self._paths: dict[str, dict[str, Handler]] = {}
        below: dict[str, dict[str, Handler]] = {}
        for route in routes:
            table = below if route.pattern.endswith(BELOW) else self._paths
            methods = table.setdefault(route.pattern.removesuffix(BELOW), {})
            methods.setdefault(route.method, route.handler)
            if route.operation and route.operation.takes_file:
                self._with_file.add(route.handler)
            if route.operation and route.operation.permission:
                methods.setdefault("OPTIONS", partial(_options, methods))
        self._below = sorted(below.items(), key=lambda item: -len(item[0]))
        self._origins = origins
        self._to_http = to_http

    def handle(self, request: Request) -> Response | Awaitable[Response]:
        """Answer a request now or later. Raise no exception that a client can cause."""
        try:
            handler = self._handler(request)
            if len(request.body) > self._max_body and handler not in self._with_file:
                raise too_large()
            answer = handler(request)
        except Exception as error:
            return self._refuse(request, error)
        if isinstance(answer, Response):
            return answer
        return self._await(request, answer)

    async def _await(self, request: Request, answer: Awaitable[Response]) -> Response:
        try:
            return await answer
        except Exception as error:
            return self._refuse(request, error)

    def _handler(self, request: Request) -> Handler:
        path = request.decoded_path()
        methods = self._paths.get(path) or self._search(path)
        handler = methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is not None:
            return handler
        allow = _allow(methods)
        if request.method == "OPTIONS":
            headers = (("Allow", allow), *self._origins.preflight(request, allow))
            return lambda _: Response(204, headers, b"")
        raise HttpError(
            405,
            "method_not_allowed",
            f"{request.method} is not possible here; {allow} are.",
            headers=(("Allow", allow),),
        )

    def _search(self, path: str) -> dict[str, Handler]:
        if path == "*":
            return {}
        if methods := self._paths.get(re.sub(NUMBER, "{id}", path, count=1)):
            return methods
        for prefix, methods in self._below:
            if path.startswith(prefix + "/"):
                return methods
        raise HttpError(404, *NOTHING_HERE)

    def _refuse(self, request: Request, error: Exception) -> Response:
        """Return the answer for an exception, or raise it again if it is unforeseen."""
        known = self._to_http(error)
        if known is None:
            raise error
        return refusal(known, requested_language(request.query))
