"""Desk: the moderation pages as one whole, for `app` to put into the router."""

from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from commentsvc.admin.access import AccessControl
from commentsvc.admin.account import Account
from commentsvc.admin.bans import BanPages
from commentsvc.admin.comment import CommentPage
from commentsvc.admin.dashboard import Dashboard
from commentsvc.admin.layout import Layout
from commentsvc.admin.login_limit import LoginLimiter
from commentsvc.admin.outbox import OutboxPages
from commentsvc.admin.review_queue import ReviewPages
from commentsvc.admin.sign_in import SignIn
from commentsvc.admin.threads import ThreadPages
from commentsvc.admin.two_factor import FactorPages
from commentsvc.auth.sessions import Cookies, Lifetime
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.auth.two_factor import TwoFactor
from commentsvc.db.database import Database
from commentsvc.db.scheduled_backup import ScheduledBackup
from commentsvc.http.messages import TrustedProxies
from commentsvc.http.router import Route
from commentsvc.settings.schema import Settings
from commentsvc.util.clock import Clock
from commentsvc.util.timestamps import DAY_MS, HOUR_MS


class AdminPages:
    """All handlers below /moderation."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        keys: Sequence[bytes],
        stats: Callable[[], dict[str, int]],
        backups: ScheduledBackup,
        clock: Clock,
    ) -> None:
        """Take the secret `keys`, the core's `stats`, the backups, and two clocks in seconds."""
        lifetime = Lifetime(
            most=settings.moderation.session_days * DAY_MS,
            idle=settings.moderation.session_idle_hours * HOUR_MS,
        )
        cookies, limiter, keyed, links = (
            Cookies(keys),
            LoginLimiter(),
            TwoFactor(keys),
            SignedLinks(keys),
        )
        issuer = urlsplit(settings.server.public_url).hostname or "Comments"
        layout = Layout(database)
        access = AccessControl(database, cookies, lifetime, clock)
        proxies = TrustedProxies(settings.server.trusted_proxies)
        self._parts = (
            SignIn(database, access, cookies, proxies, limiter, lifetime, keyed, links, clock),
            ReviewPages(database, access, layout, settings.sites),
            CommentPage(database, access, layout, settings.sites, settings.comments),
            ThreadPages(database, access, layout, settings.sites),
            BanPages(database, access, layout),
            OutboxPages(database, access, layout),
            Dashboard(settings, database, access, layout, stats, backups),
            Account(database, access, layout, cookies, limiter, lifetime, clock),
            FactorPages(database, access, layout, keyed, limiter, issuer, clock),
        )

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        return [route for part in self._parts for route in part.routes()]
