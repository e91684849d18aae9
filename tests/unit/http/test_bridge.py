"""The Bridge with a real core, and small routers of the tests."""

import asyncio
import http.client
import logging
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commentsvc.http.bridge import Bridge
from commentsvc.http.messages import Request, Response
from commentsvc.settings import schema
from tests.e2e.program import wait_for

Answer = Callable[[Request], Response | Awaitable[Response]]


PATIENCE = 120  # seconds; the machine may be busy


class Table:
    """A router that answers every request with one function."""

    def __init__(self, handle: Answer) -> None:
        self.handle = handle


def text(body: bytes, *tags: str) -> Response:
    return Response(200, (("Content-Type", "text/plain"),), body, tags)


def ask(address: str, path: str = "/", method: str = "GET") -> tuple[int, bytes]:
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def serve(answer: Answer, client: Callable[[Bridge], None], grace: float = PATIENCE) -> None:
    """Run `client` in a thread of its own while a Bridge answers with `answer`."""

    async def run() -> None:
        bridge = Bridge(schema.ServerSettings(listen="127.0.0.1:0"))
        bridge.serve(Table(answer))
        try:
            await asyncio.to_thread(client, bridge)
        finally:
            await bridge.stop(grace)

    return asyncio.run(run())


def test_plain_functions_and_coroutines_answer() -> None:
    async def later() -> Response:
        await asyncio.sleep(0)
        return text(b"later")

    def answer(request: Request) -> Response | Awaitable[Response]:
        return later() if request.path == "/later" else text(request.query.encode())

    def client(bridge: Bridge) -> None:
        assert ask(bridge.address, "/now?a=b") == (200, b"a=b")
        assert ask(bridge.address, "/later") == (200, b"later")

    serve(answer, client)


@pytest.mark.parametrize("waits", [False, True])
def test_a_large_answer_is_compressed_by_another_thread(
    monkeypatch: pytest.MonkeyPatch, *, waits: bool
) -> None:
    """It takes a fifth of a second for a list of a thousand long comments."""
    threads = []

    def compressed(response: Response) -> Response:
        threads.append(threading.current_thread())
        return response

    def answer(request: Request) -> Response | Awaitable[Response]:
        made = text(b"a" * int(request.query), "tag")
        return asyncio.sleep(0, made) if waits else made

    def client(bridge: Bridge) -> None:
        for size in (1_000, 1_000_000):
            assert ask(bridge.address, f"/?{size}") == (200, b"a" * size)

    monkeypatch.setattr("commentsvc.http.bridge.compressed", compressed)
    serve(answer, client)
    small, large = threads
    assert small is threading.main_thread() is not large


def test_the_answers_of_a_turn_go_out_together() -> None:
    waiting = 0
    given = asyncio.Event()
    bridges: list[Bridge] = []
    seen: list[int] = []

    def give_all() -> None:
        given.set()
        asyncio.get_running_loop().call_soon(
            lambda: seen.append(bridges[0].stats()["replies_waiting"])
        )

    async def answer(_: Request) -> Response:
        nonlocal waiting
        waiting += 1
        if waiting == 3:
            asyncio.get_running_loop().call_soon(give_all)
        await given.wait()
        return text(b"all")

    def client(bridge: Bridge) -> None:
        bridges.append(bridge)
        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda _: ask(bridge.address), range(3)))
        assert answers == [(200, b"all")] * 3

    serve(answer, client)
    assert seen == [3], "answers that waited for the end of the turn"


def test_an_answer_with_tags_is_made_once_until_its_tag_is_purged() -> None:
    made: list[str] = []

    def answer(request: Request) -> Response:
        made.append(request.path)
        return text(str(len(made)).encode(), "page")

    def client(bridge: Bridge) -> None:
        assert [ask(bridge.address)[1] for _ in range(3)] == [b"1", b"1", b"1"]
        bridge.purge(["another"])
        assert ask(bridge.address)[1] == b"1"
        bridge.purge(["page"])
        assert ask(bridge.address)[1] == b"2"
        assert bridge.stats()["hits"] == 3

    serve(answer, client)


def test_purges_that_concern_the_watcher_are_told_on_the_loop_also_one_of_everything() -> None:
    purges: list[Sequence[str]] = []

    async def run() -> None:
        bridge = Bridge(schema.ServerSettings(listen="127.0.0.1:0"))
        bridge.watch(purges.append, {"page"}.issuperset)
        await asyncio.to_thread(bridge.purge, ["page"])
        await asyncio.to_thread(bridge.purge, ["another page"])
        await asyncio.to_thread(bridge.purge_all)
        await asyncio.sleep(0)

    asyncio.run(run())
    assert purges == [["page"], ()]


