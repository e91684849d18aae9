"""Tokens: what a comment is made of, for a filter that counts what it has seen before.

DESIGN. Words as they are read (NFKC, without case), those of Chinese and Japanese, which write
without spaces, by pairs of signs. Where a thing stands tells more than the thing alone (P. Graham,
"Better Bayesian Filtering", 2003), so the words of the name, the hosts of links and their last
parts are counted by themselves. What is kept of a token is a number, so that no table is full of
readers' words; two tokens seldom have the same one.
"""

import re
import unicodedata
from itertools import islice
from typing import Final
from zlib import crc32

MOST: Final = 150  # tokens of a comment that count; a usual one has 30
LONGEST: Final = 24  # signs of a word; what is longer is cut

_SIGNS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD: Final = re.compile(rf"[{_SIGNS}]{{1,2}}|[^\W_{_SIGNS}]{{2,{LONGEST}}}").findall
_ASCII_WORD: Final = re.compile(rf"[a-z0-9]{{2,{LONGEST}}}").findall
_LINK: Final = re.compile(r"https?://([^\s/?#:\"'<>()\[\]]{1,253})[^\s\"'<>()\[\]]*").findall
_LINKS: Final = re.compile(r"https?://[^\s\"'<>()\[\]]*").sub


def tokens(author: str, site: str, text: str) -> dict[int, str]:
    """The tokens of a comment, each with its number: of 32 bits, the same in every process."""
    words = _plain(text)
    found = [f"name:{word}" for word in _words(_plain(author))]
    if site or "://" in words:
        for host in _LINK(f"{_plain(site)} {words}")[:MOST]:
            found += (f"link:{host[-LONGEST:]}", f"link:*.{host.rpartition('.')[2][:LONGEST]}")
        words = _LINKS(" ", words)
    found += _words(words)
    few = islice(dict.fromkeys(found), MOST)
    return {crc32(token.encode(errors="replace")): token for token in few}


def _plain(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _words(plain: str) -> list[str]:
    """The words of a plain text; the pattern that knows ASCII alone is twice as fast."""
    words: list[str] = (_ASCII_WORD if plain.isascii() else _WORD)(plain)
    return words
