"""The core's counters: each refusal is counted by status, each connection by how it ended."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.application import Application, Client, Held, await_that, echo, request, running

CORE = Path(__file__).parents[2] / "core"


def sends(data: bytes) -> Callable[[Application, Client], None]:
    return lambda _, client: client.send(data)


def fill_the_mailbox(app: Application, client: Client) -> None:
    with app.stuck(), app.dial() as other:
        other.send(request("/a"))
        await_that(lambda: app.server.stats()["requests_waiting"] == 1, "a full mailbox")
        client.send(request("/b"))
        await_that(lambda: app.server.stats()["refusals"], "the refusal")


# What a client does to be refused with this status, and the options of the server that refuses.
REFUSED: dict[int, tuple[Callable[[Application, Client], None], dict[str, Any]]] = {
    400: (sends(b"GET / HTTP/1.1\r\n\r\n"), {}),
    408: (sends(b"GET / HTTP/1.1\r\n"), {"head_deadline": 0.05}),
    413: (sends(request("/", "Content-Length: 999999", method="POST")), {}),
    414: (sends(b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: h\r\n\r\n"), {}),
    417: (sends(request("/", "Expect: more")), {}),
    431: (sends(request("/", *["A: " + "b" * 1000] * 20)), {}),
    501: (sends(request("/", method="BREW")), {}),
    503: (fill_the_mailbox, {"waiting": 1}),
    504: (sends(request("/held")), {"handler_deadline": 0.05}),
    505: (sends(b"GET / HTTP/2.0\r\nHost: h\r\n\r\n"), {}),
}


def counted(app: Application, first: str) -> dict[str, int]:
    """Return the counters of one kind that are not zero."""
    stats = app.server.stats()
    return {k.removeprefix(first): n for k, n in stats.items() if k.startswith(first) and n}


def test_every_refusal_of_the_table_is_played_here() -> None:
    source = (CORE / "http/response.c").read_text()
    table = re.search(r"REFUSED\[REFUSALS\] = \{(.*?)\};", source)
    assert table
    assert {int(status) for status in table[1].split(",")} == set(REFUSED)


@pytest.mark.parametrize("status", REFUSED)
def test_a_refusal_is_counted_under_its_status(status: int) -> None:
    act, options = REFUSED[status]
    with running(Held() if status == 504 else echo, **options) as app, app.dial() as client:
        act(app, client)
        assert client.answer().status == status
        assert client.is_ended()
        assert counted(app, "refused_") == {str(status): 1}
        assert app.server.stats()["refusals"] == 1
        assert app.server.stats()["mailbox_full"] == (status == 503)


def test_a_miss_is_timed_and_a_hit_is_not() -> None:
    with running(echo) as app:
        app.get("/stored/a")
        app.get("/stored/a")
        await_that(lambda: app.server.stats()["latency_sum"], "the miss to be timed")
        timed = {k: n for k, n in counted(app, "latency_").items() if k != "sum"}
        assert sum(timed.values()) == 1


def test_every_connection_that_ended_has_its_reason() -> None:
    with running(echo, keep_alive=0.05) as app:
        with app.dial() as client:
            assert client.is_ended()
        assert counted(app, "closed_") == {"idle": 1}
    with running(echo) as app:
        with app.dial() as client:
            client.send(request("/", "Connection: close"))
            client.answer()
            assert client.is_ended()
        with app.dial() as client:
            client.send(request("/"))
            client.answer()
        await_that(lambda: app.server.stats()["connections"] == 0, "all to be closed")
        assert counted(app, "closed_") == {"answered": 1, "client": 1}
        assert app.server.stats()["accepted"] == 2


def test_hits_with_304_and_stale_answers_are_counted() -> None:
    with running(echo) as app:
        etag = app.get("/stored/a").fields["etag"]
        assert app.get("/stored/a", f"If-None-Match: {etag}").status == 304
        app.server.purge(["a"])
        app.get("/stored/a")
        await_that(lambda: app.server.stats()["stale"] == 1, "the stale answer to be dropped")
        stats = app.server.stats()
        assert (stats["hits"], stats["not_modified"], stats["misses"]) == (1, 1, 2)
