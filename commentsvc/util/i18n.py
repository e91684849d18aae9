"""Internationalisation: the texts that people see, in their language.

English texts stand in the code where they are used. Their translations are in po/, one file for
each language; the build compiles these into one archive, together with the widget's texts. Python
code marks a text with `gettext`, `ngettext` or `pgettext` (imported as `_` in modules with many
texts), which return a Message; templates use {% trans %}. Both are translated into the language
that `speaking` sets. The language is chosen by the same rules as in the widget, so that all texts
of a page have the same language. Errors that only a programmer can cause are in English.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, cached_property
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO
from typing import Final
from zipfile import ZipFile

import msgspec

ENGLISH: Final = "en"
RIGHT_TO_LEFT: Final = frozenset({"ar", "fa", "he", "ur"})

PARTS: Final = ("tools", "reactions")  # parts of the widget's texts that it loads when needed
ACCEPTED_LENGTH: Final = 500  # characters of an Accept-Language field that are read
_ACCEPTED = re.compile(
    r"(?:^|,)\s*([A-Za-z]{2})(?:-[A-Za-z0-9-]*)?\s*(?:;\s*q=([01](?:\.[0-9]{0,3})?))?\s*(?=,|$)"
).findall
_REQUESTED = re.compile(r"(?:^|&)lang=([a-z]{2})\b").search


class Language:
    """A language of the service: its tag, its direction (`ltr` or `rtl`) and its texts."""

    def __init__(
        self, tag: str, catalogue: bytes, widget: bytes, parts: Mapping[str, bytes]
    ) -> None:
        """Take the compiled catalogue and JSON objects of texts for the widget.

        The widget loads `widget` with the page, and each of the `parts` when it is first used.
        """
        self.tag = tag
        self.direction = "rtl" if tag in RIGHT_TO_LEFT else "ltr"
        self.widget_json = widget
        self.parts = parts
        self._catalogue = catalogue

    @cached_property
    def translations(self) -> NullTranslations:
        """Return the translations, read at the first use of the language: it takes 2 ms."""
        if self.tag == ENGLISH:  # it has no translations: use the texts of the sources
            return NullTranslations()
        return GNUTranslations(BytesIO(self._catalogue))

    @cached_property
    def widget(self) -> Mapping[str, str]:
        """The widget's texts by their keys, with "#" in place of a number or name."""
        found = msgspec.json.decode(self.widget_json)
        return {key: text for key, text in found.items() if key not in ("tag", "counts")}

    @cached_property
    def reactions(self) -> Mapping[str, str]:
        """The names of the usual emoji, by emoji, and the name of their group: "label"."""
        return msgspec.json.decode(self.parts["reactions"], type=dict[str, str])

    def count(self, number: int) -> str:
        """Say how many comments there are."""
        if not number:
            return self.translations.pgettext("widget.none", "No comments")
        counted = self.translations.npgettext("widget.count", "# comment", "# comments", number)
        return counted.replace("#", str(number))


# A parameter may be any object with a `str`; a Message is translated into the same language.
Parameter = object


@dataclass(frozen=True, slots=True)
class Message:
    """A text that is translated later: `str` gives it in the language set by `speaking`.

    `params` replace placeholders such as %(limit)s, and `number` chooses the plural form.
    """

    text: str
    plural: str = ""
    number: int = 0
    context: str = ""
    params: Mapping[str, Parameter] = field(default_factory=dict)

    def said_in(self, language: Language) -> str:
        """Return the text in a language."""
        translations = language.translations
        if self.plural:
            said = translations.ngettext(self.text, self.plural, self.number)
        elif self.context:
            said = translations.pgettext(self.context, self.text)
        else:
            said = translations.gettext(self.text)
        if not self.params:
            return said
        with speaking(language):  # for parameters that are messages
            return said % self.params

    def __str__(self) -> str:
        return self.said_in(spoken())

    def __hash__(self) -> int:
        return hash((self.text, self.number))


# A message, or a text that exists in English only.
Text = str | Message


def gettext(text: str, **params: Parameter) -> Message:
    """Return the message whose English text is `text`.

    >>> translate(gettext("This has %(length)s characters; at most %(limit)s are allowed.",
    ...     length=81, limit=80), "de")
    'Das sind 81 Zeichen; höchstens 80 sind möglich.'
    """
    return Message(text, params=params)


def ngettext(singular: str, plural: str, number: int, **params: Parameter) -> Message:
    """Return the message with a singular and a plural form; %(num)s is replaced by `number`."""
    return Message(singular, plural, number, params={"num": number, **params})


def pgettext(context: str, text: str, **params: Parameter) -> Message:
    """Return a message whose translation depends on the context, as gettext's msgctxt."""
    return Message(text, context=context, params=params)


def translate(text: Text, tag: str = ENGLISH) -> str:
    """Return a message in the language of a tag; a plain text is returned unchanged."""
    return text if isinstance(text, str) else text.said_in(find_language(tag))


def find_language(tag: str) -> Language:
    """Return the language of that tag; English if the service does not have it."""
    known = languages()
    return known.get(tag, known[ENGLISH])


@cache
def languages() -> Mapping[str, Language]:
    """Return all languages of the service, by their tags."""
    path = files("commentsvc") / "locale" / "catalogues.zip"
    found = {}
    with ZipFile(BytesIO(path.read_bytes())) as archive:
        for name in archive.namelist():
            tag, _, ending = name.partition(".")
            if ending == "json":
                catalogue = archive.read(f"{tag}.mo")
                parts = {part: archive.read(f"{tag}.{part}.json") for part in PARTS}
                found[tag] = Language(tag, catalogue, archive.read(name), parts)
    return found


def accepted_language(header: str) -> str:
    """Return the tag of our language with the greatest quality in an Accept-Language field.

    Return "" if the field names none of ours (RFC 9110, section 12.5.4).
    """
    wanted = []
    for number, (tag, quality) in enumerate(_ACCEPTED(header[:ACCEPTED_LENGTH])):
        if tag.lower() in languages() and float(quality or 1):
            wanted.append((-float(quality or 1), number, tag.lower()))
    return min(wanted)[2] if wanted else ""


_spoken: ContextVar[Language] = ContextVar("spoken")


def spoken() -> Language:
    """Return the language that `speaking` set; English outside of it."""
    return _spoken.get(None) or find_language(ENGLISH)


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Translate all messages and templates into that language during the block."""
    token = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(token)


def requested_language(query: str) -> str:
    """Return the tag that a query names as `lang`, "de" for ``lang=de-AT``; "" without one."""
    found = _REQUESTED(query)
    return found[1] if found else ""
