"""Stacosys: the protocol of all its released versions, for its clients, on the same data.

Version 3 uses addresses below /api where our own API answers it, with a few more keys. This module
has only the differences: the form of version 3, the JSON of versions up to 1.1, and the paths
without a prefix of versions up to 2. Submissions pass the same checks as ours.

Two rules come from Stacosys: a web site is lower-cased and gets ``http://`` in front unless it
begins with http; and `email` is the MD5 digest of an address, made by the client. If the site is
invalid then, or `email` is neither a digest nor an address, it is dropped rather than the comment
refused, since these clients cannot show what is wrong.

A `token` names the site, as up to version 1.1, if the settings give the site one.
"""

import logging
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from commentsvc.api import feeds
from commentsvc.api.comments import CommentsApi, CountQuery, ListQuery
from commentsvc.api.feeds import RSS, Feeds
from commentsvc.api.parameters import FORMER, Token, WriteQuery
from commentsvc.api.serialize import Count, ListedComments
from commentsvc.api.submit import HttpSubmissions
from commentsvc.comments import pagination
from commentsvc.comments.page_urls import PageRef, Sites
from commentsvc.comments.submission import (
    Author,
    Honeypot,
    MessageText,
    Submission,
    SubmissionFields,
    Url,
    avatar,
    check,
    is_email,
    is_site,
)
from commentsvc.context import ServiceContext
from commentsvc.db import background
from commentsvc.http.messages import (
    ANY_ORIGIN,
    JSON,
    NO_SNIFFING,
    NOT_STORED,
    HttpError,
    Request,
    Response,
    encode,
)
from commentsvc.http.operation import NOTHING, TEXT, Content, declared, form_of, handles
from commentsvc.http.router import Handler, HandlerResult, Route, bound, route
from commentsvc.model import site_tag
from commentsvc.settings.types import HIDDEN, REQUIRED
from commentsvc.util.threads import ANSWERS, run_in

_log = logging.getLogger(__name__)

MODERATION = "moderation"  # relative to /web/login: the service may be in a folder of its host
WEB_FOLDER = "/web"
UNSUBSCRIBED: Final = ("false", "off", "0")  # values of `subscribe` that mean no
NEWEST = 10  # comments in comments.xml
FILE_PAUSE: Final = 2.0  # seconds between two looks for changes of comments.xml

_DIGEST = re.compile(r"[0-9a-f]{32}").fullmatch


Subscribe = Annotated[
    str | bool,
    Meta(
        description="Any value but an empty one, `false` or `off`: mail the author all new comments"
        " on the page, if `email` is an address; its owner must confirm it."
    ),
]


Q = TypeVar("Q", ListQuery, CountQuery)


class StacosysJson(msgspec.Struct, frozen=True):
    """The JSON of versions up to 1.1. Other keys are ignored."""

    url: Url
    author: Author
    message: MessageText
    email: str | None = None
    site: str | None = None
    captcha: Honeypot | None = None
    token: Token | None = None
    subscribe: Subscribe | None = None


class StacosysForm(msgspec.Struct, frozen=True):
    """The form of versions 2 and 3. Other fields are ignored.

    `captcha` (until 2019) and `remarque` are hidden from people.
    """

    url: Url
    author: Author
    message: MessageText
    email: str = ""
    site: str = ""
    captcha: Honeypot = ""
    remarque: Honeypot = ""
    token: Token = ""
    subscribe: str = ""


_decode = msgspec.json.Decoder(StacosysJson).decode

_handles = partial(handles, ignores_unknown=True)
_lists = partial(_handles, "GET", cached=True, without_effect=("token",), errors=(400, 404, 503))
_redirects = partial(_handles, "GET", answer={302: NOTHING}, errors=())


def below_web(routes: Iterable[Route]) -> list[Route]:
    """Return copies of the routes of the moderation pages and their files, below /web.

    A proxy that was configured for Stacosys may forward only /web.
    """
    return [
        Route(route.method, WEB_FOLDER + route.pattern, partial(_without_web, route.handler))
        for route in routes
        if route.pattern.startswith(("/moderation", "/static/"))
    ]


def _without_web(handler: Handler, request: Request) -> HandlerResult:
    path = request.path.removeprefix(WEB_FOLDER)
    return handler(msgspec.structs.replace(request, path=path))


