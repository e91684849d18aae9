"""All handlers on a real database, without the core: requests go in, responses come out."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.admin.dashboard import Figures
from commentsvc.app import Memory, Parts, build
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.backup.scheduled import ScheduledBackup
from commentsvc.cluster.membership import InstanceState
from commentsvc.comments import queries
from commentsvc.comments.page_urls import Sites
from commentsvc.context import ServiceContext
from commentsvc.db.database import Database
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.settings_rows import sync_settings
from commentsvc.http.messages import Request, Response
from commentsvc.inbox.receiver import MailReceiver
from commentsvc.model import Entry
from commentsvc.monitoring.conditions import Machine
from commentsvc.runtime.settings_watch import RunningParts
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.schema import (
    CommentsSettings,
    DatabaseSettings,
    ModerationSettings,
    Settings,
    Site,
    SpamSettings,
)
from tests.core_server import core_server
from tests.unit.database_fixture import location
from tests.unit.settable_clock import SettableClock

NOW = 1_795_000_000.0  # seconds; a moment in 2026

SETTINGS = Settings(
    moderation=ModerationSettings(policy="suspicious"),
    spam=SpamSettings(rate_limit="off", max_links=2),
    comments=CommentsSettings(author_length=20, message_length=200, list_limit=50),
    sites=(
        Site(name="blog", origins=("https://blog.example",), title="A blog"),
        Site(name="notes"),
    ),
)
FORM = "application/x-www-form-urlencoded"
# The counters of a core that has answered a few requests.
STATS = core_server().stats() | {"hits": 3, "cache_bytes": 7}


class Publisher:
    """Replace the core for live updates: `follow` opens streams, `sent` has what they got."""

    def __init__(self) -> None:
        self.watcher: Callable[[Sequence[str]], None] = lambda tags: None
        self.concerns: Callable[[Sequence[str]], bool] = lambda tags: False
        self.followed: set[str] = set()
        self.sent: list[tuple[str, bytes]] = []
        self.behind = False

    def watch(
        self, watcher: Callable[[Sequence[str]], None], concerns: Callable[[Sequence[str]], bool]
    ) -> None:
        self.watcher, self.concerns = watcher, concerns

    def purge(self, tags: Sequence[str]) -> None:
        self.watcher(tags)

    def is_followed(self, tag: str) -> bool:
        return tag in self.followed

    def publish(self, tag: str, data: bytes) -> bool:
        if not self.behind:
            self.sent.append((tag, data))
        return not self.behind


class Served:
    """The service in this process. `now` and `monotonic` are its clocks, in seconds.

    `routes` are those of the API, `pages` those for moderators.
    """

    def __init__(
        self,
        folder: Path,
        database: Database,
        blog: Path | None,
        memory: Memory,
    ) -> None:
        loaded = memory.in_force.loaded
        settings = loaded.settings
        self.clock = SettableClock(int(NOW * 1_000), int(NOW * 1_000))
        self.purged: list[str] = []
        self.database = database
        sites = Sites(settings.sites, settings.server.public_url, settings.comments.votes)
        keys = [b"key" * 16]
        self.links = SignedLinks(keys)
        self.service = ServiceContext(settings, database, sites, keys, self.clock, loaded)
        self.backups = ScheduledBackup(settings.backup, location(folder), self.clock)
        self.instance: InstanceState | None = None
        self.publisher = Publisher()
        self.machine = Machine(folder, None, self.clock)
        figures = Figures(lambda: STATS, self.backups, lambda: self.instance, self.machine)

        def make(settings: Settings, former: Parts | None) -> Parts:
            service = self.service.with_settings(settings)
            parts = build(service, self.publisher, memory, figures, blog=blog)
            memory.names.take(settings)
            if former:
                parts.go_on(former)
            return parts

        self.running = RunningParts(memory.in_force, database, make)
        self.parts = parts = self.running.parts
        self.submissions = parts.submissions
        self.outbox = parts.outbox
        self.views = parts.views
        self.live = parts.stream
        self.live._below = lambda most: most - 1  # in place of chance
        self.programs = parts.programs
        self.routes = parts.routes
        self.pages = parts.pages
        self.router = parts.router

    @property
    def receiver(self) -> MailReceiver:
        assert self.parts.receiver, "inbox.address is set"
        return self.parts.receiver

    @property
    def now(self) -> float:
        return self.clock.now

    @now.setter
    def now(self, now: float) -> None:
        self.clock.now = now

    @property
    def monotonic(self) -> float:
        return self.clock.elapsed / 1_000

    @monotonic.setter
    def monotonic(self, seconds: float) -> None:
        self.clock.elapsed = round(seconds * 1_000)

    def ask(
        self, method: str, target: str, body: bytes = b"", peer: str = "192.0.2.1", **headers: str
    ) -> Response:
        """Send one request and wait for its answer."""
        return asyncio.run(self._answer(_request(method, target, body, peer, headers)))

    async def _answer(self, request: Request) -> Response:
        self.running.renew()
        answer = self.running.parts.router.handle(request)
        response = answer if isinstance(answer, Response) else await answer
        if response.pieces is None:
            return response
        whole = [response.body, *[piece async for piece in response.pieces]]
        return replace(response, body=b"".join(whole), pieces=None)

    def get(self, target: str) -> Response:
        """Send a GET request for a target."""
        return self.ask("GET", target)

    def post(self, target: str, fields: object, **headers: str) -> Response:
        """Send a POST request with the fields as JSON."""
        headers.setdefault("content_type", "application/json")
        return self.ask("POST", target, json.dumps(fields).encode(), **headers)

    def submit(self, message: str = "Hi", url: str = "/p/", **fields: object) -> Response:
        """Submit a comment through the API."""
        return self.post(
            "/api/comments", {"url": url, "author": "Ann", "message": message} | fields
        )

    def submit_at_once(self, *submissions: dict[str, object]) -> list[Response]:
        """Submit several comments within one iteration of the event loop."""
        headers = {"content_type": "application/json"}
        requests = [
            _request("POST", "/api/comments", json.dumps(fields).encode(), "192.0.2.1", headers)
            for fields in submissions
        ]

        async def answers() -> list[Response]:
            return await asyncio.gather(*map(self._answer, requests))

        return asyncio.run(answers())

    def form(self, target: str, body: str, **headers: str) -> Response:
        """Send a POST request with an urlencoded form."""
        return self.ask("POST", target, body.encode(), content_type=FORM, **headers)

    def stored(self) -> list[Entry]:
        """Return all stored comments, newest first."""
        return self.database.read_now(queries.listing, None, 1_000)


def _request(
    method: str, target: str, body: bytes, peer: str, headers: Mapping[str, str]
) -> Request:
    path, _, query = target.partition("?")
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method, path, query, body, peer, lambda name: fields.get(name.lower()))


@contextlib.contextmanager
def served(
    folder: Path,
    settings: Settings = SETTINGS,
    blog: Path | None = None,
    locations: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> Iterator[Served]:
    """Open the service on a new database in `folder`."""
    purged: list[str] = []
    memory = Memory.of(LoadedSettings(settings, locations))

    def purge(tags: Sequence[str]) -> None:
        memory.forget(tags)
        purged.extend(tags)

    database = Database(location(folder), DatabaseSettings(synchronous="normal"), purge=purge)
    database.open()
    try:
        database.write_now(sync_settings, settings)
        service = Served(folder, database, blog, memory)
        service.purged = purged
        yield service
    finally:
        database.close_now()


def data(response: Response) -> Any:  # Any: JSON of any shape, which tests look into
    """Return the decoded JSON of an answer."""
    assert dict(response.headers)["Content-Type"] == "application/json"
    return json.loads(response.body)


def faults(response: Response) -> list[str]:
    """Return the fields that an error names."""
    error = data(response)["error"]
    assert error["code"]
    assert error["message"].endswith(".")
    return sorted(error.get("fields", {}))


def waiting(service: Served) -> list[OutboxRow]:
    """Return the rows of the outbox that wait to be sent, oldest first."""
    found = service.database.read_now(outbox.listing, "queued", 1 << 62, 100)
    return found[::-1]
