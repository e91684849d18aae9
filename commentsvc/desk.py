"""Desk: the moderation pages as one whole, for `app` to put into the router."""

from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from commentsvc.account import Account
from commentsvc.backups import Backups
from commentsvc.banpages import BanPages
from commentsvc.commentpage import CommentPage
from commentsvc.dashboard import Dashboard
from commentsvc.database import Database
from commentsvc.factorpages import FactorPages
from commentsvc.factors import Factors
from commentsvc.frame import Frame
from commentsvc.gate import Gate
from commentsvc.links import Links
from commentsvc.moments import DAY, HOUR
from commentsvc.outboxpages import OutboxPages
from commentsvc.reviewing import Reviewing
from commentsvc.router import Route
from commentsvc.sessions import Cookies, Lifetime
from commentsvc.settings import Settings
from commentsvc.signin import SignIn
from commentsvc.threadpages import ThreadPages
from commentsvc.throttle import Throttle
from commentsvc.web import Proxies


class Desk:
    """All handlers below /moderation."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        keys: Sequence[bytes],
        stats: Callable[[], dict[str, int]],
        backups: Backups,
        now: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        """Take the secret `keys`, the core's `stats`, the backups, and two clocks in seconds."""
        lifetime = Lifetime(
            most=settings.moderation.session_days * DAY,
            idle=settings.moderation.session_idle_hours * HOUR,
        )
        cookies, throttle, keyed, links = Cookies(keys), Throttle(), Factors(keys), Links(keys)
        issuer = urlsplit(settings.server.public_url).hostname or "Comments"
        frame = Frame(database)
        gate = Gate(database, cookies, lifetime, now)
        proxies = Proxies(settings.server.trusted_proxies)
        self._parts = (
            SignIn(database, gate, cookies, proxies, throttle, lifetime, keyed, links, monotonic),
            Reviewing(database, gate, frame, settings.sites),
            CommentPage(database, gate, frame, settings.sites, settings.comments),
            ThreadPages(database, gate, frame, settings.sites),
            BanPages(database, gate, frame),
            OutboxPages(database, gate, frame),
            Dashboard(settings, database, gate, frame, stats, backups),
            Account(database, gate, frame, cookies, throttle, lifetime, monotonic),
            FactorPages(database, gate, frame, keyed, throttle, issuer, monotonic),
        )

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        return [route for part in self._parts for route in part.routes()]
