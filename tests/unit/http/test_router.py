"""The table of routes, and the answer to every error."""

import asyncio
import json
from collections.abc import Coroutine

import pytest

from commentsvc import errors
from commentsvc.api.errors import as_http
from commentsvc.comments.page_urls import UnknownSiteError, UrlError
from commentsvc.comments.submission import MalformedError, SubmissionError
from commentsvc.db.errors import DatabaseBusy, DatabaseFull, DatabaseUnwritable
from commentsvc.http.messages import CorsPolicy, HttpError, Request, Response
from commentsvc.http.operation import Operation, Query
from commentsvc.http.router import Route, Router, bound, route
from commentsvc.settings.schema import Site
from commentsvc.util.i18n import gettext


def say(text: str) -> Route:
    method, pattern = text.split()
    return Route(method, pattern, lambda _: Response(200, (), text.encode()))


MAX_BODY = 1_000  # bytes


def failing(error: Exception) -> Router:
    def fail(request: Request) -> Response:
        raise error

    async def fail_later(request: Request) -> Response:
        raise error

    return Router(
        [Route("GET", "/now", fail), Route("GET", "/later", fail_later)],
        CorsPolicy([]),
        as_http,
        MAX_BODY,
    )


ROUTER = Router(
    [say("GET /a"), say("POST /a"), say("GET /café"), say("GET /s/{path}"), say("GET /s/t/{path}")],
    CorsPolicy([Site(origins=("https://blog.example",))]),
    as_http,
    MAX_BODY,
)


def ask(method: str, path: str, router: Router = ROUTER, **headers: str) -> Response:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = router.handle(Request(method, path, "", b"", "", lambda name: fields.get(name)))
    if isinstance(answer, Response):
        return answer

    async def wait() -> Response:
        return await answer

    return asyncio.run(wait())


@pytest.mark.parametrize(
    ("error", "status"), [(HttpError(409, "conflict", "No."), 409), (DatabaseBusy("x"), 503)]
)
def test_an_error_that_is_given_later_is_answered_too(error: Exception, status: int) -> None:
    errors = [error, RuntimeError("ours")]

    async def fail(_: Request) -> Response:
        raise errors.pop(0)

    router = Router([Route("GET", "/", fail)], CorsPolicy([Site()]), as_http, MAX_BODY)
    assert ask("GET", "/", router).status == status
    with pytest.raises(RuntimeError, match="ours"):
        ask("GET", "/", router)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/a", b"GET /a"),
        ("HEAD", "/a", b"GET /a"),
        ("POST", "/a", b"POST /a"),
        ("GET", "/%61", b"GET /a"),
        ("GET", "/caf%C3%A9", "GET /café".encode()),
        ("GET", "/s/x", b"GET /s/{path}"),
        ("GET", "/s/", b"GET /s/{path}"),
        ("GET", "/s/x/y.js", b"GET /s/{path}"),
        ("GET", "/s/t/y.js", b"GET /s/t/{path}"),
    ],
)
def test_a_request_finds_its_handler(method: str, path: str, expected: bytes) -> None:
    assert ask(method, path).body == expected


@pytest.mark.parametrize("path", ["/", "/b", "/a/", "/s", "/A", "/%ff", "//a"])
def test_an_unknown_path_is_not_found(path: str) -> None:
    answer = ask("GET", path)
    assert answer.status == 404
    assert json.loads(answer.body)["error"]["code"] == "not_found"


def test_a_method_that_is_not_possible_is_told_what_is() -> None:
    answer = ask("DELETE", "/a")
    assert answer.status == 405
    assert dict(answer.headers)["Allow"] == "GET, HEAD, OPTIONS, POST"


def test_options_tells_what_is_possible() -> None:
    answer = ask("OPTIONS", "/a", origin="https://blog.example")
    headers = dict(answer.headers)
    assert answer.status == 204
    assert headers["Allow"] == "GET, HEAD, OPTIONS, POST"
    assert headers["Access-Control-Allow-Origin"] == "https://blog.example"


def test_options_for_the_whole_server_is_answered() -> None:
    assert dict(ask("OPTIONS", "*").headers)["Allow"] == "OPTIONS"


def test_the_first_of_two_equal_routes_counts() -> None:
    other = Route("GET", "/a", lambda _: Response(200, (), b"other"))
    assert (
        ask("GET", "/a", Router([say("GET /a"), other], CorsPolicy([]), as_http, MAX_BODY)).body
        == b"GET /a"
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("lang=de-AT", "Bitte gib einen Namen an."),
        ("site=a&lang=de", "Bitte gib einen Namen an."),
        ("", "Please enter a name."),
        ("lang=sw", "Please enter a name."),
        ("slang=de", "Please enter a name."),
        ("lang=%ff", "Please enter a name."),
    ],
)
def test_what_is_wrong_is_told_in_the_language_of_the_query(query: str, message: str) -> None:
    router = failing(SubmissionError({"author": gettext("Please enter a name."), "key": "No."}))
    answer = router.handle(Request("GET", "/now", query, b"", "", lambda _: None))
    assert isinstance(answer, Response)
    assert json.loads(answer.body)["error"]["fields"] == {"author": message, "key": "No."}


