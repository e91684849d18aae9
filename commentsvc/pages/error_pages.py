"""Error pages: what a browser shows in place of the JSON of an error, with the way to the blog.

Programs get JSON. A browser that opens an address says that it prefers HTML (`is_for_person`); the
core decides by a simpler rule for the errors that it answers by itself (core/http/accept.h): HTML
is named, and JSON is not. Their pages are made once, in the language of the first site.
"""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from typing import Final

from commentsvc.comments.page_urls import Blog, Sites
from commentsvc.http.messages import (
    HTML_UTF8,
    NO_SNIFFING,
    Headers,
    HttpError,
    Request,
    Response,
    first,
)
from commentsvc.util.i18n import Language, find_language, said_duration, translate
from commentsvc.util.i18n import gettext as _

ACCEPT_LENGTH: Final = 500  # characters of Accept that are read
NOT_FOUND: Final = (404, 405, 410)
LONG_WAIT: Final = 60  # seconds, if the error says nothing

NO_PAGE: Final = _("There is no such page.")
START_AGAIN: Final = _("Please go back to the blog and start again there.")
GO_BACK: Final = _("Go back with your browser: the form still has your text.")
HEADING: Final = _("This did not work")
SHOWN_BELOW: Final = _("This is a comment service. Its comments are shown below the pages of:")
STYLE: Final = (
    ":root{color-scheme:light dark}body{max-width:36rem;margin:2rem auto;padding:0 1.25rem;"
    "overflow-wrap:anywhere;background:Canvas;color:CanvasText;font:1.05rem/1.6 system-ui,"
    "sans-serif}h1{font-size:1.3rem}a{color:LinkText}"
)

# The core's pages are made at each start, which would load jinja2 for them: 25 ms.
PAGE: Final = (
    '<!DOCTYPE html>\n<html lang="{tag}" dir="{direction}">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    f"<title>{{title}}</title>\n<style>{STYLE.replace('{', '{{').replace('}', '}}')}</style>\n"
    "</head>\n<body>\n<main>\n<h1>{heading}</h1>\n<p>{said}</p>\n{blogs}</main>\n</body>\n</html>\n"
)


def is_for_person(request: Request) -> bool:
    """Return whether a request opens an address in a browser: it prefers HTML to JSON.

    Scripts say so in Sec-Fetch-Mode, whatever they accept.
    """
    if request.header("sec-fetch-mode") not in (None, "navigate"):
        return False
    accept = (request.header("accept") or "")[:ACCEPT_LENGTH].lower()
    wanted: dict[str, float] = {}
    for position, part in enumerate(accept.split(",")):
        kind, *parameters = (each.strip() for each in part.split(";"))
        quality = next((each[2:] for each in parameters if each.startswith("q=")), "1")
        try:
            wanted.setdefault(kind, float(quality) - position / 1_000_000 if float(quality) else 0)
        except ValueError:
            continue
    return wanted.get("text/html", 0) > max(0, wanted.get("application/json", 0))


def blogs_of(sites: Sites, request: Request) -> list[Blog]:
    """Return the blog that a reader comes from, or all."""
    try:
        given = request.parameters()
    except HttpError:
        given = {}
    page = first(given, "url") or (request.header("referer") or "")
    return sites.blogs(first(given, "site"), page)


def said_by_widget(status: int, language: Language, headers: Headers) -> str:
    """Return what the widget says about an error; "" if it has no text for it.

    How long to wait is in the `headers` of the error.
    """
    wait = said_duration(int(dict(headers).get("Retry-After", LONG_WAIT)))
    said = language.widget.get(str(min(status, 500)), "")
    return said.replace("#", wait.said_in(language))


class ErrorPages:
    """Makes these pages."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        digest = b64encode(sha256(STYLE.encode()).digest()).decode()
        self._headers = (
            ("Content-Type", HTML_UTF8),
            NO_SNIFFING,
            (
                "Content-Security-Policy",
                f"style-src 'sha256-{digest}'; "
                "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
            ),
            ("X-Robots-Tag", "noindex"),
        )

    def in_place_of(self, answer: Response, request: Request) -> Response:
        """Return the page for an error, or `answer` as it is if it is none, or for a program."""
        headers = dict(answer.headers)
        is_page = headers.get("Content-Type", "").startswith("text/html")
        if answer.status < 400 or is_page or answer.tags or not is_for_person(request):
            return answer
        kept = tuple(each for each in answer.headers if each[0] not in dict(self._headers))
        blogs = blogs_of(self._sites, request)
        html = self._made(answer.status, request.language(), blogs, answer.headers)
        return Response(answer.status, (*self._headers, *kept), html)

    def made_before(self, statuses: Iterable[int]) -> dict[int, bytes]:
        """Return the pages of the errors that the core answers by itself."""
        blogs = self._sites.blogs()
        language = find_language(self._sites.language)
        return {status: self._made(status, language, blogs, ()) for status in statuses}

    def _made(self, status: int, language: Language, blogs: list[Blog], sent: Headers) -> bytes:
        message = NO_PAGE if status in NOT_FOUND else START_AGAIN
        said = translate(message, language.tag)
        if status in (413, 429) or status >= 500:
            said = said_by_widget(status, language, sent)
        if status == 413:
            said += f" {translate(GO_BACK, language.tag)}"
        heading = escape(translate(HEADING, language.tag))
        html = PAGE.format(
            tag=language.tag,
            direction=language.direction,
            title=f"{heading} · {escape(blogs[0].title)}" if len(blogs) == 1 else heading,
            heading=heading,
            said=escape(said),
            blogs=_linked(blogs, language),
        )
        return html.encode()


def _linked(blogs: list[Blog], language: Language) -> str:
    """Return HTML that names the blogs, and says what they are if they are several."""
    lines = []
    if len(blogs) > 1:
        lines.append(f"<p>{escape(translate(SHOWN_BELOW, language.tag))}</p>")
    for blog in blogs:
        title, address = escape(blog.title), escape(blog.address)
        link = f'<a href="{address}" dir="auto">{title}</a>' if address else f"<bdi>{title}</bdi>"
        lines.append(f"<p>{link}</p>")
    return "".join(f"{line}\n" for line in lines)
