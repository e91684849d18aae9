"""Following a page or a site by mail: a form without JavaScript, JSON, and the pages of links.

The answer to the form is always the same, so nobody learns who follows what. The owner of the
address is asked by mail first. The number of such mails per day is limited for each address and for
each network.
"""

from functools import partial
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from commentsvc.api.author import read_small
from commentsvc.api.parameters import LanguageTag, LinkQuery, PageOrSiteQuery
from commentsvc.auth import signed_links
from commentsvc.auth.attempts import Rate
from commentsvc.auth.signed_links import LinkExpired, SignedLinks
from commentsvc.comments.page_urls import PageRef
from commentsvc.comments.submission import SubmissionError, is_email
from commentsvc.context import ServiceContext
from commentsvc.http.messages import NOT_STORED, CorsPolicy, Request, Response
from commentsvc.http.operation import HTML, NOTHING, handles
from commentsvc.http.router import Route, declared_routes
from commentsvc.pages.mail_links import errors_as_pages, handles_link, names, rendered
from commentsvc.pages.personal_data import Address, RequestLimiter, handles_address, typed_address
from commentsvc.readers import follows
from commentsvc.readers.follows import Follower
from commentsvc.util.i18n import Text
from commentsvc.util.i18n import gettext as _
from commentsvc.util.timestamps import DAY_MS

PER_ADDRESS: Final = Rate(5, DAY_MS)


class FollowQuery(PageOrSiteQuery, frozen=True):
    """What to follow."""

    lang: Annotated[str, Meta(description="The language of the page, and of the mails.")] = ""


class FollowJsonQuery(PageOrSiteQuery, frozen=True):
    """What to follow, and the language of the mails and of errors."""

    lang: LanguageTag = "en"


class FollowRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who wants to follow."""

    email: Address


class FollowPages:
    def __init__(self, service: ServiceContext, cors: CorsPolicy) -> None:
        self._cors = cors
        self._requests = RequestLimiter(service, "follow", PER_ADDRESS)
        self._database = service.database
        self._sites = service.sites
        self._links = SignedLinks(service.keys)
        self._clock = service.clock

    def routes(self) -> list[Route]:
        """Return the table of routes. The errors of those for people are pages."""
        found = declared_routes(self)
        pages = declared_routes(self, wrap=partial(errors_as_pages, self._sites))
        return [
            plain if plain.pattern.startswith("/api/") else page
            for plain, page in zip(found, pages, strict=True)
        ]

    @handles(
        "GET", "/follow", dict.fromkeys((200, 400, 404), HTML), ignores_unknown=True, errors=()
    )
    async def page(self, query: FollowQuery) -> Response:
        """Show a form to follow a page, or the whole site, by mail.

        404 where no mail is sent.
        """
        self._page(query)
        return self._form()

    @handles_address("/follow")
    async def ask(self, request: Request, query: FollowQuery) -> Response:
        """Ask an address by mail whether it wants to follow a page, or the whole site."""
        page = self._page(query)
        email, problem = typed_address(request)
        if problem:
            return self._form(400, email, problem)
        await self._request(request, page, email)
        text = _("You get the comments after you confirm with the link in the mail.")
        return rendered("dialog.html", 200, title=_("Please check your mailbox"), texts=(text,))

    @handles(
        "POST",
        "/api/follow",
        {202: NOTHING},
        body=FollowRequest,
        errors=(400, 403, 404, 415, 429, 503),
    )
    async def ask_by_json(self, request: Request, query: FollowJsonQuery) -> Response:
        """Ask an address by mail whether it wants to follow a page, or the whole site.

        400 with the invalid fields, 403 for a foreign page, 404 without mail, 415, 429, 503.
        """
        page = self._sites.page_or_site(query.url, query.site)
        headers = self._cors.check(request, page[0])
        self._requests.require_mail()
        email = read_small(request.json(), FollowRequest, '{"email": "…"}').email.strip()
        if not is_email(email):
            raise SubmissionError({"email": _("This is not an email address. Please correct it.")})
        await self._request(request, page, email)
        return Response(202, (NOT_STORED, *headers), b"")

    async def _request(self, request: Request, page: PageRef, email: str) -> None:
        """Have the owner of an address asked. Raise HttpError 429."""
        await self._requests.count(request, email)
        tag, now = request.language().tag, self._clock.now_ms()
        await self._database.write(follows.request, page, email, tag, now)

    @handles_link("GET", "/mail/follow")
    async def ask_to_follow(self, query: LinkQuery) -> Response:
        """Ask whether to mail new comments."""
        follower = await self._follower("follow", query.t)
        title = _("Get mails about new comments on %(page)s?", page=self._name(follower))
        return rendered(
            "dialog.html", 200, title=title, button=_("Yes, mail me about new comments")
        )

    @handles_link("POST", "/mail/follow")
    async def follow(self, query: LinkQuery) -> Response:
        """Mail new comments from now on."""
        follower = await self._follower("follow", query.t)
        if not await self._database.write(follows.confirm, follower.id, self._clock.now_ms()):
            raise LinkExpired(signed_links.USED)
        return rendered("dialog.html", 200, title=_("You will get mails about new comments"))

    @handles_link("GET", "/mail/unfollow")
    async def ask_to_unfollow(self, query: LinkQuery) -> Response:
        """Ask whether to stop mailing comments."""
        follower = await self._follower("unfollow", query.t)
        title = _("Stop mails about new comments on %(page)s?", page=self._name(follower))
        return rendered("dialog.html", 200, title=title, button=_("Unsubscribe"))

    @handles_link("POST", "/mail/unfollow")
    async def unfollow(self, query: LinkQuery) -> Response:
        """Stop mailing new comments (RFC 8058)."""
        follower = await self._follower("unfollow", query.t)
        await self._database.write(follows.stop, follower.id, self._clock.now_ms())
        return rendered("dialog.html", 200, title=_("No more mails about new comments"))

    async def _follower(self, purpose: str, token: str) -> Follower:
        """Return the follower that a link is for. Raise LinkError."""
        [number] = self._links.read(purpose, token, self._clock.now_ms())
        follower = await self._database.read(follows.find, number)
        if follower is None or (purpose == "follow" and follower.site not in self._sites.options):
            raise LinkExpired(_("This subscription does not exist any more."))
        names(self._sites.blogs(follower.site))
        return follower

    def _page(self, query: FollowQuery) -> PageRef:
        """Return the page or site to follow. Raise HttpError 404, UrlError."""
        self._requests.require_mail()
        page = self._sites.page_or_site(query.url, query.site)
        names(self._sites.blogs(page.site))
        return page

    def _name(self, follower: Follower) -> str:
        return self._sites.address(follower.site, follower.url) or follower.site

    def _form(self, status: int = 200, email: str = "", problem: Text = "") -> Response:
        text = _("New comments come to this address, at most one mail an hour.")
        return rendered(
            "dialog.html",
            status,
            title=_("Follow the comments by mail"),
            texts=(text,),
            asks=True,
            submit=_("Follow"),
            email=email,
            problem=problem,
        )
