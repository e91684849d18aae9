"""The settings: one TOML file, then environment variables, checked as a whole.

DESIGN. The structs below are the only list of settings. Their annotations say what is `allowed`,
both to the machine (`Meta`) and to the operator (its `description`), so that names, bounds and
messages cannot drift apart. `configread` finds what was given and what is wrong with it.

`COMMENTSVC_<SECTION>_<KEY>` overrides the file; `COMMENTSVC_<SECTION>_<KEY>_FILE` names a file
that holds the value (for secrets). Lists are written with commas there. Only this module reads
the environment.

Errors: configread.SettingsError, alone.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from commentsvc.allowed import (
    ADDRESS,
    ADDRESSES,
    HEADER,
    HOST,
    KEY,
    LISTEN,
    NAME,
    NETWORKS,
    ORIGINS,
    PATH,
    PROXIES,
    RATE,
    READ,
    REDIRECT,
    SECRET,
    SECRET_URL,
    SWITCH,
    TITLE,
    UNWANTED,
    URL,
    URLS,
    USER,
    whole,
    words,
)
from commentsvc.configread import Reading, SettingsError
from commentsvc.manager import Manager

__all__ = ["Settings", "SettingsError", "load", "place"]


class Server(Struct, frozen=True, kw_only=True):
    """The HTTP server. Times are seconds."""

    listen: Annotated[str, LISTEN] = "127.0.0.1:8080"
    public_url: Annotated[str, URL] = ""
    workers: Annotated[int, whole(1, 64)] = 1
    trusted_proxies: Annotated[tuple[str, ...], PROXIES] = ("unix", "127.0.0.0/8", "::1/128")
    store_mib: Annotated[int, whole(1, 65_536, "MiB")] = 10
    connections: Annotated[int, whole(16, 1_000_000)] = 20_000
    waiting: Annotated[int, whole(16, 65_536)] = 1_024
    keep_alive: Annotated[int, whole(1, 3_600, "seconds")] = 75
    head_deadline: Annotated[int, whole(1, 600, "seconds")] = 10
    body_deadline: Annotated[int, whole(1, 3_600, "seconds")] = 30
    handler_deadline: Annotated[int, whole(1, 600, "seconds")] = 30
    stop_grace: Annotated[int, whole(0, 600, "seconds")] = 10
    body_kib: Annotated[int, whole(16, 65_536, "KiB")] = 256
    cache_control: Annotated[str, HEADER] = "public, max-age=0, must-revalidate"


class Database(Struct, frozen=True, kw_only=True):
    """The database."""

    synchronous: Annotated[Literal["full", "normal"], Meta(description='"full" or "normal"')] = (
        "full"
    )
    queue: Annotated[int, whole(100, 1_000_000)] = 10_000


class Site(Struct, frozen=True, kw_only=True):
    """One blog. `origins` are lower-case, without a slash or a usual port at their end."""

    name: Annotated[str, NAME] = "blog"
    origins: Annotated[tuple[str, ...], ORIGINS] = ()
    title: Annotated[str, TITLE] = ""
    trailing_slash: Annotated[
        Literal["keep", "add", "remove"], Meta(description='"keep", "add" or "remove"')
    ] = "keep"
    policy: Annotated[
        Literal["", "all", "first", "suspicious", "none"],
        Meta(description='"", "all", "first", "suspicious" or "none"'),
    ] = ""
    close_days: Annotated[int, whole(0, 36_500, "days")] = 0


class Comments(Struct, frozen=True, kw_only=True):
    """Bounds of a comment and of a list of comments."""

    author_length: Annotated[int, whole(1, 1_000, "characters")] = 80
    message_length: Annotated[int, whole(1, 100_000, "characters")] = 8_000
    list_limit: Annotated[int, whole(1, 10_000)] = 1_000


class Moderation(Struct, frozen=True, kw_only=True):
    """Who decides what is shown, and how long an author may change a comment."""

    policy: Annotated[
        Literal["all", "first", "suspicious", "none"],
        Meta(description='"all", "first", "suspicious" or "none"'),
    ] = "all"
    trust_after: Annotated[int, whole(1, 1_000)] = 1
    edit_minutes: Annotated[int, whole(0, 10_080, "minutes")] = 15
    session_days: Annotated[int, whole(1, 365, "days")] = 30
    session_idle_hours: Annotated[int, whole(1, 8_760, "hours")] = 168


class Spam(Struct, frozen=True, kw_only=True):
    """What is held or refused."""

    rate_limit: Annotated[str, RATE] = "10/minute"
    site_rate_limit: Annotated[str, RATE] = "60/minute"
    links: Annotated[int, whole(0, 1_000)] = 3
    words: Annotated[tuple[str, ...], UNWANTED] = ()
    scripts: Annotated[tuple[str, ...], READ] = ()
    duplicates: Annotated[bool, SWITCH] = True
    stamp: Annotated[
        Literal["off", "judge", "hold", "require"],
        Meta(description='"off", "judge", "hold" or "require"'),
    ] = "judge"
    work: Annotated[int, whole(0, 1_000)] = 100
    score: Annotated[int, whole(0, 100)] = 9


class Privacy(Struct, frozen=True, kw_only=True):
    """What is kept of those who write, and for how long."""

    network_days: Annotated[int, whole(0, 365, "days")] = 30


class Mail(Struct, frozen=True, kw_only=True):
    """The SMTP server that takes our mail, and who gets it; without a `host` there is no mail."""

    host: Annotated[str, HOST] = ""
    port: Annotated[int, whole(1, 65_535)] = 587
    security: Annotated[Literal["starttls", "tls", "none"], words("starttls", "tls", "none")] = (
        "starttls"
    )
    user: Annotated[str, USER] = ""
    password: Annotated[str, SECRET] = ""
    ca_file: Annotated[str, PATH] = ""
    sender: Annotated[str, ADDRESS] = ""
    moderators: Annotated[tuple[str, ...], ADDRESSES] = ()
    digest: Annotated[Literal["off", "hourly", "daily"], words("off", "hourly", "daily")] = "off"
    link_days: Annotated[int, whole(1, 90, "days")] = 14
    replies: Annotated[bool, SWITCH] = True

    def __repr__(self) -> str:
        return "Mail(...)"


class Hooks(Struct, frozen=True, kw_only=True):
    """Programs and messengers that are told of comments."""

    webhooks: Annotated[tuple[str, ...], URLS] = ()
    secret: Annotated[str, SECRET] = ""
    ntfy: Annotated[str, URL] = ""
    ntfy_token: Annotated[str, SECRET] = ""
    telegram_token: Annotated[str, SECRET] = ""
    telegram_chat: Annotated[str, USER] = ""
    slack: Annotated[str, SECRET_URL] = ""
    discord: Annotated[str, SECRET_URL] = ""
    networks: Annotated[tuple[str, ...], NETWORKS] = ()

    def __repr__(self) -> str:
        return "Hooks(...)"


class Stacosys(Struct, frozen=True, kw_only=True):
    """The protocol of Stacosys."""

    redirect: Annotated[str, REDIRECT] = "/"


class Feed(Struct, frozen=True, kw_only=True):
    """The Atom feed."""

    entries: Annotated[int, whole(1, 1_000)] = 50


class Auth(Struct, frozen=True, kw_only=True):
    """Secrets. They are kept out of `repr`, so that no log shows them."""

    secret_key: Annotated[str, KEY] = ""

    def __repr__(self) -> str:
        return "Auth(...)"


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that an operator can choose. `sites` are the `[[site]]` tables of the file."""

    server: Server = Server()
    database: Database = Database()
    comments: Comments = Comments()
    moderation: Moderation = Moderation()
    spam: Spam = Spam()
    privacy: Privacy = Privacy()
    mail: Mail = Mail()
    hooks: Hooks = Hooks()
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


