"""Languages: the widget's words, for what readers see of us without it.

The words stand in static/lang, a file for each language, and nowhere else: each is a module
for browsers that holds one literal, which is JSON but for bare keys and last commas. A language is
chosen as the widget does it, so both speak the same on one page.
"""

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import msgspec

ENGLISH: Final = "en"
FROM_RIGHT: Final = {"ar"}

_ASKED = re.compile(r"(?:^|&)lang=([a-z]{2})\b").search
# A text, which stays as it is; a bare key; a comma behind the last one.
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(\w+)(?=:)|,(?=\s*\})')


@dataclass(frozen=True, slots=True)
class Language:
    """A language by its tag, its texts, and those for numbers by the names of CLDR and "zero"."""

    tag: str
    words: dict[str, str]
    counts: dict[str, str]

    @property
    def direction(self) -> str:
        """Where its lines begin, as the attribute `dir`."""
        return "rtl" if self.tag in FROM_RIGHT else "ltr"

    def count(self, number: int) -> str:
        """How many comments there are, in words."""
        category = plural(self.tag, number) if number else "zero"
        return self.counts[category].replace("#", str(number))


class Languages:
    """All that the widget has."""

    def __init__(self) -> None:
        """Read the files. Raises msgspec.DecodeError for one that is no such literal."""
        folder = files("commentsvc") / "static" / "lang"
        self._known = {
            file.name.removesuffix(".js"): _read(file.read_text("utf-8"))
            for file in folder.iterdir()
        }

    def find(self, tag: str) -> Language:
        """The language of that tag; English for those that we do not speak."""
        known = tag if tag in self._known else ENGLISH
        counts, words = self._known[known]
        return Language(known, words, counts)


def asked(query: str) -> str:
    """The tag that a query asks for by `lang`, as `de` for ``lang=de-AT``; "" for none."""
    found = _ASKED(query)
    return found[1] if found else ""


def _read(source: str) -> tuple[dict[str, str], dict[str, str]]:
    """The texts for numbers, and all others."""
    literal = source.strip().removeprefix("export default").removesuffix(";")
    text = _TOKEN.sub(lambda m: f'"{m[1]}"' if m[1] else m[0].strip(","), literal)
    words = msgspec.json.decode(text, type=dict[str, str | dict[str, str]])
    counts = msgspec.convert(words.pop("counts"), dict[str, str])
    return counts, msgspec.convert(words, dict[str, str])


def plural(tag: str, number: int) -> str:
    """The category of a whole number in one of our languages (Unicode CLDR, plural rules)."""
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
