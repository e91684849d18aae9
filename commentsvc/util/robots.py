"""robots.txt: which addresses of a server may be requested (RFC 9309).

Python's own parser knows no wildcards, takes the first rule that matches instead of the longest,
and loses groups after an empty line or a byte order mark. So it asks for what is forbidden.
"""

import re
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

LINES: Final = 10_000  # that are read
LINE: Final = 2_000  # characters; a longer line is left out
WILDCARDS: Final = 20  # of a rule; it ends with the last of these
_KEPT: Final = "/%?#&=~*$:;@!,'()+[]"
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")


class RobotRules(NamedTuple):
    """The rules for us: whether they allow, and the pattern of addresses. `sitemaps` are named."""

    patterns: tuple[tuple[bool, str], ...] = ()
    sitemaps: tuple[str, ...] = ()

    def allow(self, url: str) -> bool:
        """Return whether `url` may be requested: by the longest rule that matches it (2.2.2)."""
        parts = urlsplit(url)
        address = _normal((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        found = [(len(text), allows) for allows, text in self.patterns if _matches(text, address)]
        return max(found)[1] if found else True


def parse(text: str, agent: str) -> RobotRules:
    """Return the rules of a robots.txt for the product `agent`, or else those for all ("*")."""
    ours = {agent.lower(), "*"}
    groups: dict[str, list[tuple[bool, str]]] = {}
    named: list[str] = []
    sitemaps, is_in_rules = [], False
    for line in text.removeprefix("\ufeff").splitlines()[:LINES]:
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if len(line) > LINE or not colon:
            continue
        if key == "user-agent":
            named = [] if is_in_rules else named
            named.append(re.split(r"[/\s]", value.lower())[0])
            is_in_rules = False
            if named[-1] in ours:
                groups.setdefault(named[-1], [])
        elif key in ("allow", "disallow"):
            is_in_rules = True
            if value and not ours.isdisjoint(named):
                rule = (key == "allow", _pattern(value))
                for name in ours.intersection(named):
                    groups[name].append(rule)
        elif key == "sitemap":
            sitemaps.append(value)
    rules = groups.get(agent.lower(), groups.get("*", []))
    return RobotRules(tuple(rules), tuple(sitemaps))


def _pattern(value: str) -> str:
    parts = re.sub(r"\*+", "*", value).split("*")
    return _normal("*".join([*parts[:WILDCARDS], ""] if len(parts) > WILDCARDS else parts))


def _normal(text: str) -> str:
    """Return an address with one spelling: only what must be is percent-encoded (2.2.2)."""

    def decoded(found: re.Match[str]) -> str:
        letter = chr(int(found[1], 16))
        plain = letter.isascii() and (letter.isalnum() or letter in "-._~")
        return letter if plain else found[0].upper()

    return _ESCAPE.sub(decoded, quote(text, safe=_KEPT))


def _matches(pattern: str, address: str) -> bool:
    """Return whether a rule matches an address; `*` is any text, `$` the end (2.2.3)."""
    first, *others = pattern.removesuffix("$").split("*")
    if not pattern.endswith("$"):
        last = ""
    elif others:
        last = others.pop()
    else:
        return address == first
    if not address.startswith(first):
        return False
    at = len(first)
    for part in others:
        at = address.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return address.endswith(last) and at + len(last) <= len(address)