@pytest.mark.parametrize("path", ["/now", "/later"])
@pytest.mark.parametrize(
    ("error", "status", "code", "retry"),
    [
        (HttpError(418, "teapot", "No.", {"a": "b"}, (("Retry-After", "9"),)), 418, "teapot", "9"),
        (SubmissionError({"a": "b"}), 400, "invalid", None),
        (MalformedError("No JSON."), 400, "malformed", None),
        (UrlError("No page."), 400, "invalid", None),
        (UnknownSiteError("No site."), 400, "invalid", None),
        (errors.UnknownParent("x"), 400, "unknown_parent", None),
        (errors.BadCursor("x"), 400, "invalid", None),
        (errors.ThreadClosed("x"), 400, "closed", None),
        (errors.UnknownThread("no comments are under /x/"), 404, "not_found", None),
        (errors.KeyConflict("x"), 409, "conflict", None),
        (errors.UnknownComment([7]), 404, "not_found", None),
        (errors.NothingToUndo("act 7 is undone"), 409, "refused", None),
        (DatabaseBusy("x"), 503, "busy", "1"),
        (DatabaseFull("x"), 503, "storage", "60"),
        (DatabaseUnwritable("x"), 503, "storage", "60"),
    ],
)
def test_an_error_becomes_a_json_answer(
    path: str, error: Exception, status: int, code: str, retry: str | None
) -> None:
    answer = ask("GET", path, failing(error))
    answered = json.loads(answer.body)["error"]
    assert (answer.status, answered["code"], answer.tags) == (status, code, ())
    assert answered["message"].endswith(".")
    without = ("malformed", "closed", "not_found", "refused")
    assert ("fields" in answered) == (status < 500 and code not in without)
    headers = dict(answer.headers)
    assert headers["Content-Type"] == "application/json"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers.get("Retry-After") == retry


@pytest.mark.parametrize("path", ["/now", "/later"])
def test_what_is_unexpected_passes_through(path: str) -> None:
    with pytest.raises(ZeroDivisionError):
        ask("GET", path, failing(ZeroDivisionError()))


def test_a_larger_body_is_for_operations_that_take_a_file() -> None:
    takes = Operation(method="POST", path="/file", summary="", query=Query, takes_file=True)
    file = route(takes, lambda _: Response(200, (), b"taken"))
    router = Router([say("POST /form"), file], CorsPolicy([]), as_http, MAX_BODY)

    def status(path: str, size: int) -> int:
        answer = router.handle(Request("POST", path, "", bytes(size), "", lambda _: None))
        assert isinstance(answer, Response)
        return answer.status

    sizes = [("/form", MAX_BODY), ("/form", MAX_BODY + 1), ("/file", MAX_BODY + 1)]
    assert [status(*each) for each in sizes] == [200, 413, 200]


class LengthQuery(Query, frozen=True):
    length: int


def test_a_handler_takes_the_query_only_if_it_is_valid() -> None:
    taken: list[LengthQuery] = []

    def show(query: LengthQuery) -> Response:
        taken.append(query)
        return Response(204, (), b"")

    operation = Operation(method="GET", path="/a", summary="Some", query=LengthQuery)
    router = Router([route(operation, bound(operation, show))], CorsPolicy([]), as_http, MAX_BODY)
    for query, status in (("length=3", 204), ("length=x", 400), ("", 400), ("length=3&b=1", 400)):
        answer = router.handle(Request("GET", "/a", query, b"", "", lambda _: None))
        assert isinstance(answer, Response)
        assert answer.status == status
    assert taken == [LengthQuery(length=3)]


@pytest.mark.parametrize("is_later", [False, True])
@pytest.mark.parametrize(
    ("query", "tags"),
    [
        ("", ("tag",)),
        ("length=3", ("tag",)),
        ("length=3&utm=1", ()),
        ("length=3&length=4", ()),
        ("token=x", ()),
    ],
)
def test_an_answer_that_ignores_a_parameter_is_not_cached(
    query: str, tags: tuple[str, ...], is_later: bool
) -> None:
    def now() -> Response:
        return Response(200, (), b"", ("tag",))

    async def later() -> Response:
        return now()

    class CachedQuery(Query, frozen=True):
        length: int = 0
        token: str = ""

    operation = Operation(
        method="GET",
        path="/a",
        summary="Some",
        query=CachedQuery,
        ignores_unknown=True,
        cached=True,
        without_effect=("token",),
    )
    answer = bound(operation, later if is_later else now)
    found = answer(Request("GET", "/a", query, b"", "", lambda _: None))
    found = asyncio.run(found) if isinstance(found, Coroutine) else found
    assert isinstance(found, Response)
    assert found.tags == tags
