"""The stored mentions: which pages have to be checked, and what was found there.

As in `inbox.inbox`, a mention is stored first and processed afterwards, so a stop loses nothing. A
mention that is received several times is one row.
"""

from typing import Final, NamedTuple

from peewee import fn

from commentsvc.comments import queries
from commentsvc.comments.create import ThreadRef, add_to_counts, insert_thread
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import SiteTable, ThreadTable
from commentsvc.db.schema.mentions import LIKE, REPLY, REPOST, FollowedPostTable, MentionTable
from commentsvc.model import thread_tag
from commentsvc.util.timestamps import DAY_MS, MINUTE_MS

# The most mentions that wait for their first check; further ones are refused.
MOST_WAITING: Final = 1_000

# For so long, pages that sent a webmention and posts with their replies are checked again. Later
# replies are rare, and each check burdens another's server.
FOLLOWED: Final = 90 * DAY_MS
# Between two checks for new posts, and for replies to recent ones: a server of Mastodon answers 300
# requests in 5 minutes, which suffices for hundreds of posts.
INTERVAL: Final = 15 * MINUTE_MS

_MENTION: Final = (
    MentionTable.id,
    MentionTable.site,
    MentionTable.url,
    MentionTable.source,
    MentionTable.target,
    MentionTable.kind,
    MentionTable.comment_id,
    MentionTable.attempts,
    MentionTable.received_at,
)


class Mention(NamedTuple):
    """A row of the table; see MentionTable."""

    id: int
    site: str
    url: str
    source: str
    target: str
    kind: str
    comment_id: int | None
    attempts: int
    received_at: int


@prepared
def _find_due(now: Param, most: Param) -> Select:
    due = MentionTable.select(*_MENTION).where(
        MentionTable.next_at.is_null(False), MentionTable.next_at <= now
    )
    return due.order_by(MentionTable.next_at).limit(most)


@prepared
def _find_waiting(most: Param) -> Select:
    waiting = MentionTable.select(MentionTable.id).where(
        MentionTable.next_at.is_null(False), MentionTable.kind == ""
    )
    return waiting.limit(most)


@prepared
def _find(source: Param, site: Param, url: Param) -> Select:
    return MentionTable.select(*_MENTION, MentionTable.next_at).where(
        MentionTable.source == source, MentionTable.site == site, MentionTable.url == url
    )


def waits(snapshot: Snapshot, page: PageRef, source: str, now: int) -> bool:
    """Return whether a mention is due to be checked anyway."""
    row = snapshot.first(_find, source, *page)
    return bool(row and row[-1] is not None and row[-1] <= now)


def receive(tx: Transaction, page: PageRef, source: str, target: str, now: int) -> bool:
    """Store a mention of `page`, to be checked at the time `now` (Unix milliseconds).

    Return False, and change nothing, if too many mentions wait.
    """
    row = tx.first(_find, source, *page)
    if row is None and len(tx.query(_find_waiting, MOST_WAITING)) >= MOST_WAITING:
        return False
    if row:
        again = MentionTable.update(target=target, attempts=0, next_at=now)
        tx.change(again.where(MentionTable.id == row[0]))
    else:
        fields = {"site": page.site, "url": page.url, "source": source, "target": target}
        tx.change(MentionTable.insert(**fields, kind="", attempts=0, received_at=now, next_at=now))
    return True


def due(snapshot: Snapshot, now: int, most: int) -> list[Mention]:
    """Return the mentions that are due to be checked, at most `most`."""
    return [Mention(*row) for row in snapshot.query(_find_due, now, most)]


def remove(tx: Transaction, mention: Mention) -> None:
    """Delete a mention whose page does not link to ours."""
    tx.change(MentionTable.delete().where(MentionTable.id == mention.id))
    if mention.kind in (LIKE, REPOST):
        count(tx, mention.site, mention.url)


def retry_at(tx: Transaction, mention: Mention, next_at: int | None) -> None:
    """Record a failed check; the next one is at `next_at`, or never if it is None."""
    failed = MentionTable.update(attempts=mention.attempts + 1, next_at=next_at)
    tx.change(failed.where(MentionTable.id == mention.id))


def conclude(
    tx: Transaction, mention: Mention, kind: str, comment_id: int | None, next_at: int | None
) -> None:
    """Record the result of a check, and the comment that was made of it."""
    found = MentionTable.update(kind=kind, comment_id=comment_id, attempts=0, next_at=next_at)
    tx.change(found.where(MentionTable.id == mention.id))
    if {kind, mention.kind} & {LIKE, REPOST}:
        count(tx, mention.site, mention.url)


