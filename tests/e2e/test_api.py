"""The API over HTTP: what is cached, what a submission invalidates, and what is refused."""

import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.program import PATIENCE, Answer, Service, command, serving, wait_for

pytestmark = pytest.mark.forked

OPEN = {
    "COMMENTSVC_MODERATION_POLICY": "none",
    "COMMENTSVC_SPAM_RATE_LIMIT": "off",
    "COMMENTSVC_SITE_ORIGINS": "https://blog.example",
    "COMMENTSVC_SITE_REACTIONS": "👍,❤️",
}


@pytest.fixture(scope="module")
def service(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("api") / "data", OPEN) as running:
        yield running


def get(service: Service, target: str) -> Answer:
    answer = service.request("GET", target)
    assert answer.status == 200, answer
    return answer


def counters(service: Service) -> dict[str, int]:
    """Return the core's counters; the request itself counts as a miss."""
    text = get(service, "/metrics").body.decode()
    found = re.findall(r"^commentsvc_core_(\w+)_total (\S+)$", text, re.MULTILINE)
    return {name: int(float(value)) for name, value in found}


def exchange(service: Service, request: bytes) -> bytes:
    """Send raw bytes on a new connection and read until it ends."""
    with socket.create_connection(("127.0.0.1", service.port), PATIENCE) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


@pytest.mark.parametrize(
    ("status", "head"),
    [
        (400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n"),
        (404, "GET /nothing HTTP/1.1\r\nHost: h\r\n"),
        (405, "GET /embed/actions HTTP/1.1\r\nHost: h\r\n"),
        (413, "POST /embed/thread HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n"),
        (414, f"GET /{'a' * 20_000} HTTP/1.1\r\nHost: h\r\n"),
        (417, "GET / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n"),
        (431, f"GET / HTTP/1.1\r\nHost: h\r\nCookie: {'a' * 20_000}\r\n"),
        (501, "BREW / HTTP/1.1\r\nHost: h\r\n"),
        (505, "GET / HTTP/1.9\r\nHost: h\r\n"),
    ],
)
def test_an_error_is_a_page_for_browsers_and_json_for_programs(
    service: Service, status: int, head: str
) -> None:
    for fields, is_page in (
        ("Accept: text/html,*/*;q=0.8\r\nSec-Fetch-Mode: navigate\r\n", True),
        ("Accept: text/html,*/*;q=0.8\r\n", True),
        ("Accept: text/html\r\nSec-Fetch-Mode: cors\r\n", False),
        ("Accept: */*\r\n", False),
        ("", False),
    ):
        sent = f"{head}{fields}Connection: close\r\n\r\n".encode()
        answer = exchange(service, sent).decode()
        assert answer.startswith(f"HTTP/1.1 {status} "), answer
        assert ('href="https://blog.example/"' in answer) is is_page
        assert ('{"error":{"code":' in answer) is not is_page
        assert "\r\nCache-Control: no-store\r\n" in answer


def test_the_metrics_tell_of_refusals_ends_and_times(service: Service) -> None:
    assert exchange(service, b"BREW / HTTP/1.1\r\nHost: h\r\n\r\n").startswith(b"HTTP/1.1 501 ")
    text = get(service, "/metrics").body.decode()
    assert re.search(r'^commentsvc_core_refused_total\{status="501"\} [1-9]', text, re.M)
    assert re.search(r'^commentsvc_core_refused_total\{status="408"\} 0.0$', text, re.M)
    assert re.search(r'^commentsvc_core_closed_total\{reason="answered"\} [1-9]', text, re.M)
    assert re.search(r'^commentsvc_core_miss_duration_seconds_bucket\{le="0.000064"\} ', text, re.M)


READS = [
    "/api/comments/count?url=/stored/",
    "/api/comments/count",
    "/api/comments/counts?" + "&".join(f"url=/stored/{n}/" for n in range(100)),
    "/api/comments/counts?latest=yes&popular=day&popular=year&reactions=yes&url=/stored/",
    "/api/comments?url=/stored/&sort=newest&limit=5",
    "/feed.atom",
    "/feed.atom?url=/stored/",
    "/feed.rss?url=/stored/",
    "/feed.json",
    "/embed/thread?url=/stored/",
    "/static/count.js",
    "/openapi.json",
]


@pytest.mark.parametrize("target", READS)
def test_a_public_read_is_answered_without_python_the_second_time(
    engine: str, service: Service, target: str
) -> None:
    if target != "/openapi.json":
        target += ("&" if "?" in target else "?") + "site=blog"
    before = counters(service)
    first = get(service, target)
    between = counters(service)
    second = get(service, target)
    after = counters(service)
    if engine == "postgresql":  # on a busy machine, the lease may end between two requests

        def is_hit() -> bool:
            nonlocal second, between, after
            between, second, after = counters(service), get(service, target), counters(service)
            return after["hits"] > between["hits"]

        wait_for(is_hit, "a hit")
    else:
        assert (between["hits"], between["misses"]) == (before["hits"], before["misses"] + 2)
    assert (after["hits"], after["misses"]) == (between["hits"] + 1, between["misses"] + 1)
    assert second.body == first.body
    assert second.headers["ETag"] == first.headers["ETag"]
    assert second.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("target", READS)
def test_a_public_read_is_not_sent_again_to_who_has_it(service: Service, target: str) -> None:
    first = get(service, target)
    again = service.request("GET", target, If_None_Match=first.headers["ETag"])
    assert (again.status, again.body) == (304, b"")
    head = service.request("HEAD", target)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(first.body))