def test_nobody_reads_an_old_answer_behind_one_that_tells_of_a_commit() -> None:
    """Between COMMIT and purge a miss reads the new state, and cached answers have the old one."""
    state = [b"old"]

    def answer(request: Request) -> Response:
        return text(state[0], "other" if request.path == "/other" else "page")

    def client(bridge: Bridge) -> None:
        paths = ("/count", "/list", "/other")
        assert [ask(bridge.address, path)[1] for path in paths] == [b"old"] * 3
        bridge.announce(["page", "site"])
        state[0] = b"new"  # the COMMIT
        assert ask(bridge.address, "/count")[1] == b"old", "nobody knows better yet"
        assert ask(bridge.address, "/news")[1] == b"new"
        assert [ask(bridge.address, path)[1] for path in paths] == [b"new", b"new", b"old"]
        state[0] = b"newer"
        assert ask(bridge.address, "/news")[1] == b"newer", "nothing is stored meanwhile"
        bridge.purge(["page", "site"])
        bridge.announce(())
        assert [ask(bridge.address, "/news")[1] for _ in range(2)] == [b"newer"] * 2
        hits = bridge.stats()["hits"]
        ask(bridge.address, "/news")
        assert bridge.stats()["hits"] == hits + 1

    serve(answer, client)


def while_busy(made: list[str], wanted: list[str], meanwhile: Callable[[Bridge], None]) -> None:
    """Keep the loop busy while all of `wanted` wait, call `meanwhile`, then let all be answered."""
    busy, go_on = threading.Event(), threading.Event()

    def answer(request: Request) -> Response:
        if request.path == "/busy":
            busy.set()
            assert go_on.wait(PATIENCE), "the test goes on"
            return text(b"")
        made.append(f"{request.method} {request.path}")
        tags = ["page"] if request.path == "/page" else []
        return text(str(len(made)).encode(), *tags)

    def client(bridge: Bridge) -> None:
        with ThreadPoolExecutor(len(wanted) + 1) as pool:
            answers = [pool.submit(ask, bridge.address, "/busy")]
            assert busy.wait(PATIENCE), "the loop is busy"
            for one in wanted:
                method, path = one.split(" ")
                answers.append(pool.submit(ask, bridge.address, path, method))
            wait_for(lambda: bridge.stats()["requests_waiting"] == len(wanted), "all to be waiting")
            meanwhile(bridge)
            go_on.set()
            assert {each.result()[0] for each in answers} == {200}
        hits = bridge.stats()["hits"]
        ask(bridge.address, "/page")
        assert bridge.stats()["hits"] == hits + 1

    serve(answer, client)


def test_who_asks_the_same_of_a_busy_loop_shares_its_answer() -> None:
    made: list[str] = []
    wanted = ["GET /page"] * 3 + ["GET /own"] * 2 + ["POST /page"] * 2 + ["GET /page"]
    while_busy(made, wanted, lambda _: None)
    assert Counter(made) == {"GET /page": 1, "GET /own": 2, "POST /page": 2}


def test_a_purge_before_python_takes_a_request_does_not_concern_its_answer() -> None:
    made: list[str] = []
    while_busy(made, ["GET /page"], lambda bridge: bridge.purge(["page"]))
    assert made == ["GET /page"]


@pytest.mark.parametrize("path", ["/now", "/later", "/header"])
def test_an_unforeseen_exception_is_logged_once_and_tells_the_client_nothing(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def later() -> Response:
        raise RuntimeError("secret")

    def answer(request: Request) -> Response | Awaitable[Response]:
        if request.path == "/later":
            return later()
        if request.path == "/header":
            return Response(200, (("X-Secret", "a\r\nb: c"),), b"")
        raise RuntimeError("secret")

    def client(bridge: Bridge) -> None:
        status, body = ask(bridge.address, path)
        assert status == 500
        assert b"secret" not in body.lower()
        assert b'"error"' in body

    with caplog.at_level(logging.ERROR):
        serve(answer, client)
    assert [record.getMessage() for record in caplog.records] == [f"cannot answer GET {path}"]


def test_stop_answers_what_is_in_flight() -> None:
    begun = asyncio.Event()

    async def slow() -> Response:
        begun.set()
        await asyncio.sleep(0.2)
        return text(b"answered")

    async def run() -> tuple[int, bytes]:
        bridge = Bridge(schema.ServerSettings(listen="127.0.0.1:0"))
        bridge.serve(Table(lambda _: slow()))
        asking = asyncio.create_task(asyncio.to_thread(ask, bridge.address))
        await begun.wait()
        await bridge.stop(PATIENCE)
        return await asking

    assert asyncio.run(run()) == (200, b"answered")


def test_a_taken_address_is_an_error_that_names_it() -> None:
    def client(bridge: Bridge) -> None:
        async def second() -> None:
            Bridge(schema.ServerSettings(listen=bridge.address)).serve(Table(lambda _: text(b"")))

        with pytest.raises(OSError, match="in use") as caught:
            asyncio.run(second())
        assert caught.value.filename == bridge.address

    serve(lambda _: text(b""), client)


def test_a_unix_socket_is_served_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "socket"

    async def run() -> bytes:
        bridge = Bridge(schema.ServerSettings(listen=f"unix:{path}"))
        bridge.serve(Table(lambda request: text(request.peer.encode() or b"nobody")))
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await bridge.stop(5.0)
        return answer

    assert asyncio.run(run()).endswith(b"nobody")
    assert not path.exists()
