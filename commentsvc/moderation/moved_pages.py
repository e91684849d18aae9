"""Pages with comments that are not in the blog's sitemap: which have moved, and the answer to that.

`blog.unlisted` asks the blog for them and saves the answers here. A moderator lets the comments of
pages that have moved follow them, or stay where they are; both can be undone. If there are comments
at the new address too, the threads are merged.

A row is about a page only while the thread has the `url` that was asked for.
"""

from collections.abc import Container, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
import peewee
from peewee import fn

from commentsvc.comments.create import ThreadRef
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.schema.moderation import ChangeTable, UnlistedPageTable
from commentsvc.errors import CommentsError, UnknownThread, UrlTaken
from commentsvc.model import FOLLOWED, GONE, MOVED, STAYED, THERE, THREAD
from commentsvc.moderation import threads
from commentsvc.util.timestamps import DAY_MS

SHOWN: Final = 200  # pages in a list
KEPT: Final = 30 * DAY_MS  # for so long an answer can be undone
ANSWERED: Final = (FOLLOWED, STAYED)
EVER: Final = 2**62  # a time after all others
# Rows of the threads whose addresses are compared with the sitemap at once.
PIECE: Final = 500


class BlogAnswer(msgspec.Struct, frozen=True):
    """What the blog answered for the page of a thread: see `UnlistedPageTable`."""

    thread_id: int
    url: str
    state: str
    target: str
    next_at: int


class UnlistedPage(msgspec.Struct, frozen=True, gc=False):
    """A page that has moved or is gone, and its number of approved comments.

    `taken` is the number of those at the new address, which are merged with them.
    """

    id: int
    site: str
    url: str
    title: str
    count: int
    state: str
    target: str
    answered_at: int
    actor: str
    taken: int


@prepared
def _threads_after(site: Param, thread_id: Param, most: Param) -> Select:
    known = (UnlistedPageTable.thread == ThreadTable.id) & (
        UnlistedPageTable.url == ThreadTable.url
    )
    return (
        ThreadTable.select(
            ThreadTable.id, ThreadTable.url, UnlistedPageTable.state, UnlistedPageTable.next_at
        )
        .join(SiteTable, on=SiteTable.id == ThreadTable.site)
        .join(UnlistedPageTable, peewee.JOIN.LEFT_OUTER, on=known)
        .where(
            SiteTable.name == site,
            ThreadTable.id > thread_id,
            ThreadTable.aliased.is_null(),
            ThreadTable.count > 0,
        )
        .order_by(ThreadTable.id)
        .limit(most)
    )


def unlisted(
    snapshot: Snapshot, site: str, listed: Container[str], now: int, most: int
) -> tuple[list[tuple[int, str]], list[BlogAnswer]]:
    """Return at most `most` pages of a site to ask for, as ids and urls of their threads.

    They have comments, are not among the `listed` urls, and are due at the time `now`; those that
    wait longest come first. The second list says of pages that were missing, and are listed again,
    that they are there.
    """
    due: list[tuple[int, int, str]] = []
    back: list[BlogAnswer] = []
    last = 0
    while rows := snapshot.query(_threads_after, site, last, PIECE):
        for thread_id, url, state, next_at in rows:
            if url in listed:
                if state in (MOVED, GONE):
                    back.append(BlogAnswer(thread_id, url, THERE, "", now))
            elif next_at is None or (next_at <= now and state not in ANSWERED):
                due.append((next_at or 0, thread_id, url))
            last = thread_id
    return [(thread_id, url) for _, thread_id, url in sorted(due)[:most]], back


def save(tx: Transaction, answers: Iterable[BlogAnswer]) -> None:
    """Store what the blog answered. What a moderator answered about the same address stays."""
    table = UnlistedPageTable
    for each in answers:
        if not tx.first(ThreadTable.select(ThreadTable.id).where(ThreadTable.id == each.thread_id)):
            continue  # it went meanwhile, as by an import that was taken back
        answered = (table.url == each.url) & table.state.in_(ANSWERED)
        tx.change(table.delete().where(table.thread == each.thread_id, ~answered))
        values = msgspec.structs.asdict(each)
        row = table.insert(thread=values.pop("thread_id"), **values)
        tx.change(row.on_conflict(action="NOTHING", conflict_target=[table.thread]))


