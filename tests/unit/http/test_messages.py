"""Parsing bodies and queries, clients behind proxies, and which origins may write."""

import json
import logging
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest

from commentsvc.http.messages import CorsPolicy, HttpError, Request, TrustedProxies, first, refusal
from commentsvc.settings.schema import Site


def request(
    method: str = "GET",
    /,
    query: str = "",
    body: bytes = b"",
    peer: str = "192.0.2.1",
    **headers: str,
) -> Request:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method, "/x", query, body, peer, lambda name: fields.get(name.lower()))


def test_parameters_are_read_from_the_query() -> None:
    form = request(query="url=/a/&url=/b/&x").parameters()
    assert (form["url"], first(form, "url"), first(form, "y")) == (["/a/", "/b/"], "/a/", "")


def test_a_parameter_that_is_not_utf8_is_named() -> None:
    with pytest.raises(HttpError) as caught:
        request(query="url=%ff").parameters()
    assert caught.value.status == 400
    assert list(caught.value.fields or ()) == ["url"]


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8"])
def test_json_is_taken_by_its_media_type(content_type: str) -> None:
    assert request(body=b"{}", content_type=content_type).json() == b"{}"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/json5"},
        {"content-type": "application/json", "content-encoding": "gzip"},
    ],
)
def test_a_body_of_the_wrong_kind_is_refused(headers: dict[str, str]) -> None:
    asked = Request("POST", "/x", "", b"{}", "", headers.get)
    with pytest.raises(HttpError) as caught:
        asked.json()
    assert caught.value.status == 415


def test_both_kinds_of_forms_are_read() -> None:
    plain = request(body=b"a=1&b=%C3%A9", content_type="application/x-www-form-urlencoded")
    body = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--'
    parts = request(body=body, content_type="multipart/form-data; boundary=x")
    assert plain.form() == {"a": ["1"], "b": ["é"]}
    assert parts.form() == {"a": ["1"]}


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"a=1" + b"&" * 256, "application/x-www-form-urlencoded", 400),
        (b"", "multipart/form-data; boundary=x", 400),
        (b"", "multipart/form-data", 415),
        (b"{}", "application/json", 415),
    ],
)
def test_a_form_that_cannot_be_read_is_refused(body: bytes, content_type: str, status: int) -> None:
    with pytest.raises(HttpError) as caught:
        request(body=body, content_type=content_type).form()
    assert caught.value.status == status


TRUSTED = ["unix", "127.0.0.0/8", "10.0.0.0/8", "::1/128"]


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.1", None, "192.0.2.1"),
        ("192.0.2.1", "203.0.113.9", "192.0.2.1"),
        ("127.0.0.1", None, "127.0.0.1"),
        ("127.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("", "203.0.113.9", "203.0.113.9"),
        ("", None, ""),
        ("", "", ""),
        ("::1", "2001:db8::9", "2001:db8::9"),
        ("::ffff:127.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "198.51.100.7, 203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "198.51.100.7, 203.0.113.9, 10.1.2.3", "203.0.113.9"),
        ("127.0.0.1", "198.51.100.7,garbage,10.1.2.3", "10.1.2.3"),
        ("127.0.0.1", "unknown", "127.0.0.1"),
        ("127.0.0.1", "10.0.0.1, 10.0.0.2", "10.0.0.1"),
        ("127.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("127.0.0.1", "[2001:db8::9]:4711", "2001:db8::9"),
        ("127.0.0.1", "[2001:db8::9]", "2001:db8::9"),
        ("127.0.0.1", "203.0.113.9\x00", "127.0.0.1"),
        ("127.0.0.1", ", ".join(["203.0.113.9", *["10.0.0.1"] * 40]), "10.0.0.1"),
    ],
)
def test_the_client_is_the_right_most_address_that_is_not_trusted(
    peer: str, forwarded: str | None, client: str
) -> None:
    asked = Request("GET", "/x", "", b"", peer, {"x-forwarded-for": forwarded}.get)
    assert TrustedProxies(TRUSTED).client(asked) == client


