"""The settings: one TOML file, overridden by environment variables, checked as a whole.

`schema` lists the settings and what is allowed; `parser` reads what is given and finds errors in
it; this module checks rules between two settings.

`COMMENTSVC_<SECTION>_<KEY>` overrides the file; `COMMENTSVC_<SECTION>_<KEY>_FILE` names a file with
the value (for secrets). Lists are separated by commas there. Settings are read from the environment
here alone, and what systemd passes on in `runtime.systemd`.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, get_args

import msgspec

from commentsvc.settings.parser import GivenValue, SettingsError, SettingsParser
from commentsvc.settings.schema import (
    REMOVED,
    SECTIONS,
    DatabaseSettings,
    Settings,
    Site,
)
from commentsvc.util.origin import LOCAL_HOSTS

_NAME: Final = re.compile(r"\b[a-z]+\.[a-z_]+")  # of a setting
# These two say where the settings are, so they are not settings themselves.
LOCATIONS: Final = ("COMMENTSVC_DATA", "COMMENTSVC_CONFIG")


def location_in(variable: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the path in `variable`, one of PLACES; None if it is not set or empty."""
    value = environ.get(variable)
    return Path(value) if value else None


def is_set(variable: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether a variable that is not one of our settings, such as NO_COLOR, is not empty."""
    return bool(environ.get(variable))


class LoadedSettings(NamedTuple):
    """The settings of the file and the environment, and where each of them is given.

    `locations` names the line or the variable, for the operator, by the name of the site ("" if it
    belongs to none) and the setting, such as ("blog", "site.policy").
    """

    settings: Settings
    locations: Mapping[tuple[str, str], str] = MappingProxyType({})


def load(
    path: Path | None,
    environ: Mapping[str, str] = os.environ,
    options: Mapping[str, str | None] = MappingProxyType({}),
    note: Callable[[str], None] = lambda _: None,
) -> Settings:
    """Return the settings that `load_with_locations` returns. Raise SettingsError."""
    return load_with_locations(path, environ, options, note).settings


def load_with_locations(
    path: Path | None,
    environ: Mapping[str, str] = os.environ,
    options: Mapping[str, str | None] = MappingProxyType({}),
    note: Callable[[str], None] = lambda _: None,
) -> LoadedSettings:
    """Read the file at `path` (None: no file), then the variables in `environ`.

    `options` of the command line ("server.workers": "2", for --workers) override both. `note` is
    called with a line for each setting of an earlier version, which is ignored. Raise SettingsError
    with all problems that were found.
    """
    reading = _reading(path, environ)
    for line in reading.notes:
        note(line)
    for name, value in options.items():
        if value is not None:
            reading.override(name, value)
    parts: dict[str, Any] = {  # Any: only SECTIONS knows the types of the structs
        name: reading.build(SECTIONS[name], table, name) for name, table in reading.tables.items()
    }
    sites = tuple(reading.build(Site, table, "site") for table in reading.repeats)
    settings = Settings(**parts, sites=sites)
    for line, key, number in _repeated(sites):
        given = reading.repeats[number].get(key)
        reading.problems.append(_location(given, f"site.{key}") + line)
    reading.problems += [
        _where(reading, line) + line
        for line in _contradictory(settings)
        if reading.wrong.isdisjoint(_NAME.findall(line))  # a default stands in its place
    ]
    if reading.problems:
        raise SettingsError(reading.problems)
    locations = {
        ("", f"{section}.{key}"): given.where
        for section, table in reading.tables.items()
        for key, given in table.items()
    }
    for site, table in zip(sites, reading.repeats, strict=True):
        locations |= {(site.name, f"site.{key}"): given.where for key, given in table.items()}
    return LoadedSettings(settings, MappingProxyType(locations))


def contradictions(settings: Settings) -> Iterator[str]:
    """Yield a line for each pair of valid settings that contradict each other."""
    yield from (line for line, _, _ in _repeated(settings.sites))
    yield from _contradictory(settings)


def _contradictory(settings: Settings) -> Iterator[str]:
    """Yield such lines, but for what is in several sites."""
    yield from _contradictions(settings)
    yield from _mention_contradictions(settings)
    yield from _hook_contradictions(settings)
    yield from _judge_contradictions(settings)
    yield from _artalk_contradictions(settings)
    yield from _inbox_contradictions(settings)


def _reading(path: Path | None, environ: Mapping[str, str]) -> SettingsParser:
    reading = SettingsParser(
        "COMMENTSVC_", SECTIONS, repeated="site", others=LOCATIONS, removed=REMOVED
    )
    if path is not None:
        reading.read_file(path)
    reading.read_environment(environ)
    return reading


def _repeated(sites: Sequence[Site]) -> Iterator[tuple[str, str, int]]:
    """Yield each name and origin that is in several `sites`: a line, its key, and the last site."""
    for what, key in (("name", "name"), ("origin", "origins")):
        numbers: dict[str, list[int]] = {}
        for number, site in enumerate(sites):
            for value in site.origins if key == "origins" else (site.name,):
                numbers.setdefault(value, []).append(number)
        for value, found in sorted(numbers.items()):
            if len(found) > 1:
                line = f'The {what} "{value}" is in more than one [[site]]. Keep it in one of them.'
                yield line, key, found[-1]


def _where(reading: SettingsParser, line: str) -> str:
    """Return the file and the line of the first setting that `line` names, if a file gives it."""
    for name in _NAME.findall(line):
        section, _, key = name.partition(".")
        tables = reading.repeats if section == "site" else [reading.tables.get(section, {})]
        for table in tables:
            if key in table and table[key].value:
                return _location(table[key], name)
    return ""


def _location(given: GivenValue | None, name: str) -> str:
    """Return the file and the line that give the setting `name`; "" if no file does."""
    is_of_file = given is not None and given.where.endswith(f": {name}")
    return given.where.removesuffix(name) if given and is_of_file else ""


class GivenSetting(NamedTuple):
    """A setting that the file or a variable gives; `where` is its name for the operator."""

    section: str
    key: str
    value: Any  # whatever type SECTIONS has for it
    where: str
    is_secret: bool


def given(path: Path | None, environ: Mapping[str, str] = os.environ) -> Iterator[GivenSetting]:
    """Yield what the file and the variables give, without what is invalid; no `[[site]]`."""
    reading = _reading(path, environ)
    for section, table in reading.tables.items():
        struct = SECTIONS[section]
        types = {field.name: field.type for field in msgspec.structs.fields(struct)}
        for key, (_, where, _) in table.items():
            before = len(reading.problems)
            value = getattr(reading.build(struct, {key: table[key]}), key)
            if len(reading.problems) == before:
                meta = get_args(types[key])[1]
                is_secret = bool((meta.extra or {}).get("secret"))
                yield GivenSetting(section, key, value, where, is_secret)


def exposed(path: Path | None, environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield a line for each file with passwords that every user of this machine can read.

    What a container or a cluster mounts below /run is seen by its own processes alone.
    """
    secrets = {each.where.partition(":")[0] for each in given(path, environ) if each.is_secret}
    files = [Path(environ[name]) for name in sorted(secrets) if name.endswith("_FILE")]
    if path is not None and str(path) in secrets:
        files.append(path)
    for file in dict.fromkeys(files):
        above = file.absolute().parents
        if not file.is_absolute() or not file.is_relative_to("/run"):
            try:
                is_open = file.stat().st_mode & stat.S_IROTH and all(
                    folder.stat().st_mode & stat.S_IXOTH for folder in above
                )
            except OSError:
                continue  # other lines say that it cannot be read
            if is_open:
                yield (
                    f"{file} has a password, and every user of this machine can read it. Run: chmod"
                    f" o= {file}"
                )


def given_sites(path: Path | None, environ: Mapping[str, str] = os.environ) -> tuple[Site, ...]:
    """Return the sites that the file and the variables give; none if they give none."""
    reading = _reading(path, environ)
    return tuple(reading.build(Site, table) for table in reading.repeats if table)


def database_url(path: Path | None, environ: Mapping[str, str] = os.environ) -> str:
    """Return `database.url` as `load` does, whatever the other settings are; "" for a file.

    A file with errors that mentions one must name it. Raise SettingsError if it does not, or if the
    setting is wrong.
    """
    reading = _reading(path, environ)
    given = {name: value for name, value in reading.tables["database"].items() if name == "url"}
    if reading.problems and not given and path is not None and _mentions_postgresql(path):
        raise SettingsError(reading.problems)
    reading.problems.clear()
    settings = reading.build(DatabaseSettings, given)
    if reading.problems:
        raise SettingsError(reading.problems)
    return settings.url


def _mentions_postgresql(path: Path) -> bool:
    try:
        return b"postgres" in path.read_bytes()
    except OSError:
        return False


def _contradictions(settings: Settings) -> Iterator[str]:
    """As `contradictions`, for the server, votes and mails."""
    server, mail = settings.server, settings.mail
    if server.hsts and not server.proxy_protocol:
        yield (
            "server.hsts is set, but server.proxy_protocol is not: without it, the service does not"
            " know which clients use TLS. Set it too, or let the proxy send"
            " Strict-Transport-Security."
        )
    if server.redirect_listen and not server.public_url.startswith("https:"):
        yield (
            "server.redirect_listen is set, but server.public_url does not begin with https: the"
            " redirect leads there. Set it too."
        )
    if mail.host:
        for name, value, reason in (
            ("server.public_url", server.public_url, "the links in mails begin with it"),
            ("mail.sender", mail.sender, "mails come from it"),
        ):
            if not value:
                yield f"mail.host is set, but {name} is not: {reason}. Set it too."
    if settings.comments.votes == "reactions" and not any(s.reactions for s in settings.sites):
        yield (
            'comments.votes is "reactions", but no site has reactions: they are the emoji that'
            ' readers choose from. Set site.reactions, such as ["👍", "❤️"].'
        )
    if mail.user and mail.security == "none" and mail.host not in LOCAL_HOSTS:
        yield (
            'mail.user is set, but mail.security is "none": anybody on the way could read the '
            'password. Use "starttls" or "tls".'
        )


def _hook_contradictions(settings: Settings) -> Iterator[str]:
    """As `_contradictions`, for webhooks and messengers."""
    hooks = settings.hooks
    for name, is_given in (
        ("hooks.webhooks", bool(hooks.webhooks)),
        ("spam.classifier_url", bool(settings.spam.classifier_url)),
    ):
        if is_given and not hooks.secret:
            yield f"{name} is set, but hooks.secret is not: it signs the requests. Set it too."
    if bool(hooks.telegram_token) != bool(hooks.telegram_chat):
        yield "hooks.telegram_token and hooks.telegram_chat belong together. Set both, or none."
    if hooks.telegram_decides and not hooks.telegram_token:
        yield "hooks.telegram_decides is set, but hooks.telegram_token is not. Set it too."
    if hooks.telegram_decides and hooks.telegram_chat.startswith("@"):
        yield (
            f"hooks.telegram_decides is set, but hooks.telegram_chat is {hooks.telegram_chat}:"
            " anybody can join a chat with a name, and decide. Set the number of a private chat."
        )


def _judge_contradictions(settings: Settings) -> Iterator[str]:
    """As `_contradictions`, for the language model."""
    if settings.judge.url and settings.spam.classifier_url:
        yield "judge.url and spam.classifier_url are both set. Set one of them."
    if settings.judge.url and not settings.judge.model:
        yield (
            "judge.url is set, but judge.model is not: the server asks which language model is"
            " meant. Set it too."
        )


def _mention_contradictions(settings: Settings) -> Iterator[str]:
    """As `_contradictions`, for mentions on other sites."""
    sends = any(site.send_webmentions for site in settings.sites)
    if sends and not settings.server.public_url:
        yield (
            "site.send_webmentions is set, but server.public_url is not: webmentions name a page of"
            " this service. Set it too."
        )


def _artalk_contradictions(settings: Settings) -> Iterator[str]:
    """As `_contradictions`, for Artalk's client."""
    if any(site.artalk for site in settings.sites) and not settings.server.public_url:
        yield (
            "site.artalk is set, but server.public_url is not: without it, Artalk's client fetches"
            " authors' pictures from another service. Set it too."
        )


def _inbox_contradictions(settings: Settings) -> Iterator[str]:
    """Yield such lines about the settings for answers and comments by mail."""
    mail, inbox = settings.mail, settings.inbox
    if any(site.comments_by_mail for site in settings.sites) and not inbox.address:
        yield "site.comments_by_mail is set, but inbox.address is not: they go there. Set it too."
    if any(site.comments_by_mail and site.members_only for site in settings.sites):
        yield (
            'site.comments_by_mail is set, but sign_in has "required": who comments by mail has not'
            " signed in. Remove one of them."
        )
    if inbox.address and not mail.host:
        yield "inbox.address is set, but mail.host is not: no mail is sent to answer. Set it too."
    for name, value in (("host", inbox.host), ("hook_secret", inbox.hook_secret)):
        if value and not inbox.address:
            yield f"inbox.{name} is set, but inbox.address is not: answers go there. Set it too."
    if inbox.token_command and inbox.password:
        yield "inbox.token_command and inbox.password are both set. Set one of them."
    if inbox.host and inbox.security == "none" and inbox.host not in LOCAL_HOSTS:
        yield (
            'inbox.security is "none": anybody on the way could read the password. Use "tls" or '
            '"starttls".'
        )
