"""Rebuilding a blog: once for many changes, and not for changes that readers cannot see."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.comments import site_rows
from commentsvc.db.database import Database
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery import builds
from commentsvc.delivery.builds import ChangedSites
from commentsvc.delivery.channels import channels
from commentsvc.delivery.webhooks import WebhookRequest
from commentsvc.delivery.worker import OutboxWorker
from commentsvc.model import APPROVED, EVERY_TAG
from commentsvc.moderation import threads
from commentsvc.settings.schema import HooksSettings, Settings, Site
from commentsvc.util.http_client import HttpResponse, SettingsClient
from commentsvc.util.lasting import Lasting
from tests.unit.database_fixture import NOW, add, decide, opened
from tests.unit.settable_clock import SettableClock

URL = "https://builder.example/secret-path"
BLOG = Site(name="blog", origins=("https://blog.example",), build_hooks=(URL,), build_delay=60)
SETTINGS = Settings(sites=(BLOG, Site(name="other")))


class Builder:
    """A service with a database, whose outbox sends to a build hook that may fail."""

    def __init__(self, database: Database, changed: ChangedSites, settings: Settings) -> None:
        self.database = database
        self.status = 200
        self.requests: list[WebhookRequest] = []
        self.clock = SettableClock(NOW)
        self._settings = settings
        self._changed = changed
        by_name = channels(settings, SignedLinks([b"k"]), self.clock, database, Lasting())
        self._worker = OutboxWorker(database, by_name, self.clock)

    async def post(
        self, url: str, body: bytes, headers: dict[str, str], *_: object
    ) -> HttpResponse:
        self.requests.append(WebhookRequest(url, body, headers))
        return HttpResponse(self.status, "no")

    def wait(self, seconds: int) -> int:
        """Let time pass and the loops run; return how many requests there have been so far."""
        self.clock.moment += seconds * 1_000

        async def notice() -> None:
            watching = builds.watch(self._changed, self.database, self._settings, self.clock, 60)
            task = asyncio.create_task(watching)
            await asyncio.sleep(0)
            await self._worker.round()  # runs after what the task has written
            task.cancel()
            for name in self._worker.channels:
                await self._worker.deliver(name)

        asyncio.run(notice())
        return len(self.requests)

    def rows(self) -> list[OutboxRow]:
        return self.database.read_now(outbox.listing, None, 1 << 62, 100)


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Builder]:
    """Return a builder that has been called once, after the start."""
    with built(tmp_path, monkeypatch, SETTINGS) as builder:
        yield builder


@contextmanager
def built(folder: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[Builder]:
    changed = ChangedSites(settings)
    with opened(folder, purge=changed.note) as database:
        database.write_now(site_rows.sync, ["blog", "other"])
        builder = Builder(database, changed, settings)
        monkeypatch.setattr(SettingsClient, "post", builder.post)
        builder.wait(0)
        assert builder.wait(60) == 1
        yield builder


def test_many_changes_are_one_build(builder: Builder) -> None:
    for _ in range(3):
        add(builder.database)
    assert builder.wait(0) == 1
    decide(builder.database, "deleted", 1)
    builder.wait(0)
    assert builder.wait(59) == 1
    assert [row.state for row in builder.rows()] == ["open", "sent"]
    assert builder.wait(1) == 2
    assert builder.wait(600) == 2
    decide(builder.database, "deleted", 2)
    builder.wait(0)
    assert builder.wait(60) == 3


def test_a_build_waits_for_a_pause_but_not_for_good(builder: Builder) -> None:
    waited = 0
    while builder.wait(0) == 1:
        add(builder.database)
        builder.wait(59)
        waited += 59
    assert 600 < waited < 720


@pytest.mark.parametrize(
    "change",
    [
        lambda database: add(database, status="pending"),
        lambda database: add(database, status="spam"),
        lambda database: add(database, site="other"),
    ],
)
def test_what_no_reader_of_the_blog_sees_builds_nothing(
    builder: Builder, change: Callable[[Database], object]
) -> None:
    change(builder.database)
    builder.wait(0)
    assert builder.wait(60) == 1


def test_all_that_readers_see_is_built(builder: Builder) -> None:
    database, count = builder.database, 1
    add(database, status="pending")
    for change in (
        lambda: decide(database, APPROVED, 1),
        lambda: database.write_now(threads.set_title, "blog", "/post/", "A title"),
        lambda: database.write_now(threads.move, "blog", "/post/", "/moved/"),
    ):
        change()
        builder.wait(0)
        count += 1
        assert builder.wait(60) == count


def test_a_builder_that_is_away_is_called_once_when_it_is_back(builder: Builder) -> None:
    builder.status = 503
    for _ in range(20):
        add(builder.database)
        builder.wait(45)
    failed = len(builder.requests)
    builder.status = 200
    builder.wait(6 * 3_600)
    builder.wait(60)
    assert len(builder.requests) - failed <= 2
    assert {row.state for row in builder.rows()} == {"sent"}


def test_the_request_names_the_site_and_is_signed_where_there_is_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, builder: Builder
) -> None:
    [request] = builder.requests
    assert request.url == URL
    event = json.loads(request.body)
    assert (event["type"], event["data"]) == (
        "site.changed",
        {"site": "blog", "page": "https://blog.example"},
    )
    assert sorted(request.headers) == ["Content-Type"]
    [row] = builder.rows()
    assert "secret-path" not in row.channel
    signed = replace(SETTINGS, hooks=HooksSettings(secret="key"))
    (tmp_path / "signed").mkdir()
    with built(tmp_path / "signed", monkeypatch, signed) as other:
        assert "webhook-signature" in other.requests[0].headers


def test_if_it_is_not_known_what_changed_each_site_with_a_hook_has() -> None:
    hooked = Site(name="blog", build_hooks=("https://builds.example/",))
    changed = ChangedSites(Settings(sites=(hooked, Site(name="notes"))))
    changed.take()
    changed.note([EVERY_TAG])
    assert changed.take() == {"blog"}


def test_where_no_site_has_a_hook_nothing_is_watched(tmp_path: Path) -> None:
    settings = Settings(sites=(Site(name="blog"),))
    changed = ChangedSites(settings)
    changed.note(["thread:blog:/post/"])
    assert changed.take() == frozenset()
    with opened(tmp_path) as database:
        asyncio.run(builds.watch(changed, database, settings, SettableClock(NOW)))
