"""The page on which a moderator agrees to decide on a blog's own pages: see `auth.blog_sessions`.

The widget leads there, in the same window, with the address of the blog's page and a challenge. The
browser goes back to that page with a code in the fragment, which no server and no log gets.
"""

import re
from typing import Final, NamedTuple
from urllib.parse import unquote

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import render
from commentsvc.auth import blog_sessions
from commentsvc.auth.blog_sessions import CODE_CHALLENGE, LIFE
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.errors import NotPermitted
from commentsvc.http.messages import HttpError, Response
from commentsvc.moderation.permissions import Permission
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import said_duration
from commentsvc.util.origin import origin

MARK: Final = "#commentsvc-moderator="  # before the code in the address of the blog's page
LIFETIME: Final = said_duration(LIFE // 1_000)
_is_challenge: Final = re.compile(CODE_CHALLENGE).fullmatch
# What a page that redirects may take as an address elsewhere.
_may_lead_on: Final = re.compile(r"https?:|[/\\]{2}", re.IGNORECASE).search


class BlogPage(NamedTuple):
    """A page of a blog: its site, its origin and its address, and the challenge of the browser."""

    site: str
    origin: str
    address: str
    challenge: str


class ThreadModerationPage:
    """The handlers of this page."""

    def __init__(self, context: AdminContext) -> None:
        service = context.service
        self._known_sites = service.sites
        self._sites = {site.name: site for site in service.settings.sites}
        self._links = SignedLinks(service.keys)

    @get("/on-blog", Permission.DECIDE)
    async def ask(self, context: RequestContext) -> Response:
        """Ask whether to moderate on a page of the blog.

        `?page=ADDRESS&challenge=C`: 200 with one button. 403, 404.
        """
        return self._show(context, self._page(context))

    @post("/on-blog", Permission.DECIDE)
    async def agree(self, context: RequestContext) -> Response:
        """Moderate on a page of the blog.

        200 that leads to the `page`, with a code for the `challenge`. 403, 404.
        """
        page = self._page(context)
        code = blog_sessions.make_code(
            self._links, context.moderator, (page.site, page.origin, page.challenge), context.now
        )
        return self._show(context, page, page.address + MARK + code)

    def _show(self, context: RequestContext, page: BlogPage, to: str = "") -> Response:
        return render("on-blog.html", context=context, page=page, to=to, time=LIFETIME)

    def _page(self, context: RequestContext) -> BlogPage:
        """Return the page of the blog. Raise HttpError 404, NotPermitted for another site's."""
        given, challenge = context.first("page"), context.first("challenge")
        found = self._known_sites.locate_or_none(given, "")
        if (
            found is None
            or origin(given) not in map(origin, self._sites[found.site].origins)
            or not blog_sessions.is_safe(given)
            or not _is_challenge(challenge)
        ):
            problem = _(
                "This is no page of a blog whose comments are here, or its address is not https."
            )
            raise HttpError(404, "not_found", problem)
        if _may_lead_on(unquote(found.url.partition("?")[2])):
            problem = _(
                "The address of this page contains another one. Open the page without it, and try "
                "again."
            )
            raise HttpError(404, "not_found", problem)
        if not context.actor.may_decide(found.site):
            raise NotPermitted(f"{context.moderator.name} may not decide on {found.site}")
        return BlogPage(found.site, origin(given), origin(given) + found.url, challenge)
