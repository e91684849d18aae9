"""Internationalisation: what readers see of the service in the language of their page.

The texts are in static/locales, one JSON file for each language. It has the plural forms of the
number of comments (`counts`), the texts of the widget, those that the service alone says, and those
of the Hugo module. A language is chosen as the widget does it, so both speak the same on one page.
What only a programmer can cause is said in English where it is found, and is not in the catalogues.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

ENGLISH: Final = "en"
RIGHT_TO_LEFT: Final = frozenset({"ar"})

_REQUESTED = re.compile(r"(?:^|&)lang=([a-z]{2})\b").search


class Catalogue(msgspec.Struct, frozen=True):
    """The texts of one language, by their keys; `counts` by the plural categories of CLDR.

    In `counts` and `widget`, "#" stands for a number or name. In `service`, names in braces are
    the parameters of a Message.
    """

    tag: str
    counts: dict[str, str]
    widget: dict[str, str]
    service: dict[str, str]
    hugo: dict[str, str]

    @property
    def direction(self) -> str:
        """Return the language's value of the attribute `dir`."""
        return "rtl" if self.tag in RIGHT_TO_LEFT else "ltr"

    def count(self, number: int) -> str:
        """Say how many comments there are."""
        category = plural(self.tag, number) if number else "zero"
        return self.counts[category].replace("#", str(number))


@dataclass(frozen=True, slots=True)
class Message:
    """A text of the catalogues, which `translate` says in a language.

    `params` are what stands for the names in braces.
    """

    key: str
    params: Mapping[str, int] = field(default_factory=dict)


# A message, or a text that is in English only.
Text = str | Message


def translate(text: Text, language: str = ENGLISH) -> str:
    """Return a message in a language, named by its tag; a plain text as it is.

    >>> translate(Message("too_long", {"length": 81, "limit": 80}), "de")
    'Das sind 81 Zeichen; höchstens 80 sind möglich.'
    """
    if isinstance(text, str):
        return text
    texts = catalogue(language)
    found = texts.service.get(text.key) or texts.widget[text.key]
    return found.format_map(text.params)


def catalogue(tag: str) -> Catalogue:
    """Return the texts in the language of that tag, in English if there are none in it."""
    known = catalogues()
    return known.get(tag, known[ENGLISH])


@cache
def catalogues() -> Mapping[str, Catalogue]:
    """Return all catalogues by their tags. Raise msgspec.DecodeError if a file is malformed."""
    folder = files("commentsvc") / "static" / "locales"
    decoder = msgspec.json.Decoder(Catalogue)
    found = [decoder.decode(file.read_bytes()) for file in folder.iterdir()]
    return {texts.tag: texts for texts in found}


def widget_catalogue(tag: str) -> bytes:
    """Return what the widget needs of a catalogue, as JSON."""
    texts = catalogues()[tag]
    return msgspec.json.encode({"tag": tag, "counts": texts.counts, **texts.widget})


def requested_language(query: str) -> str:
    """Return the tag that a query names as `lang`, "de" for ``lang=de-AT``; "" without one."""
    found = _REQUESTED(query)
    return found[1] if found else ""


def plural(tag: str, number: int) -> str:
    """Return the plural category of a whole number in one of our languages (Unicode CLDR)."""
    ten, hundred = number % 10, number % 100
    match tag:
        case "ja" | "zh":
            return "other"
        case "ar":
            first = {0: "zero", 1: "one", 2: "two"}.get(number)
            return first or ("few" if 3 <= hundred <= 10 else "many" if hundred > 10 else "other")
        case "pl" | "ru":
            if number == 1 or (tag == "ru" and ten == 1 and hundred != 11):
                return "one"
            return "few" if 2 <= ten <= 4 and hundred // 10 != 1 else "many"
    if number == 1 or (number == 0 and tag in ("fr", "pt")):
        return "one"
    millions = number and number % 1_000_000 == 0 and tag in ("es", "fr", "it", "pt")
    return "many" if millions else "other"
