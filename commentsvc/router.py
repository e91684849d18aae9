"""Router: from method and path to handler, and from every error to its answer.

DESIGN. A pattern is a whole path, in which ``{id}`` stands for a number, or ends in ``/{path}`` and
then takes everything below it; a whole path wins over a pattern, the longest pattern over the
others. A handler that is a plain
function is answered at once, on the event loop: it may only do short indexed reads. A coroutine
is handed back to be awaited, a `web.Later` to be listened to. Domain errors become HTTP here and
nowhere else, in the language that `lang` in the query names; what is unexpected passes through, to
be logged once by the server.
"""

import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote

from commentsvc import bans, comments, moderation, threads
from commentsvc.database import DatabaseError, DatabaseFull
from commentsvc.faults import Fault
from commentsvc.languages import asked
from commentsvc.submission import MalformedError, SubmissionError
from commentsvc.urls import UnknownSiteError, UrlError
from commentsvc.web import NUMBER, HttpError, Later, Origins, Request, Response, refusal

# Any: what a coroutine yields to the event loop is not ours to know.
Answer = Response | Later | Coroutine[Any, Any, Response]
Handler = Callable[[Request], Answer]

# What a client or the state of the database can cause; `as_http` says what each one means.
FAILURES = (
    HttpError,
    SubmissionError,
    UrlError,
    comments.CommentsError,
    comments.BadCursor,
    DatabaseError,
)

BELOW = "/{path}"
BUSY_SECONDS = "1"  # the writer's queue empties within a second
FULL_SECONDS = "60"  # somebody has to make room first


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the table. A GET route answers HEAD too."""

    method: str
    pattern: str
    handler: Handler


class Router:
    """Answers requests by the table of routes."""

    def __init__(self, routes: Iterable[Route], origins: Origins) -> None:
        """Take the routes; of two for the same method and pattern the first one counts."""
        self._paths: dict[str, dict[str, Handler]] = {}
        below: dict[str, dict[str, Handler]] = {}
        for route in routes:
            table = below if route.pattern.endswith(BELOW) else self._paths
            methods = table.setdefault(route.pattern.removesuffix(BELOW), {})
            methods.setdefault(route.method, route.handler)
        self._below = sorted(below.items(), key=lambda item: -len(item[0]))
        self._origins = origins

    def answer(self, request: Request) -> Response | Later | Awaitable[Response]:
        """Answer a request now, or give what will. Raises nothing that a client can cause."""
        try:
            handler = self._handler(request)
            answer = handler(request)
        except FAILURES as error:
            return _refused(request, error)
        if isinstance(answer, Response):
            return answer
        if isinstance(answer, Later):
            return answer.mended(partial(_mend, request))
        return self._await(request, answer)

    async def _await(self, request: Request, answer: Awaitable[Response]) -> Response:
        try:
            return await answer
        except FAILURES as error:
            return _refused(request, error)

    def _handler(self, request: Request) -> Handler:
        methods = self._paths.get(request.path) or self._search(request.path)
        handler = methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is not None:
            return handler
        allowed = sorted({*methods, "OPTIONS", *(["HEAD"] if "GET" in methods else [])})
        allow = ", ".join(allowed)
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
        plain = unquote(path) if "%" in path else path
        if methods := self._paths.get(plain):
            return methods
        if methods := self._paths.get(re.sub(NUMBER, "{id}", plain, count=1)):
            return methods
        for prefix, methods in self._below:
            if plain.startswith(prefix + "/"):
                return methods
        raise HttpError(404, "not_found", "There is nothing at this address.")


def _mend(request: Request, error: Exception) -> Response | Exception:
    return _refused(request, error) if isinstance(error, FAILURES) else error


def _refused(request: Request, error: Exception) -> Response:
    """Answer with one of the `FAILURES`, told in the language that the request names."""
    return refusal(as_http(error), asked(request.query))


def as_http(error: Exception) -> HttpError:
    """Say in HTTP's terms what one of the `FAILURES` means."""
    match error:
        case HttpError():
            return error
        case MalformedError():
            return HttpError(400, "malformed", error.message)
        case SubmissionError():
            named = ", ".join(error.problems)
            return HttpError(400, "invalid", f"Please look at: {named}.", error.problems)
        case UrlError():
            field = "site" if isinstance(error, UnknownSiteError) else "url"
            return HttpError(400, "invalid", str(error), {field: str(error)})
        case comments.CommentsError():
            return _contradiction(error)
        case comments.BadCursor():
            message = "This is not where a list can go on. Start again without `after`."
            return HttpError(400, "invalid", message, {"after": message})
        case DatabaseFull():
            message = "Comments cannot be stored just now: the server's disk is full or failing."
            return HttpError(503, "storage", message, headers=(("Retry-After", FULL_SECONDS),))
    message = "The server has too much to do at the moment. Please try again in a few seconds."
    return HttpError(503, "busy", message, headers=(("Retry-After", BUSY_SECONDS),))


def _contradiction(error: comments.CommentsError) -> HttpError:
    """Say what of a request contradicts what is stored."""
    match error:
        case comments.UnknownParent():
            fault = Fault("unknown_parent")
            return HttpError(400, fault.code, fault, {"parent": fault})
        case comments.KeyConflict():
            message = "This key was used for another comment. Send this one with a new key."
            return HttpError(409, "conflict", message, {"key": message})
        case comments.ThreadClosed():
            return HttpError(400, "closed", Fault("closed"))
        case moderation.UnknownComment() | threads.UnknownThread() | bans.UnknownBan():
            return HttpError(404, "not_found", f"There is {error}.")
    return HttpError(409, "refused", f"That cannot be done: {error}.")
