"""Build hooks: requests that start the build of a blog after its comments have changed.

Everything that readers see, and that a build may have put into the pages, has cache tags; so every
purge of a tag of a site means that the site has changed. The first change opens a row of the
outbox, which is sent after nothing has changed for the site's `build_delay`. From then on it is a
message like all others: retried, and listed for moderators.

A change is kept in memory until the next check, a second later. In case of a crash in between, or
of a command that changes comments while no server runs, each start of the server requests a build.
"""

import asyncio
import hashlib
import threading
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from commentsvc import outbox
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseError
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.webhooks import HttpChannel, WebhookRequest, signature
from commentsvc.model import EVERY_TAG, thread_of
from commentsvc.settings.schema import Settings, Site
from commentsvc.util.clock import Clock
from commentsvc.util.http_client import SettingsClient
from commentsvc.util.timestamps import rfc3339

PAUSE: Final = 1.0  # seconds between two checks for changes


class ChangedSites:
    """The sites that have changed since the last check; any thread may add to them."""

    def __init__(self, settings: Settings) -> None:
        """Take the settings; at first, each site with build hooks counts as changed."""
        self._watched = frozenset(site.name for site in settings.sites if site.build_hooks)
        self._changed = set(self._watched)
        self._lock = threading.Lock()

    def note(self, tags: Iterable[str]) -> None:
        """Note the sites of purged tags."""
        if not self._watched:
            return
        sites = {page[0] for tag in tags if (page := thread_of(tag))}
        with self._lock:
            self._changed |= self._watched if EVERY_TAG in tags else sites & self._watched

    def take(self) -> frozenset[str]:
        """Return the names of the sites noted since the last call."""
        with self._lock:
            taken = frozenset(self._changed)
            self._changed.clear()
        return taken


class _Hook(NamedTuple):
    site: Site
    url: str

    @property
    def channel(self) -> str:
        """The name of its channel, without the path, which may be a secret."""
        digest = hashlib.sha256(self.url.encode()).hexdigest()[:6]
        return f"build {self.site.name} {urlsplit(self.url).hostname} {digest}"


def _hooks(settings: Settings) -> Iterator[_Hook]:
    for site in settings.sites:
        for url in site.build_hooks:
            yield _Hook(site, url)


class BuildHook(HttpChannel):
    """A build that a POST request starts."""

    def __init__(self, settings: Settings, hook: _Hook, clock: Clock) -> None:
        super().__init__(SettingsClient(settings.hooks.allowed_networks))
        self._hook = hook
        self._secret = settings.hooks.secret
        self._clock = clock

    def compose(self, _snapshot: Snapshot, row: OutboxRow) -> WebhookRequest:
        site = self._hook.site
        event = {
            "type": "site.changed",
            "timestamp": rfc3339(row.created_at),
            "data": {"site": site.name, "page": site.origin},
        }
        body = msgspec.json.encode(event)
        headers = {"Content-Type": "application/json"}
        if self._secret:
            headers |= signature(self._secret, row, self._clock.now_ms() // 1_000, body)
        return WebhookRequest(self._hook.url, body, headers)


def channels(settings: Settings, clock: Clock) -> dict[str, BuildHook]:
    """Return the channels of the outbox that start builds, by name."""
    return {hook.channel: BuildHook(settings, hook, clock) for hook in _hooks(settings)}


async def watch(
    changed: ChangedSites,
    database: Database,
    settings: Settings,
    clock: Clock,
    pause: float = PAUSE,
) -> None:
    """Queue builds of changed sites until cancelled; retry while the database is full or busy."""
    hooks = list(_hooks(settings))
    waiting: set[str] = set()
    while hooks:
        waiting |= changed.take()
        delays = [
            (hook.channel, 1_000 * hook.site.build_delay)
            for hook in hooks
            if hook.site.name in waiting
        ]
        try:
            if delays:
                await database.write(outbox.request_builds, delays, clock.now_ms())
            waiting.clear()
        except DatabaseError:
            pass  # submissions fail too, and that is logged
        await asyncio.sleep(pause)
