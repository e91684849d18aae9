"""Rendering: the moderation pages' templates, and the headers of every answer there.

A page is a template with named values; all texts in it are escaped by jinja2, and the only
HTML that comes from a reader is what `comments.markdown` made, which passed its allow-list. The
policy lets nothing in but our own style, script and pictures by file, nothing inline, and lets no
other page frame or open ours. All addresses are relative, so that the pages work under any prefix
of a proxy.

A page belongs to who asked for it, so it has no tags and is never stored.
"""

import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, Final

from jinja2 import Environment, Template

from commentsvc.http.messages import NO_SNIFFING, NOT_STORED, Headers, HttpError, Response
from commentsvc.util import templates
from commentsvc.util.text import whole_number
from commentsvc.util.timestamps import DAY_MS, HOUR_MS, MINUTE_MS

HTML: Final = ("Content-Type", "text/html; charset=utf-8")
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final[Headers] = (
    NOT_STORED,
    NO_SNIFFING,
    ("Content-Security-Policy", POLICY),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),  # for browsers that do not know frame-ancestors
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
REMEMBERED: Final = 1_000  # dates: a list of old comments has fifty
HOME: Final = "queue"  # where moderators begin

# A page of ours with its query, relative to this one: nobody can send a moderator elsewhere.
_TARGET: Final = re.compile(r"[a-z-]+(\?[\x21-\x7e]*)?")

# The last step that is shorter than its limit, in ms, names an age.
_AGES: Final = (
    (MINUTE_MS, 1, "just now"),
    (HOUR_MS, MINUTE_MS, "{} min ago"),
    (DAY_MS, HOUR_MS, "{} h ago"),
    (2 * DAY_MS, DAY_MS, "yesterday"),
    (14 * DAY_MS, DAY_MS, "{} days ago"),
)


def ago(moment: int, now: int) -> str:
    """Tell how long ago a moment was, or its date where that is long ago; Unix milliseconds."""
    for limit, unit, text in _AGES:
        if now - moment < limit:
            return text.format((now - moment) // unit)
    return _date(moment // DAY_MS)


@lru_cache(REMEMBERED)
def _date(day: int) -> str:
    return f"{_utc(day * DAY_MS):%-d %b %Y}"


def exactly(moment: int) -> str:
    """Tell a moment to the minute, in UTC."""
    return f"{_utc(moment):%-d %B %Y, %H:%M} UTC"


def machine(moment: int) -> str:
    """A moment as `<time datetime>` wants it."""
    return f"{_utc(moment):%Y-%m-%dT%H:%M:%SZ}"


def _utc(moment: int) -> datetime:
    return datetime.fromtimestamp(moment / 1_000, UTC)


HUES: Final = 8  # colours of authors in the style file


def hue(author: str) -> int:
    """The number of the colour that stands for an author, the same each time."""
    return zlib.crc32(author.encode(errors="replace")) % HUES


# What tells browsers and systems apart, in this order: a later word stands in earlier names too.
_BROWSERS: Final = ("Edg", "OPR", "Firefox", "Chrome", "Safari")
_SYSTEMS: Final = ("Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux")
_NAMES: Final = {"Edg": "Edge", "OPR": "Opera", "Mac OS": "macOS"}


def browser(agent: str) -> str:
    """Tell people what a browser's User-Agent says: ``Firefox on Linux``."""
    words = [next((w for w in known if w in agent), "") for known in (_BROWSERS, _SYSTEMS)]
    told = " on ".join(_NAMES.get(word, word) for word in words if word)
    return told or "An unknown browser"


@cache
def _environment() -> Environment:
    environment = templates.environment("moderation")
    environment.filters.update(ago=ago, browser=browser, exactly=exactly, hue=hue, machine=machine)
    return environment


def template(name: str) -> Template:
    """The template of that name; compiled once."""
    return _environment().get_template(name)


def render(
    name: str,
    code: int = 200,
    headers: Sequence[tuple[str, str]] = (),
    /,
    **values: Any,  # Any: what the template shows
) -> Response:
    """The page that the template `name` makes of `values`."""
    body = template(name).render(values).encode(errors="replace")
    return Response(code, (HTML, *HEADERS, *headers), body)


def redirect(target: str, headers: Sequence[tuple[str, str]] = ()) -> Response:
    """Send a browser to the page at `target`, relative to this one (303: by GET)."""
    return Response(303, (("Location", target), *HEADERS, *headers), b"")


def number(text: str) -> int:
    """The id that a page's address or form gives. Raises HttpError 404."""
    found = whole_number(text)
    if found is None:
        raise HttpError(404, "not_found", "Not found.")
    return found


def target(wanted: str) -> str:
    """Where to send a browser that wants to go there: the first page for what is none of ours."""
    return wanted if _TARGET.fullmatch(wanted) else HOME
