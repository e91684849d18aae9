"""Internationalisation: what people see of the service, in their language.

The texts stand in English where they are used, and in po/, one file for each other language; the
build compiles those into one archive, with what the widget needs of each. Python marks a text by
`gettext`, `ngettext` or `pgettext` (imported as `_` where there are many), which give a Message;
templates have {% trans %}. Both are said in the language that `speaking` names. A language is
chosen as the widget does it, so both speak the same on one page. What only a programmer can cause
is said in English.
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

ACCEPTED_LENGTH: Final = 500  # characters of an Accept-Language field that are read
_ACCEPTED = re.compile(
    r"(?:^|,)\s*([A-Za-z]{2})(?:-[A-Za-z0-9-]*)?\s*(?:;\s*q=([01](?:\.[0-9]{0,3})?))?\s*(?=,|$)"
).findall
_REQUESTED = re.compile(r"(?:^|&)lang=([a-z]{2})\b").search


class Language:
    """A language that the service speaks, by its tag, with its direction (`ltr` or `rtl`)."""

    def __init__(
        self, tag: str, translations: NullTranslations, widget: bytes, tools: bytes
    ) -> None:
        """Take the compiled catalogue, and what the widget loads at first and on use, as JSON."""
        self.tag = tag
        self.direction = "rtl" if tag in RIGHT_TO_LEFT else "ltr"
        self.widget_json = widget
        self.tools_json = tools
        self.translations = translations

    @cached_property
    def widget(self) -> Mapping[str, str]:
        """The widget's texts by their keys; "#" stands for a number or name."""
        found = msgspec.json.decode(self.widget_json)
        return {key: text for key, text in found.items() if key not in ("tag", "counts")}

    def count(self, number: int) -> str:
        """Say how many comments there are."""
        if not number:
            return self.translations.pgettext("widget.none", "No comments")
        counted = self.translations.npgettext("widget.count", "# comment", "# comments", number)
        return counted.replace("#", str(number))


# Any object with a text may stand for a name; a Message is said in the same language.
Parameter = object


@dataclass(frozen=True, slots=True)
class Message:
    """A text that is said later: `str` says it in the language that is being spoken.

    `params` are what stands for names such as %(limit)s; a plural form is chosen by `number`.
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
        with speaking(language):  # of a message that stands for a name
            return said % self.params

    def __str__(self) -> str:
        return self.said_in(spoken())

    def __hash__(self) -> int:
        return hash((self.text, self.number))


# A message, or a text that is in English only.
Text = str | Message


def gettext(text: str, **params: Parameter) -> Message:
    """Return the message that is `text` in English.

    >>> translate(gettext("This has %(length)s characters; at most %(limit)s are allowed.",
    ...     length=81, limit=80), "de")
    'Das sind 81 Zeichen; höchstens 80 sind möglich.'
    """
    return Message(text, params=params)


def ngettext(singular: str, plural: str, number: int, **params: Parameter) -> Message:
    """Return the message whose form depends on a number, which is %(num)s in it."""
    return Message(singular, plural, number, params={"num": number, **params})


def pgettext(context: str, text: str, **params: Parameter) -> Message:
    """Return a message whose words mean something else in another context."""
    return Message(text, context=context, params=params)


def translate(text: Text, tag: str = ENGLISH) -> str:
    """Return a message in a language, named by its tag; a plain text as it is."""
    return text if isinstance(text, str) else text.said_in(find_language(tag))


def find_language(tag: str) -> Language:
    """Return the language of that tag, English if it is not spoken."""
    known = languages()
    return known.get(tag, known[ENGLISH])


@cache
def languages() -> Mapping[str, Language]:
    """Return all languages that the service speaks, by their tags."""
    path = files("commentsvc") / "locale" / "catalogues.zip"
    found = {}
    with ZipFile(BytesIO(path.read_bytes())) as archive:
        for name in archive.namelist():
            tag, _, ending = name.partition(".")
            if ending == "json":
                compiled = GNUTranslations(BytesIO(archive.read(f"{tag}.mo")))
                # The template has no translations, so gettext says what the sources say.
                translations = NullTranslations() if tag == ENGLISH else compiled
                tools = archive.read(f"{tag}.tools.json")
                found[tag] = Language(tag, translations, archive.read(name), tools)
    return found


def accepted_language(header: str) -> str:
    """Return the tag of the language that an Accept-Language field wants most and we speak.

    That is "" where it names none (RFC 9110, section 12.5.4).
    """
    wanted = []
    for number, (tag, quality) in enumerate(_ACCEPTED(header[:ACCEPTED_LENGTH])):
        if tag.lower() in languages() and float(quality or 1):
            wanted.append((-float(quality or 1), number, tag.lower()))
    return min(wanted)[2] if wanted else ""


_spoken: ContextVar[Language] = ContextVar("spoken")


def spoken() -> Language:
    """Return the language that is being spoken, English outside of `speaking`."""
    return _spoken.get(None) or find_language(ENGLISH)


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Say all messages and templates in that language meanwhile."""
    token = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(token)


def requested_language(query: str) -> str:
    """Return the tag that a query names as `lang`, "de" for ``lang=de-AT``; "" without one."""
    found = _REQUESTED(query)
    return found[1] if found else ""
