"""Searches for pages that have moved, and lets their comments follow them: `thread moved`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from commentsvc.blog import unlisted
from commentsvc.cli import client
from commentsvc.cli.common import Failure, counted, progress
from commentsvc.cli.tables import show
from commentsvc.comments.page_urls import Sites
from commentsvc.db.connection import Snapshot
from commentsvc.imports.records import ImportFailed
from commentsvc.model import GONE, MOVED
from commentsvc.moderation import moved_pages
from commentsvc.moderation.moved_pages import BlogAnswer, UnlistedPage
from commentsvc.runtime.control_commands import FollowMoved, SaveUnlisted, UndoMoved
from commentsvc.settings.schema import Settings, Site
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.http_client import RemoteError, SettingsClient
from commentsvc.util.polite_client import PoliteClient
from commentsvc.util.suggestions import no_such

PAGES: Final = 1_000  # pages that are asked for by one command
BETWEEN: Final = 0.2  # seconds between two requests
# Answers that are stored at once, with two urls of 2,000 characters each: see `control.LINE_LIMIT`.
SAVED: Final = 25


def search(data: Path, settings: Settings, name: str) -> None:
    """Ask the blog of the site `name`, "" for all, for pages that its sitemap does not list.

    Raise Failure, DatabaseError, ControlError.
    """
    sites = Sites(settings.sites)
    web = PoliteClient(SettingsClient(settings.hooks.allowed_networks), SYSTEM_CLOCK)
    for site in with_address(settings, name):
        asyncio.run(_search(data, web, sites, site))


def with_address(settings: Settings, name: str) -> list[Site]:
    """Return the site `name`, all for "", whose blogs can be asked. Raise Failure if none can."""
    chosen = [site for site in settings.sites if name in ("", site.name)]
    if not chosen:
        raise Failure([no_such("site", name, [site.name for site in settings.sites])])
    known = [site for site in chosen if site.origin]
    if not known:
        wanted = f"the site {name}" if name else "any site"
        raise Failure(
            [f"The settings do not say where {wanted} is. Add its `origins`, then try again."]
        )
    return known


async def _search(data: Path, web: PoliteClient, sites: Sites, site: Site) -> None:
    now = SYSTEM_CLOCK.now_ms()
    try:
        urls = await unlisted.listed(web, sites, site)
    except (RemoteError, ImportFailed) as error:
        raise Failure(
            [
                f"The sitemap of {site.origin} cannot be read: {str(error).rstrip('.')}. If it has"
                f" another address, set social_sitemap of the site {site.name}."
            ]
        ) from error

    def work(snapshot: Snapshot) -> tuple[list[tuple[int, str]], list[BlogAnswer]]:
        return moved_pages.unlisted(snapshot, site.name, urls, moved_pages.EVER, PAGES)

    due, found = client.read(data, work)
    click.echo(
        f"{site.name}: {counted(len(urls), 'page')} in the sitemap;"
        f" {counted(len(due), 'page')} with comments not among them"
    )
    asking = unlisted.Asking(web, sites, site, urls, now)
    answered = 0
    with progress("asking the blog") as advance:
        async for answer in asking.ask(due, BETWEEN):
            found.append(answer)
            answered += 1
            advance(answered / len(due))
            if len(found) >= SAVED:  # while it asks, so that nothing is lost if it is interrupted
                _save(data, found)
                found = []
    _save(data, found)


def _save(data: Path, answers: Sequence[BlogAnswer]) -> None:
    for start in range(0, len(answers), SAVED):
        client.write(data, SaveUnlisted(tuple(answers[start : start + SAVED])))


def moved(data: Path, name: str) -> list[UnlistedPage]:
    """Show the pages that have moved or are gone; return those that have moved."""
    only = (name,) if name else None
    here = client.read(data, moved_pages.waiting, only, MOVED)
    gone = client.read(data, moved_pages.waiting, only, GONE)
    rows = [(page.count, page.site, page.url, _where(page)) for page in (*here, *gone)]
    show(("COMMENTS", "SITE", "PAGE", "NOW"), rows, "no page with comments has moved or is gone")
    if moved_pages.SHOWN in (len(here), len(gone)):
        click.echo("there may be more: run the command again after these")
    return here


def _where(page: UnlistedPage) -> str:
    if page.state == GONE:
        return "gone"
    return page.target + (f" ({counted(page.taken, 'comment')} there)" if page.taken else "")


def follow(data: Path, pages: Sequence[UnlistedPage]) -> None:
    """Let the comments of these pages follow them."""
    done = client.write(data, FollowMoved(tuple(page.id for page in pages))).changed
    click.echo(f"moved the comments of {counted(len(done), 'page')}")
    click.echo("to take it back: commentsvc thread moved --undo")


def undo(data: Path) -> None:
    """Take back the last `follow`. Raise Failure."""
    back = client.write(data, UndoMoved()).changed
    if not back:
        raise Failure(["There is nothing to take back: no comments followed their pages."])
    click.echo(f"moved the comments of {counted(len(back), 'page')} back")
