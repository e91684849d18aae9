"""Avatars: the service fetches pictures for readers, here from a fake of Gravatar."""

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import msgspec
import pytest

from commentsvc.api import avatars
from commentsvc.api.avatars import AvatarQuery, Avatars
from commentsvc.comments.page_urls import Sites
from commentsvc.comments.submission import avatar
from commentsvc.http.messages import Request, Response
from commentsvc.settings.schema import HooksSettings, Settings, Site
from commentsvc.util.http_client import SettingsClient
from commentsvc.util.lasting import Lasting
from tests.background import background
from tests.unit.app_fixture import SETTINGS, Served, data, served
from tests.unit.settable_clock import SettableClock

ANN = avatar("Ann@Blog.Example")
TARGET = f"/api/avatar/{ANN}"
PATIENCE = 120.0  # seconds
PNG = b"\x89PNG and so on"


class Gallery(ThreadingHTTPServer):
    """Answers with `body` as `type` with `status`, and records the requests."""

    status, type, body = 200, "image/png; charset=x", PNG

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    server: Gallery

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(self.server.status)
        self.send_header("Content-Type", self.server.type)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Do not log."""


@pytest.fixture
def gallery() -> Iterator[Gallery]:
    with background(Gallery()) as server:
        yield server


def settings(gallery: Gallery, networks: tuple[str, ...] = ("127.0.0.0/8",)) -> Settings:
    """Return settings with two sites, the second of which shows avatars."""
    pictures = f"http://127.0.0.1:{gallery.server_port}/avatar/"
    sites = (Site(name="blog"), Site(name="notes", avatar_url=pictures))
    return msgspec.structs.replace(
        SETTINGS, sites=sites, hooks=HooksSettings(allowed_networks=networks)
    )


@pytest.fixture
def service(tmp_path: Path, gallery: Gallery) -> Iterator[Served]:
    with served(tmp_path, settings(gallery)) as running:
        yield running


def ask(service: Served, target: str = f"{TARGET}?site=notes") -> Response:
    return service.get(target)


def test_a_picture_comes_by_way_of_us(service: Served, gallery: Gallery) -> None:
    answer = ask(service)
    fields = dict(answer.headers)
    assert (answer.status, answer.body, answer.tags) == (200, PNG, ())
    assert (fields["Content-Type"], fields["X-Content-Type-Options"]) == ("image/png", "nosniff")
    assert fields["Cache-Control"] == "public, max-age=86400"
    assert "sandbox" in fields["Content-Security-Policy"]
    assert gallery.asked == [f"/avatar/{ANN}?d=404&s=96"], "of the author a digest alone is told"


def test_who_cannot_draw_a_picture_gets_a_neutral_one(service: Served, gallery: Gallery) -> None:
    assert ask(service, f"{TARGET}?site=notes&fallback=1").body == PNG
    gallery.status = 404
    for target in (f"{avatar('bob@x.example')}?site=notes", "0?site=notes", f"{ANN}?site=blog"):
        answer = ask(service, f"/api/avatar/{target}&fallback=1")
        fields = dict(answer.headers)
        assert (answer.status, fields["Content-Type"]) == (200, "image/svg+xml"), target
        assert fields["Cache-Control"] == "public, max-age=300", "there may be a picture soon"
        assert "sandbox" in fields["Content-Security-Policy"]
    assert len(gallery.asked) == 2
    assert ask(service, f"{TARGET}?site=notes&fallback=yes").status == 400
    for target in ("x", ANN[:-1], "00", ""):
        assert ask(service, f"/api/avatar/{target}?site=notes&fallback=1").status == 404, target
    assert ask(service, "/api/avatar/0?site=notes").status == 404


def test_a_picture_is_asked_for_once_a_day(service: Served, gallery: Gallery) -> None:
    for status in (200, 404):
        gallery.status = status
        service.monotonic += avatars.KEPT_MS / 1_000
        assert [ask(service).status for _ in range(3)] == [status] * 3
    assert len(gallery.asked) == 2


def test_after_a_failure_nobody_is_asked_for_a_while(service: Served, gallery: Gallery) -> None:
    gallery.status = 500
    assert [ask(service).status for _ in range(3)] == [404] * 3
    gallery.status = 200
    service.monotonic += avatars.PAUSE_MS / 1_000
    assert ask(service).status == 200
    assert len(gallery.asked) == 2


NOTES: Final = AvatarQuery(site="notes")


def test_what_is_kept_waits_for_no_fetch(gallery: Gallery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: eight fetches that hung delayed all pictures."""

    def wanted(name: str) -> Request:
        return Request("GET", f"{avatars.PREFIX}{name}", "", b"", "", lambda _: None)

    async def hang(*_: object) -> None:
        await asyncio.Event().wait()

    async def ask_beside_hanging_fetches() -> Response:
        given = settings(gallery)
        pictures = Avatars(given, Sites(given.sites), SettableClock(0), Lasting())
        await pictures.picture(wanted(ANN), NOTES)
        monkeypatch.setattr(SettingsClient, "get", hang)
        others = [pictures.picture(wanted(f"{n:032x}"), NOTES) for n in range(avatars.AT_ONCE)]
        hanging = [asyncio.create_task(other) for other in others]
        await asyncio.sleep(0)
        try:
            return await asyncio.wait_for(pictures.picture(wanted(ANN), NOTES), PATIENCE)
        finally:
            for task in hanging:
                task.cancel()

    assert asyncio.run(ask_beside_hanging_fetches()).body == PNG


