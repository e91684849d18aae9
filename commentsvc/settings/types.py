"""What the values of settings may be, in a form for the program and in words for the operator.

Each type is a `msgspec.Meta`. Its bounds or pattern check a value, and its `description` completes
"allowed is ...". Its `extra` is for `parser`: "tidy" is a function that returns the value in its
normal form or raises ValueError, and "secret" keeps the value out of messages.
"""

import ipaddress
import re
import unicodedata
from typing import Final, Literal

from msgspec import Meta

from commentsvc.util.ip_ranges import has_local
from commentsvc.util.origin import address_key


def whole(low: int, high: int, unit: str = "") -> Meta:
    """Return the type of whole numbers from `low` to `high`; `unit` is for the description."""
    unit = unit and f" ({unit})"
    return Meta(ge=low, le=high, description=f"a whole number from {low} to {high}{unit}")


def text(pattern: str, description: str, *, secret: bool = False) -> Meta:
    """Return the type of strings that `pattern` matches as a whole; a `secret` is never shown."""
    return Meta(pattern=rf"\A(?:{pattern})\Z", description=description, extra={"secret": secret})


def _tidy_proxies(proxies: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(p if p == "unix" else str(ipaddress.ip_network(p)) for p in proxies)


def _tidy_origins(origins: tuple[str, ...]) -> tuple[str, ...]:
    """Return origins as browsers write them (RFC 6454, 6.1). Raise ValueError for other texts."""
    tidy = []
    for origin in origins:
        match = _ORIGIN.fullmatch(origin.lower())
        if match is None:
            raise ValueError(origin)
        scheme, host, port = match.groups()
        usual = port is None or int(port) == {"http": 80, "https": 443}[scheme]
        tidy.append(f"{scheme}://{host}" if usual else f"{scheme}://{host}:{int(port)}")
    return tuple(dict.fromkeys(tidy))


_PORT = r"(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
SWITCH = Meta(description="true or false")
_LISTEN = rf"unix:[^\x00-\x1f\x7f]+|(?:[^\s:/\[\]]+|\[[0-9A-Fa-f:.]+\]):{_PORT}"
LISTEN = text(
    _LISTEN,
    'a string "HOST:PORT", "[IPv6]:PORT" or "unix:PATH", with a port from 0 to 65535',
)
LISTEN_OR_NOT = text(rf"|{_LISTEN}", f"nothing, or {LISTEN.description}")
MODE = text("(?:0?[0-7]{3})?", 'nothing, or a mode such as "660"')
GROUP = text(
    r"[0-9]{1,9}|(?:[A-Za-z_][A-Za-z0-9_.-]{0,30}\$?)?", "nothing, or a group of this machine"
)
PROXIES = Meta(
    description='a list of "unix", addresses and networks such as "10.0.0.0/8" without host bits',
    extra={"tidy": _tidy_proxies},
)
_ORIGIN = re.compile(rf"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::({_PORT}))?/?")
ORIGINS = Meta(
    description='a list of origins such as "https://blog.example" (scheme, host and port only; '
    "international names in their xn-- form)",
    extra={"tidy": _tidy_origins},
)


def _tidy_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return at most WORDS different words or phrases of 1 to 100 characters. Raise ValueError."""
    tidy = tuple(dict.fromkeys(" ".join(word.split()) for word in words))
    if len(tidy) > WORDS or not all(0 < len(word) <= 100 for word in tidy):
        raise ValueError(tidy)
    return tidy


def _tidy_scripts(scripts: tuple[str, ...]) -> tuple[str, ...]:
    tidy = tuple(dict.fromkeys(script.lower() for script in scripts))
    if not set(tidy) <= set(SCRIPTS):
        raise ValueError(scripts)
    return tidy


def _tidy_reactions(emoji: tuple[str, ...]) -> tuple[str, ...]:
    """Return the different emoji, at most REACTED. Raise ValueError."""
    tidy = tuple(dict.fromkeys(emoji))
    if len(tidy) > REACTED or not all(map(_is_emoji, tidy)):
        raise ValueError(emoji)
    return tidy


def _is_emoji(text: str) -> bool:
    """Return whether a text is one emoji, which may have a skin tone, joiners and variants."""
    kinds = {unicodedata.category(character) for character in text}
    return len(text) <= EMOJI_LENGTH and "So" in kinds and kinds <= {"So", "Sk", "Mn", "Cf"}


REACTED = 12  # the most different emoji of a site: two rows of buttons on a phone
EMOJI_LENGTH = 16  # code points; the longest recommended emoji, a kiss of two people, has 10
REACTIONS = Meta(
    description=f'a list of at most {REACTED} emoji, such as ["👍", "❤️"]',
    extra={"tidy": _tidy_reactions},
)
WORDS = 1_000  # for more words, the Bayesian filter is better
UNWANTED = Meta(
    description=f"a list of at most {WORDS} words or phrases of 1 to 100 characters",
    extra={"tidy": _tidy_words},
)
PROTECTED = Meta(
    description=f"a list of at most {WORDS} names or email addresses of 1 to 100 characters",
    extra={"tidy": _tidy_words},
)
# The names of scripts, as in `spam.text_rules`.
SCRIPTS = (
    "arabic",
    "armenian",
    "bengali",
    "cyrillic",
    "devanagari",
    "georgian",
    "greek",
    "han",
    "hangul",
    "hebrew",
    "kana",
    "latin",
    "tamil",
    "thai",
)
READ = Meta(
    description="a list out of " + ", ".join(f'"{name}"' for name in SCRIPTS),
    extra={"tidy": _tidy_scripts},
)
HEADER = text(r"[\x20-\x7e]{1,200}", "a string of 1 to 200 printable ASCII characters")
# RFC 6797 section 6.1, as browsers' preload lists want it.
HSTS = text(
    r"|max-age=[0-9]{1,10}(?:; includeSubDomains)?(?:; preload)?",
    'nothing, or a string such as "max-age=63072000", with "; includeSubDomains" and "; preload"'
    " where you want them",
)
NAME = text(r"[a-z0-9][a-z0-9-]{0,39}", "a string of 1 to 40 characters of a-z, 0-9 and -")
TOKEN = text(r"[!-~]{0,200}", "a string of at most 200 characters without spaces")
TITLE = text(r"[^\x00-\x1f\x7f]{0,200}", "a string of at most 200 characters on one line")
GUIDELINES = text(
    r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]{0,2000}", "nothing, or at most 2000 characters of Markdown"
)
RATE = text(
    r"off|[1-9][0-9]{0,5}/(?:second|minute|hour|day)",
    'a string "off" or "N/second", "N/minute", "N/hour" or "N/day"',
)
REDIRECT = text(
    r"/(?!/)[\x21-\x5b\x5d-\x7e]*|https?://[\x21-\x5b\x5d-\x7e]+",
    'a string "/path" or "https://host/path", percent-encoded',
)
KEY = text(
    r"|[\x21-\x7e]{32,}(?:\s+[\x21-\x7e]{32,})*",
    "nothing, or a random string of at least 32 characters, as `openssl rand -hex 32` prints one"
    " (older ones after it, with a space)",
    secret=True,
)
# The mail addresses that everybody understands (RFC 5321, 4.1.2, without quoted forms).
_ADDRESS = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*"
ADDRESS = text(rf"|{_ADDRESS}", 'nothing, or an address such as "comments@blog.example"')
# The local part may have 64 characters, of which a reply address needs 41 for "+" and its token.
ANSWERED = text(
    r"|[A-Za-z0-9._-]{1,23}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*",
    'nothing, or an address such as "comments@blog.example" with at most 23 characters before'
    " the @",
)
HOST = text(
    r"|[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}",
    'nothing, or a host name or IP address such as "smtp.blog.example", without a port',
)
LANGUAGE = text(
    r"[a-z]{2,3}(?:-[A-Za-z]{2,4})?", 'the tag of a language, such as "de" or "zh-Hant"'
)
PATH = text(r"[^\x00-\x1f\x7f]{0,4095}", "nothing, or the path of a file")
USER = text(r"[^\x00-\x1f\x7f]{0,320}", "nothing, or a name of at most 320 characters")
COMMAND = text(r"[^\x00-\x1f\x7f]{0,1000}", "nothing, or a command of at most 1000 characters")


# How a form asks for a field.
HIDDEN: Final = "hidden"
OPTIONAL: Final = "optional"
REQUIRED: Final = "required"
AskedField = Literal["hidden", "optional", "required"]
SIGN_IN_METHODS: Final = ("mail", "provider", "blog")  # in which readers sign in


def _tidy_methods(methods: tuple[str, ...]) -> tuple[str, ...]:
    """Return the different words of `sign_in`. Raise ValueError for an unknown one."""
    if not set(methods) <= {*SIGN_IN_METHODS, REQUIRED}:
        raise ValueError(methods)
    return tuple(dict.fromkeys(methods))


SIGN_IN = Meta(
    description='a list out of "mail", "provider", "blog" and "required"',
    extra={"tidy": _tidy_methods, "one_word": True},
)
SHARED_SECRET = text(
    r"|[\x21-\x7e]{32,200}", "nothing, or 32 to 200 characters without spaces", secret=True
)
SECRET = text(
    r"[^\x00-\x1f\x7f]{0,1000}", "nothing, or at most 1000 characters in one line", secret=True
)
HOOK_SECRET = text(
    r"|[\x21-\x7e]{16,200}", "nothing, or 16 to 200 characters without spaces", secret=True
)
_HOST_URL = rf"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::{_PORT})?"
URL = text(
    rf"|{_HOST_URL}(?:/[\x21-\x7e]*)?",
    'nothing, or an address such as "https://comments.example", percent-encoded',
)
# As URL, but other paths are put behind it: no query and no fragment.
BASE_URL = text(rf"|{_HOST_URL}(?:/[\x21-\x22\x24-\x3e\x40-\x7e]*)?", f"{URL.description}")


def _tidy_addresses(addresses: tuple[str, ...]) -> tuple[str, ...]:
    for address in addresses:
        if re.fullmatch(_ADDRESS, address) is None:
            raise ValueError(address)
    return tuple({address_key(each): each for each in reversed(addresses)}.values())[::-1]


ADDRESSES = Meta(
    description='a list of addresses such as "me@blog.example"', extra={"tidy": _tidy_addresses}
)


def words(*allowed: str) -> Meta:
    """Return the description of a Literal of these words."""
    *others, last = (f'"{word}"' for word in allowed)
    return Meta(description=f"{', '.join(others)} or {last}")


def _tidy_urls(urls: tuple[str, ...]) -> tuple[str, ...]:
    for url in urls:
        if not url or re.fullmatch(str(URL.pattern), url) is None:
            raise ValueError(url)
    return tuple(dict.fromkeys(urls))


SECRET_URLS = Meta(
    description='a list of addresses such as "https://hooks.example/comments"',
    extra={"tidy": _tidy_urls, "secret": True},
)
SECRET_URL = Meta(pattern=URL.pattern, description=URL.description, extra={"secret": True})


def _tidy_accounts(accounts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the different accounts. Raise ValueError for an invalid one."""
    for account in accounts:
        if not re.fullmatch(rf"{_ORIGIN.pattern}@[\w.-]+/?|[a-z0-9-]+(?:\.[a-z0-9-]+)+", account):
            raise ValueError(account)
    return tuple(dict.fromkeys(accounts))


def _tidy_posts(posts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the different lines. Raise ValueError for one without the two addresses."""
    for post in posts:
        page, _, address = post.partition(" ")
        if not page.startswith("/") or not address or not re.fullmatch(str(URL.pattern), address):
            raise ValueError(post)
    return tuple(dict.fromkeys(posts))


SOCIAL_ACCOUNTS = Meta(
    description='a list of accounts such as "https://mastodon.example/@ann" (Mastodon) or'
    ' "ann.example" (Bluesky)',
    extra={"tidy": _tidy_accounts},
)
SOCIAL_POSTS = Meta(
    description="a list of a page's path, a space and the address of a post each, such as"
    ' "/wet-wood/ https://mastodon.example/@ann/123"',
    extra={"tidy": _tidy_posts},
)
# The driver reads the rest, and says what is wrong with it.
DATABASE_URL = text(
    r"|postgres(?:ql)?://[\x21-\x7e]+",
    'nothing, or an address such as "postgresql://user:password@host/database", percent-encoded',
    secret=True,
)


def _without_local(networks: tuple[str, ...]) -> tuple[str, ...]:
    """Return networks in their normal form. Raise ValueError for one with local addresses."""
    found = tuple(map(ipaddress.ip_network, networks))
    if any(map(has_local, found)):
        raise ValueError(networks)
    return tuple(map(str, found))


STRANGERS = Meta(
    description='a list of networks such as "10.0.0.0/8" without host bits, and without loopback,'
    " link-local and multicast addresses, which strangers never reach",
    extra={"tidy": _without_local},
)
NETWORKS = Meta(
    description='a list of networks such as "10.0.0.0/8" without host bits',
    extra={"tidy": lambda networks: tuple(str(ipaddress.ip_network(n)) for n in networks)},
)
