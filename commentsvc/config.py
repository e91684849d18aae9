"""The settings: one TOML file, then environment variables, checked as a whole.

DESIGN. The structs below are the only list of settings. Their annotations say what is allowed,
both to the machine (`Meta`) and to the operator (its `description`), so that names, bounds and
messages cannot drift apart. `configread` finds what was given and what is wrong with it.

`COMMENTSVC_<SECTION>_<KEY>` overrides the file; `COMMENTSVC_<SECTION>_<KEY>_FILE` names a file
that holds the value (for secrets). Lists are written with commas there. Only this module reads
the environment.

Errors: configread.SettingsError, alone.
"""

import ipaddress
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from commentsvc.configread import Reading, SettingsError

__all__ = ["Settings", "SettingsError", "load", "place"]


def _whole(low: int, high: int, unit: str = "") -> Meta:
    """Allow the whole numbers from `low` to `high`; `unit` is for the reader."""
    unit = unit and f" ({unit})"
    return Meta(ge=low, le=high, description=f"a whole number from {low} to {high}{unit}")


def _text(pattern: str, description: str, *, secret: bool = False) -> Meta:
    """Allow a string that `pattern` matches from end to end. A secret is never shown."""
    return Meta(pattern=rf"\A(?:{pattern})\Z", description=description, extra={"secret": secret})