def _listing(condition: object, sites: Sequence[str] | None) -> Select:
    table, named, there = UnlistedPageTable, ThreadTable.alias("named"), ThreadTable.alias("there")
    taken = fn.COALESCE(there.count, 0)
    query = (
        table.select(
            table.thread,
            SiteTable.name,
            table.url,
            ThreadTable.title,
            ThreadTable.count,
            table.state,
            table.target,
            table.answered_at,
            table.actor,
            taken,
        )
        .join(ThreadTable, on=ThreadTable.id == table.thread)
        .join(SiteTable, on=SiteTable.id == ThreadTable.site)
        .join(
            named,
            peewee.JOIN.LEFT_OUTER,
            on=(named.site == ThreadTable.site) & (named.url == table.target),
        )
        .join(
            there,
            peewee.JOIN.LEFT_OUTER,
            on=(there.id == fn.COALESCE(named.aliased, named.id)) & (there.id != ThreadTable.id),
        )
        .where(condition)
    )
    return query if sites is None else query.where(SiteTable.name.in_(list(sites)))


def _waiting(sites: Sequence[str] | None, *states: str) -> Select:
    table = UnlistedPageTable
    asked = table.state.in_(states) & (table.url == ThreadTable.url)
    return _listing(asked & ThreadTable.aliased.is_null(), sites).order_by(table.thread)


def waiting(snapshot: Snapshot, sites: Sequence[str] | None, state: str) -> list[UnlistedPage]:
    """Return the first pages, SHOWN at most, that have moved (MOVED) or are gone (GONE).

    They are of those `sites`, of all for None, and no moderator has answered for them.
    """
    rows = snapshot.query(_waiting(sites, state).limit(SHOWN))
    return [UnlistedPage(*row) for row in rows]


def count_waiting(snapshot: Snapshot, sites: Sequence[str] | None) -> int:
    """Return how many pages wait for an answer, SHOWN at most."""
    return len(snapshot.query(_waiting(sites, MOVED, GONE).limit(SHOWN)))


def answered(snapshot: Snapshot, sites: Sequence[str] | None, since: int) -> list[UnlistedPage]:
    """Return the last answers since that time (Unix milliseconds), SHOWN at most."""
    done = UnlistedPageTable.state.in_(ANSWERED) & (UnlistedPageTable.answered_at >= since)
    found = _listing(done, sites).order_by(UnlistedPageTable.answered_at.desc())
    return [UnlistedPage(*row) for row in snapshot.query(found.limit(SHOWN))]


class _Row(NamedTuple):
    """A row of the table with the site of its thread."""

    site: str
    url: str
    state: str
    target: str
    decision_id: int
    aliases: str


def _row(tx: Transaction, thread_id: int, sites: Sequence[str] | None) -> _Row | None:
    """Return the row of a thread on one of the `sites`, None if there is none."""
    table = UnlistedPageTable
    query = (
        table.select(
            SiteTable.name,
            table.url,
            table.state,
            table.target,
            table.decision_id,
            table.aliases,
        )
        .join(ThreadTable, on=ThreadTable.id == table.thread)
        .join(SiteTable, on=SiteTable.id == ThreadTable.site)
        .where(table.thread == thread_id)
    )
    if sites is not None:
        query = query.where(SiteTable.name.in_(list(sites)))
    row = tx.first(query)
    return _Row(*row) if row else None


def follow(
    tx: Transaction, ids: Iterable[int], sites: Sequence[str] | None, who: str, now: int
) -> list[int]:
    """Let the comments of pages that have moved follow them; return the ids of these threads.

    `ids` are those of threads on the `sites`. A page that is elsewhere by now is left out.
    """
    done = []
    for thread_id in ids:
        row = _row(tx, thread_id, sites)
        if row is None or row.state != MOVED or not _is_at(tx, thread_id, row.site, row.url):
            continue
        aliases = tx.query(ThreadTable.select(ThreadTable.url).where(_alias_of(thread_id)))
        try:
            threads.move(tx, row.site, row.url, row.target)
            decision_id = 0
        except UrlTaken:
            merged = threads.merge(tx, row.site, row.url, row.target, who, now)
            decision_id = merged.decision_id
        answer = UnlistedPageTable.update(
            state=FOLLOWED,
            answered_at=now,
            actor=who,
            decision_id=decision_id,
            aliases="\n".join(url for (url,) in aliases),
        )
        tx.change(answer.where(UnlistedPageTable.thread == thread_id))
        done.append(thread_id)
    return done


