"""The parts of the running service, made anew whenever other settings are in force.

Each part keeps the settings with which it was made. So after a change all of them are made again,
which takes about 10 ms, and take the place of the former ones between two requests. The transaction
that changes a setting purges SETTINGS_TAG, here and, by the channel, on the other instances: the
next request on each of them is answered with the new settings, as after a change of bans. What has
begun before goes on with the old ones; its answer is not cached, since all answers were purged.

If the values cannot be read, the next request tries again. If the parts cannot be made, since a
file that the settings name is gone, the former ones stay, and a request tries again after RETRY_MS.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Generic, Protocol, TypeVar

from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseError
from commentsvc.http.messages import Request, Response
from commentsvc.model import SETTINGS_TAG, is_purged
from commentsvc.moderation import stored_settings
from commentsvc.settings import everyday
from commentsvc.settings.everyday import Key
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.parser import SettingsError
from commentsvc.settings.schema import Settings
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.i18n import Text

_log = logging.getLogger(__name__)

RETRY_MS: Final = 5_000


class Handler(Protocol):
    """What answers requests."""

    def handle(self, request: Request) -> Response | Awaitable[Response]:
        """Answer a request now or later."""


class Handling(Protocol):
    """The parts of a service."""

    @property
    def handler(self) -> Handler:
        """What answers requests."""


P = TypeVar("P", bound=Handling)


class SettingsInForce:
    """The settings of the file, and over its defaults those that are stored."""

    def __init__(self, loaded: LoadedSettings) -> None:
        self.settings = loaded.settings
        self.loaded = loaded
        self.changed: Callable[[], None] = lambda: None  # called by any thread
        self._stale = True
        self._left_out: Mapping[Key, Text] = {}

    def forget(self, tags: Sequence[str]) -> None:
        """Mark the settings as stale if `tags` mean SETTINGS_TAG; any thread may call this."""
        if is_purged(SETTINGS_TAG, tags):
            self._stale = True
            self.changed()

    def renew(
        self, database: Database, take: Callable[[Settings], None] = lambda settings: None
    ) -> None:
        """Read the values if they are stale. Settings that differ are in force after `take`.

        Values that are left out are logged. Raise DatabaseError, SettingsError if the server must
        not run without one of them, and what `take` raises; then the values stay stale.
        """
        if not self._stale:
            return
        self._stale = False  # before the read, so that a change during it makes them stale again
        try:
            found = everyday.apply(self.loaded, database.read_now(stored_settings.values))
            if found.refusals:
                raise SettingsError(found.refusals)
            if found.settings != self.settings:
                take(found.settings)
        except BaseException:
            self._stale = True
            raise
        self.settings = found.settings
        self._say(found.left_out)

    def _say(self, left_out: Mapping[Key, Text]) -> None:
        for key, reason in left_out.items():
            if self._left_out.get(key) != reason:
                name = ": ".join(filter(None, key))
                _log.warning(
                    "%s, changed on the moderation pages, is not in force: %s", name, reason
                )
        self._left_out = left_out


class RunningParts(Generic[P]):
    """The present `parts`, which `make` makes from settings and the former ones."""

    def __init__(
        self,
        in_force: SettingsInForce,
        database: Database,
        make: Callable[[Settings, P | None], P],
    ) -> None:
        self.parts = make(in_force.settings, None)
        self._in_force = in_force
        self._database = database
        self._make = make
        self._replaced = asyncio.Event()
        self._retry_at_ms = 0

    @property
    def settings(self) -> Settings:
        """The settings of the present parts."""
        return self._in_force.settings

    def watch(self) -> None:
        """Make the parts anew soon after a change, also while no request comes."""
        loop = asyncio.get_running_loop()
        self._in_force.changed = lambda: _soon(loop, self.renew)

    def handle(self, request: Request) -> Response | Awaitable[Response]:
        """Answer a request with the settings that are in force."""
        self.renew()
        return self.parts.handler.handle(request)

    def renew(self) -> None:
        """Make the parts anew if other settings are in force."""
        if SYSTEM_CLOCK.monotonic_ms() < self._retry_at_ms:
            return
        try:
            with suppress(DatabaseError):  # each use of the database says so
                self._in_force.renew(self._database, self._replace)
        except Exception:
            self._retry_at_ms = SYSTEM_CLOCK.monotonic_ms() + RETRY_MS
            _log.exception("changed settings are not in force yet; the former ones are")

    def _replace(self, settings: Settings) -> None:
        self.parts = self._make(settings, self.parts)
        self._replaced.set()
        _log.info("settings were changed on the moderation pages, and are in force")

    async def replaced(self, parts: P) -> None:
        """Wait until others have taken the place of `parts`; several tasks may wait."""
        while self.parts is parts:
            self._replaced.clear()
            await self._replaced.wait()


def _soon(loop: asyncio.AbstractEventLoop, renew: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(renew)
