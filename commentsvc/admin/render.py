"""Rendering: the templates of the moderation pages, and the headers of their answers.

jinja2 escapes all texts of a page; the only HTML from readers comes from `markup.markdown`, which
sanitizes it. The Content-Security-Policy allows only our own style sheets, scripts and pictures, as
files, and nothing inline; no other page can frame or open ours. All addresses are relative, so that
the pages work under any path prefix of a proxy.

A page is for one moderator, so it has no cache tags and is never stored.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from commentsvc.http.messages import (
    HTML_UTF8,
    NO_SNIFFING,
    NOT_STORED,
    Headers,
    HttpError,
    Response,
)
from commentsvc.markup import image_names
from commentsvc.model import Comment
from commentsvc.spam import reasons
from commentsvc.util.i18n import Message, ngettext, pgettext, spoken
from commentsvc.util.i18n import gettext as _
from commentsvc.util.templates import Templates
from commentsvc.util.text import whole_number
from commentsvc.util.timestamps import DAY_MS, HOUR_MS, MINUTE_MS

HTML: Final = ("Content-Type", HTML_UTF8)
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
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
REMEMBERED: Final = 1_000  # cached dates; a list of old comments has fifty
HOME: Final = "queue"  # the first page for moderators

# One of our pages with its query, relative to this one: a redirect cannot lead to another site.
_TARGET: Final = re.compile(r"[a-z-]+(\?[\x21-\x7e]*)?")

# The first step whose limit is longer than the age names it; limit and unit are in milliseconds.
_AGES: Final[Sequence[tuple[int, int, Callable[[int], Message]]]] = (
    (MINUTE_MS, 1, lambda number: _("just now")),
    (HOUR_MS, MINUTE_MS, lambda number: ngettext("%(num)s min ago", "%(num)s min ago", number)),
    (DAY_MS, HOUR_MS, lambda number: ngettext("%(num)s h ago", "%(num)s h ago", number)),
    (2 * DAY_MS, DAY_MS, lambda number: _("yesterday")),
    (14 * DAY_MS, DAY_MS, lambda number: ngettext("%(num)s day ago", "%(num)s days ago", number)),
)
MONTHS: Final = (
    pgettext("month", "Jan"),
    pgettext("month", "Feb"),
    pgettext("month", "Mar"),
    pgettext("month", "Apr"),
    pgettext("month", "May"),
    pgettext("month", "Jun"),
    pgettext("month", "Jul"),
    pgettext("month", "Aug"),
    pgettext("month", "Sep"),
    pgettext("month", "Oct"),
    pgettext("month", "Nov"),
    pgettext("month", "Dec"),
)


def ago(moment: int, now: int) -> str:
    """Return how long ago a time (Unix milliseconds) was, or its date if it is long ago."""
    for limit, unit, text in _AGES:
        if now - moment < limit:
            return str(text((now - moment) // unit))
    return _date(moment // DAY_MS, spoken().tag)


@lru_cache(REMEMBERED)
def _date(day: int, language: str) -> str:
    """Return the date of a day (Unix time / 86,400 s); `language` is part of the cache key."""
    date = _utc(day * DAY_MS)
    month = MONTHS[date.month - 1]
    return str(_("%(day)s %(month)s %(year)s", day=date.day, month=month, year=date.year))


def short_date(day: int) -> str:
    """Return the date of a day (Unix time / 86,400 s) without its year: ``4 Nov``."""
    date = _utc(day * DAY_MS)
    return str(_("%(day)s %(month)s", day=date.day, month=MONTHS[date.month - 1]))


def exactly(moment: int) -> str:
    """Return a time to the minute, in UTC."""
    return f"{_date(moment // DAY_MS, spoken().tag)}, {_utc(moment):%H:%M} UTC"


def pictures(comment: Comment) -> list[str]:
    """Return the names of the images in a comment, which moderators see before others do."""
    named = image_names.names(comment.source)
    return [name for name in named if f"/images/{name}." in comment.html]


def machine(moment: int) -> str:
    """Return a time for the attribute of `<time datetime>`."""
    return f"{_utc(moment):%Y-%m-%dT%H:%M:%SZ}"


def _utc(moment: int) -> datetime:
    return datetime.fromtimestamp(moment / 1_000, UTC)


# Words that identify browsers and systems, in this order: earlier ones also contain a later word.
_BROWSERS: Final = ("Edg", "OPR", "Firefox", "Chrome", "Safari")
_SYSTEMS: Final = ("Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux")
_NAMES: Final = {"Edg": "Edge", "OPR": "Opera", "Mac OS": "macOS"}


def browser(agent: str) -> str:
    """Return the name of a browser from its User-Agent: ``Firefox on Linux``."""
    words = [next((w for w in known if w in agent), "") for known in (_BROWSERS, _SYSTEMS)]
    names = [_NAMES.get(word, word) for word in words if word]
    if len(names) == 2:
        return str(_("%(browser)s on %(system)s", browser=names[0], system=names[1]))
    return names[0] if names else str(_("An unknown browser"))


TEMPLATES: Final = Templates(
    "admin",
    {
        "ago": ago,
        "browser": browser,
        "exactly": exactly,
        "machine": machine,
        "pictures": pictures,
        "said_reason": reasons.said,
    },
)


def render(
    name: str,
    code: int = 200,
    headers: Sequence[tuple[str, str]] = (),
    /,
    **values: Any,  # Any: what the template shows
) -> Response:
    """Return the page made from the template `name` with `values`."""
    body = TEMPLATES.render(name, spoken(), **values).encode(errors="replace")
    return Response(code, (HTML, *HEADERS, *headers), body)


def redirect(target: str, headers: Sequence[tuple[str, str]] = ()) -> Response:
    """Return a redirect (303) to the page at `target`, relative to this one."""
    return Response(303, (("Location", target), *HEADERS, *headers), b"")


def number(text: str) -> int:
    """Return the id in a page's address or form. Raise HttpError 404."""
    found = whole_number(text)
    if found is None:
        raise HttpError(404, "not_found", _("There is no such page."))
    return found


def target(wanted: str) -> str:
    """Return `wanted` if it is a page of ours to redirect to, else the first page."""
    return wanted if _TARGET.fullmatch(wanted) else HOME
