"""The service context: the objects that most parts need, made once by `app`.

A part that needs only one of these takes that one, so that its constructor says what it uses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from commentsvc.comments.page_urls import Sites
from commentsvc.db.database import Database
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.schema import Settings
from commentsvc.util.clock import Clock
from commentsvc.util.lasting import Lasting


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """The settings, and the objects made from them. The first of the secret `keys` signs.

    All keys are accepted. `loaded` are the settings without those that are stored in the database.
    What is `lasting` stays when the settings change.
    """

    settings: Settings
    database: Database
    sites: Sites
    keys: Sequence[bytes]
    clock: Clock
    loaded: LoadedSettings
    lasting: Lasting = field(default_factory=Lasting)

    def with_settings(self, settings: Settings) -> "ServiceContext":
        """Return the context with these settings."""
        if settings is self.settings:
            return self
        sites = Sites(settings.sites, settings.server.public_url, settings.comments.votes)
        return replace(self, settings=settings, sites=sites)