def manager(environ: Mapping[str, str] = os.environ) -> Manager:
    """The service manager that started us, if one did."""
    return Manager(environ, os.getpid())


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
    reading.problems += _contradictions(parts["server"], parts["mail"], parts["hooks"])
    if reading.problems:
        raise SettingsError(reading.problems)
    return Settings(**parts, sites=sites)


def _contradictions(server: Server, mail: Mail, hooks: Hooks) -> Iterator[str]:
    """What is wrong with settings that are each right, one line for each."""
    if mail.host:
        for name, value, reason in (
            ("server.public_url", server.public_url, "the links in mails begin with it"),
            ("mail.sender", mail.sender, "mails come from it"),
        ):
            if not value:
                yield f"mail.host is set, but {name} is not: {reason}. Set it too."
    if hooks.webhooks and not hooks.secret:
        yield "hooks.webhooks is set, but hooks.secret is not: it signs them. Set it too."
    if bool(hooks.telegram_token) != bool(hooks.telegram_chat):
        yield "hooks.telegram_token and hooks.telegram_chat belong together. Set both, or none."
    if mail.user and mail.security == "none" and mail.host not in ("localhost", "127.0.0.1", "::1"):
        yield (
            'mail.user is set, but mail.security is "none": anybody on the way could read the '
            'password. Use "starttls" or "tls".'
        )
