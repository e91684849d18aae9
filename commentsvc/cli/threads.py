"""The commands that moderate whole pages.

They work as those in `moderate`. A page's address is made canonical here, by the settings of its
site, so that an address copied from a browser names the thread that readers see.
"""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal

import click

from commentsvc.cli.common import Choice, Commands, config_option, counted, data_option
from commentsvc.cli.tables import show

_site = click.option("--site", default="", metavar="NAME", help="The site. Default: the first one.")


def _of_page(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the parameters `data`, `settings_file`, `site` and `url` added."""
    url = click.argument("url", metavar="URL")
    return data_option(config_option(_site(url(command))))


@click.group(cls=Commands)
def thread() -> None:
    """Close, rename, reset, move or merge pages."""


def _locate(data: Path, settings_file: Path | None, site: str, *urls: str) -> tuple[str, list[str]]:
    """Return the site's name and the canonical urls. Raise UrlError, SettingsError."""
    from commentsvc.cli import running
    from commentsvc.comments.page_urls import Sites, UrlError

    sites = Sites(running.settings_for(data, settings_file, "site").sites)
    pages = [sites.locate(url, site) for url in urls]
    name = pages[0].site
    if any(page.site != name for page in pages):
        raise UrlError("These addresses belong to different sites.")
    return name, [page.url for page in pages]


def _set(
    data: Path,
    settings_file: Path | None,
    site: str,
    url: str,
    state: Literal["aging", "open", "closed"],
) -> str:
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import Close

    name, [canonical] = _locate(data, settings_file, site, url)
    client.write(data, Close(site=name, url=canonical, state=state))
    return canonical


@thread.command()
@_of_page
def close(data: Path, settings_file: Path | None, site: str, url: str) -> None:
    """Close a page: it takes no new comments."""
    click.echo(f"closed {_set(data, settings_file, site, url, 'closed')}")


@thread.command("open")
@_of_page
def open_(data: Path, settings_file: Path | None, site: str, url: str) -> None:
    """Open a page: it takes comments, however old it is."""
    click.echo(f"opened {_set(data, settings_file, site, url, 'open')}")


@thread.command()
@_of_page
def age(data: Path, settings_file: Path | None, site: str, url: str) -> None:
    """Close a page at the age in close_days, which is the default."""
    click.echo(f"closes at the age in close_days: {_set(data, settings_file, site, url, 'aging')}")


@thread.command()
@_of_page
@click.argument("title", metavar="TITLE")
def title(data: Path, settings_file: Path | None, site: str, url: str, title: str) -> None:
    """Set the title of a page.

    An empty TITLE ("") takes it from the next approved comment.
    """
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import SetTitle

    name, [canonical] = _locate(data, settings_file, site, url)
    client.write(data, SetTitle(site=name, url=canonical, title=title))
    click.echo(f"titled {canonical}")


@thread.command()
@click.argument("what", type=Choice(["reactions", "views"]))
@_of_page
def reset(
    data: Path,
    settings_file: Path | None,
    site: str,
    url: str,
    what: Literal["reactions", "views"],
) -> None:
    """Set the views of a page to zero, or remove its reactions. This cannot be undone."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import Reset

    name, [canonical] = _locate(data, settings_file, site, url)
    client.write(data, Reset(site=name, url=canonical, what=what))
    click.echo(f"removed the {what} of {canonical}")


@thread.command()
@_of_page
@click.argument("to", metavar="TO")
def move(data: Path, settings_file: Path | None, site: str, url: str, to: str) -> None:
    """Move a page to a new address. The old one leads there."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import Move

    name, [old, new] = _locate(data, settings_file, site, url, to)
    client.write(data, Move(site=name, url=old, to=new))
    click.echo(f"moved {old} to {new}")


@thread.command()
@_of_page
@click.argument("into", metavar="INTO")
def merge(data: Path, settings_file: Path | None, site: str, url: str, into: str) -> None:
    """Merge the comments of two pages. This cannot be undone."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import Merge

    name, [old, new] = _locate(data, settings_file, site, url, into)
    moved = client.write(data, Merge(site=name, url=old, into=new)).moved
    click.echo(f"merged {old} into {new}: {counted(moved, 'comment')}")


@thread.command()
@_of_page
@click.argument("alias", metavar="ALIAS")
def alias(data: Path, settings_file: Path | None, site: str, url: str, alias: str) -> None:
    """Add an alias: another address of a page."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import Alias

    name, [page, other] = _locate(data, settings_file, site, url, alias)
    client.write(data, Alias(site=name, alias=other, url=page))
    click.echo(f"{other} leads to {page}")


@thread.command()
@data_option
@config_option
@click.option("--site", default="", metavar="NAME", help="The site. Default: all sites.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--undo", is_flag=True, help="Take back what this command moved last.")
def moved(data: Path, settings_file: Path | None, site: str, yes: bool, undo: bool) -> None:
    """Find pages that have moved, and let their comments follow.

    Pages with comments that the blog's sitemap does not list are requested from the blog, and what
    it answers is shown. Nothing moves before you say yes.
    """
    from commentsvc.cli import moved_pages, running

    if undo:
        moved_pages.undo(data)
        return
    settings = running.settings_for(data, settings_file, "site", "hooks")
    moved_pages.search(data, settings, site)
    pages = moved_pages.moved(data, site)
    if pages and (yes or click.confirm(f"Move the comments of {counted(len(pages), 'page')}?")):
        moved_pages.follow(data, pages)


@thread.command("translations")
@data_option
@config_option
@click.option("--site", default="", metavar="NAME", help="The site. Default: all sites.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--undo", is_flag=True, help="Take back what this command merged last.")
def translations_(data: Path, settings_file: Path | None, site: str, yes: bool, undo: bool) -> None:
    """Let the translations of each page share one thread.

    The blog is asked for all pages with comments, and which pages these name as their translations.
    It is shown which comments come together. Nothing changes before you say yes.
    """
    from commentsvc.cli import running, translations

    if undo:
        translations.undo(data)
        return
    settings = running.settings_for(data, settings_file, "site", "hooks")
    found = translations.search(data, settings, site)
    if found and (yes or click.confirm("Let these pages share their comments?")):
        translations.link(data, found)


@thread.command()
@data_option
@config_option
@_site
@click.argument("alias", metavar="ALIAS")
def unalias(data: Path, settings_file: Path | None, site: str, alias: str) -> None:
    """Remove an alias, so that it is a page of its own."""
    from commentsvc.cli import client
    from commentsvc.runtime.control_commands import Alias

    name, [other] = _locate(data, settings_file, site, alias)
    client.write(data, Alias(site=name, alias=other, url=None))
    click.echo(f"{other} is not an alias any more")


@thread.command("import")
@data_option
@config_option
@_site
@click.argument("file", type=click.File("rb"))
def import_(data: Path, settings_file: Path | None, site: str, file: BinaryIO) -> None:
    """Import aliases and closed pages from a list of the blog.

    The blog's build writes FILE; `-` is standard input. Comments under an old address move to the
    page. If there are comments under both addresses, the command shows how to merge them. You can
    run it again after each build.
    """
    from commentsvc.cli import alias_import, client, running
    from commentsvc.comments.page_urls import Sites
    from commentsvc.runtime.control_commands import Alias, Close

    sites = Sites(running.settings_for(data, settings_file, "site").sites)
    pages = alias_import.read(file.read(alias_import.LIMIT + 1))
    plan = client.read(data, lambda snapshot: [*alias_import.plan(snapshot, sites, site, pages)])
    for step in plan:
        if isinstance(step, alias_import.Clash):
            click.echo(
                f"comments are under {step.alias} and under {step.url}; to put them together:"
                f" commentsvc thread merge --site {step.site} {step.alias} {step.url}"
            )
            continue
        client.write(data, step)
        if isinstance(step, Alias):
            click.echo(f"{step.alias} leads to {step.url}")
        elif isinstance(step, Close):
            click.echo(f"closed {step.url}")
        else:
            click.echo(f"moved {step.url} to {step.to}")
    click.echo(f"pages in the list: {len(pages)}")


@thread.command("list")
@data_option
@click.option(
    "--containing",
    default="",
    metavar="TEXT",
    help="Only pages with this text in their URL or title.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="The largest number of pages.",
)
def list_(data: Path, containing: str, limit: int) -> None:
    """List pages, with their aliases and titles."""
    from commentsvc.cli import client
    from commentsvc.moderation import threads

    found = client.read(data, threads.listing, containing, limit, None)
    rows = [
        (each.count, each.state, " = ".join((f"{each.site}:{each.url}", *each.aliases)), each.title)
        for each in found
    ]
    show(("COMMENTS", "STATE", "PAGE", "TITLE"), rows, "no pages")
