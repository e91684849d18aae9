"""All routes of the moderation pages and of the JSON API, for `app`."""

from commentsvc.admin.access import AccessControl, Authentication
from commentsvc.admin.account import Account
from commentsvc.admin.account_api import AccountApi
from commentsvc.admin.accounts import AccountPages
from commentsvc.admin.bans import BanPages
from commentsvc.admin.comment import CommentPage
from commentsvc.admin.dashboard import Dashboard, Figures
from commentsvc.admin.json_api import ModerationApi
from commentsvc.admin.layout import Layout
from commentsvc.admin.outbox import OutboxPages
from commentsvc.admin.passkeys import PasskeyPages
from commentsvc.admin.provider import ProviderPages
from commentsvc.admin.queue_stream import QueueStream
from commentsvc.admin.review_queue import ReviewPages
from commentsvc.admin.sign_in import SignIn
from commentsvc.admin.threads import ThreadPages
from commentsvc.admin.token_access import TokenAccess
from commentsvc.admin.tokens import TokenPages
from commentsvc.admin.two_factor import FactorPages
from commentsvc.api.stream import Publisher
from commentsvc.context import ServiceContext
from commentsvc.http.router import Route


class AdminPages:
    """All handlers below /moderation."""

    def __init__(self, service: ServiceContext, figures: Figures) -> None:
        """Take what the dashboard shows."""
        database = service.database
        layout = Layout(database)
        authentication = Authentication.of(service)
        access = AccessControl(service, authentication)
        sign_in = SignIn(service, access, authentication)
        self._parts = (
            sign_in,
            ProviderPages(service, access, authentication, sign_in),
            ReviewPages(service, access, layout),
            CommentPage(service, access, layout),
            ThreadPages(service, access, layout),
            BanPages(database, access, layout),
            OutboxPages(database, access, layout),
            Dashboard(service, access, layout, figures),
            Account(service, access, layout, authentication),
            AccountPages(service, access, layout, authentication),
            FactorPages(service, access, layout, authentication),
            PasskeyPages(service, access, layout, authentication),
            TokenPages(service, access, layout),
        )

    def routes(self) -> list[Route]:
        """Return the table of routes."""
        return [route for part in self._parts for route in part.routes()]


class ProgramInterface:
    """All handlers below /api/moderation."""

    def __init__(self, service: ServiceContext, publisher: Publisher) -> None:
        """Take the core as `publisher`, which sends the streams' events."""
        access = TokenAccess(service)
        self.queue = QueueStream(service, access, publisher)
        self._parts = (ModerationApi(service, access), AccountApi(service, access), self.queue)

    def routes(self) -> list[Route]:
        """Return the table of routes."""
        return [route for part in self._parts for route in part.routes()]
