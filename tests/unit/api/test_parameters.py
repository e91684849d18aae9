"""The declared parameters are what the service accepts."""

import asyncio
import contextlib
import http.client
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from commentsvc.http.bridge import Bridge
from commentsvc.http.messages import Request, Response
from commentsvc.http.router import Route, target_rules
from commentsvc.pages.embed import THREAD
from commentsvc.settings.schema import ServerSettings, Site
from tests.unit.app_fixture import SETTINGS, Served, data, served
from tests.unit.public_reads import SITE, requests


def strict(service: Served) -> list[Route]:
    """Return the GET routes that refuse unknown parameters."""
    return [
        route
        for route in service.routes
        if route.operation and route.method == "GET" and not route.operation.ignores_unknown
    ]


def test_every_strict_read_refuses_what_it_does_not_declare(service: Served) -> None:
    assert len(strict(service)) > 6
    for route in strict(service):
        answer = service.get(route.pattern.replace("{path}", "x") + "?nonsense=1")
        if route.operation and route.operation.permission:  # it asks for a token first
            assert answer.status == 401, route.pattern
            continue
        assert answer.status == 400, route.pattern
        assert "nonsense" in answer.body.decode(), route.pattern


@pytest.mark.parametrize("lang", ["de", "pt-BR", "zh-Hant-TW", "sw"])
def test_a_language_is_named_by_its_tag(service: Served, lang: str) -> None:
    assert service.get(f"/embed/thread?url=/p/&lang={lang}").status == 200


@pytest.mark.parametrize("lang", ["", "x", "deutsch", "de-" + "x" * 9, "de-x-x-x-x", "%00"])
def test_what_is_no_tag_is_no_language(service: Served, lang: str) -> None:
    answer = service.get(f"/embed/thread?url=/p/&lang={lang}")
    assert data(answer)["error"]["fields"].keys() == {"lang"}


OTHER = Site(name="notes", isso=True, artalk=True, waline=True, token="9fb3fc042c572cb8")
IGNORED = ("utm_source=1", "fbclid=2&x", "%75tm=3&&_=4", "token=5", "lang=xx", "site_name=6")
PATIENCE = 120  # seconds


class Client:
    """A client of a core, whose counters it reads."""

    def __init__(self, bridge: Bridge) -> None:
        host, port = bridge.address.rsplit(":", 1)
        self._connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        self._bridge = bridge

    def ask(self, method: str, target: str, body: bytes = b"") -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"} if body else {}
        self._connection.request(method, target, body or None, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        self._connection.close()

    def misses(self) -> int:
        return self._bridge.stats()["misses"]

    def entries(self) -> int:
        return self._bridge.stats()["cache_entries"]


def with_core(service: Served, work: Callable[[Client], None]) -> None:
    """Run `work` in a thread while a core answers for `service`."""

    async def run() -> None:
        bridge = Bridge(ServerSettings(listen="127.0.0.1:0"))
        bridge.serve(service.router, target_rules=service.router.target_rules)
        try:
            with contextlib.closing(Client(bridge)) as client:
                await asyncio.to_thread(work, client)
        finally:
            await bridge.stop(PATIENCE)

    asyncio.run(run())


@pytest.fixture
def everything(tmp_path: Path) -> Iterator[Served]:
    """Return a service with all its interfaces."""
    with served(tmp_path, msgspec.structs.replace(SETTINGS, sites=(SITE, OTHER))) as service:
        service.submit("Hello")
        service.submit("Again")
        yield service


def test_a_parameter_that_a_route_does_not_know_makes_no_miss(everything: Served) -> None:
    """A read either refuses it, or is answered from the cache, as without it."""
    stored = []

    def work(client: Client) -> None:
        for route, plain in requests(everything):
            first = client.ask("GET", plain)
            client.ask("GET", plain)
            misses, entries = client.misses(), client.entries()
            client.ask("GET", plain)
            is_stored = client.misses() == misses
            for more in IGNORED:
                if more == "lang=xx" and route.pattern in (THREAD.path, "/"):
                    continue
                misses = client.misses()
                answer = client.ask("GET", f"{plain}{'&' if '?' in plain else '?'}{more}")
                assert client.entries() == entries, (plain, more)
                if is_stored and answer[0] not in (400, 404):
                    assert (client.misses(), answer) == (misses, first), (plain, more)
            if is_stored:
                stored.append(route.pattern)

    with_core(everything, work)
    assert len(stored) > 25, stored
    assert {"/comments", "/feed.atom", "/static/{path}", "/artalk/api/v2/comments"} <= {*stored}


def test_a_path_in_another_spelling_is_answered_from_the_cache_too(everything: Served) -> None:
    def work(client: Client) -> None:
        first = client.ask("GET", "/comments/count?url=/p/")
        misses = client.misses()
        for spelt in ("/comments%2Fcount", "/c%6fmments/count", "/comments%2fcoun%74"):
            assert client.ask("GET", f"{spelt}?x=1&u%72l=/p/") == first
        assert client.misses() == misses

    with_core(everything, work)


def test_neither_does_one_of_a_question_that_is_posted(everything: Served) -> None:
    def work(client: Client) -> None:
        first = client.ask("POST", "/isso/count", b'["/p/"]')
        before = client.misses()
        assert client.ask("POST", "/isso/count?x=1", b'["/p/"]') == first == (200, b"[2]")
        assert client.misses() == before

    with_core(everything, work)


def test_a_token_counts_where_a_site_has_one(everything: Served) -> None:
    def work(client: Client) -> None:
        ours = client.ask("GET", "/comments/count?url=/p/&token=9fb3fc042c572cb8&x=1")
        assert ours == (200, b'{"count":0}')
        before = client.misses()
        assert client.ask("GET", "/comments/count?token=9fb3fc042c572cb8&url=/p/") == ours
        assert client.ask("GET", "/comments/count?url=/p/&token=9fb3fc042c572cb8&y=2") == ours
        assert client.misses() == before + 1, "the order of parameters is not changed"
        assert client.ask("GET", "/comments/count?url=/p/&token=other")[0] == 404
        assert client.ask("GET", "/api/comments/count?url=/p/&token=x") == (200, b'{"count":2}')
        before = client.misses()
        client.ask("GET", "/api/comments/count?url=/p/&token=y")
        assert client.misses() == before

    with_core(everything, work)


def test_the_rules_are_in_the_order_in_which_routes_are_found(everything: Served) -> None:
    rules = [line.split(" ")[:2] for line in everything.router.target_rules.decode().splitlines()]
    assert all(len(rule) == 2 for rule in rules)
    paths = [path for _, path in rules]
    assert paths.index("/static/*") > paths.index("/api/comments/count")
    assert target_rules([]) == b""


def test_a_rule_that_drops_nothing_is_left_out_unless_a_later_one_matches_its_path() -> None:
    def handler(_: Request) -> Response:
        raise AssertionError("nothing is asked here")

    routes = [
        Route("GET", "/blog/{path}", handler, target_rule="only"),
        Route("GET", "/blog/search", handler),
        Route("GET", "/elsewhere", handler),
        Route("GET", "/list", handler, target_rule="without token"),
    ]
    expected = b"GET /blog/search without\nGET /list without token\nGET /blog/* only\n"
    assert target_rules(routes) == expected
