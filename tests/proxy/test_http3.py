"""HTTP/3 of the proxies that speak it: a QUIC client that trusts the test's authority alone."""

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, QuicEvent

from loadtest.harness.programs import MissingError
from loadtest.proxies.configs import HTTP_3, knows_http_3
from tests.conftest import cannot_run
from tests.e2e.program import PATIENCE, Answer
from tests.proxy.client import Client
from tests.proxy.conftest import Begin, Network
from tests.proxy.proxies import HOST
from tests.proxy.test_fronts import COUNT, YEAR, max_age

Asked = tuple[str, str, bytes]  # method, target, body


class Talk(QuicConnectionProtocol):
    """A client's end of a connection, which sends one request after the other."""

    def __init__(self, quic: QuicConnection) -> None:
        super().__init__(quic)
        self._http = H3Connection(quic)
        self._events: asyncio.Queue[H3Event | ConnectionTerminated] = asyncio.Queue()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Collect the parts of an answer, and its end."""
        if isinstance(event, ConnectionTerminated):
            self._events.put_nowait(event)
        for one in self._http.handle_event(event):
            self._events.put_nowait(one)

    async def ask(self, method: str, target: str, body: bytes) -> Answer:
        """Send one request, and return its complete answer."""
        fields = {":method": method, ":scheme": "https", ":authority": HOST, ":path": target}
        if body:
            fields |= {"content-type": "application/json", "content-length": str(len(body))}
        stream = self._quic.get_next_available_stream_id()
        words = [(name.encode(), value.encode()) for name, value in fields.items()]
        self._http.send_headers(stream, words, end_stream=not body)
        if body:
            self._http.send_data(stream, body, end_stream=True)
        self.transmit()
        headers: dict[str, str] = {}
        content = b""
        while True:
            event = await self._events.get()
            assert not isinstance(event, ConnectionTerminated), event
            if isinstance(event, HeadersReceived):
                headers |= {name.decode(): value.decode() for name, value in event.headers}
            if isinstance(event, DataReceived):
                content += event.data
            if isinstance(event, HeadersReceived | DataReceived) and event.stream_ended:
                return Answer(int(headers[":status"]), headers, content)


def ask(front: Client, authority_file: str | None, *requests: Asked) -> Sequence[Answer]:
    """Send requests on one connection, from the client's IP address. Raise ConnectionError."""

    async def talk() -> list[Answer]:
        configuration = QuicConfiguration(
            alpn_protocols=H3_ALPN, server_name=HOST, cafile=authority_file
        )
        loop = asyncio.get_running_loop()
        transport, end = await loop.create_datagram_endpoint(
            lambda: Talk(QuicConnection(configuration=configuration)),
            local_addr=(front.source, 0),
        )
        try:
            end.connect(("127.0.0.1", front.values.https))
            async with asyncio.timeout(PATIENCE):
                await end.wait_connected()
                answers = [await end.ask(*request) for request in requests]
                end.close()
                await end.wait_closed()
            return answers
        finally:
            transport.close()
            await asyncio.sleep(0)  # the connection is closed at the loop's next turn

    with ThreadPoolExecutor(1) as pool:  # another test's browser may have a loop here
        return pool.submit(lambda: asyncio.run(talk())).result()


def comment(url: str) -> Asked:
    """Return the request by which the widget sends a comment."""
    body = json.dumps({"url": url, "author": "Ann", "message": f"Well said, {url}"}).encode()
    return "POST", "/api/comments", body


@pytest.fixture(scope="module", params=HTTP_3)
def third(request: pytest.FixtureRequest, begin: Begin) -> Client:
    """Return each proxy that speaks HTTP/3, with the lines for it enabled."""
    try:
        known = knows_http_3(request.param)
    except MissingError as reason:
        cannot_run(str(reason))
    if not known:
        pytest.skip(f"the {request.param} of this machine was built without HTTP/3")
    return begin(HTTP_3[request.param][0])


def test_counts_are_answered_by_http_3(third: Client, authority_file: str) -> None:
    for answer in ask(third, authority_file, *[("GET", COUNT, b"")] * 3):
        assert (answer.status, answer.json()) == (200, {"count": 0})
        assert max_age(answer.headers["strict-transport-security"]) >= YEAR


def test_who_comes_by_http_3_counts_under_his_own_address(
    third: Client, authority_file: str, networks: Network
) -> None:
    first = third._replace(source=next(networks))
    second = third._replace(source=next(networks))
    posts = comment("/third/1/"), comment("/third/2/")
    assert [answer.status for answer in ask(first, authority_file, *posts)] == [201, 429]
    [other] = ask(second, authority_file, comment("/third/3/"))
    assert other.status == 201
    assert third.ask("GET", "/api/comments/count?url=/third/3/").json() == {"count": 1}


def test_http_3_is_offered_to_who_comes_by_tcp(third: Client) -> None:
    assert third.ask("GET", COUNT).headers["alt-svc"].startswith('h3=":')


def test_a_certificate_of_nobody_we_know_is_refused_by_quic_too(third: Client) -> None:
    with pytest.raises(ConnectionError):
        ask(third, None, ("GET", COUNT, b""))
