"""All routes of the moderation pages and of the JSON API, for `app`."""

from collections.abc import Callable

from commentsvc.admin.accounts import AccountPages
from commentsvc.admin.api.accounts import AccountsApi
from commentsvc.admin.api.comments import ModerationApi
from commentsvc.admin.api.queue_stream import QueueStream
from commentsvc.admin.api.service import ServiceApi
from commentsvc.admin.api.settings import SettingsApi
from commentsvc.admin.api.threads import ThreadsApi
from commentsvc.admin.api.token_access import TokenAccess
from commentsvc.admin.bans import BanPages
from commentsvc.admin.comment import CommentPage
from commentsvc.admin.dashboard import Dashboard, Figures
from commentsvc.admin.downloads import DownloadPage
from commentsvc.admin.first_owner import FirstOwnerPages
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.notes import NotePages
from commentsvc.admin.outbox import OutboxPages
from commentsvc.admin.own_account import OwnAccountPages
from commentsvc.admin.passkeys import PasskeyPages
from commentsvc.admin.provider import ProviderPages
from commentsvc.admin.review_queue import ReviewPages
from commentsvc.admin.saved_replies import SavedReplyPages
from commentsvc.admin.settings import SettingsPage
from commentsvc.admin.sign_in import ENTRY, SignIn, home
from commentsvc.admin.sites import SitesPage
from commentsvc.admin.snippet import SnippetPage
from commentsvc.admin.thread_moderation import ThreadModerationPage
from commentsvc.admin.threads import ThreadPages
from commentsvc.admin.tokens import TokenPages
from commentsvc.admin.two_factor import FactorPages
from commentsvc.api.stream import Publisher
from commentsvc.context import ServiceContext
from commentsvc.http.router import Route, route
from commentsvc.monitoring.conditions import Condition


class AdminPages:
    """All handlers below /moderation."""

    def __init__(
        self,
        service: ServiceContext,
        queue: QueueStream,
        figures: Figures,
        conditions: Callable[[], list[Condition]],
    ) -> None:
        context = AdminContext.of(service)
        self._access = context.access
        sign_in = SignIn(context)
        self._parts = (
            sign_in,
            FirstOwnerPages(context),
            ProviderPages(context, sign_in),
            ReviewPages(context, queue),
            CommentPage(context),
            NotePages(context),
            ThreadPages(context),
            ThreadModerationPage(context),
            BanPages(context),
            OutboxPages(context),
            SavedReplyPages(context),
            Dashboard(context, figures, conditions),
            SettingsPage(context),
            SitesPage(context),
            DownloadPage(context),
            SnippetPage(context),
            OwnAccountPages(context),
            AccountPages(context),
            FactorPages(context),
            PasskeyPages(context),
            TokenPages(context),
        )

    def routes(self) -> list[Route]:
        pages = [each for part in self._parts for each in self._access.routes(part)]
        return [route(ENTRY, home), *pages]


class ProgramInterface:
    """All handlers below /api/moderation."""

    def __init__(self, service: ServiceContext, publisher: Publisher) -> None:
        """Take the core as `publisher`, which sends the streams' events."""
        self._access = TokenAccess(service)
        self.queue = QueueStream(service, self._access, publisher)
        kinds = (ModerationApi, ThreadsApi, ServiceApi, SettingsApi, AccountsApi)
        self._parts = [kind(service) for kind in kinds]

    def routes(self) -> list[Route]:
        endpoints = [each for part in self._parts for each in self._access.routes(part)]
        return endpoints + self.queue.routes()
