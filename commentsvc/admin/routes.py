"""Desk: the moderation pages as one whole, for `app` to put into the router."""

from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from commentsvc.admin.access import Gate
from commentsvc.admin.account import Account
from commentsvc.admin.bans import BanPages
from commentsvc.admin.comment import CommentPage
from commentsvc.admin.dashboard import Dashboard
from commentsvc.admin.layout import Frame
from commentsvc.admin.login_limit import Throttle
from commentsvc.admin.outbox import OutboxPages
from commentsvc.admin.review_queue import Reviewing
from commentsvc.admin.sign_in import SignIn
from commentsvc.admin.threads import ThreadPages
from commentsvc.admin.two_factor import FactorPages
from commentsvc.auth.sessions import Cookies, Lifetime
from commentsvc.auth.signed_links import Links
from commentsvc.auth.two_factor import Factors
from commentsvc.db.database import Database
from commentsvc.db.scheduled_backup import Backups
from commentsvc.http.messages import Proxies
from commentsvc.http.router import Route
from commentsvc.settings.schema import Settings
from commentsvc.util.timestamps import DAY, HOUR


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
