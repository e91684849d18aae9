"""Reasons: why a comment got points, stored as codes and shown in the moderator's language.

A reason is stored as a line: its code, its points and what it is about, as in ``links +5 9`` or
``no-work +3``. Lines of another form, which may come from exports of other programs, are shown
unchanged.
"""

import re
from dataclasses import replace
from typing import Final, Literal, NamedTuple, cast

from commentsvc.util.i18n import Text
from commentsvc.util.i18n import gettext as _

Reason = Literal[
    "author-banned",
    "classifier",
    "classifier-waits",
    "common",
    "crowd",
    "domain-banned",
    "hasty",
    "like-approved",
    "like-spam",
    "links",
    "network-banned",
    "no-form-token",
    "no-work",
    "protected-address",
    "protected-name",
    "repeated",
    "script",
    "token-expired",
    "token-forged",
    "token-used",
    "word",
    "word-banned",
]

TEXTS: Final = {
    "author-banned": _("the author is banned"),
    "classifier": _("the classifier says: %(about)s"),
    "classifier-waits": _("waits for the classifier"),
    "common": _("the same sentence came from another network"),
    "crowd": _("the site gets more comments than usual"),
    "domain-banned": _("the domain of a link is banned"),
    "hasty": _("sent within %(about)s seconds"),
    "like-approved": _("similar to approved comments: %(about)s"),
    "like-spam": _("similar to spam: %(about)s"),
    "links": _("more links than allowed: %(about)s"),
    "network-banned": _("the network is banned"),
    "no-form-token": _("sent without JavaScript"),
    "no-work": _("no proof of work"),
    "protected-address": _("has a protected address"),
    "protected-name": _("looks like the protected name “%(about)s”"),
    "repeated": _("the same text came from another network"),
    "script": _("written in another script: %(about)s"),
    "token-expired": _("sent with a form token that is too old"),
    "token-forged": _("sent with a forged form token"),
    "token-used": _("sent with a form token that was used before"),
    "word": _("contains the word “%(about)s”"),
    "word-banned": _("a word is banned"),
}
# The most frequent scripts; others are named by the first word of their letters' Unicode names.
SCRIPTS: Final = {
    "arabic": _("Arabic"),
    "bengali": _("Bengali"),
    "cyrillic": _("Cyrillic"),
    "devanagari": _("Devanagari"),
    "greek": _("Greek"),
    "han": _("Han"),
    "hangul": _("Hangul"),
    "hebrew": _("Hebrew"),
    "kana": _("Kana"),
    "latin": _("Latin"),
    "thai": _("Thai"),
}
_LINE: Final = re.compile(r"([a-z-]+) ([+-][0-9]{1,3})(?: (.*))?").fullmatch


class SaidReason(NamedTuple):
    """A reason in words, and its points such as "+3"; "" if it has none."""

    text: Text
    points: str


def line(reason: str, points: int, about: str = "") -> str:
    """Return the stored form of a reason."""
    return f"{reason} {points:+} {about}" if about else f"{reason} {points:+}"


def signal_of(stored: str) -> tuple[int, Reason, str] | None:
    """Return the points, the code and the subject of a stored reason; None for an unknown one."""
    found = _LINE(stored)
    if found is None or found[1] not in TEXTS:
        return None
    return int(found[2]), cast(Reason, found[1]), found[3] or ""


def said(stored: str) -> SaidReason:
    """Return the words and points of a stored reason."""
    found = signal_of(stored)
    if found is None:
        return SaidReason(stored, "")
    points, code, about = found
    what = SCRIPTS.get(about, about) if code == "script" else about
    text = replace(TEXTS[code], params={"about": what})
    return SaidReason(text, f"{points:+}" if points else "")
