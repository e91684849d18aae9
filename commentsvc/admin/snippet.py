"""Page with the lines that a blog needs for comments; it checks whether a page has them.

The page is fetched from an origin of a site, as the settings have it, by the client for addresses
of the settings: a network of its own is reached only if `hooks.allowed_networks` has it.
"""

import asyncio
import re
from collections.abc import Collection, Iterator
from html import unescape
from itertools import islice
from typing import Final
from urllib.parse import urljoin

from commentsvc.admin.access import RequestContext, get, post, public_address
from commentsvc.admin.layout import AdminContext
from commentsvc.http.messages import Response
from commentsvc.moderation.permissions import Permission
from commentsvc.util.http_client import RemoteError, SettingsClient
from commentsvc.util.i18n import Text
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import origin
from commentsvc.util.threads import FOREIGN, run_in

SCRIPT: Final = "/static/comments.js"
ADDRESS_LENGTH: Final = 2_000  # characters of a page's address
PAGE_SIZE: Final = 2_097_152  # bytes
TAGS: Final = 1_000  # scripts and threads of a page that are looked at

_TAG: Final = re.compile(r"<(script|comment-thread)\b([^<>]{0,2000})>", re.IGNORECASE).finditer
_VALUE: Final = r"\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"']+))"
_SOURCE: Final = re.compile(rf"(?<![\w-])src{_VALUE}", re.IGNORECASE).search
_URL: Final = re.compile(rf"(?<![\w-])url{_VALUE}", re.IGNORECASE).search


class SnippetPage:
    """The handlers of the page."""

    def __init__(self, context: AdminContext) -> None:
        settings = context.service.settings
        self._public_url = settings.server.public_url
        self._sites = {site.name: site.origins for site in settings.sites}
        self._first = settings.sites[0].name
        self._origins = [each for site in settings.sites for each in site.origins]
        self._client = SettingsClient(settings.hooks.allowed_networks)
        self._layout = context.layout
        self._checking = asyncio.Lock()  # one page after the other

    @get("/snippet", Permission.READ_SERVICE)
    async def page(self, context: RequestContext) -> Response:
        """The lines that a page of the blog needs, or of the `?site=`."""
        return await self._show(context, [])

    @post("/snippet", Permission.ADMINISTER)
    async def check(self, context: RequestContext) -> Response:
        """Check whether a page of the blog has the lines.

        The service requests `page`, whose address begins with an origin of a site. 200 with what
        the page lacks.
        """
        address = context.first("page").strip()[:ADDRESS_LENGTH]
        if not self._origins:
            fault = _(
                "The settings name no address of the blog (origins): it could send no comments."
            )
            return await self._show(context, [fault])
        if origin(address) not in self._origins:
            fault = _(
                "This is no page of the blog. Its address begins with one of these: %(origins)s.",
                origins=", ".join(self._origins),
            )
            return await self._show(context, [fault])
        async with self._checking:
            faults = await self._faults(address, self._base(context))
        return await self._show(context, faults, has_lines=not faults)

    def _base(self, context: RequestContext) -> str:
        return public_address(self._public_url, context.request)

    async def _faults(self, address: str, base: str) -> list[Text]:
        try:
            answer = await self._client.fetch(address, PAGE_SIZE, {"Accept": "text/html"})
        except RemoteError as error:
            reason = str(error).rstrip(".")
            return [_("The page cannot be read: %(reason)s.", reason=reason)]
        if answer.status != 200:
            return [
                _(
                    "The page is not there: its server answers with %(status)s.",
                    status=answer.status,
                )
            ]
        html = answer.body.decode(errors="replace")
        others = [] if origin(address) in self._sites[self._first] else [origin(address)]
        return await run_in(FOREIGN, lambda: [*missing(html, answer.url or address, base, others)])

    async def _show(
        self, context: RequestContext, faults: list[Text], *, has_lines: bool = False
    ) -> Response:
        asked = context.first("site")
        site = asked if asked in self._sites else self._first
        typed = context.first("page")[:ADDRESS_LENGTH]
        return await self._layout.render(
            "snippet.html",
            context,
            here="settings",
            base=self._base(context),
            script=SCRIPT,
            site=site,
            blog="" if site == self._first else next(iter(self._sites[site]), ""),
            page=typed or next(iter(self._sites[site] or self._origins), ""),
            length=ADDRESS_LENGTH,
            faults=faults,
            has_lines=has_lines,
        )


def missing(html: str, address: str, base: str, origins: Collection[str] = ()) -> Iterator[Text]:
    """Yield what the page at `address` lacks for comments of the service at `base`.

    The page belongs to the first site, or else to the one with these `origins`.
    """
    first, *others = html.split("<!--")
    plain = first + "".join(each.partition("-->")[2] for each in others)
    scripts, has_thread, names_page = list[str](), False, not origins
    for tag in islice(_TAG(plain), TAGS):
        if tag[1].lower() == "comment-thread":
            has_thread = True
            if url := _URL(tag[2]):
                names_page |= origin(unescape("".join(url.groups("")))) in origins
        elif (found := _SOURCE(tag[2])) and SCRIPT in (
            source := unescape("".join(found.groups("")))
        ):
            scripts.append(_joined(address, source))
    wanted = base + SCRIPT
    if not scripts:
        yield _(
            "The first line is missing. Put it into the template of the posts, and build the blog"
            " again."
        )
    elif not any(each.partition("?")[0] == wanted for each in scripts):
        yield _(
            "The script comes from %(found)s. Put %(wanted)s there.",
            found=scripts[0][:200],
            wanted=wanted,
        )
    if not has_thread:
        yield _(
            "The second line is missing. Put it where the comments should be, and build the blog"
            " again."
        )
    elif not names_page:
        yield _("In the second line, the address of the page is missing (url).")


def _joined(address: str, source: str) -> str:
    try:
        return urljoin(address, source)
    except ValueError:
        return source
