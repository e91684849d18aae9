"""Health checks, metrics, and static files, which are found by exact name only."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.api.static_files import TAG, blog_paths
from commentsvc.db.errors import DatabaseBusy, DatabaseFull
from commentsvc.http.messages import Response
from commentsvc.settings.schema import BackupSettings, ServerSettings
from tests.e2e.program import holding_lock
from tests.unit.app_fixture import NOW, SETTINGS, Served, data, served
from tests.unit.database_fixture import connected
from tests.unit.mail_server import mail_settings


@pytest.fixture
def blog(tmp_path: Path) -> Path:
    root = tmp_path / "public"
    for name, text in {
        "index.html": "home",
        "p/index.html": "a post",
        "café/index.html": "un café",
        "main.css": "a {}",
        "api/ping": "hidden",
        "notes": "?",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "secret.txt").write_text("secret")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "inside.css").symlink_to(root / "main.css")
    return root


@pytest.fixture
def service(tmp_path: Path, blog: Path) -> Iterator[Served]:
    with served(tmp_path, blog=blog) as running:
        yield running


def monitored(service: Served, path: str, peer: str = "127.0.0.1", **headers: str) -> Response:
    return service.ask("GET", path, b"", peer, **headers)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_the_public_does_not_see_health_or_metrics(service: Served, path: str) -> None:
    assert monitored(service, path).status == 200
    assert monitored(service, path, peer="").status == 200
    assert monitored(service, path, peer="192.0.2.1").status == 404
    for peer in ("", "127.0.0.1", "::1"):  # the addresses that a proxy on this machine has
        for client in ("192.0.2.1", "127.0.0.1", "::1", "unknown"):
            assert monitored(service, path, peer, x_forwarded_for=client).status == 404
            assert monitored(service, path, peer, x_real_ip=client).status == 404


def test_a_network_that_monitors_may_come_through_a_proxy(tmp_path: Path) -> None:
    server = replace(SETTINGS.server, monitoring_networks=("10.0.0.0/8",))
    with served(tmp_path, replace(SETTINGS, server=server)) as service:
        assert monitored(service, "/metrics", peer="10.0.0.9").status == 200
        assert monitored(service, "/metrics", x_forwarded_for="10.0.0.9").status == 200
        assert monitored(service, "/metrics", x_forwarded_for="192.0.2.1").status == 404
        assert monitored(service, "/metrics").status == 200  # this machine may read them, as before


def test_a_running_service_is_alive_and_ready(service: Served) -> None:
    for path in ("/healthz", "/readyz"):
        answer = monitored(service, path)
        assert (answer.status, answer.tags) == (200, ())
        assert dict(answer.headers)["Cache-Control"] == "no-store"


def test_a_service_without_its_database_is_alive_but_not_ready(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_work: object) -> None:
        raise DatabaseBusy("x")

    monkeypatch.setattr(service.database, "read_now", fail)
    assert (monitored(service, "/healthz").status, monitored(service, "/readyz").status) == (
        200,
        503,
    )


def test_a_service_that_cannot_store_is_not_ready_until_it_can(
    service: Served, tmp_path: Path
) -> None:
    service.database.write_health.failed(DatabaseFull("the disk is full"))
    metrics = monitored(service, "/metrics").body
    assert b"commentsvc_database_failing 1.0" in metrics
    assert b"commentsvc_database_failures_total 1.0" in metrics
    with closing(connected(tmp_path)) as other, holding_lock(other):
        assert monitored(service, "/readyz").status == 503
    assert monitored(service, "/readyz").status == 200
    assert b"commentsvc_database_failing 0.0" in monitored(service, "/metrics").body


def test_the_metrics_tell_of_the_core_and_the_process(service: Served) -> None:
    answer = monitored(service, "/metrics")
    text = answer.body.decode()
    assert "# TYPE commentsvc_core_hits_total counter\ncommentsvc_core_hits_total 3.0\n" in text
    assert "# TYPE commentsvc_core_cache_bytes gauge\ncommentsvc_core_cache_bytes 7.0\n" in text
    assert "process_resident_memory_bytes" in text
    assert answer.tags == ()


def test_the_metrics_tell_of_the_outbox(tmp_path: Path) -> None:
    settings = replace(SETTINGS, server=ServerSettings(public_url="https://c.example"))
    with served(tmp_path, replace(settings, mail=mail_settings(25))) as service:
        service.submit()
        asyncio.run(service.outbox.round())
        service.outbox.sent["mail"] += 2
        lines = monitored(service, "/metrics").body.decode().splitlines()
    start, end = "commentsvc_outbox_", '{channel="mail"}'
    values = dict(line.removeprefix(start).split(" ") for line in lines if line.startswith(start))
    assert {name.removesuffix(end): float(value) for name, value in values.items()} == {
        "sent_total": 2,
        "errors_total": 0,
        "queued": 1,
        "failed": 0,
        "oldest_timestamp_seconds": NOW,
        "error_timestamp_seconds": 0,
    }


def test_the_metrics_tell_of_backups_where_they_are_made(tmp_path: Path, service: Served) -> None:
    assert "commentsvc_backup" not in monitored(service, "/metrics").body.decode()
    kept = BackupSettings(directory=str(tmp_path / "kept"))
    with served(tmp_path, replace(SETTINGS, backup=kept)) as backing:
        text = monitored(backing, "/metrics").body.decode()
        assert "\ncommentsvc_backup_timestamp_seconds 0.0\n" in text
        backing.backups.round()
        text = monitored(backing, "/metrics").body.decode()
    assert "\ncommentsvc_backup_timestamp_seconds 1.795e+09\n" in text
    assert "\ncommentsvc_backup_failing 0.0\n" in text
    assert "\ncommentsvc_backup_failures_total 0.0\n" in text


def test_who_asks_is_told_what_he_is_taken_for(service: Served) -> None:
    fields = {"x-forwarded-for": "203.0.113.9", "host": "c.example"}
    answer = service.ask("GET", "/api/client", b"", "127.0.0.1", **fields)
    assert data(answer) == {
        "address": "203.0.113.9",
        "host": "c.example",
        "time": "2026-11-18T11:06:40Z",
    }
    headers = dict(answer.headers)
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers
    client = data(service.ask("GET", "/api/client", b"", "192.0.2.1", **fields))
    assert client["address"] == "192.0.2.1"  # not a trusted proxy


def test_the_widget_is_sent_as_what_it_is(service: Served) -> None:
    types = {"count.js": "text/javascript", "comments.css": "text/css; charset=utf-8"}
    for name, media_type in types.items():
        answer = service.get("/static/" + name)
        assert (answer.status, answer.tags) == (200, TAG)
        assert dict(answer.headers)["Content-Type"] == media_type
        assert dict(answer.headers)["X-Content-Type-Options"] == "nosniff"
        assert answer.body
    assert service.get("/static/%63ount.js").status == 200


@pytest.mark.parametrize(
    ("name", "tag"),
    [("de", "de"), ("de-AT", "de"), ("pt_BR", "pt"), ("sw", "en"), ("", "en"), ("%7B a/b", "en")],
)
def test_the_widget_gets_its_texts_whatever_language_it_asks_for(
    service: Served, name: str, tag: str
) -> None:
    answer = service.get(f"/static/locales/{name}.json")
    assert (answer.status, json.loads(answer.body)["tag"]) == (200, tag)
    assert dict(answer.headers)["Content-Type"] == "application/json"
    tools = service.get(f"/static/locales/{name}-tools.json")
    assert json.loads(tools.body)["bold"] == {"de": "Fett", "pt": "Negrito", "en": "Bold"}[tag]


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/none.js",
        "/static/../api.py",
        "/static/%2e%2e/api.py",
        "/static/..%2fapi.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/count.js/",
        "/static/count.js%00",
        "/static/COUNT.js",
    ],
)
def test_nothing_but_the_widget_is_sent(service: Served, path: str) -> None:
    answer = monitored(service, path)
    assert (answer.status, answer.tags) == (404, ())


def test_a_demo_blog_is_served_below_our_own_paths(service: Served) -> None:
    for path, body in [
        ("/", b"home"),
        ("/index.html", b"home"),
        ("/p/", b"a post"),
        ("/caf%C3%A9/", "un café".encode()),
        ("/main.css", b"a {}"),
        ("/inside.css", b"a {}"),
        ("/notes", b"?"),
        ("/api/ping", b"OK"),
    ]:
        assert monitored(service, path).body == body
    assert dict(service.get("/notes").headers)["Content-Type"] == "application/octet-stream"


def test_a_folder_without_its_slash_is_redirected(service: Served) -> None:
    answer = service.get("/caf%C3%A9")
    assert (answer.status, dict(answer.headers)["Location"]) == (301, "/caf%C3%A9/")


@pytest.mark.parametrize("path", ["/q/", "/link.txt", "/../secret.txt", "/%2e%2e/secret.txt", "/x"])
def test_nothing_outside_the_blog_is_sent(service: Served, path: str) -> None:
    assert monitored(service, path).status == 404


def test_a_page_that_vanished_is_not_found(service: Served, blog: Path) -> None:
    (blog / "p/index.html").unlink()
    assert service.get("/p/").status == 404


def test_who_opens_the_bare_root_is_told_in_html_what_it_is(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        answer = service.get("/")
        assert answer.status == 200
        assert dict(answer.headers)["Content-Type"] == "text/html; charset=utf-8"
        html = answer.body.decode()
        assert '<li><a href="https://blog.example/">A blog</a></li>' in html
        assert "<li>notes</li>" in html
        assert "Kommentardienst" in service.get("/?lang=de").body.decode()
        assert '<a href="moderation">' in html
        assert service.get("/nothing").status == 404


def test_a_folder_may_be_named_through_a_link(tmp_path: Path, blog: Path) -> None:
    (tmp_path / "link").symlink_to(blog)
    assert "/p/" in blog_paths(tmp_path / "link")


def test_the_document_is_stored(service: Served) -> None:
    answer = service.get("/openapi.json")
    assert (data(answer)["openapi"], answer.tags) == ("3.1.0", TAG)