@pytest.mark.parametrize(
    ("peer", "said", "forwarded", "client"),
    [
        ("", "203.0.113.9", None, "203.0.113.9"),
        ("10.1.2.3", "203.0.113.9", None, "203.0.113.9"),
        ("", "203.0.113.9", "198.51.100.7", "203.0.113.9"),  # the client itself wrote that field
        ("", "10.0.0.1", "198.51.100.7", "198.51.100.7"),  # a trusted proxy wrote it
        ("", "", "198.51.100.7", ""),  # the peer speaks for itself
        ("192.0.2.1", "203.0.113.9", None, "192.0.2.1"),  # no trusted proxy wrote it
    ],
)
def test_a_trusted_peer_is_believed_for_whom_it_speaks(
    peer: str, said: str, forwarded: str | None, client: str
) -> None:
    fields = {"x-forwarded-for": forwarded}
    asked = Request("GET", "/x", "", b"", peer, fields.get, said)
    assert TrustedProxies(TRUSTED).client(asked) == client


@pytest.mark.parametrize(
    ("peer", "fields", "client"),
    [
        ("127.0.0.1", {"x-real-ip": "203.0.113.9"}, "203.0.113.9"),
        ("127.0.0.1", {"x-real-ip": "203.0.113.9", "x-forwarded-for": "192.0.2.7"}, "192.0.2.7"),
        ("127.0.0.1", {"x-real-ip": "garbage"}, "127.0.0.1"),
        ("192.0.2.1", {"x-real-ip": "203.0.113.9"}, "192.0.2.1"),
    ],
)
def test_x_real_ip_is_read_where_a_proxy_sends_nothing_else(
    peer: str, fields: dict[str, str], client: str
) -> None:
    asked = Request("GET", "/x", "", b"", peer, fields.get)
    assert TrustedProxies(TRUSTED).client(asked) == client


# A browser sends Sec-Fetch-Site over HTTPS and to its own machine only.
BY_BROWSER = {"sec-fetch-site": "same-origin"}
LOCAL = {"host": "localhost:8080"}


@pytest.mark.parametrize(
    ("peer", "fields", "is_secret"),
    [
        ("127.0.0.1", {"x-forwarded-proto": "https"}, True),
        ("127.0.0.1", {"x-forwarded-proto": "http"}, False),
        ("127.0.0.1", {"x-forwarded-proto": "http", **BY_BROWSER, **LOCAL}, False),
        ("127.0.0.1", BY_BROWSER, True),
        ("127.0.0.1", {}, False),
        ("127.0.0.1", {"host": "c.example"}, False),
        ("127.0.0.1", LOCAL, True),
        ("127.0.0.1", {"host": "[::1]:80"}, True),
        ("127.0.0.1", {**LOCAL, "x-forwarded-for": "203.0.113.9"}, False),
        ("", LOCAL, True),
        ("172.17.0.1", LOCAL, True),  # a container's port
        ("8.8.8.8", LOCAL, False),
        ("203.0.113.9", {"x-forwarded-proto": "https", **BY_BROWSER}, False),
    ],
)
def test_a_request_keeps_its_secrets_over_https_or_on_one_machine(
    peer: str, fields: dict[str, str], is_secret: bool
) -> None:
    asked = Request("GET", "/x", "", b"", peer, fields.get)
    assert TrustedProxies(TRUSTED).keep_secret(asked) == is_secret


@pytest.mark.parametrize("read", [Request.json, Request.form])
def test_a_compressed_body_is_refused_with_the_reason(read: Callable[[Request], object]) -> None:
    fields = {"content-type": "application/json", "content-encoding": "gzip"}
    with pytest.raises(HttpError, match="without Content-Encoding"):
        read(Request("POST", "/x", "", b"", "", fields.get))


def test_a_unix_socket_is_believed_only_where_it_is_trusted() -> None:
    assert TrustedProxies([]).client(request(peer="", x_forwarded_for="203.0.113.9")) == ""


BLOG = Site(name="blog", origins=("https://blog.example", "http://localhost:1313"))
NOTES = Site(name="notes", origins=("https://notes.example",))


@pytest.mark.parametrize(
    "sent",
    ["https://blog.example", "HTTPS://Blog.Example/", "http://localhost:1313"],
)
def test_a_page_of_the_site_may_write(sent: str) -> None:
    headers = CorsPolicy([BLOG, NOTES]).check(request(origin=sent, host="OWN:8080"), "blog")
    assert headers == (("Access-Control-Allow-Origin", sent), ("Vary", "Origin"))


