"""Local checks of `doctor`, with access to the data folder and the settings.

Only the service's own counters show how the proxy connects to it, only an attempt shows whether
mail works, only the file modes show who may read the data, and only the service knows what has
happened to it.
"""

import grp
import http.client
import json
import pwd
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from commentsvc.cli import client, running
from commentsvc.cli.doctor import remote
from commentsvc.cli.doctor.remote import Finding, ProbeClient
from commentsvc.db.errors import DatabaseError
from commentsvc.runtime import control
from commentsvc.runtime.control import ControlError, Ping
from commentsvc.runtime.control_commands import CommandResult
from commentsvc.settings import data_dir
from commentsvc.settings.schema import Settings
from commentsvc.util.error_texts import error_text
from commentsvc.util.installation import how_to_install

# Requests that are sent one after the other on one connection.
REQUESTS: Final = 20
# Files that only the service's user may read.
PRIVATE: Final = (data_dir.DATABASE, data_dir.SECRET_KEY)
_ACCEPTED: Final = re.compile(rb"^commentsvc_core_accepted_total (\S+)$", re.MULTILINE)


def examine(
    visitor: ProbeClient, data: Path, settings_file: Path | None, settings: Settings
) -> Iterator[Finding]:
    """Yield all local checks of `settings`, those in force, except that of mail."""
    yield permissions(data, settings)
    if settings.database.url:
        yield database(settings.database.url)
    yield public_url(visitor, settings)
    yield stored(data, settings_file)
    if any(site.images for site in settings.sites):
        yield pictures()
    try:
        yield keep_alive(visitor, control.ask(data / data_dir.CONTROL, Ping()))
    except (ControlError, OSError, http.client.HTTPException) as error:
        yield Finding(
            "keep-alive", None, f"the service does not answer on this machine: {error_text(error)}"
        )


def stored(data: Path, settings_file: Path | None) -> Finding:
    """Say which settings were changed on the moderation pages."""
    lines, refusals = client.stored_settings(data, settings_file)
    text = "; ".join([*lines, *refusals]) or "none are changed in the browser"
    return Finding("stored settings", not refusals, text)


def database(url: str) -> Finding:
    """Check that PostgreSQL can be used, and is configured so that nothing is lost."""
    try:
        from commentsvc.db import postgresql_sessions

        version, problems = postgresql_sessions.examine(url)
    except DatabaseError as error:
        return Finding("database", False, str(error))
    if problems:
        return Finding("database", False, "; ".join(problems))
    return Finding(
        "database", True, f"PostgreSQL {version} is new enough, and its settings are safe"
    )


def permissions(data: Path, settings: Settings) -> Finding:
    """Check that only the service's own user may read private files."""
    private = PRIVATE[1:] if settings.database.url else PRIVATE
    for path in (data, *(data / name for name in private)):
        try:
            mode = path.stat().st_mode & 0o777
        except OSError as error:
            return Finding("permissions", False, f"{path}: {error.strerror}")
        if mode & 0o077:
            text = f"others can access {path} (mode {mode:04o}): chmod go= {path}"
            return Finding("permissions", False, text)
    return Finding("permissions", True, f"only its user can access {data}")


def public_url(visitor: ProbeClient, settings: Settings) -> Finding:
    """Check that links in mails and feeds lead to the address that was given."""
    public_url = settings.server.public_url.rstrip("/")
    if not public_url:
        return Finding("public-url", None, "server.public_url is not set, but mails need it")
    scheme = "https" if visitor.secure else "http"
    same = public_url == f"{scheme}://{visitor.netloc}{visitor.prefix}"
    return Finding("public-url", same, f"links begin with {public_url}")


def pictures() -> Finding:
    """Check that the process that reads pictures can do nothing else."""
    from commentsvc.api import images

    if not images.is_installed():
        return Finding("pictures", False, f"this needs: {how_to_install(images.EXTRA)}")
    if not images.is_confined():
        return Finding("pictures", None, images.UNCONFINED)
    return Finding("pictures", True, "a process that can do nothing else reads them")


def socket_rights(data: Path) -> str:
    """Return who may connect to the running service's Unix socket; "" if it has none."""
    try:
        address = control.ask(data / data_dir.CONTROL, Ping()).address
        status = Path(address.removeprefix("unix:")).stat()
    except (ControlError, OSError):
        return ""
    mode = status.st_mode & 0o777
    may = f"the user {_user(status.st_uid)}"
    if mode & 0o020:
        may += f" and the group {_group(status.st_gid)}"
    if mode & 0o002:
        may = "everybody"
    return f"the service listens on {address}, to which {may} may write (mode {mode:04o})"


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def keep_alive(visitor: ProbeClient, server: CommandResult) -> Finding:
    """Check that the proxy keeps its connections; `server` is the service's answer to a Ping."""
    before = _accepted(server)
    connection = visitor.dial()
    try:
        for _ in range(REQUESTS):
            connection.request("GET", f"{visitor.prefix}/healthz", headers={"Host": visitor.netloc})
            connection.getresponse().read()
    finally:
        connection.close()
    new = _accepted(server) - before - 1  # the look itself
    text = f"the proxy opened {max(new, 0)} new connections for {REQUESTS} requests"
    return Finding("keep-alive", new <= REQUESTS // 2, text)


def reported(data: Path) -> dict[str, str]:
    """Return the conditions that the running service reports, by name; none if none runs."""
    try:
        server = control.ask(data / data_dir.CONTROL, Ping())
        answer = json.loads(_asked(server, "/readyz"))
    except (ControlError, OSError, http.client.HTTPException):
        return {}
    if "error" in answer:
        return {"database": str(answer["error"]["message"])}
    return {each["name"]: each["text"] for each in answer["conditions"]}


def _accepted(server: CommandResult) -> int:
    """Return how many connections the service has accepted. Raise OSError, HTTPException."""
    found = _ACCEPTED.search(_asked(server, "/metrics"))
    return int(float(found[1])) if found else 0


def _asked(server: CommandResult, path: str) -> bytes:
    """Return the service's answer on this machine, past the proxy. Raise OSError, HTTPException."""
    connection = http.client.HTTPConnection("localhost")
    connection.sock = control.connect(server, remote.PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    finally:
        connection.close()


def mail(data: Path, settings: Settings) -> Finding:
    """Check that the mail server accepts our login; nothing is sent."""
    if not settings.mail.host:
        return Finding("mail", None, "mail.host is not set, so no mail is sent")
    where = f"{settings.mail.host}:{settings.mail.port}"
    if fault := running.mail_fault(data, settings, ""):
        return Finding("mail", False, f"{where}: {fault}")
    return Finding("mail", True, f"{where} accepts the login; `mail test` sends a mail")
