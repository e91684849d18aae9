"""Translations of a page share one thread: what the blog says of them is put into effect.

`blog.translations` asks the blog. The addresses of all translations become aliases of one thread,
that of the main one, and each has its language: comments get the language of the address where they
were written. Pages that have approved comments by then are merged only if an operator says so; that
can be undone.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from peewee import fn

from commentsvc.comments.create import ThreadRef, changed
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.errors import CommentsError, UnknownThread
from commentsvc.model import THREAD
from commentsvc.moderation import threads
from commentsvc.util.timestamps import DAY_MS

AGAIN: Final = 7 * DAY_MS  # milliseconds until a blog is asked for a page again
SERVICE: Final = "the service"  # the actor in the history of comments that had to wait


class Version(msgspec.Struct, frozen=True):
    """A page in one of its languages: its canonical url, and the tag of the language or ""."""

    url: str
    lang: str


class Merging(msgspec.Struct, frozen=True):
    """A page with comments that joins the thread of another one, and both their numbers."""

    url: str
    lang: str
    count: int
    into: str
    taken: int


class _Plan(NamedTuple):
    """What makes one thread of translations: it moves to the first one, others join it."""

    thread: ThreadRef
    moves: bool
    merged: list[tuple[ThreadRef, Version]]
    aliases: list[str]


@prepared
def _due(site: Param, now: Param, most: Param) -> Select:
    return (
        ThreadTable.select(ThreadTable.id, ThreadTable.url)
        .join(SiteTable, on=SiteTable.id == ThreadTable.site)
        .where(
            SiteTable.name == site,
            ThreadTable.ask_at <= now,
            ThreadTable.count > 0,
            ThreadTable.aliased.is_null(),
        )
        .order_by(ThreadTable.ask_at)
        .limit(most)
    )


def due(snapshot: Snapshot, site: str, now: int, most: int) -> list[tuple[int, str]]:
    """Return the ids and urls of threads of a site for which its blog is to be asked by now."""
    return [(thread_id, url) for thread_id, url in snapshot.query(_due, site, now, most)]


def mergings(snapshot: Snapshot, site: str, groups: Sequence[Sequence[Version]]) -> list[Merging]:
    """Return what `link` would merge; each of the `groups` is a page in its languages."""
    found: dict[str, Merging] = {}
    for versions in groups:
        plan = _plan(snapshot, site, versions)
        if plan is None:
            continue
        for ref, version in plan.merged:
            counts = (_count(snapshot, ref.thread_id), _count(snapshot, plan.thread.thread_id))
            into = versions[0].url if plan.moves else plan.thread.url
            found.setdefault(ref.url, Merging(ref.url, version.lang, counts[0], into, counts[1]))
    return [*found.values()]


def link(
    tx: Transaction, site: str, versions: Sequence[Version], now: int, who: str = ""
) -> list[int]:
    """Make one thread of translations, the main one first; return the ids of merged threads.

    Without `who`, the name of an operator, threads with approved comments stay apart. Nothing
    happens if no translation has comments. `now` is in Unix milliseconds.
    """
    plan = _plan(tx, site, versions)
    if plan is None:
        return []
    thread, merged = plan.thread, []
    _note_languages(tx, site, versions)
    if plan.moves:
        threads.move(tx, site, thread.url, versions[0].url)
    for ref, _ in plan.merged:
        if who or not _count(tx, ref.thread_id):
            threads.merge(tx, site, ref.url, thread.url, who or SERVICE, now)
            merged.append(ref.thread_id)
    for url in plan.aliases:
        threads.add_alias(tx, site, versions[0].url if plan.moves else thread.url, url)
    of_site = ThreadTable.site == thread.site_id
    for version in versions:
        named = of_site & (ThreadTable.url == version.url) & (ThreadTable.lang != version.lang)
        tx.change(ThreadTable.update(lang=version.lang).where(named))
    ids = [thread.thread_id, *(ref.thread_id for ref, _ in plan.merged)]
    _ask_at(tx, ids, now + AGAIN)
    return merged


def save(
    tx: Transaction,
    site: str,
    versions: Sequence[Version],
    now: int,
    again: tuple[Sequence[int], int],
) -> None:
    """Link the translations that a blog named, if any; ask it `again` for threads at a time."""
    if versions:
        link(tx, site, versions, now)
    _ask_at(tx, *again)


def undo(tx: Transaction, who: str, now: int) -> list[str]:
    """Take back the last merging by `who`; return the urls of the pages that are apart again."""
    by_who = (
        (ChangeTable.actor == who) & (ChangeTable.field == THREAD) & ChangeTable.undone_at.is_null()
    )
    newest = ChangeTable.select(fn.MAX(ChangeTable.created_at)).where(by_who)
    merged = (
        ChangeTable.select(
            SiteTable.name, ChangeTable.old, ChangeTable.new, ChangeTable.decision_id
        )
        .join(CommentTable, on=CommentTable.id == ChangeTable.comment)
        .join(SiteTable, on=SiteTable.id == CommentTable.site)
        .where(by_who, ChangeTable.created_at == newest)
        .distinct()
    )
    done = []
    for site, url, into, decision_id in tx.query(merged):
        try:
            ref = threads.find(tx, site, into)
            threads.separate(tx, url, ref, decision_id, who, now)
        except CommentsError:
            continue
        _take_aliases(tx, threads.find(tx, site, url), ref)
        done.append(url)
    return done


def _take_aliases(tx: Transaction, ref: ThreadRef, merged: ThreadRef) -> None:
    """Give a thread that left another one its aliases back: those in its language."""
    lang = ThreadTable.select(ThreadTable.lang).where(ThreadTable.id == ref.thread_id)
    theirs = (ThreadTable.aliased == merged.thread_id) & (ThreadTable.lang == lang)
    tx.change(ThreadTable.update(aliased=ref.thread_id).where(theirs, ThreadTable.lang != ""))


def _plan(snapshot: Snapshot, site: str, versions: Sequence[Version]) -> _Plan | None:
    """Return how the translations become one thread; None if none of them has comments."""
    found = {version.url: _find(snapshot, site, version.url) for version in versions}
    full: dict[int, tuple[ThreadRef, Version]] = {}  # in the order of the translations
    for version in versions:
        ref = found[version.url]
        if ref and threads.has_comments(snapshot, ref.thread_id):
            full.setdefault(ref.thread_id, (ref, version))
    if not full:
        return None
    main = found[versions[0].url]
    chosen = main if main and main.thread_id in full else next(iter(full.values()))[0]
    is_vacant = main is None or (main.url == versions[0].url and main.thread_id not in full)
    is_ours = any(chosen.url == version.url for version in versions)
    merged = [each for number, each in full.items() if number != chosen.thread_id]
    aliases = [
        url
        for url, ref in found.items()
        if ref is None or (ref.url == url and ref.thread_id not in full)
    ]
    moves = is_vacant and is_ours
    if moves:
        aliases.remove(versions[0].url)
    return _Plan(chosen, moves, merged, aliases)


def _ask_at(tx: Transaction, ids: Sequence[int], moment: int) -> None:
    tx.change(ThreadTable.update(ask_at=moment).where(ThreadTable.id.in_([*ids])))


def _find(snapshot: Snapshot, site: str, url: str) -> ThreadRef | None:
    try:
        return threads.find(snapshot, site, url)
    except UnknownThread:
        return None


def _count(snapshot: Snapshot, thread_id: int) -> int:
    [(count,)] = snapshot.query(
        ThreadTable.select(ThreadTable.count).where(ThreadTable.id == thread_id)
    )
    return int(count)


def _note_languages(tx: Transaction, site: str, versions: Sequence[Version]) -> None:
    """Give the comments of each thread, and its aliases, the language of its page.

    What has a language keeps it, as a moderator may have corrected it.
    """
    for version in versions:
        ref = _find(tx, site, version.url)
        if not version.lang or ref is None or ref.url != version.url:
            continue
        noted = 0
        for condition in threads.comments_of(ref.thread_id):
            unknown = condition & (CommentTable.lang == "")
            noted += tx.change(CommentTable.update(lang=version.lang).where(unknown))
        aliases = (ThreadTable.aliased == ref.thread_id) & (ThreadTable.lang == "")
        tx.change(ThreadTable.update(lang=version.lang).where(aliases))
        if noted:
            changed(tx, ref)
