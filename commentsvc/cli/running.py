"""Which database and settings a command uses: those of the server that runs on its data folder.

Only the server knows what its service manager gives it: variables, credentials, --config. So a
command asks the server. Without a server, the command reads the settings itself, and the data
folder remembers which database was served. If the command was given something else, it says so and
does nothing: otherwise it would read or change comments that nobody sees.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import click

from commentsvc.cli.common import Failure, find_settings
from commentsvc.db import sqlite_files
from commentsvc.db.engine import Location, describe, is_same
from commentsvc.db.errors import DatabaseError
from commentsvc.delivery.channel import DeliveryError
from commentsvc.moderation import stored_settings
from commentsvc.runtime import control
from commentsvc.runtime.control import ControlError, NoServer, Ping, ShowSettings, TryMail
from commentsvc.settings import data_dir, everyday, loader
from commentsvc.settings.loader import GivenSetting
from commentsvc.settings.schema import SECTIONS, Settings, Site
from commentsvc.util.clock import SYSTEM_CLOCK

# Seconds to wait for another program's lock.
READ_PATIENCE: Final = 5.0
# What to do about a setting that only the command or only the server has.
REMEDY: Final = "restart the server if this is new, or give the command what the server has"


def server_settings(data: Path) -> Settings | None:
    """Return the settings of the server that runs on `data`; None if none runs.

    Raise ControlError if it cannot be asked.
    """
    if not data.is_dir():
        return None
    try:
        return control.ask(data / data_dir.CONTROL, ShowSettings()).settings
    except NoServer:
        return None


def address(data: Path) -> str:
    """Return where the server on `data` listens; "" if none runs. Raise ControlError."""
    if not data.is_dir():
        return ""
    try:
        return control.ask(data / data_dir.CONTROL, Ping()).address
    except NoServer:
        return ""


def settings_for(data: Path, settings_file: Path | None, *sections: str) -> Settings:
    """Return the settings that a command uses, which needs these `sections` of them.

    Raise SettingsError; ControlError; Failure if the command was given others than the server has.
    """
    server = server_settings(data)
    file = find_settings(settings_file, data)
    if server is None:
        return without_server(data, file)
    if lines := [*_differences(data, file, server, sections)]:
        raise Failure(lines)
    return server


def settings_in_force(data: Path, settings_file: Path | None) -> Settings:
    """Return the settings of the server that runs on `data`, else those that it would have.

    Raise SettingsError; ControlError.
    """
    return server_settings(data) or without_server(data, find_settings(settings_file, data))


def without_server(data: Path, file: Path | None) -> Settings:
    """Return the settings of the file, and of the database where that can be read."""
    loaded = loader.load_with_locations(file)
    with suppress(DatabaseError):  # it may have no tables yet
        return everyday.apply(loaded, _stored(loaded.settings.database.url, data)).settings
    return loaded.settings


def _stored(url: str, data: Path) -> dict[everyday.Key, object]:
    """Return the settings that the database has; none if there is no file. Raise DatabaseError."""
    if url:
        from commentsvc.db import postgresql_sessions

        return postgresql_sessions.ask(url, stored_settings.values)
    path = data / data_dir.DATABASE
    if not path.exists():
        return {}
    dial = partial(sqlite_files.connect, path, READ_PATIENCE, "query_only=1")
    return sqlite_files.ask(path, dial, stored_settings.values)


def _added_sites(url: str, data: Path) -> set[str]:
    """Return the names of the sites that the database has; none if it has no tables."""
    with suppress(DatabaseError):
        return {site for site, key in _stored(url, data) if key == everyday.ORIGINS}
    return set()


def location(data: Path) -> Location:
    """Return where the database is of the service with the data folder `data`.

    Raise SettingsError, DataUnusable, ControlError; Failure if the command was given another one.
    """
    context = click.get_current_context(silent=True)
    chosen = context.params.get("settings_file") if context else None
    file = find_settings(chosen or loader.location_in("COMMENTSVC_CONFIG"), data)
    server = server_settings(data)
    if server is not None:
        if lines := [*_differences(data, file, server, ("database",))]:
            raise Failure(lines)
        return server.database.url or data / data_dir.DATABASE
    own = loader.database_url(file) or data / data_dir.DATABASE
    served = last_served(data)
    if served is not None and not is_same(served, own):
        raise Failure(
            [
                f"{data} was last served with {describe(served)}, and this command would use"
                f" {describe(own)}. Give it the server's setting, such as"
                " COMMENTSVC_DATABASE_URL_FILE, or start the server with the database that is meant"
            ]
        )
    return own


def mail_fault(data: Path, settings: Settings, recipient: str) -> str:
    """Sign in at the mail server, and send a test mail unless `recipient` is "".

    The server on `data` does it, or this process if none runs. Return why that failed, "" if it did
    not. Raise OSError if `mail.ca_file` cannot be read.
    """
    try:
        control.ask(data / data_dir.CONTROL, TryMail(recipient))
    except NoServer:
        from commentsvc.delivery.mail_trial import try_mail  # a slow import for one command

        try:
            asyncio.run(try_mail(settings, recipient, SYSTEM_CLOCK.now_ms()))
        except DeliveryError as error:
            return str(error)
    except ControlError as error:
        return str(error)
    return ""


def last_served(data: Path) -> Location | None:
    """Return the database of the last server on `data`, without its password; None if unknown."""
    try:
        name = (data / data_dir.SERVED).read_text().strip()
    except OSError:
        return None
    return name if "://" in name else data / data_dir.DATABASE


def unlike_server(data: Path, settings_file: Path | None) -> list[str]:
    """Return a line for each setting of the command that the running server does not have."""
    server = server_settings(data)
    if server is None:
        return []
    sections = [name for name in SECTIONS if name not in ("server", "site")]
    return [*_differences(data, find_settings(settings_file, data), server, (*sections, "site"))]


def _differences(
    data: Path, file: Path | None, server: Settings, sections: tuple[str, ...]
) -> Iterator[str]:
    """Yield a line for each setting in `sections` that the command has and the server has not."""
    is_newer = file is not None and _is_newer(file, data / data_dir.CONTROL)
    of_file = f"{file} is newer than the server, so restart it" if is_newer else REMEDY
    for own in loader.given(file):
        theirs = getattr(getattr(server, own.section), own.key)
        if own.section not in sections or _is_theirs(data, own, theirs):
            continue
        shown = [f"{value!r}" for value in (own.value, theirs)]
        if (own.section, own.key) == ("database", "url"):
            shown = [describe(value or data / data_dir.DATABASE) for value in (own.value, theirs)]
        elif own.is_secret:
            shown = ["another value", "its own"]
        remedy = of_file if own.where.startswith(f"{file}:") else REMEDY
        yield (
            f"{own.where} is {shown[0]}, but the server that runs on {data} uses {shown[1]}:"
            f" {remedy}"
        )
    if "site" in sections and (sites := loader.given_sites(file)):
        added = _added_sites(server.database.url, data) - {site.name for site in sites}
        theirs = tuple(site for site in server.sites if site.name not in added)
        yield from (
            f"{line} the server that runs on {data}: {of_file}"
            for line in _site_differences(sites, theirs)
        )


def _site_differences(own: tuple[Site, ...], theirs: tuple[Site, ...]) -> Iterator[str]:
    """Yield the beginning of a line for each site that differs; no values: they may be secret.

    What the settings leave at its default may have been changed on the moderation pages.
    """
    plain = Site()
    names = [", ".join(site.name for site in sites) for sites in (own, theirs)]
    if names[0] != names[1]:
        yield f"The sites are {names[0]}, but {names[1]} in"
        return
    for site, served in zip(own, theirs, strict=True):
        keys = [
            key
            for key in site.__struct_fields__
            if getattr(site, key) not in (getattr(served, key), getattr(plain, key))
        ]
        if keys:
            yield f"The site {site.name} has other {', '.join(keys)} than in"


def _is_newer(file: Path, control_socket: Path) -> bool:
    """Return whether a settings file was written after the server began, which made the socket."""
    try:
        return file.stat().st_mtime > control_socket.stat().st_mtime
    except OSError:
        return False


def _is_theirs(data: Path, own: GivenSetting, theirs: object) -> bool:
    if (own.section, own.key) != ("database", "url"):
        return bool(own.value == theirs)
    usual = data / data_dir.DATABASE
    return is_same(own.value or usual, str(theirs) or usual)