def _tidy_proxies(proxies: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(p if p == "unix" else str(ipaddress.ip_network(p)) for p in proxies)


def _tidy_origins(origins: tuple[str, ...]) -> tuple[str, ...]:
    """Write origins as browsers do (RFC 6454 section 6.1); raises ValueError for other text."""
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
_LISTEN = _text(
    rf"unix:[^\x00-\x1f\x7f]+|(?:[^\s:/\[\]]+|\[[0-9A-Fa-f:.]+\]):{_PORT}",
    'a string "HOST:PORT", "[IPv6]:PORT" or "unix:PATH", with a port from 0 to 65535',
)
_PROXIES = Meta(
    description='a list of "unix", addresses and networks such as "10.0.0.0/8" without host bits',
    extra={"tidy": _tidy_proxies},
)
_ORIGIN = re.compile(rf"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::({_PORT}))?/?")
_ORIGINS = Meta(
    description='a list of origins such as "https://blog.example" (scheme, host and port only; '
    "international names in their xn-- form)",
    extra={"tidy": _tidy_origins},
)
_HEADER = _text(r"[\x20-\x7e]{1,200}", "a string of 1 to 200 printable ASCII characters")
_NAME = _text(r"[a-z0-9][a-z0-9-]{0,39}", "a string of 1 to 40 characters of a-z, 0-9 and -")
_TITLE = _text(r"[^\x00-\x1f\x7f]{0,200}", "a string of at most 200 characters on one line")
_RATE = _text(
    r"off|[1-9][0-9]{0,5}/(?:second|minute|hour|day)",
    'a string "off" or "N/second", "N/minute", "N/hour" or "N/day"',
)
_REDIRECT = _text(
    r"/(?!/)[\x21-\x5b\x5d-\x7e]*|https?://[\x21-\x5b\x5d-\x7e]+",
    'a string "/path" or "https://host/path", percent-encoded',
)
_KEY = _text(
    r"|[\x21-\x7e]{32,}(?:\s+[\x21-\x7e]{32,})*",
    "nothing, or a random string of at least 32 characters (older ones after it, with a space)",
    secret=True,
)


class Server(Struct, frozen=True, kw_only=True):
    """The HTTP server. Times are seconds."""

    listen: Annotated[str, _LISTEN] = "127.0.0.1:8080"
    workers: Annotated[int, _whole(1, 64)] = 1
    trusted_proxies: Annotated[tuple[str, ...], _PROXIES] = ("unix", "127.0.0.0/8", "::1/128")
    store_mib: Annotated[int, _whole(1, 65_536, "MiB")] = 8
    connections: Annotated[int, _whole(16, 1_000_000)] = 20_000
    waiting: Annotated[int, _whole(16, 65_536)] = 1_024
    keep_alive: Annotated[int, _whole(1, 3_600, "seconds")] = 75
    head_deadline: Annotated[int, _whole(1, 600, "seconds")] = 10
    body_deadline: Annotated[int, _whole(1, 3_600, "seconds")] = 30
    handler_deadline: Annotated[int, _whole(1, 600, "seconds")] = 30
    stop_grace: Annotated[int, _whole(0, 600, "seconds")] = 10
    body_kib: Annotated[int, _whole(16, 65_536, "KiB")] = 256
    cache_control: Annotated[str, _HEADER] = "public, max-age=0, must-revalidate"


class Database(Struct, frozen=True, kw_only=True):
    """The database."""

    synchronous: Annotated[Literal["full", "normal"], Meta(description='"full" or "normal"')] = (
        "full"
    )
    queue: Annotated[int, _whole(100, 1_000_000)] = 10_000


class Site(Struct, frozen=True, kw_only=True):
    """One blog. `origins` are lower-case, without a slash or a usual port at their end."""

    name: Annotated[str, _NAME] = "blog"
    origins: Annotated[tuple[str, ...], _ORIGINS] = ()
    title: Annotated[str, _TITLE] = ""
    trailing_slash: Annotated[
        Literal["keep", "add", "remove"], Meta(description='"keep", "add" or "remove"')
    ] = "keep"


class Comments(Struct, frozen=True, kw_only=True):
    """Bounds of a comment and of a list of comments."""

    author_length: Annotated[int, _whole(1, 1_000, "characters")] = 80
    message_length: Annotated[int, _whole(1, 100_000, "characters")] = 8_000
    list_limit: Annotated[int, _whole(1, 10_000)] = 1_000


class Moderation(Struct, frozen=True, kw_only=True):
    """Who decides what is shown, and how long an author may change a comment."""

    policy: Annotated[Literal["all", "none"], Meta(description='"all" or "none"')] = "all"
    edit_minutes: Annotated[int, _whole(0, 10_080, "minutes")] = 15


class Spam(Struct, frozen=True, kw_only=True):
    """What is held or refused."""

    rate_limit: Annotated[str, _RATE] = "10/minute"
    links: Annotated[int, _whole(0, 1_000)] = 3


class Stacosys(Struct, frozen=True, kw_only=True):
    """The protocol of Stacosys."""

    redirect: Annotated[str, _REDIRECT] = "/"


class Feed(Struct, frozen=True, kw_only=True):
    """The Atom feed."""

    entries: Annotated[int, _whole(1, 1_000)] = 50


class Auth(Struct, frozen=True, kw_only=True):
    """Secrets. They are kept out of `repr`, so that no log shows them."""

    secret_key: Annotated[str, _KEY] = ""

    def __repr__(self) -> str:
        return "Auth(...)"


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that an operator can choose. `sites` are the `[[site]]` tables of the file."""

    server: Server = Server()
    database: Database = Database()
    comments: Comments = Comments()
    moderation: Moderation = Moderation()
    spam: Spam = Spam()
    stacosys: Stacosys = Stacosys()
    feed: Feed = Feed()
    auth: Auth = Auth()
    sites: tuple[Site, ...] = (Site(),)


# Section name in the file -> its struct. `site` is a list of tables, all others are tables.
SECTIONS: Final[dict[str, type[Struct]]] = {
    **{f.name: f.type for f in msgspec.structs.fields(Settings) if f.name != "sites"},
    "site": Site,
}


# These two say where to look, so they are no settings themselves.
PLACES: Final = ("COMMENTSVC_DATA", "COMMENTSVC_CONFIG")


def place(variable: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The path in `variable`, one of PLACES; None if it is not set or empty."""
    value = environ.get(variable)
    return Path(value) if value else None


def load(
    path: Path | None,
    environ: Mapping[str, str] = os.environ,
    options: Mapping[str, str | None] = MappingProxyType({}),
) -> Settings:
    """Read the file at `path` (None: no file), then the variables in `environ`.

    `options` of the command line ("server.workers": "2", for --workers) override both. Raises
    SettingsError with every problem that was found.
    """
    reading = Reading("COMMENTSVC_", SECTIONS, repeated="site", places=PLACES)
    if path is not None:
        reading.read_file(path)
    reading.read_environment(environ)
    for name, value in options.items():
        if value is not None:
            reading.override(name, value)
    parts: dict[str, Any] = {  # Any: the structs' types are known to SECTIONS only
        name: reading.build(SECTIONS[name], table) for name, table in reading.tables.items()
    }
    sites = tuple(reading.build(Site, table) for table in reading.repeats)
    for what, values in (
        ("name", [site.name for site in sites]),
        ("origin", [origin for site in sites for origin in site.origins]),
    ):
        for value in sorted({value for value in values if values.count(value) > 1}):
            reading.problems.append(
                f'The {what} "{value}" stands in more than one [[site]]. Keep it in one of them.'
            )
    if reading.problems:
        raise SettingsError(reading.problems)
    return Settings(**parts, sites=sites)