def count(tx: Transaction, site: str, url: str) -> None:
    """Count the likes and reposts of a page again, including those of its former addresses."""
    thread = queries.thread(tx, site, url)
    [(site_id,)] = tx.query(SiteTable.select(SiteTable.id).where(SiteTable.name == site))
    number = thread.id or tx.insert(insert_thread, (site_id, url))
    assert number is not None, "an INSERT gives an id"
    counted = (
        MentionTable.select(MentionTable.kind, fn.COUNT(MentionTable.id))
        .join(
            ThreadTable,
            on=(ThreadTable.url == MentionTable.url) & (ThreadTable.site == site_id),
        )
        .where(
            MentionTable.site == site,
            (ThreadTable.id == number) | (ThreadTable.aliased == number),
            MentionTable.kind << (LIKE, REPOST),
        )
        .group_by(MentionTable.kind)
    )
    numbers = dict[str, int](tx.query(counted))
    posts = FollowedPostTable.select(
        fn.COALESCE(fn.SUM(FollowedPostTable.likes), 0),
        fn.COALESCE(fn.SUM(FollowedPostTable.reposts), 0),
    ).join(
        ThreadTable,
        on=(ThreadTable.url == FollowedPostTable.url) & (ThreadTable.site == site_id),
    )
    is_its = (ThreadTable.id == number) | (ThreadTable.aliased == number)
    [(likes, reposts)] = tx.query(posts.where(FollowedPostTable.site == site, is_its))
    row = ThreadTable.update(
        likes=numbers.get(LIKE, 0) + likes, reposts=numbers.get(REPOST, 0) + reposts
    )
    tx.change(row.where(ThreadTable.id == number))
    add_to_counts(tx, {ThreadRef(site, thread.url, site_id, number): 0})  # only to purge the thread


class FollowedPost(NamedTuple):
    """A row of the table; see FollowedPostTable."""

    id: int
    site: str
    url: str
    address: str
    likes: int
    reposts: int
    attempts: int
    etag: str
    found_at: int


_POST: Final = (
    FollowedPostTable.id,
    FollowedPostTable.site,
    FollowedPostTable.url,
    FollowedPostTable.address,
    FollowedPostTable.likes,
    FollowedPostTable.reposts,
    FollowedPostTable.attempts,
    FollowedPostTable.etag,
    FollowedPostTable.found_at,
)


@prepared
def _find_due_posts(now: Param, most: Param) -> Select:
    due = FollowedPostTable.select(*_POST).where(
        FollowedPostTable.next_at.is_null(False), FollowedPostTable.next_at <= now
    )
    return due.order_by(FollowedPostTable.next_at).limit(most)


def follow(tx: Transaction, page: PageRef, address: str, now: int) -> None:
    """Start to follow the replies to a post about a page, unless they are followed already."""
    fields = {"site": page.site, "url": page.url, "address": address}
    nothing = {"likes": 0, "reposts": 0, "attempts": 0, "etag": ""}
    row = FollowedPostTable.insert(**fields, **nothing, found_at=now, next_at=now)
    identity = [FollowedPostTable.site, FollowedPostTable.url, FollowedPostTable.address]
    if tx.change(row.on_conflict(action="NOTHING", conflict_target=identity)) > 0:
        tx.purge(thread_tag(page.site, queries.thread(tx, *page).url))


def due_posts(snapshot: Snapshot, now: int, most: int) -> list[FollowedPost]:
    """Return the followed posts that are due to be checked."""
    return [FollowedPost(*row) for row in snapshot.query(_find_due_posts, now, most)]


def replies(snapshot: Snapshot, post: FollowedPost) -> dict[str, Mention]:
    """Return the known replies to a post, by their address."""
    known = MentionTable.select(*_MENTION).where(MentionTable.post_id == post.id)
    return {row[3]: Mention(*row) for row in snapshot.query(known)}


def add_reply(tx: Transaction, post: FollowedPost, source: str, now: int) -> Mention | None:
    """Store a reply to a post and return it; None if its address is already a mention itself."""
    row = tx.first(_find, source, post.site, post.url)
    if row:
        return None
    fields = {"site": post.site, "url": post.url, "source": source, "target": post.url}
    tx.change(
        MentionTable.insert(**fields, kind=REPLY, attempts=0, received_at=now, post_id=post.id)
    )
    return Mention(*(tx.first(_find, source, post.site, post.url) or ())[:-1])


def save_check(
    tx: Transaction, post: FollowedPost, seen: FollowedPost, next_at: int | None
) -> None:
    """Record the result of a check of a post, `seen`."""
    row = FollowedPostTable.update(
        likes=seen.likes,
        reposts=seen.reposts,
        attempts=seen.attempts,
        etag=seen.etag,
        next_at=next_at,
    )
    tx.change(row.where(FollowedPostTable.id == post.id))
    if (seen.likes, seen.reposts) != (post.likes, post.reposts):
        count(tx, post.site, post.url)
