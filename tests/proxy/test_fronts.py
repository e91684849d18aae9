"""What each proxy has to do, tested with the real program in front of a real service."""

import gzip
import json
import os
import ssl
import subprocess
from contextlib import closing, suppress
from io import BytesIO

import brotli
import pytest
from PIL import Image

from commentsvc.api.images import OVERSIZED
from loadtest.proxies.configs import TLS_ONLY
from tests.conftest import find_program
from tests.e2e.program import ROOT, wait_for
from tests.proxy.client import Client
from tests.proxy.conftest import Network
from tests.proxy.proxies import HOST, proxy_users

YEAR = 365 * 24 * 3600
COUNT = "/api/comments/count?url=/post/"


def max_age(field: str) -> int:
    """Return the seconds in a Strict-Transport-Security field."""
    [age] = [part.strip() for part in field.split(";") if "max-age" in part]
    return int(age.removeprefix("max-age="))


def test_a_comment_is_sent_and_counted_over_https(reader: Client) -> None:
    assert reader.submit("/sent/").status == 201
    answer = reader.ask("GET", "/api/comments/count?url=/sent/")
    assert (answer.status, answer.json()) == (200, {"count": 1})


def test_whoever_reads_requests_is_not_root(front: Client, request: pytest.FixtureRequest) -> None:
    """Yet it can use the socket, which has the permissions of the shipped unit."""
    users = {"haproxy": "haproxy", "haproxy-tcp": "haproxy", "hitch": "_hitch"}
    name = request.node.callspec.params["front"]
    if os.geteuid() == 0 and name in users:  # our files do not set the users of the others
        expected = {users[name]}  # a process that has just begun is root until it gives that up
        wait_for(lambda: proxy_users(front.values) == expected, f"all of {name} to be {expected}")
    assert front.ask("GET", COUNT).status == 200
    unit = (ROOT / "config/systemd/commentsvc.socket").read_text()
    assert {"SocketGroup=www-data", "SocketMode=0660"} <= set(unit.splitlines())


def test_plain_http_is_sent_to_https_without_a_promise(front: Client) -> None:
    """RFC 6797 section 7.2: no Strict-Transport-Security over plain HTTP."""
    answer = front.ask_plainly(COUNT)
    assert answer.status in (301, 308)
    location = answer.headers["location"].replace(f":{front.values.https}", "")
    assert location == f"https://{HOST}{COUNT}"
    assert "strict-transport-security" not in answer.headers


@pytest.mark.parametrize("target", [COUNT, "/nothing", "/api/comments/count?url=%00"])
def test_every_answer_promises_https_for_a_year(front: Client, target: str) -> None:
    for _ in range(2):  # uncached, then cached
        answer = front.ask("GET", target)
        assert max_age(answer.headers["strict-transport-security"]) >= YEAR


def test_what_the_core_refuses_promises_it_too(front: Client) -> None:
    answer = front.ask("GET", "/" + "x" * 9_000)
    assert answer.status in (400, 414)
    assert max_age(answer.headers["strict-transport-security"]) >= YEAR


def test_a_client_counts_under_its_own_address(front: Client, networks: Network) -> None:
    """One comment an hour from each network: a second one is refused, other networks are not."""
    first = front._replace(source=next(networks))
    second = front._replace(source=next(networks))
    assert first.submit("/address/1/").status == 201
    assert first.submit("/address/2/").status == 429
    assert second.submit("/address/3/").status == 201


@pytest.mark.parametrize("target", ["/metrics", "/healthz", "/readyz", "/%6detrics", "//metrics"])
def test_health_and_metrics_are_not_public(reader: Client, target: str) -> None:
    assert reader.ask("GET", target).status in (400, 404)
    assert reader.ask("GET", target, X_Forwarded_For="127.0.0.1").status in (400, 404)
    assert reader.ask("GET", target, X_Real_IP="127.0.0.1").status in (400, 404)


@pytest.mark.parametrize("name", ["X_Forwarded_For", "Forwarded", "X_Real_IP"])
def test_a_forged_address_is_not_believed(reader: Client, name: str) -> None:
    value = "for=203.0.113.9" if name == "Forwarded" else "203.0.113.9"
    assert reader.submit("/forged/1/", **{name: value}).status == 201
    assert reader.submit("/forged/2/", **{name: value.replace("9", "200")}).status == 429


@pytest.mark.parametrize(("target", "size"), [("comments", 300 << 10), ("images?url=/p/", 9 << 20)])
def test_a_body_over_the_limit_is_too_large(
    front: Client, request: pytest.FixtureRequest, target: str, size: int
) -> None:
    """Caddy reports an early answer only after it has read the body.

    Of a large body, the others get only the beginning: hitch closes both directions when the
    service closes one, and a client that is still sending then loses the answer.
    """
    sent = size if size < 1 << 20 or "caddy" in request.node.name else 1 << 10
    with closing(front.connection()) as connection:
        connection.putrequest("POST", f"/api/{target}")
        connection.putheader("Content-Length", str(size))
        connection.endheaders()
        with suppress(OSError):  # the server may have answered and closed
            connection.send(bytes(sent))
        assert connection.getresponse().status == 413