def stay(
    tx: Transaction, ids: Iterable[int], sites: Sequence[str] | None, who: str, now: int
) -> list[int]:
    """Let the comments of pages stay where they are, and ask no more; return the threads' ids."""
    done = []
    for thread_id in ids:
        row = _row(tx, thread_id, sites)
        if row and row.state in (MOVED, GONE):
            answer = UnlistedPageTable.update(state=STAYED, answered_at=now, actor=who)
            tx.change(answer.where(UnlistedPageTable.thread == thread_id))
            done.append(thread_id)
    return done


def undo(
    tx: Transaction, ids: Iterable[int], sites: Sequence[str] | None, who: str, now: int
) -> list[int]:
    """Take back the answers about these threads; return the ids of those where that was possible.

    A thread that was moved again since then stays where it is. So does one with which another was
    merged at its new address, while that is not taken back. So what was not possible is tried
    again after what was; of mergings, the last come first.
    """
    rows = {thread_id: _row(tx, thread_id, sites) for thread_id in dict.fromkeys(ids)}
    left = [(row, thread_id) for thread_id, row in rows.items() if row and row.state in ANSWERED]
    left.sort(key=lambda each: (each[0].decision_id > 0, -each[0].decision_id))
    done: list[int] = []
    while left:
        tried, left = left, []
        for row, thread_id in tried:
            if row.state == FOLLOWED and not _put_back(tx, thread_id, row, who, now):
                left.append((row, thread_id))
                continue
            state = MOVED if row.target else GONE
            waits = UnlistedPageTable.update(
                state=state, answered_at=0, actor="", next_at=now + DAY_MS, decision_id=0
            )
            tx.change(waits.where(UnlistedPageTable.thread == thread_id))
            done.append(thread_id)
        if len(left) == len(tried):
            break
    return done


def last(snapshot: Snapshot, who: str) -> list[int]:
    """Return the threads of the last answer of `who`, which one decision may give for many."""
    table = UnlistedPageTable
    own = (table.actor == who) & table.state.in_(ANSWERED)
    newest = table.select(fn.MAX(table.answered_at)).where(own)
    rows = snapshot.query(table.select(table.thread).where(own, table.answered_at == newest))
    return [thread_id for (thread_id,) in rows]


def _put_back(tx: Transaction, thread_id: int, row: _Row, who: str, now: int) -> bool:
    """Undo the move or the merging of a thread; return whether that was possible."""
    aliases = row.aliases.split("\n")
    try:
        if row.decision_id:
            # The page at the new address may have been taken out of the thread with the comments.
            ref = threads.find(tx, row.site, row.url)
            if ref != threads.find(tx, row.site, row.target) and not _has_some(tx, ref, row):
                return False
            threads.separate(tx, row.url, ref, row.decision_id, who, now)
            own = ThreadTable.url.in_(aliases) & _alias_of(ref.thread_id)
            tx.change(ThreadTable.update(aliased=thread_id).where(own))
            return True
        ref = threads.find(tx, row.site, row.target)
        if (ref.thread_id, ref.url) != (thread_id, row.target) or _got_others(tx, ref):
            return False
        threads.move(tx, row.site, row.target, row.url)
        if row.target not in aliases:
            threads.remove_alias(tx, row.site, row.target)
    except CommentsError:
        return False
    return True


def _has_some(tx: Transaction, ref: ThreadRef, row: _Row) -> bool:
    """Return whether a thread has comments of the merging of a row."""
    moved = CommentTable.select(CommentTable.id).join(ChangeTable)
    ours = (ChangeTable.decision_id == row.decision_id) & (ChangeTable.field == THREAD)
    found = moved.where(ours, ChangeTable.old == row.url, CommentTable.thread == ref.thread_id)
    return tx.first(found.limit(1)) is not None


def _got_others(tx: Transaction, ref: ThreadRef) -> bool:
    """Return whether a thread got the comments of another page that followed to its address."""
    table = UnlistedPageTable
    merged = (
        table.select(table.thread)
        .join(ThreadTable, on=ThreadTable.id == table.thread)
        .where(
            table.target == ref.url,
            table.state == FOLLOWED,
            table.decision_id > 0,
            _alias_of(ref.thread_id),
        )
    )
    return tx.first(merged.limit(1)) is not None


def _alias_of(thread_id: int) -> peewee.Expression:
    return ThreadTable.aliased == thread_id


def _is_at(tx: Transaction, thread_id: int, site: str, url: str) -> bool:
    """Return whether the thread of that id still has this url."""
    try:
        ref = threads.find(tx, site, url)
    except UnknownThread:
        return False
    return (ref.thread_id, ref.url) == (thread_id, url)