def test_only_pictures_of_a_bounded_size_are_taken(service: Served, gallery: Gallery) -> None:
    for wrong in ("text/html", "image/svg+xml", ""):
        gallery.type = wrong
        service.monotonic += avatars.KEPT_MS / 1_000
        assert ask(service).status == 404, wrong
    gallery.type = "image/jpeg"
    for size, status in ((avatars.BYTES, 200), (avatars.BYTES + 1, 404)):
        gallery.body = b"x" * size
        service.monotonic += avatars.KEPT_MS / 1_000
        assert ask(service).status == status


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (TARGET, 404),  # a site without avatars
        (f"{TARGET}?site=other", 400),
        (f"/api/avatar/{ANN[:-1]}?site=notes", 404),
        (f"/api/avatar/{ANN}/../x?site=notes", 404),
        (f"/api/avatar/{ANN.upper()}?site=notes", 404),
        ("/api/avatar/..%2f..%2fx?site=notes", 404),
    ],
)
def test_nothing_else_is_fetched(
    service: Served, gallery: Gallery, target: str, status: int
) -> None:
    assert ask(service, target).status == status
    assert gallery.asked == []


def test_a_private_address_is_not_reached_unless_it_may_be(
    tmp_path: Path, gallery: Gallery
) -> None:
    with served(tmp_path, settings(gallery, networks=())) as service:
        assert ask(service).status == 404
    assert gallery.asked == []


def test_fetches_are_limited_and_so_is_what_is_kept(
    tmp_path: Path, gallery: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(avatars, "KEPT", 2)
    monkeypatch.setattr(avatars, "RATE", "9/minute")
    with served(tmp_path, settings(gallery)) as service:
        for number in (0, 1, 2, 1, 2, 0):
            ask(service, f"/api/avatar/{number:032x}?site=notes")
        assert len(gallery.asked) == 4
        statuses = [ask(service, f"/api/avatar/{n:032x}?site=notes").status for n in range(9, 19)]
    assert statuses == [200] * 5 + [404] * 5


def test_one_network_leaves_fetches_to_others(
    tmp_path: Path, gallery: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(avatars, "RATE", "9/minute")
    monkeypatch.setattr(avatars, "NETWORK_RATE", "5/minute")
    with served(tmp_path, settings(gallery)) as service:
        made_up = [f"/api/avatar/{number:032x}?site=notes" for number in range(20)]
        assert [ask(service, target).status for target in made_up].count(200) == 5
        picture = f"{TARGET}?site=notes"
        assert service.ask("GET", picture, peer="198.51.100.1").status == 200
        assert ask(service, picture).status == 200, "what is cached costs nothing"


def test_a_list_names_the_pictures_of_a_site_that_has_some(service: Served) -> None:
    for site in ("blog", "notes"):
        for email in ("Ann@Blog.Example", ""):
            sent = {"url": "/p/", "author": "Ann", "message": f"Hi {email}", "email": email}
            assert service.post(f"/api/comments?site={site}", sent).status == 201
    shown = [
        [item.get("picture") for item in data(service.get(f"/api/comments?url=/p/{site}"))["data"]]
        for site in ("", "&site=notes")
    ]
    assert shown == [[None, None], [f"api/avatar/{ANN}?site=notes", None]]


def test_what_is_no_digest_names_no_picture(service: Served) -> None:
    body = "url=/p/&author=Ann&message=Hi&email=..%2f..%2fx"
    assert service.form("/newcomment?site=notes", body).status in (302, 400)
    listed = data(service.get("/api/comments?url=/p/&site=notes"))["data"]
    assert not any("picture" in item for item in listed)