def test_pictures_of_several_mib_pass(reader: Client) -> None:
    """The first picture is as large as allowed; the second is larger, and the service says so."""
    picture = BytesIO()
    Image.new("RGB", (1_200, 1_200)).save(picture, "PNG", compress_level=0)
    assert picture.tell() > 4 << 20
    assert reader.ask("POST", "/api/images?url=/p/", picture.getvalue()).status == 201
    picture.write(bytes((8 << 20) + 1 - picture.tell()))
    answer = reader.ask("POST", "/api/images?url=/p/", picture.getvalue())
    assert answer.status == 400
    assert answer.json()["error"]["fields"] == {"image": OVERSIZED.text}
    head = b'--B\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
    file = b'; filename="x.png"\r\nContent-Type: image/png'
    sent = {b"url": b"/p/", b"author": b"Ann", b"message": b"A text", b"alt": b"Black"}
    form = b"".join(head % (name, b"", value) for name, value in sent.items())
    form += head % (b"image", file, picture.getvalue()) + b"--B--\r\n"
    content_type = "multipart/form-data; boundary=B"
    page = reader.ask("POST", "/embed/thread", form, Content_Type=content_type)
    assert page.status == 400
    assert f'id="commentsvc-image-fault">{OVERSIZED.text}<' in page.body.decode()
    assert "A text</textarea>" in page.body.decode()


def test_the_widget_comes_compressed_and_a_page_does_not(front: Client) -> None:
    for target in ("/static/comments.js", "/static/comments.css"):
        plain = front.ask("GET", target)
        for accepted, decompress in (("gzip", gzip.decompress), ("gzip, br", brotli.decompress)):
            answer = front.ask("GET", target, Accept_Encoding=accepted)
            assert decompress(answer.body) == plain.body
            assert len(answer.body) < 0.6 * len(plain.body)
            assert "accept-encoding" in answer.headers["vary"].lower()
            etag = answer.headers["etag"]
            again = front.ask("GET", target, Accept_Encoding=accepted, If_None_Match=etag)
            assert again.status == 304
            assert front.ask("GET", target, If_None_Match=etag).body == plain.body
    page = front.ask("GET", "/moderation/sign-in", Accept_Encoding="gzip")
    assert "content-encoding" not in page.headers


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_is_resumed(
    front: Client, trust: ssl.SSLContext, version: ssl.TLSVersion
) -> None:
    reused, session = [], None
    trust.minimum_version = trust.maximum_version = version
    try:
        for _ in range(2):
            connection = front.connection()
            connection.session = session
            connection.request("GET", COUNT)
            connection.getresponse().read()
            assert isinstance(connection.sock, ssl.SSLSocket)
            reused.append(connection.sock.session_reused)
            session = connection.sock.session
            connection.close()
    finally:
        trust.minimum_version = ssl.TLSVersion.TLSv1_2
        trust.maximum_version = ssl.TLSVersion.TLSv1_3
    assert reused == [False, True]


def test_tls_before_1_2_is_refused(front: Client, trust: ssl.SSLContext) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        front._replace(trust=old).ask("GET", COUNT)


def test_events_pass_as_they_come(reader: Client) -> None:
    url = f"/live/{reader.source}/"
    with closing(reader.connection()) as connection:
        connection.request("GET", f"/api/comments/stream?url={url}")
        stream = connection.getresponse()
        assert max_age(stream.headers["strict-transport-security"]) >= YEAR
        events = (json.loads(line[5:]) for line in stream if line.startswith(b"data:"))
        assert next(events) == {"count": 0}
        assert reader.submit(url).status == 201
        assert next(events) == {"count": 1}


def test_a_connection_is_kept(front: Client) -> None:
    connection = front.connection()
    connection.request("GET", COUNT)
    connection.getresponse().read()
    socket = connection.sock
    connection.request("GET", COUNT)
    assert connection.getresponse().read()
    assert connection.sock is socket is not None
    connection.close()


def test_http_2_is_spoken(
    front: Client, authority_file: str, request: pytest.FixtureRequest
) -> None:
    """Except behind a TLS terminator, since the service itself speaks HTTP/1.1 only."""
    version = "1.1" if request.node.callspec.params["front"] in TLS_ONLY else "2"
    words = ["-sS", "--http2", "--cacert", authority_file, "-w", " %{http_version}"]
    there = ["--connect-to", f"{HOST}:443:127.0.0.1:{front.values.https}", f"https://{HOST}{COUNT}"]
    process = subprocess.run(
        [find_program("curl"), *words, *there], capture_output=True, text=True, check=False
    )
    assert process.stdout == f'{{"count":0}} {version}', process
