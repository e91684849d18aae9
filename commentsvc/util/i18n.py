"""Internationalisation: the texts that people see, in their language.

English texts stand in the code where they are used. Their translations are in po/, one file for
each language; the build compiles these into one archive, together with the widget's texts. Python
code marks a text with `gettext`, `ngettext` or `pgettext` (imported as `_` in modules with many
texts), which return a Message; templates use {% trans %}. Both are translated into the language
that `speaking` sets. The widget gets its texts from the service too, so that all texts of a page
have the same language. Some languages have only the texts for readers: moderators get English in
place of them. Errors that only a programmer can cause are in English.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
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
TAG: Final = "[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,3}"  # of a language (BCP 47), as it is stored
_IS_TAG = re.compile(TAG).fullmatch
RIGHT_TO_LEFT: Final = frozenset({"ar", "fa", "he", "ur"})
TRADITIONAL_CHINESE: Final = "zh-Hant"
# Other tags of languages: what CLDR uses for Norwegian, and those that ISO 639 had until 1989.
OTHER_TAGS: Final = {"no": "nb", "iw": "he", "in": "id"}
_IS_TRADITIONAL = re.compile(r"zh[-_](?:hant|hk|mo|tw)\b", re.IGNORECASE).match

# The languages by their own names.
NAMES: Final = {
    "ar": "العربية",
    "be": "Беларуская",
    "bg": "Български",
    "bn": "বাংলা",
    "ca": "Català",
    "cs": "Čeština",
    "da": "Dansk",
    "de": "Deutsch",
    "el": "Ελληνικά",
    "en": "English",
    "eo": "Esperanto",
    "es": "Español",
    "fa": "فارسی",
    "fi": "Suomi",
    "fr": "Français",
    "gl": "Galego",
    "he": "עברית",
    "hi": "हिन्दी",
    "hr": "Hrvatski",
    "hu": "Magyar",
    "id": "Indonesia",
    "it": "Italiano",
    "ja": "日本語",
    "ko": "한국어",
    "nb": "Bokmål",
    "nl": "Nederlands",
    "nn": "Nynorsk",
    "pl": "Polski",
    "pt": "Português",
    "ro": "Română",
    "ru": "Русский",
    "sk": "Slovenčina",
    "sv": "Svenska",
    "ta": "தமிழ்",
    "th": "ไทย",
    "tr": "Türkçe",
    "uk": "Українська",
    "ur": "اردو",
    "vi": "Tiếng Việt",
    "zh": "中文",
}

DIGITS: Final = "0123456789"
FOR_MODERATORS: Final = "moderators.json"  # in the archive: languages with texts for moderators
ACCEPTED_LENGTH: Final = 500  # characters of an Accept-Language field that are read
_ACCEPTED = re.compile(
    r"(?:^|,)\s*([A-Za-z]{2,3}(?:-[A-Za-z0-9-]*)?)\s*(?:;\s*q=([01](?:\.[0-9]{0,3})?))?\s*(?=,|$)"
).findall
_REQUESTED = re.compile(r"(?:^|&)lang=([A-Za-z0-9_-]+)").search


class Language:
    """A language of the service: its tag, its direction (`ltr` or `rtl`) and its texts."""

    def __init__(self, tag: str, read: Callable[[str], bytes], *, for_moderators: bool) -> None:
        """Take a function that returns one of the language's files by the ending of its name.

        `for_moderators` says that the language also has the texts for moderators.
        """
        self.tag = tag
        self.direction = "rtl" if tag in RIGHT_TO_LEFT else "ltr"
        self.for_moderators = for_moderators
        self._read = read

    @cached_property
    def translations(self) -> NullTranslations:
        """Return the translations, read at the first use of the language: it takes 2 ms."""
        if self.tag == ENGLISH:  # it has no translations: use the texts of the sources
            return NullTranslations()
        return GNUTranslations(BytesIO(self._read("mo")))

    @cached_property
    def widget_json(self) -> bytes:
        """The texts that the widget loads with the page, as a JSON object."""
        return self._read("json")

    def part(self, name: str) -> bytes:
        """Return a part of the widget's texts that it loads when it is first used, as JSON.

        Raise KeyError if there is no such part.
        """
        return self._read(f"{name}.json")

    @cached_property
    def widget(self) -> Mapping[str, str]:
        """The texts of threads and forms by their keys, with "#" in place of a number or name."""
        found = msgspec.json.decode(self.widget_json)
        texts = {key: text for key, text in found.items() if isinstance(text, str)}
        return {key: texts[key] for key in texts if key not in ("tag", "digits")} | {**self.form}

    @cached_property
    def form(self) -> Mapping[str, str]:
        """The texts of the form that the widget loads when somebody writes, by their keys."""
        found = msgspec.json.decode(self.part("form"))
        return {key: text for key, text in found.items() if isinstance(text, str)}

    @cached_property
    def reactions(self) -> Mapping[str, str]:
        """The names of the usual emoji, by emoji, and the name of their group: "label"."""
        return msgspec.json.decode(self.part("reactions"), type=dict[str, str])

    @cached_property
    def tools(self) -> Mapping[str, str]:
        """The texts of rare actions on comments, by their keys."""
        return msgspec.json.decode(self.part("tools"), type=dict[str, str])

    @cached_property
    def note(self) -> Mapping[str, str]:
        """The texts about private notes, by their keys."""
        return msgspec.json.decode(self.part("note"), type=dict[str, str])

    @cached_property
    def images(self) -> Mapping[str, str]:
        """The texts about pictures in comments, by their keys."""
        return msgspec.json.decode(self.part("images"), type=dict[str, str])

    @cached_property
    def _digits(self) -> Mapping[int, int]:
        digits = msgspec.json.decode(self.widget_json).get("digits", DIGITS)
        return str.maketrans(DIGITS, digits)

    def shown(self, number: int) -> str:
        """Return a number in the digits of the language."""
        return str(number).translate(self._digits)

    def count(self, number: int) -> str:
        """Say how many comments there are."""
        if not number:
            return self.translations.pgettext("widget.none", "No comments")
        counted = self.translations.npgettext("widget.count", "# comment", "# comments", number)
        return counted.replace("#", self.shown(number))


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


def said_duration(seconds: int) -> Message:
    """Return a time to wait in words, in minutes or hours where that is easier to read."""
    if seconds > 1.5 * 3_600:
        return ngettext("%(num)s hour", "%(num)s hours", -(-seconds // 3_600))
    if seconds > 1.5 * 60:
        return ngettext("%(num)s minute", "%(num)s minutes", -(-seconds // 60))
    return ngettext("%(num)s second", "%(num)s seconds", seconds)


def translate(text: Text, tag: str = ENGLISH) -> str:
    """Return a message in the language of a tag; a plain text is returned unchanged."""
    return text if isinstance(text, str) else text.said_in(find_language(tag))


def match_language(tag: str, known: Collection[str]) -> str:
    """Return which of the `known` tags a tag means: "de" for de-AT, "nb" for no; "" if none.

    Chinese in Taiwan, Hong Kong and Macao is written in traditional characters (RFC 5646).
    """
    if _IS_TRADITIONAL(tag) and TRADITIONAL_CHINESE in known:
        return TRADITIONAL_CHINESE
    primary = re.split("[-_]", tag, maxsplit=1)[0].lower()
    found = OTHER_TAGS.get(primary, primary)
    return found if found in known else ""


def canonical_tag(tag: str) -> str:
    """Return the tag of a language as RFC 5646 §2.1.1 writes it, so that each has one; "" if none.

    >>> canonical_tag("ZH-hant-tw"), canonical_tag("german!")
    ('zh-Hant-TW', '')
    """
    if not _IS_TAG(tag):
        return ""
    first, *others = tag.lower().split("-")
    written = {2: str.upper, 4: str.title}
    return "-".join([first, *(written.get(len(each), str)(each) for each in others)])


def language_name(tag: str) -> str:
    """Return the name of a language in that language; the tag itself for an unknown one.

    >>> language_name("pt-BR"), language_name("xx")
    ('Português (BR)', 'xx')
    """
    first, _, others = tag.partition("-")
    name = NAMES.get(first, first)
    return f"{name} ({others})" if others else name


def find_language(tag: str) -> Language:
    """Return the language that a tag means; English if the service does not have it."""
    known = languages()
    return known[match_language(tag, known) or ENGLISH]


def moderators_language(tag: str) -> Language:
    """Return the language that a tag means if it has the texts for moderators; else English."""
    found = find_language(tag)
    return found if found.for_moderators else find_language(ENGLISH)


def moderators_tags() -> Collection[str]:
    """Return the tags of the languages that have the texts for moderators, in order."""
    return sorted(tag for tag, language in languages().items() if language.for_moderators)


@cache
def languages() -> Mapping[str, Language]:
    """Return all languages of the service, by their tags. Their texts are read when needed."""
    path = files("commentsvc") / "locale" / "catalogues.zip"
    archive = ZipFile(BytesIO(path.read_bytes()))
    for_moderators = msgspec.json.decode(archive.read(FOR_MODERATORS), type=list[str])

    def language(tag: str) -> Language:
        return Language(
            tag,
            lambda ending: archive.read(f"{tag}.{ending}"),
            for_moderators=tag in for_moderators,
        )

    tags = [name.removesuffix(".mo") for name in archive.namelist() if name.endswith(".mo")]
    return {tag: language(tag) for tag in tags}


def accepted_language(header: str, known: Collection[str]) -> str:
    """Return which of the `known` tags has the greatest quality in an Accept-Language field.

    Return "" if the field names none of them (RFC 9110, section 12.5.4).
    """
    wanted = []
    for number, (tag, quality) in enumerate(_ACCEPTED(header[:ACCEPTED_LENGTH])):
        if (found := match_language(tag, known)) and float(quality or 1):
            wanted.append((-float(quality or 1), number, found))
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
    """Return our tag for the language that a query names as `lang`, "de" for ``lang=de-AT``.

    Return "en" for a language that the service does not have, and "" if the query names none.
    """
    found = _REQUESTED(query)
    return (match_language(found[1], languages()) or ENGLISH) if found else ""
