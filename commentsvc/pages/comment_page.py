"""The page of one comment, which is the source of the webmentions that we send.

It is a microformats2 h-entry and contains the links of the comment. Once the comment is no longer
public, the page answers 410, so that other sites remove what they made of it.
"""

from typing import Final

from msgspec.structs import replace

from commentsvc.api.serialize import CommentSerializer
from commentsvc.comments import queries
from commentsvc.context import ServiceContext
from commentsvc.errors import UnknownComment
from commentsvc.http.messages import ANY_ORIGIN, NO_SNIFFING, HttpError, Request, Response
from commentsvc.http.operation import HTML as PAGE
from commentsvc.http.operation import handles
from commentsvc.markup.markdown import absolute
from commentsvc.model import APPROVED, fragment, thread_tag
from commentsvc.pages.embed import HTML, POLICY, refusal_page
from commentsvc.util.i18n import find_language
from commentsvc.util.templates import Templates

_TEMPLATES: Final = Templates("")


class CommentPermalink:
    """The handler of a comment's page."""

    def __init__(self, service: ServiceContext, serializer: CommentSerializer) -> None:
        self._database = service.database
        self._serializer = serializer
        self._sites = service.sites
        cache_control = ("Cache-Control", service.settings.server.cache_control)
        self._headers = (HTML, cache_control, ANY_ORIGIN, NO_SNIFFING, POLICY)

    @handles(
        "GET",
        "/comment/{id}",
        {200: PAGE, 410: PAGE},
        errors=(400, 404, 503),
        note="Webmentions that we send name it as their source.",
    )
    async def show(self, request: Request) -> Response:
        """Show one comment.

        410 if it is no longer public. Cached.
        """
        entry = await self._database.read_for_public(queries.find, request.number())
        if (
            entry is None
            or entry.comment.published_at is None
            or entry.site not in self._sites.options  # the site was removed
        ):
            raise UnknownComment([request.number()])
        language = find_language(self._sites.options[entry.site].language)
        blogs, page = self._sites.blogs(entry.site), self._sites.address(entry.site, entry.url)
        if entry.comment.status != APPROVED:
            gone = HttpError(410, "gone", language.widget["gone"])
            return refusal_page(gone, language, blogs, back=page)
        item = self._serializer.item(entry.comment, entry.site)
        html = _TEMPLATES.render(
            "comment.html",
            language,
            comment=replace(item, html=absolute(item.html, page, keeps_notes=True)),
            blogs=blogs,
            page=page,
            fragment=fragment(entry.comment.id),
            title=entry.title or entry.url,
        )
        tags = (thread_tag(entry.site, entry.url),)
        return Response(200, self._headers, html.encode(), tags)
