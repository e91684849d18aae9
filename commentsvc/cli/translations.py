"""Searches for translations of pages, and lets them share one thread: `thread translations`."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import click

from commentsvc.blog.translations import TranslationFinder
from commentsvc.cli import client, moved_pages
from commentsvc.cli.common import Failure, counted, progress
from commentsvc.cli.tables import show
from commentsvc.comments.page_urls import Sites
from commentsvc.markup.foreign_html import UnreadablePage
from commentsvc.moderation import translations
from commentsvc.moderation.moved_pages import EVER
from commentsvc.moderation.translations import Version
from commentsvc.runtime.control_commands import LinkTranslations, SeparateTranslations
from commentsvc.settings.schema import Settings, Site
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.http_client import RemoteError, SettingsClient
from commentsvc.util.polite_client import Disallowed, LeaveAlone, PoliteClient

PAGES: Final = 20_000  # threads of a site for which its blog is asked
# Bytes of the addresses in one command: see `control.LINE_LIMIT`. A page has 120,000 at most.
ADDRESSES: Final = 4_000

Groups: TypeAlias = dict[str, list[tuple[Version, ...]]]  # by the name of the site


def search(data: Path, settings: Settings, name: str) -> Groups:
    """Ask the blog of the site `name`, "" for all; show and return pages in several languages.

    Raise Failure, DatabaseError, ControlError.
    """
    web = PoliteClient(SettingsClient(settings.hooks.allowed_networks), SYSTEM_CLOCK)
    found: Groups = {}
    rows = []
    for site in moved_pages.with_address(settings, name):
        asking = TranslationFinder(web, Sites(settings.sites), site, moved_pages.BETWEEN)
        due = client.read(data, translations.due, site.name, EVER, PAGES)
        groups = asyncio.run(_ask(asking, site, due))
        if not groups:
            continue
        found[site.name] = groups
        for each in client.read(data, translations.mergings, site.name, groups):
            there = f"{each.into} ({counted(each.taken, 'comment')} there)"
            rows.append((each.count, site.name, each.url, each.lang, there))
    pages = sum(map(len, found.values()))
    click.echo(f"{counted(pages, 'page')} with comments in several languages")
    if found:
        show(("COMMENTS", "SITE", "PAGE", "LANGUAGE", "JOINS"), rows, "no comments to put together")
    for site in settings.sites:
        if site.name in found and not site.translations:
            click.echo(f"for later pages of {site.name}, set translations = true for this [[site]]")
    return found


async def _ask(
    asking: TranslationFinder, site: Site, due: Sequence[tuple[int, str]]
) -> list[tuple[Version, ...]]:
    """Return the pages that have translations. Raise Failure if the blog wants to be left alone."""
    groups: dict[frozenset[str], tuple[Version, ...]] = {}
    with progress("asking the blog") as advance:
        for number, (_, url) in enumerate(due, 1):
            try:
                versions = await asking.versions(url)
            except (RemoteError, UnreadablePage) as error:
                if isinstance(error, LeaveAlone) and not isinstance(error, Disallowed):
                    why = f"The blog of {site.name} wants to be left alone: {error}."
                    raise Failure([f"{why} Try again later."]) from error
                click.echo(f"{url} cannot be read: {error}", err=True)
            else:
                if len(versions) > 1:
                    groups.setdefault(frozenset(each.url for each in versions), tuple(versions))
            advance(number / len(due))
    return [*groups.values()]


def link(data: Path, found: Groups) -> None:
    """Let these pages share their comments."""
    now, merged = SYSTEM_CLOCK.now_ms(), 0
    for site, groups in found.items():
        for part in _parts(groups):
            merged += len(client.write(data, LinkTranslations(site, part, now)).changed)
    click.echo(f"put the comments of {counted(merged, 'page')} together with others")
    if merged:
        click.echo("to take it back: commentsvc thread translations --undo")


def _parts(groups: Sequence[tuple[Version, ...]]) -> Iterator[tuple[tuple[Version, ...], ...]]:
    """Yield the groups, as many at once as a command may have."""
    part: list[tuple[Version, ...]] = []
    size = 0
    for group in groups:
        length = sum(len(each.url) for each in group)
        if part and size + length > ADDRESSES:
            yield tuple(part)
            part, size = [], 0
        part.append(group)
        size += length
    yield tuple(part)


def undo(data: Path) -> None:
    """Take back the last `link`. Raise Failure."""
    back = client.write(data, SeparateTranslations()).moved
    if not back:
        raise Failure(["There is nothing to take back: no comments were put together."])
    click.echo(f"{counted(back, 'page')} with comments of its own again")
