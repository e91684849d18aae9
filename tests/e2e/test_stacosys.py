"""The requests of Stacosys' clients, byte for byte, against the whole program."""

import socket
from collections.abc import Iterator
from urllib.parse import urlencode, urljoin

import pytest

from tests.e2e.program import PATIENCE, Answer, Service, serving

MD5 = "8667278f970b1ae1f77d3ad166620cc8"
SETTINGS = {
    "COMMENTSVC_MODERATION_POLICY": "none",
    "COMMENTSVC_SPAM_RATE_LIMIT": "off",
    "COMMENTSVC_STACOSYS_REDIRECT": "https://blog.example/thanks/",
    "TZ": "Asia/Tokyo",
}


@pytest.fixture(scope="module")
def service(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    data = tmp_path_factory.mktemp("stacosys") / "data"
    data.mkdir()
    (data / "commentsvc.toml").write_text('[[site]]\navatar_url = "https://faces.example/"\n')
    with serving(data, SETTINGS) as running:
        yield running


def post(service: Service, **fields: str) -> Answer:
    return service.request(
        "POST",
        "/newcomment",
        urlencode(fields).encode(),
        Content_Type="application/x-www-form-urlencoded",
    )


def raw(service: Service, target: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", service.port), PATIENCE) as connection:
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % target)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_a_comment_of_version_3_is_read_by_every_version(service: Service) -> None:
    url = "/2017/07/post/"
    sent = {"url": url, "author": " Ann ", "site": "Ann.Example", "email": MD5, "token": "x"}
    answer = post(service, **sent, message="*Hi*", remarque="")
    assert (answer.status, answer.headers["Location"]) == (302, "https://blog.example/thanks/")
    post(service, url=url, author="Bob", message="Ho")
    for prefix in (b"/api", b""):
        target = prefix + b"/comments/count?token=x&url=" + url.encode()
        assert raw(service, target).endswith(b'\r\n\r\n{"count":2}')
        assert raw(service, prefix + b"/ping").endswith(b"\r\n\r\nOK")
    ann, bob = service.request("GET", "/comments?url=/2017/07/post/").json()["data"]
    assert (ann["author"], ann["avatar"], ann["content"]) == ("Ann", MD5, "*Hi*")
    assert (ann["site"], "site" in bob) == ("http://ann.example", False)
    hours = (int(ann["date"][11:13]) - int(ann["published"][11:13])) % 24
    assert (len(ann["date"]), hours) == (19, 9)


def test_a_comment_of_version_1_is_stored(service: Service) -> None:
    body = (
        b'{"token": "x", "url": "/one/", "author": "Ann", "email": "", "site": "", "captcha": "",'
    )
    body += b' "subscribe": false, "message": "Hi"}'
    answer = service.request("POST", "/comments", body, Content_Type="application/json")
    assert (answer.status, answer.body, service.count("/one/")) == (200, b"OK", 1)
    trapped = body.replace(b'"captcha": ""', b'"captcha": "x"').replace(b"Hi", b"Ho")
    answer = service.request("POST", "/comments", trapped, Content_Type="application/json")
    assert (answer.status, service.count("/one/")) == (400, 1)


def test_what_stacosys_refuses_is_refused(service: Service) -> None:
    good = {"url": "/refused/", "author": "Ann", "message": "Hi"}
    assert post(service, **good, remarque="x").status == 400
    assert post(service, **good, captcha="x").status == 400
    assert post(service, **(good | {"author": " "})).status == 400
    assert service.request("GET", "/newcomment").status == 405
    body = b'{"url": "/refused/", "author": "Ann", "message": "Hi"}'
    json_form = service.request("POST", "/newcomment", body, Content_Type="application/json")
    assert (json_form.status, service.count("/refused/")) == (400, 0)


def test_its_moderation_pages_lead_to_ours(service: Service) -> None:
    for path in ("/web", "/web/login", "/web/admin"):
        answer = service.request("GET", path)
        assert (answer.status, urljoin(path, answer.headers["Location"])) == (
            302,
            "/web/moderation",
        )
