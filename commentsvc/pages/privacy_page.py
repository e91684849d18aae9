"""The page about privacy of a site that says who answers for it (`contact`)."""

from typing import Annotated

from msgspec import Meta

from commentsvc.api.parameters import SiteName
from commentsvc.context import ServiceContext
from commentsvc.http.messages import HttpError, Response
from commentsvc.http.operation import HTML, Query, handles
from commentsvc.http.router import NOTHING_HERE
from commentsvc.legal.privacy import privacy
from commentsvc.pages.mail_links import names, rendered
from commentsvc.util.i18n import moderators_language, speaking


class PrivacyQuery(Query, frozen=True):
    """Whose page, and in which language."""

    site: SiteName = ""
    lang: Annotated[str, Meta(description="The language of the page; else that of the site.")] = ""


class PrivacyPage:
    def __init__(self, service: ServiceContext) -> None:
        self._settings = service.settings
        self._by_name = {site.name: site for site in service.settings.sites}
        self._sites = service.sites

    @handles(
        "GET", "/privacy", dict.fromkeys((200, 400, 404), HTML), ignores_unknown=True, errors=()
    )
    def page(self, query: PrivacyQuery) -> Response:
        """Say what is stored of readers of a site, and who gets it.

        It is made from the settings. 404 if they do not have the `contact` of the site.
        """
        site = self._by_name[self._sites.named(query.site)]
        if not site.contact:
            raise HttpError(404, *NOTHING_HERE)
        names(self._sites.blogs(site.name))
        with speaking(moderators_language(query.lang or site.language)):
            return rendered("legal.html", 200, up="", document=privacy(self._settings, site))
