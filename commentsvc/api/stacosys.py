"""Stacosys: every released version of the ancestor's protocol, on the same data.

Version 3 asks below /api for what we answer there ourselves, with a few keys more; here is
only what differs: the form of version 3, the JSON of versions up to 1.1, and the paths without
prefix of versions up to 2. What a submission meets is the same as for ours.

Two rules are the ancestor's: a web site is lower-cased and gets ``http://`` before it where it does
not begin with http; `email` is the MD5 digest that the client made of an address. Where the site is
then no address, or `email` is neither a digest nor an address, it is dropped rather than the
comment refused, since these clients cannot show what is wrong.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import msgspec

from commentsvc.api import comments
from commentsvc.api.comments import CommentsApi
from commentsvc.api.parameters import WriteQuery
from commentsvc.api.submit import HttpSubmissions
from commentsvc.comments.defuse import defuse
from commentsvc.comments.submission import (
    Author,
    Honeypot,
    MessageText,
    Submission,
    SubmissionFields,
    Url,
    avatar,
    check,
    is_site,
)
from commentsvc.context import ServiceContext
from commentsvc.http.messages import (
    ANY_ORIGIN,
    JSON,
    NOT_STORED,
    HttpError,
    Request,
    Response,
    encode,
)
from commentsvc.http.operation import NOTHING, TEXT, Operation, Query, form_of, json_of
from commentsvc.http.router import Handler, HandlerResult, Route, route

MODERATION = "moderation"  # beside /web/login: the service may be in a folder of its host
WEB_FOLDER = "/web"

_DIGEST = re.compile(r"[0-9a-f]{32}").fullmatch


class StacosysJson(msgspec.Struct, frozen=True):
    """The JSON of versions up to 1.1. Other keys do not matter."""

    url: Url
    author: Author
    message: MessageText
    email: str | None = None
    site: str | None = None
    captcha: Honeypot | None = None


class StacosysForm(msgspec.Struct, frozen=True):
    """The form of versions 2 and 3. Other fields do not matter.

    People do not see `captcha`, until 2019, or `remarque`.
    """

    url: Url
    author: Author
    message: MessageText
    email: str = ""
    site: str = ""
    captcha: Honeypot = ""
    remarque: Honeypot = ""


_decode = msgspec.json.Decoder(StacosysJson).decode

NEW_COMMENT = Operation(
    method="POST",
    path="/newcomment",
    summary="Submit a comment (Stacosys 2 and 3)",
    query=WriteQuery,
    ignores_unknown=True,
    body=form_of(StacosysForm),
    answers={302: NOTHING},
    errors=(400, 403, 409, 415, 429, 503),
)
SUBMIT = Operation(
    method="POST",
    path="/comments",
    summary="Submit a comment (Stacosys 1)",
    query=WriteQuery,
    ignores_unknown=True,
    body=(json_of(StacosysJson),),
    answers={200: TEXT},
    errors=(400, 403, 409, 429, 503),
)
PING = replace(comments.PING, path="/ping", summary="Answer `OK` (Stacosys 2)")
LIST = replace(
    comments.LIST,
    path="/comments",
    summary="List the comments of a page (Stacosys 2)",
    ignores_unknown=True,
)
COUNT = replace(
    comments.COUNT,
    path="/comments/count",
    summary="Count the comments of a page, or of the whole site (Stacosys 2)",
    ignores_unknown=True,
)
WEB, WEB_LOGIN, WEB_ADMIN = (
    Operation(
        method="GET",
        path=path,
        summary="Lead to the moderation pages (Stacosys)",
        query=Query,
        ignores_unknown=True,
        answers={302: NOTHING},
    )
    for path in ("/web", "/web/login", "/web/admin")
)


def below_web(routes: Iterable[Route]) -> list[Route]:
    """Return the moderation pages and their files once more below /web.

    A proxy that was set up for Stacosys may forward /web and nothing beside it.
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
    """The handlers of group B."""

    def __init__(
        self, service: ServiceContext, submissions: HttpSubmissions, api: CommentsApi
    ) -> None:
        """Take where submissions go to, and our own handlers for what is the same."""
        self._redirect = (("Location", service.settings.stacosys.redirect), NOT_STORED)
        self._bounds = service.settings.comments
        self._sites = service.sites
        self._submissions = submissions
        self._api = api

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        return [
            route(NEW_COMMENT, self.submit_form),
            route(PING, self._api.ping),
            route(LIST, self.list_comments),
            route(COUNT, partial(self._api.count, operation=COUNT)),
            route(SUBMIT, self.submit_json),
            *(route(operation, self.moderation) for operation in (WEB, WEB_LOGIN, WEB_ADMIN)),
        ]

    async def list_comments(self, request: Request) -> Response:
        """GET /comments?url=U: as GET /api/comments, but no `content` can run in a page.

        The readers of these versions insert what they make of the Markdown as it is.
        """
        answer = self._api.list_comments(request, LIST)
        listed = answer if isinstance(answer, Response) else await answer
        shown = msgspec.json.decode(listed.body)
        for comment in shown["data"]:
            comment["content"] = defuse(comment["content"])
        return msgspec.structs.replace(listed, body=encode(shown))

    async def submit_form(self, request: Request) -> Response:
        """POST /newcomment, a form: 302 to the configured address, stored or waiting.

        400 for a filled honeypot, a missing field, or JSON. Other fields are ignored, since each
        version's form had some of its own.
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
        """GET /web, /web/login, /web/admin: 302 to our own moderation pages, below /web too."""
        folder = "web/" if request.path == "/web" else ""
        return Response(302, (("Location", folder + MODERATION), NOT_STORED), b"")

    async def _submit(
        self, request: Request, operation: Operation[WriteQuery], sent: StacosysJson
    ) -> None:
        place = self._submissions.admit(request)
        locate = self._sites.locator(operation.read(request).site)
        fields = SubmissionFields(
            sent.url,
            sent.author,
            sent.message,
            site=stacosys_site(sent.site or ""),
            subject=sent.captcha,
        )
        submission = check(fields, self._bounds, locate)
        await self._submissions.submit(
            request, place, _as_sent_by_old_clients(submission, sent.email or "")
        )


def stacosys_site(site: str) -> str:
    """Give the address of an author's web site by the ancestor's rule, `""` if it is none."""
    site = site.strip().lower()
    if site and not site.startswith("http"):
        site = "http://" + site
    return site if is_site(site) else ""


def _as_sent_by_old_clients(submission: Submission, email: str) -> Submission:
    digest = email.strip().lower()
    if "@" in digest:
        digest = avatar(digest)
    digest = digest if _DIGEST(digest) else ""
    return msgspec.structs.replace(submission, avatar=digest, form_token=None)
