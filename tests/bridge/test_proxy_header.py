"""The client's address behind a TLS terminator, in Python and in the core, and after a handover."""

import pytest

from commentsvc import _core
from tests.bridge.application import TEXT, await_that, request, running
from tests.core_server import core_server
from tests.wire.proxy_header import LOCAL, proxy_header

OPTIONS = {"proxy_protocol": True, "hsts": "max-age=1"}


def tell(call: _core.Request) -> None:
    """Answer with the address of the peer and of the client."""
    call.respond(200, TEXT, f"{call.peer} for {call.client}".encode())


@pytest.mark.parametrize("client", ["192.0.2.7", "2001:db8::9"])
def test_a_request_tells_for_whom_its_peer_speaks(client: str) -> None:
    with running(tell, **OPTIONS) as app, app.dial() as proxy:
        proxy.send(proxy_header(client, tls=True) + request("/"))
        assert proxy.answer().body == f"127.0.0.1 for {client}".encode()
        proxy.send(request("/again"))
        assert proxy.answer().body == f"127.0.0.1 for {client}".encode()


def test_a_peer_may_speak_for_itself() -> None:
    with running(tell, **OPTIONS) as app, app.dial() as proxy:
        proxy.send(proxy_header("192.0.2.7", tls=True, command=LOCAL) + request("/"))
        assert proxy.answer().body == b"127.0.0.1 for "


def test_without_the_protocol_nobody_speaks_for_others() -> None:
    with running(tell) as app, app.dial() as client:
        client.send(request("/"))
        assert client.answer().body == b"127.0.0.1 for None"


def test_strangers_are_counted() -> None:
    with running(tell, **OPTIONS) as app, app.dial() as client:
        client.send(request("/"))
        await_that(lambda: app.server.stats()["closed_protocol_error"] == 1, "the stranger's end")


def test_what_was_said_goes_with_a_connection_to_the_next_server() -> None:
    """Of the connections, one has sent its PROXY header, and one has not yet."""
    with running(tell, **OPTIONS) as old, old.dial() as known, old.dial() as silent:
        known.send(proxy_header("192.0.2.7", tls=True) + request("/"))
        assert known.answer().fields["strict-transport-security"] == "max-age=1"
        await_that(lambda: old.server.stats()["connections"] == 2, "both")
        old.server.stop(1, for_handover=True)
        old.server.join()
        listeners, connections = old.server.release()
        assert sorted(note for _, note in connections) == ["awaited", "tls 192.0.2.7"]
        with running(tell, sockets=(listeners, connections), hsts="max-age=1"):
            known.send(request("/"))
            answer = known.answer()
            assert answer.body == b"127.0.0.1 for 192.0.2.7"
            assert answer.fields["strict-transport-security"] == "max-age=1"
            silent.send(proxy_header("192.0.2.8", tls=False) + request("/"))
            assert silent.answer().body == b"127.0.0.1 for 192.0.2.8"


@pytest.mark.parametrize("value", ["a\r\nB: c", "x" * 300])
def test_a_promise_that_cannot_be_sent_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="hsts"):
        core_server(hsts=value)


@pytest.mark.parametrize("connections", [[3], [("a", "b")], [(3,)], 3])
def test_what_is_no_connection_is_refused(connections: object) -> None:
    with pytest.raises(TypeError):
        core_server().start([], connections)  # type: ignore[arg-type] # the wrong type is what is tested
