"""The page with the numbers about moderation of a site that wants it (`numbers`)."""

from typing import Final

from cachetools import TTLCache

from commentsvc.context import ServiceContext
from commentsvc.http.messages import HttpError, Response
from commentsvc.http.operation import HTML, handles
from commentsvc.http.router import NOTHING_HERE
from commentsvc.legal.numbers import numbers
from commentsvc.moderation import decision_counts
from commentsvc.moderation.decision_counts import DecisionCount
from commentsvc.pages.mail_links import names, rendered
from commentsvc.pages.privacy_page import PrivacyQuery
from commentsvc.util.i18n import moderators_language, speaking

KEPT_MS: Final = 3_600_000  # how long numbers are shown before they are read again
SITES: Final = 100  # whose numbers are remembered


class NumbersPages:
    """The handler of the page."""

    def __init__(self, service: ServiceContext) -> None:
        self._settings = service.settings
        self._database = service.database
        self._by_name = {site.name: site for site in service.settings.sites}
        self._sites = service.sites
        self._counted: TTLCache[str, list[DecisionCount]] = TTLCache(
            SITES, KEPT_MS, service.clock.monotonic_ms
        )

    @handles(
        "GET", "/numbers", dict.fromkeys((200, 400, 404), HTML), ignores_unknown=True, errors=()
    )
    async def page(self, query: PrivacyQuery) -> Response:
        """Say how many comments were reported and decided on in each half-year.

        The numbers are read once an hour. 404 for a site that does not want it.
        """
        site = self._by_name[self._sites.named(query.site)]
        if not site.numbers:
            raise HttpError(404, *NOTHING_HERE)
        counted = self._counted.get(site.name)
        if counted is None:
            counted = await self._database.read_for_public(decision_counts.of_site, site.name)
            self._counted[site.name] = counted
        names(self._sites.blogs(site.name))
        with speaking(moderators_language(query.lang or site.language)):
            return rendered("legal.html", 200, up="", document=numbers(self._settings, counted))
