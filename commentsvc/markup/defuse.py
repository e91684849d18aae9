"""Makes Markdown safe for clients that render it themselves without a sanitizer.

The themes of Stacosys rendered `content` in the browser, and HTML in a comment became part of the
page. So everything that a Markdown renderer might let through is made harmless here: a ``<`` that
begins a tag becomes an entity, and a link that would run a script becomes a relative path. The rest
of the text stays.

Renderers differ in what they take for code. So only code that all of them recognise, between two
single backticks on one line, stays as typed; in other code, readers may see an entity.

Texts are defused whenever they are listed, so the patterns take time in proportion to the text,
whatever it is: no part of it is matched twice.
"""

import re
from html.entities import html5
from itertools import accumulate
from typing import Final

# The beginning of a tag, comment, declaration or processing instruction (HTML standard, 13.2.5.6),
# except of autolinks, which cannot run anything.
_TAG: Final = re.compile(r"<(?=[A-Za-z/!?])(?!(?:https?://|mailto:)[^\s<>`\"']*+>)").sub
# Browsers and renderers ignore these characters in a URL.
_IGNORED: Final = r"\x00-\x20\x7f-\xa0\\\u200b-\u200f\u2028-\u202f\ufeff"
_SCHEMES: Final = ("javascript:", "vbscript:", "data:")
# Pieces of code in a text that stay as typed: finding them takes a microsecond for each.
CODES: Final = 100
# Links that are looked at, which takes 3 µs for each. Where there are more, all whose URLs begin
# like one that runs a script are made relative; "docs/" is relative anyway.
LINKS: Final = 100


# The same as character references (HTML standard, 13.5): by names, decimal and hexadecimal numbers.
_IGNORED_NAMES: Final = "|".join(
    sorted(
        {name.rstrip(";") for name, text in html5.items() if re.fullmatch(f"[{_IGNORED}]+", text)}
    )
)
_IGNORED_DECIMAL: Final = (
    "[0-9]|[12][0-9]|3[0-2]|92|12[7-9]|1[3-5][0-9]|160|820[3-7]|823[2-9]|65279"
)
_IGNORED_HEXADECIMAL: Final = "[0-9a-f]|1[0-9a-f]|20|5c|7f|[89][0-9a-f]|a0|200[b-f]|202[89a-f]|feff"


def _referenced(names: str, decimal: str, hexadecimal: str) -> str:
    """Return the pattern of a reference to a character that these patterns name."""
    numbers = rf"0*(?:{decimal})(?![0-9])|[xX]0*(?i:{hexadecimal})(?![0-9a-fA-F])"
    return rf"&(?:\#(?:{numbers})|(?:{names}));?"


def _spelt(character: str) -> str:
    """Return a pattern of a character in both cases and all spellings."""
    both = sorted({character, character.upper()})
    decimal, hexadecimal = ("|".join(f"{ord(c):{form}}" for c in both) for form in ("d", "x"))
    names = "colon" if character == ":" else "(?!)"
    return f"(?:[{''.join(both)}]|{_referenced(names, decimal, hexadecimal)})"


# What precedes the URL of a link, an image or a link reference definition that may run a script.
_LINK: Final = re.compile(rf"(\]\s*[(:]\s*)(?=[jJvVdD<{_IGNORED}]|&[#A-Za-z])")
_bracket: Final = re.compile("<(?![A-Za-z/!?])").match  # around a URL
# All that is ignored at a position. Python 3.11.2 matches possessive repetitions of groups wrongly.
_ignored: Final = re.compile(
    f"(?:[{_IGNORED}]|{_referenced(_IGNORED_NAMES, _IGNORED_DECIMAL, _IGNORED_HEXADECIMAL)})*"
).match
_spellings: Final = {
    character: re.compile(_spelt(character)).match for character in {*"".join(_SCHEMES)}
}


def _after_ignored(text: str, at: int) -> int:
    found = _ignored(text, at)
    assert found is not None, "it may be empty"
    return found.end()


def _runs_script(text: str, at: int) -> bool:
    """Return whether the URL at a position of the text is of a scheme that runs a script."""
    if bracket := _bracket(text, at):
        at = bracket.end()
    begin = _after_ignored(text, at)
    return any(_has_scheme(text, begin, scheme) for scheme in _SCHEMES)


def _has_scheme(text: str, at: int, scheme: str) -> bool:
    for character in scheme:
        spelt = _spellings[character](text, at)
        if spelt is None:
            return False
        at = _after_ignored(text, spelt.end())
    return True


def defuse(source: str) -> str:
    """Return Markdown that no renderer turns into a script or a tag of the author's."""
    parts = _LINK.split(source)  # a text, what precedes a URL, the text from there, and so on
    if len(parts) > 2 * LINKS:
        parts[1::2] = [link + "./" for link in parts[1::2]]
    else:
        for number, end in enumerate([*accumulate(map(len, parts))]):
            if number % 2 and _runs_script(source, end):
                parts[number] += "./"
    text = "".join(parts)
    if "`" in text and _has_plain_code(text):
        parts = text.split("`")
        parts[::2] = [_TAG("&lt;", part) for part in parts[::2]]
        return "`".join(parts)
    return _TAG("&lt;", text)


def _has_plain_code(text: str) -> bool:
    """Return whether all renderers pair the backticks of a text in the same way."""
    if text.count("`") > 2 * CODES or "``" in text or "\\" in text:
        return False
    parts = text.split("`")
    return len(parts) % 2 == 1 and not any("\n" in code for code in parts[1::2])