def test_a_shown_comment_is_at_once_in_every_answer(service: Service) -> None:
    targets = [
        "/api/comments/count?url=/now/",
        "/api/comments/count",
        "/api/comments/counts?url=/other/&url=/now/",
        "/api/comments/counts?latest=yes",
        "/api/comments/counts?popular=week",
        "/api/comments?url=//now/index.html",
        "/feed.atom",
        "/feed.atom?url=/now/",
        "/feed.rss",
        "/feed.json?url=/now/",
        "/embed/thread?url=https://blog.example/now/",
    ]
    before = [get(service, target).body for target in targets]
    answer = service.submit("/now/?utm_source=mail", "*Hi*")
    assert answer.status == 201
    after = [get(service, target).body for target in targets]
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert json.loads(after[5])["data"] == [answer.json()["comment"]]


def test_a_reaction_is_at_once_in_every_answer(service: Service) -> None:
    targets = [
        "/api/comments/counts?reactions=yes&url=/other/&url=/liked/",
        "/embed/thread?url=/liked/&view=page",
    ]
    for given in (True, False):
        before = [get(service, target).body for target in targets]
        fields = {"url": "/liked/", "emoji": "❤️", "given": given, "reader": "a-random-word"}
        headers = {"Content_Type": "application/json"}
        answer = service.request("POST", "/api/reactions", json.dumps(fields).encode(), **headers)
        assert answer.json() == {"reactions": {"👍": 0, "❤️": int(given)}}
        after = [get(service, target).body for target in targets]
        assert all(old != new for old, new in zip(before, after, strict=True))


def test_a_comment_that_waits_is_shown_once_it_is_approved(
    data: Path, start: Callable[..., Service]
) -> None:
    service = start(data)
    answer = service.submit("/p/", "Hi")
    assert (answer.status, service.count("/p/")) == (202, 0)
    assert command("approve", "--data", data, answer.json()["comment"]["id"]).code == 0
    assert service.count("/p/") == 1


def test_a_client_that_is_too_fast_has_to_wait(data: Path, start: Callable[..., Service]) -> None:
    service = start(data, environ={"COMMENTSVC_SPAM_RATE_LIMIT": "2/hour"})
    assert [service.submit("/p/", str(n)).status for n in range(2)] == [202, 202]
    late = service.submit("/p/", "3")
    assert late.status == 429
    assert 0 < int(late.headers["Retry-After"]) <= 1800
    other = service.request(
        "POST",
        "/api/comments",
        b'{"url": "/p/", "author": "Bob", "message": "Hi"}',
        Content_Type="application/json",
        X_Forwarded_For="203.0.113.9",
    )
    assert other.status == 202


@pytest.mark.parametrize(
    ("body", "status", "named"),
    [
        (b'{"url": "/bad/"}', 400, ["author", "message"]),
        (b'{"url": 1, "author": [], "message": "x", "mail": ""}', 400, ["author", "mail", "url"]),
        (b'{"url": "/bad/", "author": "Ann", "message": "x", "parent": 99}', 400, ["parent"]),
        (b'{"url": "/bad/", "author": "A", "message": "%s"}' % (b"x" * 8001), 400, ["message"]),
        (b'{"url": "/bad/", "author": "\xff", "message": "x"}', 400, []),
        (b"\x00\xff", 400, []),
        (b"[" * 100_000, 400, []),
    ],
)
def test_a_faulty_submission_is_told_why_and_not_stored(
    service: Service, body: bytes, status: int, named: list[str]
) -> None:
    answer = service.request("POST", "/api/comments", body, Content_Type="application/json")
    error = answer.json()["error"]
    assert (answer.status, sorted(error.get("fields", {}))) == (status, named)
    assert b"Traceback" not in answer.body
    assert service.count("/bad/") == 0


