"""The service context: the objects that most parts need, made once by `app`.

A part that needs only one of these takes that one, so that its constructor says what it uses.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from commentsvc.comments.page_urls import Sites
from commentsvc.db.database import Database
from commentsvc.settings.schema import Settings
from commentsvc.util.clock import Clock


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """The settings, and the objects made from them. The first of the secret `keys` signs.

    All keys are accepted.
    """

    settings: Settings
    database: Database
    sites: Sites
    keys: Sequence[bytes]
    clock: Clock
