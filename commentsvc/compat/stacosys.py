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
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from commentsvc.api import comments, feeds
from commentsvc.api.comments import CommentsApi
from commentsvc.api.feeds import Feeds
from commentsvc.api.parameters import FORMER, Token, WriteQuery
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
    first,
)
from commentsvc.http.operation import NOTHING, TEXT, Operation, Query, form_of, json_of
from commentsvc.http.router import Handler, HandlerResult, Route, route
from commentsvc.model import site_tag
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

NEW_COMMENT = Operation(
    method="POST",
    path="/newcomment",
    summary="Submit a comment (Stacosys 2 and 3)",
    query=WriteQuery,
    ignores_unknown=True,
    body=form_of(StacosysForm),
    answers={302: NOTHING},
    errors=(400, 403, 404, 409, 415, 429, 503),
)
SUBMIT = Operation(
    method="POST",
    path="/comments",
    summary="Submit a comment (Stacosys 1)",
    query=WriteQuery,
    ignores_unknown=True,
    body=(json_of(StacosysJson),),
    answers={200: TEXT},
    errors=(400, 403, 404, 409, 429, 503),
)
PING = replace(comments.PING, path="/ping", summary="Answer `OK` (Stacosys 2)")
LIST = replace(
    comments.LIST,
    path="/comments",
    summary="List the comments of a page (Stacosys 2)",
    ignores_unknown=True,
    errors=(400, 404, 503),
)
COUNT = replace(
    comments.COUNT,
    path="/comments/count",
    summary="Count the comments of a page, or of the whole site (Stacosys 2)",
    ignores_unknown=True,
    errors=(400, 404, 503),
)
COMMENTS_XML = Operation(
    method="GET",
    path="/comments.xml",
    summary="The ten newest comments of the site, as RSS 2.0 (Stacosys)",
    query=Query,
    ignores_unknown=True,
    cached=True,
    answers={200: feeds.RSS.answers[200]},
    errors=(503,),
)


def _leading(path: str, summary: str) -> Operation[Query]:
    return Operation(
        method="GET",
        path=path,
        summary=summary,
        query=Query,
        ignores_unknown=True,
        answers={302: NOTHING},
    )


