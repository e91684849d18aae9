"""The command that sets up a service: the settings that a blog needs, and the database."""

import json
import os
import re
import shlex
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from commentsvc.cli.common import Failure, config_option, data_option, open_private, whole
from commentsvc.settings import data_dir
from commentsvc.settings.types import URL
from commentsvc.util.origin import origin

# What `init` writes without --all: what no default can know.
SHORT: Final = """\
# The settings of this comment service. docs/configuring.md lists all others, and `commentsvc init
# --all` writes a file with all of them. Add a setting to its section, of which there is one each.
# After a change, run `commentsvc check`, then restart the service.

[[site]]
name = "blog"  # Comments are stored under it; to change it later: commentsvc site rename
#origins = []

[server]
#public_url = ""
"""
BLOG: Final = "https://blog.example"
SERVICE: Final = "https://comments.example"


@click.command()
@data_option
@config_option
@click.option("--blog", metavar="URL", help="The address of the blog: its pages send comments.")
@click.option("--url", metavar="URL", help="The address of this service, as readers reach it.")
@click.option("--all", "everything", is_flag=True, help="Write all settings, with their defaults.")
def init(
    data: Path, settings_file: Path | None, blog: str | None, url: str | None, everything: bool
) -> None:
    """Set up a service: write its settings, create its database.

    What exists is never overwritten.
    """
    file = settings_file or data / data_dir.SETTINGS
    given: dict[str, object] = {}
    if blog:
        given["origins"] = [_address("--blog", blog, BLOG)[0]]
    if url:
        given["public_url"] = "".join(_address("--url", url, SERVICE))
    if blog and url and given["origins"] == [given["public_url"]]:
        text = f"--url {url} is the address of the blog. The service needs a name of its own, such"
        raise Failure(
            [f"{text} as {SERVICE}, or a path below the blog's, such as {BLOG}/comments."]
        )
    data_dir.prepare(data)
    _write(file, _text(given, everything))
    click.echo(f"wrote {file}")
    from commentsvc.cli import client, running

    location = running.location(data)
    if isinstance(location, Path) and not location.exists():
        client.ensure_database(data)
        click.echo(f"created {location}")
    click.echo("Next:")
    for key, example in (("origins", [BLOG]), ("public_url", SERVICE)):
        if key not in given:
            click.echo(f"  write {key} = {json.dumps(example)} into {file}, with your address")
    if running.server_settings(data) is not None:
        click.echo("  restart the server on this folder, which then reads these settings")
    else:
        words = ["commentsvc", "serve", "--data", str(data)]
        words += ["--config", str(file)] if settings_file else []
        click.echo(f"  {shlex.join(words)}")


def _address(option: str, given: str, example: str) -> tuple[str, str]:
    """Return the origin and the path of an address, without a slash at the end. Raise Failure."""
    start = origin(given)
    path = urlsplit(given).path.rstrip("/") if start else ""
    if not start or not re.search(str(URL.pattern), start + path):
        text = f'{option} "{given}" is no web address. Copy it from the browser, such as {example}.'
        raise Failure([text])
    return start, path


def _text(given: Mapping[str, object], everything: bool) -> str:
    """Return the text of a settings file in which some settings are `given`."""
    text = SHORT
    if everything:
        text = resources.files("commentsvc").joinpath(data_dir.SETTINGS).read_text("utf-8")
    for key, value in given.items():
        if value:
            text = re.sub(rf"^#{key} = .*", f"{key} = {json.dumps(value)}", text, flags=re.M)
    return text


def _write(file: Path, text: str) -> None:
    """Write a new file that only its owner can read. Raise Failure if it exists."""
    try:
        with open(file, "x", opener=open_private, encoding="utf-8") as new, whole(file):
            new.write(text)
            new.flush()
            if os.geteuid() == 0:  # root must not take the file from the service's user
                owner = file.absolute().parent.stat()
                os.fchown(new.fileno(), owner.st_uid, owner.st_gid)
    except FileExistsError as error:
        raise Failure([f"{file} already exists; not overwritten."]) from error