def test_a_body_over_the_bound_is_refused(service: Service) -> None:
    answer = exchange(
        service,
        b"POST /api/comments HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: 999999\r\nConnection: close\r\n\r\n",
    )
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_url_may_come_in_any_spelling(service: Service) -> None:
    service.submit("/café/", "Hi")
    for spelling in (
        b"/caf%C3%A9/",
        b"%2Fcaf%c3%a9%2F",
        b"//caf%c3%a9/./?utm_source=x",
        b"caf%C3%A9/",
    ):
        request = b"GET /api/comments/count?url=%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        assert exchange(service, request % spelling).endswith(b'\r\n\r\n{"count":1}')


def test_a_query_that_is_not_utf8_is_refused(service: Service) -> None:
    answer = service.request("GET", "/api/comments/count?url=/%ff")
    assert (answer.status, list(answer.json()["error"]["fields"])) == (400, ["url"])


def test_a_page_of_the_blog_may_write_and_a_foreign_one_may_not(service: Service) -> None:
    def ask(method: str, origin: str, **more: str) -> Answer:
        body = b'{"url": "/cors/", "author": "Ann", "message": "Hi"}' if method == "POST" else b""
        return service.request(method, "/api/comments", body, Origin=origin, **more)

    wanted = {"Access_Control_Request_Method": "POST"}
    allowed = ask("OPTIONS", "https://blog.example", **wanted)
    assert allowed.status == 204
    assert allowed.headers["Access-Control-Allow-Origin"] == "https://blog.example"
    assert allowed.headers["Access-Control-Max-Age"] == "86400"
    refused = ask("OPTIONS", "https://evil.example", **wanted)
    assert "Access-Control-Allow-Origin" not in refused.headers
    assert ask("POST", "https://evil.example", Content_Type="application/json").status == 403
    written = ask("POST", "https://blog.example", Content_Type="application/json")
    assert written.status == 201
    assert written.headers["Access-Control-Allow-Origin"] == "https://blog.example"
    assert service.count("/cors/") == 1
    assert "add 'https://evil.example' to `origins`" in service.log.read_text()


def test_a_retry_is_one_comment(service: Service) -> None:
    first, again = (service.submit("/retry/", "Hi", key="0123456789abcdef") for _ in range(2))
    assert first.json()["comment"] == again.json()["comment"]
    assert service.submit("/retry/", "Ho", key="0123456789abcdef").status == 409
    assert service.count("/retry/") == 1


def test_a_form_without_a_script_is_answered_by_a_page(service: Service) -> None:
    form = "application/x-www-form-urlencoded"
    body = b"url=/form/&author=Ann&message=*Hi*&subject="
    thanks = service.request("POST", "/embed/thread", body, Content_Type=form)
    assert (thanks.status, thanks.headers["Content-Type"]) == (201, "text/html; charset=utf-8")
    assert b"<em>Hi</em>" in get(service, "/embed/thread?url=/form/").body
    again = service.request("POST", "/embed/thread", b"url=/form/&author=Ann", Content_Type=form)
    assert again.status == 400
    assert b'value="Ann"' in again.body


def test_health_and_the_document_are_there(service: Service) -> None:
    assert get(service, "/healthz").json() == {"status": "alive"}
    assert get(service, "/readyz").json() == {"status": "ready", "conditions": []}
    assert "/api/comments" in get(service, "/openapi.json").json()["paths"]
    missing = service.request("GET", "/nothing")
    assert (missing.status, missing.json()["error"]["code"]) == (404, "not_found")
    wrong = service.request("DELETE", "/api/ping")
    assert (wrong.status, wrong.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")


def test_a_form_that_is_too_large_is_refused_before_it_is_read(
    data: Path, start: Callable[..., Service]
) -> None:
    """By its Content-Length, or by what has arrived when it is chunked."""
    service = start(data)
    chunked = b"Transfer-Encoding: chunked\r\n\r\n" + 5 * (b"10000\r\n" + bytes(0x10000) + b"\r\n")
    for target in (
        "/api/comments",
        "/embed/thread",
        "/newcomment",
        "/mail/own",
        "/moderation/sign-in",
    ):
        form = "Content-Type: application/x-www-form-urlencoded\r\n"
        head = f"POST {target} HTTP/1.1\r\nHost: h\r\n{form}".encode()
        for rest in (b"Content-Length: 1000000\r\n\r\n", chunked):
            with service.connected() as connection:
                connection.sendall(head + rest)
                assert connection.recv(12) == b"HTTP/1.1 413", target
    assert service.request("GET", "/api/ping").status == 200
