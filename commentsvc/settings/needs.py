"""What settings need outside of their file: other files, folders, programs, packages, passwords.

`check` says what is missing, and so does the server when it starts.
"""

import json
import os
import re
import shutil
import ssl
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, get_args

import msgspec

from commentsvc.settings.data_dir import describe
from commentsvc.settings.schema import SECTIONS, Settings, Site
from commentsvc.settings.types import PATH
from commentsvc.util.error_texts import error_text
from commentsvc.util.installation import how_to_install
from commentsvc.util.tls import client_context

KEY_BYTES = 2_100  # that are read of a file with a key
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_]\w*[^}]*\}")  # as in shells and Compose files
BYTES = 9  # the most bytes of a character, by which browsers count, in a form: %E6%9C%A8


def unusable(settings: Settings) -> Iterator[str]:
    """Yield a line for each file without which the server cannot start."""
    for name, path in (
        ("mail.ca_file", settings.mail.ca_file),
        ("inbox.ca_file", settings.inbox.ca_file),
    ):
        if path and (reason := _no_certificates(Path(path))):
            yield (
                f"{name} is {path}, {reason}. Name a file with certificates in PEM, or remove the"
                " setting to trust the usual authorities."
            )
    if settings.judge.key_file:
        try:
            judge_key(settings)
        except OSError as error:
            yield f"{error_text(error)}."


def judge_key(settings: Settings) -> str:
    """Return the key in `judge.key_file`; "" without one. Raise OSError, which says why."""
    path = Path(settings.judge.key_file)
    if not settings.judge.key_file:
        return ""
    begin = f"judge.key_file is {path}, which"
    try:
        with path.open("rb") as file:
            key = file.read(KEY_BYTES).strip()
    except FileNotFoundError as error:
        raise OSError(f"{begin} does not exist") from error
    except OSError as error:
        raise OSError(f"{begin} cannot be read: {describe(path)}") from error
    if not re.fullmatch(rb"[!-~]{1,2000}", key):
        raise OSError(f"{begin} should have one line with the key, and nothing else")
    return key.decode()


def _no_certificates(path: Path) -> str:
    try:
        client_context(str(path))
    except FileNotFoundError:
        return "which does not exist"
    except PermissionError:
        return f"which cannot be read: {describe(path)}"
    except ssl.SSLError:
        return "which has no certificate"
    except OSError as error:
        return f"which cannot be read: {error.strerror}"
    return ""


def missing(settings: Settings) -> Iterator[str]:
    """Yield a line for each part of the service that cannot work, though the server starts."""
    yield from _texts(settings)
    yield from _passwords(settings)
    yield from _providers(settings)
    yield from _packages(settings)
    yield from _of_server(settings)
    if settings.mail.moderators and not settings.mail.host:
        yield "mail.moderators is set, but mail.host is not: they get no mails. Set it too."
    if settings.backup.directory:
        path = Path(settings.backup.directory)
        if reason := _not_writable(path):
            yield f"backup.directory is {path}, {reason}. No backup can be made."
    if settings.stacosys.rss_file:
        path = Path(settings.stacosys.rss_file)
        if path.is_dir():
            yield f"stacosys.rss_file is {path}, which is a folder. Name a file in it."
        elif not path.parent.is_dir():
            yield f"stacosys.rss_file is {path}, but there is no such folder. Create it."
        elif reason := _not_writable(path.parent):
            yield f"stacosys.rss_file is in {path.parent}, {reason}."
    if settings.inbox.token_command.strip():
        program = settings.inbox.token_command.split()[0].strip("'\"")
        if shutil.which(program) is None:
            yield (
                f"inbox.token_command runs {program}, but there is no such program. Install it, or"
                " write its whole path."
            )


def _texts(settings: Settings) -> Iterator[str]:
    """Yield a line for each text that means something else than whoever wrote it thinks."""
    given = [(name, getattr(settings, name)) for name in SECTIONS if name != "site"]
    for section, struct in [*given, *(("site", site) for site in settings.sites)]:
        for field in msgspec.structs.fields(struct):
            text, name = getattr(struct, field.name), f"{section}.{field.name}"
            if not isinstance(text, str) or name == "inbox.token_command":  # which runs a shell
                continue
            if _VARIABLE.search(text):
                yield (
                    f"{name} has a variable in braces, and variables in the file are not replaced."
                    f" Set COMMENTSVC_{name.replace('.', '_').upper()} in their place."
                )
            elif text and get_args(field.type)[1] is PATH and not Path(text).is_absolute():
                yield (
                    f"{name} is {text}, which depends on the folder where the server is started."
                    f" Write the whole path, such as {json.dumps(str(Path(text).absolute()))}."
                )