@pytest.mark.parametrize("host", ["own:8080", "evil.example", "EVIL.example", "evil.example:443"])
def test_a_host_becomes_no_origin_that_is_trusted(host: str) -> None:
    """Any client can send any Host, and an answer with its origin could be cached for others."""
    cors = CorsPolicy([BLOG, NOTES])
    for sent in ("http://own:8080", "http://evil.example", "https://evil.example"):
        with suppress(HttpError):
            assert cors.check(request(origin=sent, host=host), "blog") == ()
        asked = request("OPTIONS", origin=sent, host=host, access_control_request_method="POST")
        assert cors.preflight(asked, "POST") == (("Vary", "Origin"),)


def test_our_own_page_may_write_and_needs_no_cors_headers() -> None:
    own = request(origin="http://own:8080", host="OWN:8080")
    assert CorsPolicy([BLOG, NOTES]).check(own, "blog") == ()


def test_what_is_no_browser_may_write() -> None:
    assert CorsPolicy([BLOG]).check(request(), "blog") == ()


@pytest.mark.parametrize(
    "sent",
    [
        "null",
        "",
        "https://evil.example",
        "http://blog.example",
        "https://blog.example:8443",
        "https://notes.example",
        "https://blog.example.evil.example",
    ],
)
def test_a_foreign_page_may_not_write(sent: str) -> None:
    with pytest.raises(HttpError) as caught:
        CorsPolicy([BLOG, NOTES]).check(request(origin=sent, host="own:8080"), "blog")
    assert caught.value.status == 403


def test_foreign_pages_are_not_kept_whole() -> None:
    """Each origin is kept as logged and as parsed: 16 KiB of each would be megabytes."""
    cors = CorsPolicy([BLOG])
    tracemalloc.start()
    try:
        for number in range(500):
            long = f"https://{number}.example/" + "x" * 15_000
            asked = request("OPTIONS", origin=long, access_control_request_method="POST")
            cors.preflight(asked, "POST")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1 << 20


def test_a_foreign_page_is_logged_once_with_what_would_allow_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    origins = CorsPolicy([BLOG])
    with caplog.at_level(logging.WARNING):
        for sent in ["https://evil.example/"] * 3 + [f"https://{n}.example" for n in range(200)]:
            with pytest.raises(HttpError):
                origins.check(request(origin=sent), "blog")
    assert "add 'https://evil.example' to `origins`" in caplog.messages[0]
    assert len(caplog.messages) == 100


@pytest.mark.parametrize("sent", ["null", "file://", "x"])
def test_nobody_is_told_to_allow_a_page_without_an_address(
    caplog: pytest.LogCaptureFixture, sent: str
) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(HttpError):
        CorsPolicy([BLOG]).check(request(origin=sent), "blog")
    [said] = caplog.messages
    assert "Open the blog at one of the `origins`" in said
    assert "add '" not in said


def preflight(sent: str, method: str) -> dict[str, str]:
    asked = request("OPTIONS", origin=sent, access_control_request_method=method)
    return dict(CorsPolicy([BLOG, NOTES]).preflight(asked, "GET, POST"))


def test_a_preflight_tells_a_page_of_any_site_what_it_may() -> None:
    assert preflight("https://notes.example", "POST") == {
        "Access-Control-Allow-Origin": "https://notes.example",
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "content-type, authorization",
        "Access-Control-Max-Age": "86400",
        "Vary": "Origin",
    }


def test_a_preflight_for_a_read_allows_every_page() -> None:
    assert preflight("https://evil.example", "GET")["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("sent", ["https://evil.example", "null", ""])
def test_a_preflight_allows_a_foreign_page_nothing(sent: str) -> None:
    assert preflight(sent, "POST") == {"Vary": "Origin"}


def test_a_refusal_is_json_that_nobody_stores() -> None:
    answer = refusal(HttpError(418, "teapot", "No.", {"a": "b"}, (("Retry-After", "9"),)))
    body = {"error": {"code": "teapot", "message": "No.", "fields": {"a": "b"}}}
    assert (answer.status, json.loads(answer.body), answer.tags) == (418, body, ())
    headers = dict(answer.headers)
    assert (headers["Retry-After"], headers["Access-Control-Expose-Headers"]) == (
        "9",
        "Retry-After",
    )
    assert b"fields" not in refusal(HttpError(404, "not_found", "No.")).body