class Stacosys:
    """The handlers of the Stacosys protocol."""

    def __init__(
        self,
        service: ServiceContext,
        submissions: HttpSubmissions,
        api: CommentsApi,
        feeds: Feeds,
    ) -> None:
        """Take the service for submissions, and our own handlers for requests that are the same."""
        self._tokens = {site.token: site.name for site in service.settings.sites if site.token}
        self._redirect = (("Location", service.settings.stacosys.redirect), NOT_STORED)
        self._sites = service.sites
        self._submissions = submissions
        self._api = api
        self._feeds = feeds
        self._shared = (
            ("Content-Type", RSS),
            ("Cache-Control", service.settings.server.cache_control),
            ANY_ORIGIN,
            NO_SNIFFING,
        )

    def routes(self) -> list[Route]:
        """Return the table of routes. If sites have tokens, each is a part of a cached answer."""
        return [
            route(operation, bound(operation, handler))
            for each, handler in declared(self)
            for operation in [replace(each, without_effect=()) if self._tokens else each]
        ]

    @_handles("GET", "/ping", TEXT, errors=())
    def ping(self) -> Response:
        """Answer `OK` (Stacosys 2)."""
        return self._api.ping()

    @_lists("/comments", ListedComments)
    async def list_comments(self, query: ListQuery) -> Response:
        """List the comments of a page (Stacosys 2).

        `content` is safe as raw Markdown: the clients of these versions render it and insert the
        result without a sanitizer.
        """
        answer = self._api.list_comments(self._with_site(query))
        listed = answer if isinstance(answer, Response) else await answer
        body = await run_in(ANSWERS, _defused, listed.body)
        return msgspec.structs.replace(listed, body=body)

    @_lists("/comments/count", Count)
    def count(self, query: CountQuery) -> Response:
        """Count the comments of a page, or of the whole site (Stacosys 2)."""
        return self._api.count(self._with_site(query))

    @_handles("GET", "/comments.xml", Content(RSS), cached=True, errors=(503,))
    async def comments_xml(self) -> Response:
        """The ten newest comments of the site, as RSS 2.0 (Stacosys)."""
        address = self._feeds.address("/comments.xml")
        document = await newest_comments(self._feeds, self._sites, address)
        return Response(200, self._shared, document, (site_tag(self._sites.named("")),))

    @_handles(
        "POST",
        "/newcomment",
        {302: NOTHING},
        body=form_of(StacosysForm),
        errors=(400, 401, 403, 404, 409, 415, 429, 503),
    )
    async def submit_form(self, request: Request, query: WriteQuery) -> Response:
        """Submit a comment (Stacosys 2 and 3).

        302 to the configured address, whether it is shown or waits. 400 for a filled honeypot, a
        missing field, or JSON. Other fields are ignored, since the form of each version had some of
        its own.
        """
        if request.media_type() == JSON:
            raise HttpError(400, "invalid", "Send a form to this address, not JSON.")
        form = {name: texts[0] for name, texts in request.form().items()}
        known = {name: form.get(name, "") for name in StacosysForm.__struct_fields__}
        trapped = known.pop("captcha") + known.pop("remarque")
        await self._submit(request, query, StacosysJson(**known, captcha=trapped))
        return Response(302, self._redirect, b"")

    @_handles(
        "POST", "/comments", TEXT, body=StacosysJson, errors=(400, 401, 403, 404, 409, 429, 503)
    )
    async def submit_json(self, request: Request, query: WriteQuery) -> Response:
        """Submit a comment (Stacosys 1)."""
        if request.media_type() != JSON:
            raise HttpError(400, "invalid", "Send JSON to this address.")
        try:
            sent = _decode(request.body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise HttpError(400, "malformed", "The body is not a JSON object of texts.") from None
        await self._submit(request, query, sent)
        return Response(200, (("Content-Type", "text/plain"), NOT_STORED, ANY_ORIGIN), b"OK")

    @_redirects("/web")
    @_redirects("/web/login")
    @_redirects("/web/admin")
    def moderation(self, request: Request) -> Response:
        """Redirect to the moderation pages (Stacosys)."""
        folder = "web/" if request.path == "/web" else ""
        return Response(302, (("Location", folder + MODERATION), NOT_STORED), b"")

    @_redirects("/report")
    @_redirects("/accept")
    @_redirects("/reject")
    def old_link(self, request: Request) -> Response:
        """Redirect a link in an old mail to the moderation pages (Stacosys 1)."""
        return self.moderation(request)

    @_redirects("/unsubscribe")
    def unsubscribe(self) -> Response:
        """Redirect a link in an old mail to our page for it (Stacosys 1).

        The page says that the subscription has ended.
        """
        return Response(302, (("Location", f"mail/stop?t={FORMER}"), NOT_STORED), b"")

    def _with_site(self, query: Q) -> Q:
        """Return the query with the site that its token names. Raise HttpError 404."""
        return msgspec.structs.replace(query, site=self._site_of(query.token) or query.site)

    def _site_of(self, token: str) -> str:
        """Return the name of the site with that token, "" for no token. Raise HttpError 404."""
        if not token or not self._tokens:
            return ""
        if token not in self._tokens:
            raise HttpError(404, "not_found", "No site has this token.")
        return self._tokens[token]

    async def _submit(self, request: Request, query: WriteQuery, sent: StacosysJson) -> None:
        network = self._submissions.admit(request)
        site = query.site or self._site_of(sent.token or "")
        locate = self._sites.locator(site)
        email = (sent.email or "").strip()
        fields = SubmissionFields(
            sent.url,
            sent.author,
            sent.message,
            email=email if is_email(email) else None,
            site=stacosys_site(sent.site or ""),
            subject=sent.captcha,
        )
        submission = check(fields, self._submissions.rules(request, locate))
        asked = self._sites.options[submission.page[0]].asks.email
        if asked == HIDDEN:
            email = ""
        follows = bool(sent.subscribe) and sent.subscribe not in UNSUBSCRIBED
        await self._submissions.submit(
            request,
            network,
            _as_sent_by_old_clients(
                submission, email, follows=follows, needs_address=asked == REQUIRED
            ),
        )


def _defused(body: bytes) -> bytes:
    """Return the JSON of a list with harmless Markdown; it ends early if that would be too much."""
    from commentsvc.markup.defuse import defuse  # compiling its patterns takes 6 ms

    shown = msgspec.json.decode(body)
    room, comments = pagination.TEXTS, shown["data"]
    for number, comment in enumerate(comments):
        comment["content"] = defuse(comment["content"])
        room -= len(comment["content"].encode()) + len(comment["html"].encode())
        if room < 0 and number:
            del comments[number:]
    return encode(shown)


async def newest_comments(feeds_: Feeds, sites: Sites, address: str = "") -> bytes:
    """Return comments.xml: the newest comments of the first site, as RSS 2.0.

    The file has no `address`: its blog knows it.
    """
    source, entries = await feeds_.read(PageRef(sites.named(""), ""), NEWEST)
    source = msgspec.structs.replace(source, address=address)
    return feeds.rss(feeds.make_feed(source, entries))


class CommentsXmlFile:
    """Writes comments.xml to the file of the settings whenever it has changed, as version 3 did."""

    def __init__(self, service: ServiceContext) -> None:
        self._path = Path(service.settings.stacosys.rss_file)
        self._feeds = Feeds(service)
        self._sites = service.sites
        self._written = b""

    async def run(self) -> None:
        """Write the file until cancelled."""
        await background.repeat(self.write, "the file for comments.xml", FILE_PAUSE)

    async def write(self) -> None:
        """Write the file if it has changed."""
        document = await newest_comments(self._feeds, self._sites)
        if document == self._written:
            return
        part = self._path.with_name(f"{self._path.name}.part")
        try:
            await run_in(ANSWERS, part.write_bytes, document)
            part.replace(self._path)
            self._written = document
        except OSError as error:
            _log.warning("%s cannot be written: %s", self._path, error)


def stacosys_site(site: str) -> str:
    """Return an author's web site by the rule of Stacosys, `""` if it is invalid."""
    site = site.strip().lower()
    if site and not site.startswith("http"):
        site = "http://" + site
    return site if is_site(site) else ""


def _as_sent_by_old_clients(
    submission: Submission, email: str, *, follows: bool, needs_address: bool
) -> Submission:
    """Return a submission with its avatar.

    Its address is stored only for one who `follows`, or where the site requires it.
    """
    digest = email.lower()
    if "@" in digest:
        digest = avatar(digest)
    digest = digest if _DIGEST(digest) else ""
    follows = follows and bool(submission.email)
    return msgspec.structs.replace(
        submission,
        avatar=digest,
        form_token=None,
        email=submission.email if follows or needs_address else "",
        follow=follows,
    )