WEB, WEB_LOGIN, WEB_ADMIN = (
    _leading(path, "Redirect to the moderation pages (Stacosys)")
    for path in ("/web", "/web/login", "/web/admin")
)
REPORT, ACCEPT, REJECT = (
    _leading(path, "Redirect a link in an old mail to the moderation pages (Stacosys 1)")
    for path in ("/report", "/accept", "/reject")
)
UNSUBSCRIBE = _leading(
    "/unsubscribe", "Redirect a link in an old mail to our page for it (Stacosys 1)"
)


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
        self._bounds = service.settings.comments
        self._sites = service.sites
        self._submissions = submissions
        self._api = api
        self._feeds = feeds
        self._shared = (
            ("Content-Type", COMMENTS_XML.answers[200].media_type),
            ("Cache-Control", service.settings.server.cache_control),
            ANY_ORIGIN,
            NO_SNIFFING,
        )

    def routes(self) -> list[Route]:
        """Return the table of routes."""
        return [
            route(NEW_COMMENT, self.submit_form),
            route(PING, self._api.ping),
            self._by_token(route(LIST, self.list_comments)),
            self._by_token(route(COUNT, self.count)),
            route(SUBMIT, self.submit_json),
            route(COMMENTS_XML, self.comments_xml),
            *(route(operation, self.moderation) for operation in (WEB, WEB_LOGIN, WEB_ADMIN)),
            *(route(operation, self.moderation) for operation in (REPORT, ACCEPT, REJECT)),
            route(UNSUBSCRIBE, self.unsubscribe),
        ]

    async def list_comments(self, request: Request) -> Response:
        """GET /comments?url=U: as GET /api/comments, but `content` is safe as raw Markdown.

        The clients of these versions render the Markdown and insert it without a sanitizer.
        """
        answer = self._api.list_comments(self._with_site(request), LIST)
        listed = answer if isinstance(answer, Response) else await answer
        body = await run_in(ANSWERS, _defused, listed.body)
        return msgspec.structs.replace(listed, body=body)

    def count(self, request: Request) -> Response:
        """GET /comments/count?url=U: as GET /api/comments/count."""
        return self._api.count(self._with_site(request), COUNT)

    async def comments_xml(self, request: Request) -> Response:
        """GET /comments.xml: 200 with the ten newest comments of the first site. Cached."""
        document = await newest_comments(self._feeds, self._sites)
        tags = COMMENTS_XML.tags(request, site_tag(self._sites.named("")))
        return Response(200, self._shared, document, tags)

    async def submit_form(self, request: Request) -> Response:
        """POST /newcomment, a form: 302 to the configured address, whether it is shown or waits.

        400 for a filled honeypot, a missing field, or JSON. Other fields are ignored, since the
        form of each version had some of its own.
        """
        if request.media_type() == JSON:
            raise HttpError(400, "invalid", "Send a form to this address, not JSON.")
        form = {name: texts[0] for name, texts in request.form().items()}
        known = {name: form.get(name, "") for name in StacosysForm.__struct_fields__}
        trapped = known.pop("captcha") + known.pop("remarque")
        await self._submit(request, NEW_COMMENT, StacosysJson(**known, captcha=trapped))
        return Response(302, self._redirect, b"")

    async def submit_json(self, request: Request) -> Response:
        """POST /comments with JSON (up to version 1.1): 200 ``OK``, or 400."""
        if request.media_type() != JSON:
            raise HttpError(400, "invalid", "Send JSON to this address.")
        try:
            sent = _decode(request.body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise HttpError(400, "malformed", "The body is not a JSON object of texts.") from None
        await self._submit(request, SUBMIT, sent)
        return Response(200, (("Content-Type", "text/plain"), NOT_STORED, ANY_ORIGIN), b"OK")

    def moderation(self, request: Request) -> Response:
        """GET /web, /web/login, /web/admin: 302 to our own moderation pages, below /web too.

        GET /report, /accept and /reject, from mails of versions up to 1.1, are answered in the same
        way.
        """
        folder = "web/" if request.path == "/web" else ""
        return Response(302, (("Location", folder + MODERATION), NOT_STORED), b"")

    def unsubscribe(self, request: Request) -> Response:
        """GET /unsubscribe, from mails of version 1: 302 to our page, which says it has ended."""
        return Response(302, (("Location", f"mail/stop?t={FORMER}"), NOT_STORED), b"")

    def _by_token(self, read: Route) -> Route:
        """Return a route whose requests keep their token, if there are tokens."""
        assert read.operation
        rule = replace(read.operation, without_effect=()).target_rule
        return replace(read, target_rule=rule) if self._tokens else read

    def _with_site(self, request: Request) -> Request:
        """Return the request with a `site` parameter in place of its token. Raise HttpError 404.

        So its answer is cached: there are as many valid tokens as sites.
        """
        if not self._tokens or "token=" not in request.query:
            return request
        name = self._site_of(first(request.parameters(), "token"))
        others = [each for each in request.query.split("&") if not each.startswith("token=")]
        query = "&".join([*others, f"site={name}"] if name else others)
        return msgspec.structs.replace(request, query=query)

    def _site_of(self, token: str) -> str:
        """Return the name of the site with that token, "" for no token. Raise HttpError 404."""
        if not token or not self._tokens:
            return ""
        if token not in self._tokens:
            raise HttpError(404, "not_found", "No site has this token.")
        return self._tokens[token]

    async def _submit(
        self, request: Request, operation: Operation[WriteQuery], sent: StacosysJson
    ) -> None:
        network = self._submissions.admit(request)
        site = operation.read(request).site or self._site_of(sent.token or "")
        locate = self._sites.locator(site)
        fields = SubmissionFields(
            sent.url,
            sent.author,
            sent.message,
            site=stacosys_site(sent.site or ""),
            subject=sent.captcha,
        )
        submission = check(fields, self._bounds, locate)
        follows = bool(sent.subscribe) and sent.subscribe not in UNSUBSCRIBED
        await self._submissions.submit(
            request, network, _as_sent_by_old_clients(submission, sent.email or "", follows=follows)
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


async def newest_comments(feeds_: Feeds, sites: Sites) -> bytes:
    """Return comments.xml: the newest comments of the first site, as RSS 2.0."""
    source, entries = await feeds_.read(PageRef(sites.named(""), ""), NEWEST)
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


def _as_sent_by_old_clients(submission: Submission, email: str, *, follows: bool) -> Submission:
    """Return a submission with its avatar; its address is stored only for one who `follows`."""
    address = email.strip()
    digest = address.lower()
    if "@" in digest:
        digest = avatar(digest)
    digest = digest if _DIGEST(digest) else ""
    follows = follows and is_email(address)
    return msgspec.structs.replace(
        submission,
        avatar=digest,
        form_token=None,
        email=address if follows else "",
        follow=follows,
    )