def _of_server(settings: Settings) -> Iterator[str]:
    if (most := settings.comments.message_length) * BYTES > settings.server.max_body_kib << 10:
        yield (
            f"comments.message_length is {most}, but server.max_body_kib is only"
            f" {settings.server.max_body_kib}: long comments of readers without JavaScript are"
            f" refused. Set it to {(most * BYTES >> 10) + 1} or more, as the limit of the proxy."
        )
    for name, is_used, reason in (
        ("images", any(site.images for site in settings.sites), "pictures have addresses below it"),
        ("sign_in", any(site.sign_in for site in settings.sites), "readers sign in there"),
    ):
        if is_used and not settings.server.public_url:
            yield f"site.{name} is set, but server.public_url is not: {reason}. Set it too."
    for name in closed(settings):
        yield (
            f'site.sign_in of {name} has "required", but no way to sign in is set up: nobody can'
            " write there. Set up [mail], [readers], or sso_url and sso_secret."
        )
    for site in settings.sites:
        yield from _of_form(site)


def closed(settings: Settings) -> Iterator[str]:
    """Yield the name of each site on which nobody can write."""
    for site in settings.sites:
        able = {
            "mail": settings.mail.host,
            "provider": settings.readers.issuer,
            "blog": site.sso_url and site.sso_secret,
        }
        if site.members_only and not any(able[method] for method in site.methods):
            yield site.name


def _of_form(site: Site) -> Iterator[str]:
    """Yield a line if readers with the client of another service cannot write on a site."""
    clients = [name for name in ("isso", "waline", "artalk") if getattr(site, name)]
    reason = (
        'sign_in has "required"'
        if site.members_only
        else "agreement is set"
        if site.agreement.strip()
        else ""
    )
    if clients and reason:
        yield (
            f"site.{clients[0]} is on for {site.name}, but {reason}: comments of these clients are"
            " refused, because they cannot sign in or tick the box. Use our own widget there."
        )


def _not_writable(path: Path) -> str:
    """Return why nothing can be written into a folder, which may still have to be made."""
    if path.exists() and not path.is_dir():
        return "which is no folder"
    above = next(each for each in (path, *path.absolute().parents) if each.exists())
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return ""
    return f"which cannot be written: {describe(above)}"


def _passwords(settings: Settings) -> Iterator[str]:
    inbox = settings.inbox
    for section, user, secrets in (
        ("mail", settings.mail.user, settings.mail.password),
        ("inbox", inbox.host and inbox.user, inbox.password or inbox.token_command),
    ):
        if user and not secrets:
            yield (
                f"{section}.user is set, but {section}.password is not: the mail server asks for"
                " it. Set it in the file, or name a file that has it in the variable"
                f" COMMENTSVC_{section.upper()}_PASSWORD_FILE."
            )


def _providers(settings: Settings) -> Iterator[str]:
    for section, provider in (("oidc", settings.oidc), ("readers", settings.readers)):
        if provider.issuer and not provider.client_id:
            yield (
                f"{section}.issuer is set, but {section}.client_id is not: the provider has given"
                " this service one. Set it too."
            )


def _packages(settings: Settings) -> Iterator[str]:
    for name, is_used, module, extra in (
        ("database.url", settings.database.url, "psycopg", "postgres"),
        ("oidc.issuer", settings.oidc.issuer, "authlib", "oidc"),
        ("readers.issuer", settings.readers.issuer, "authlib", "oidc"),
        ("site.sso_url", any(site.sso_url for site in settings.sites), "joserfc", "oidc"),
        ("site.images", any(site.images for site in settings.sites), "PIL", "images"),
    ):
        if is_used and find_spec(module) is None:
            yield f"{name} is set, which needs: {how_to_install(extra)}"
