"""Rules 1 to 4 of the bridge (core/DESIGN.md): ownership, order, and no stale answer after a purge.

Rule 4 has its races in tests/core/server/test_stale.c as well, with the rule and without it.
"""

import gc
import socket
import threading
from pathlib import Path

import pytest

from commentsvc import _core
from tests.bridge.application import (
    TEXT,
    Held,
    await_that,
    echo,
    memory,
    request,
    running,
)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


# Rule 1: each envelope has one owner, who frees it.


def test_starting_and_stopping_leaves_files_threads_and_memory_as_they_were() -> None:
    def round_of_requests() -> None:
        with running(lambda call: None if call.path == "/dropped" else echo(call)) as app:
            for _ in range(20):
                with app.dial() as client:
                    client.send(request("/stored/a") + request("/b") + request("/dropped"))
                    assert [client.answer().status for _ in range(3)] == [200, 200, 500]
            left = app.dial()
            left.send(request("/unfinished", method="POST", body=b"x")[:-1])
            app.grace = 0.0
        left.socket.close()

    for _ in range(5):
        round_of_requests()
    gc.collect()
    files, threads, before = open_files(), threading.active_count(), memory()
    for _ in range(60):
        round_of_requests()
    gc.collect()
    assert open_files() == files
    assert threading.active_count() == threads
    assert memory() - before < 2048, "KiB more after 3,600 requests and 60 servers"


def test_answers_kept_back_reach_their_clients_together() -> None:
    held = Held()
    with running(held) as app, app.dial() as first, app.dial() as second:
        for client in (first, second):
            client.send(request("/a"))
        calls = [held.take(), held.take()]
        app.server.cork()
        for call in calls:
            call.respond(200, TEXT, b"here")
        assert first.is_silent(0.1)
        assert app.server.stats()["replies_waiting"] == 2
        app.server.uncork()
        assert [client.answer().body for client in (first, second)] == [b"here", b"here"]


# Rule 2: a reply is addressed by worker, slot and serial number.


def test_a_reply_to_a_client_that_left_never_reaches_the_next_tenant_of_its_slot() -> None:
    held = Held()
    with running(held) as app:
        first = app.dial()
        first.send(request("/first"))
        call = held.take()
        first.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        first.socket.close()
        await_that(lambda: app.server.stats()["connections"] == 0, "the client's slot to be free")
        with app.dial() as second:
            second.send(request("/second"))
            waiting = held.take()
            call.respond(200, TEXT, b"for the first")
            await_that(lambda: app.server.stats()["late_replies"] == 1, "the reply to be dropped")
            waiting.respond(200, TEXT, b"for the second")
            assert second.answer().body == b"for the second"


# Rule 3: one request of a connection is in flight; answers keep their order; hits go together.


def test_a_miss_between_hits_keeps_its_place_and_later_requests_wait() -> None:
    held = Held()
    with running(echo) as app:
        app.get("/stored/a")
        app.handler = held
        with app.dial() as client:
            client.send(request("/stored/a") + request("/slow") + request("/stored/a") * 2)
            assert client.answer().body == b"/stored/a?"
            call = held.take()
            assert client.is_silent(0.05)
            assert not held.requests
            call.respond(200, TEXT, b"slow")
            bodies = [client.answer().body for _ in range(3)]
            assert bodies == [b"slow", b"/stored/a?", b"/stored/a?"]


def test_pipelined_hits_go_out_in_one_write() -> None:
    with running(echo) as app, app.dial() as client:
        client.send(request("/stored/a"))
        client.answer()
        before = app.server.stats()
        client.send(request("/stored/a") * 100)
        for _ in range(100):
            client.answer()
        after = app.server.stats()
        assert after["hits"] - before["hits"] == 100
        assert after["writes"] - before["writes"] <= 2, "loopback may cut the pipeline once"


# Rule 4: commit, then purge, then acknowledge.


@pytest.mark.parametrize("workers", [1, 2])
def test_nobody_reads_a_stale_value_after_an_acknowledged_write(workers: int) -> None:
    values: dict[str, int] = {}

    def answer(call: _core.Request) -> None:
        name = call.path.removeprefix("/stored/")
        value = values.get(name, 0)
        written.wait(0.0005)  # so that some answers are old ones, sent after the purge
        call.respond(200, TEXT, str(value).encode(), [name])

    written = threading.Event()
    stale = 0
    with running(answer, workers=workers) as app, app.dial() as early, app.dial() as late:
        for race in range(300):
            written.clear()
            name = f"value{race}"
            early.send(request(f"/stored/{name}"))
            values[name] = 1
            app.server.purge([name])
            written.set()
            late.send(request(f"/stored/{name}"))
            stale += late.answer().body != b"1"
            early.answer()
            for client in (early, late):
                client.send(request(f"/stored/{name}"))
                stale += client.answer().body != b"1"
    assert stale == 0


def test_an_answer_made_before_a_purge_and_sent_after_it_is_not_stored() -> None:
    held = Held()
    with running(held) as app, app.dial() as client:
        client.send(request("/page"))
        call = held.take()
        app.server.purge(["page"])
        call.respond(200, TEXT, b"old", ["page"])
        assert client.answer().body == b"old"
        client.send(request("/page"))
        held.take().respond(200, TEXT, b"new", ["page"])
        assert client.answer().body == b"new"
        client.send(request("/page"))
        assert client.answer().body == b"new"
        assert not held.requests
