"""What can be done with comments: sync functions for `Database.write` and `Database.read`.

DESIGN. Counts are changed by the very transaction that changes what is counted, here and nowhere
else. A retry must never post twice, so every submission has a key. An *explicit* key is a secret
of the client: whoever has it is the author, and gets a new edit token. A *derived* key is a digest
of the content: anybody can make one, so a repeat gets no token, and only an hour counts as a retry.

    CommentsError
      UnknownSite      no site of that name is configured
      UnknownParent    the comment answered to is not in this thread, or was deleted
      UnknownComment   moderation names ids that do not exist
      KeyConflict      the key was used before, for other content
    BadCursor          `after` was not made by `page`, or for another order (see `cursor`)
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from commentsvc import cursor, statements
from commentsvc.audit import check as check
from commentsvc.cursor import BadCursor as BadCursor
from commentsvc.cursor import Sort
from commentsvc.models import (
    APPROVED,
    PENDING,
    Comment,
    CommentTable,
    Entry,
    site_tag,
    thread_tag,
)
from commentsvc.sqlite import Reader, Row, Transaction

RETRY: Final = 3_600_000  # milliseconds in which the same content counts as a retry
KEY_BYTES: Final = 16  # of the digest that stands for a key: a short index, and no chance repeats


class CommentsError(Exception):
    """What was asked contradicts what is stored."""


class UnknownSite(CommentsError):  # noqa: N818 - it names the state
    """No site of that name is configured."""


class UnknownParent(CommentsError):  # noqa: N818 - it names the state
    """The comment answered to is not in this thread, or was deleted."""


class KeyConflict(CommentsError):  # noqa: N818 - it names the state
    """The key was used before, for other content."""


class UnknownComment(CommentsError):  # noqa: N818 - it names the state
    """No comments have these `ids`."""

    def __init__(self, ids: Sequence[int]) -> None:
        super().__init__(f"no comment has the id {', '.join(map(str, ids))}")
        self.ids = tuple(ids)


@dataclass(frozen=True, slots=True)
class NewComment:
    """A submission, ready to be stored. `url` is canonical, `html` is clean.

    `key` is the client's own or, where `derived`, made of the content. `token_expires` is in Unix
    milliseconds.
    """

    site: str
    url: str
    title: str
    author: str
    email: str
    avatar: str
    author_site: str
    source: str
    html: str
    parent: int | None
    status: str
    key: str
    derived: bool
    token_hash: bytes
    token_expires: int


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome of a submission; `token_valid` says whether its edit token was stored."""

    comment: Comment
    token_valid: bool
    repeated: bool


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of a list, the thread's whole count, and the cursor of the next piece if any."""

    items: list[Comment]
    count: int
    next: str | None


def add(tx: Transaction, new: NewComment, now: int) -> Added:
    """Store a submission at the moment `now` (Unix milliseconds), or find that it was stored.

    Raises UnknownSite, UnknownParent, KeyConflict.
    """
    site_id, thread_id = _thread(tx, new)
    parent_known = new.parent is None or bool(
        tx.execute(statements.FIND_PARENT, (new.parent, thread_id)).fetchone()
    )
    key = digest(new.key, new.derived)
    comment = _insert(tx, new, now, site_id, thread_id, key) if parent_known else None
    if comment is None:
        for row in tx.execute(statements.FIND_KEY, (key,)).fetchall():
            stored = Comment(*row)
            if not new.derived or now - stored.created < RETRY:
                return _repeat(tx, new, stored, thread_id)
            tx.execute(statements.CLEAR_KEY, (stored.id,))
        if not parent_known:
            raise UnknownParent(f"comment {new.parent} is not in this thread")
        comment = _insert(tx, new, now, site_id, thread_id, key)
        assert comment is not None, "its key was cleared above"
    if new.status == APPROVED:
        tx.execute(statements.RAISE_THREAD, (1, thread_id))
        tx.execute(statements.RAISE_SITE, (1, site_id))
        tx.purge(thread_tag(new.site, new.url), site_tag(new.site))
    return Added(comment, token_valid=True, repeated=False)


def digest(key: str, derived: bool) -> bytes:
    """What is stored of a key: no secret, and a derived key never equals an explicit one."""
    kind = b"derived" if derived else b"explicit"
    return hashlib.blake2b(key.encode(), digest_size=KEY_BYTES, person=kind).digest()


def _thread(tx: Transaction, new: NewComment) -> tuple[int, int]:
    """The ids of site and thread. The first submission makes the thread, the first title stays."""
    row = tx.execute(statements.FIND_THREAD, (new.url, new.site)).fetchone()
    if row is None:
        raise UnknownSite(f"no site is named {new.site}")
    site_id, thread_id, title = row
    if thread_id is None:
        thread_id = tx.execute(statements.INSERT_THREAD, (site_id, new.url, new.title)).lastrowid
    elif new.title and not title:
        tx.execute(statements.TITLE_THREAD, (new.title, thread_id))
    return site_id, thread_id


def _insert(
    tx: Transaction, new: NewComment, now: int, site_id: int, thread_id: int, key: bytes
) -> Comment | None:
    """Insert a comment; None if there is one with that key."""
    published = now if new.status == APPROVED else None
    texts = (new.author, new.email, new.avatar, new.author_site, new.source, new.html)
    place = (site_id, thread_id, new.parent, new.status)
    rest = (now, published, key, new.token_hash, new.token_expires)
    cursor = tx.execute(statements.INSERT_COMMENT, place + texts + rest)
    if not cursor.rowcount:
        return None
    assert cursor.lastrowid is not None, "an INSERT gives an id"
    place = (cursor.lastrowid, thread_id, new.parent, new.status)
    return Comment(*place, *texts, now, published, None, 0)


def _repeat(tx: Transaction, new: NewComment, stored: Comment, thread_id: int) -> Added:
    if new.derived:
        return Added(stored, token_valid=False, repeated=True)
    sent = (thread_id, new.parent, new.author, new.email, new.author_site, new.source)
    if sent != (
        stored.thread_id,
        stored.parent_id,
        stored.author,
        stored.email,
        stored.site,
        stored.source,
    ):
        raise KeyConflict("the key was used before, for another comment")
    tx.execute(statements.RENEW_TOKEN, (new.token_hash, new.token_expires, stored.id))
    return Added(stored, token_valid=True, repeated=True)


def approve(tx: Transaction, ids: Iterable[int], now: int) -> list[int]:
    """Show comments that are pending or spam; return the ids of those that were not shown before.

    Raises UnknownComment, with all unknown ids.
    """
    changed, unknown = [], []
    for comment_id in dict.fromkeys(ids):
        row = tx.execute(statements.FIND_COMMENT, (comment_id,)).fetchone()
        if row is None:
            unknown.append(comment_id)
        elif tx.execute(statements.APPROVE, (now, comment_id)).rowcount:
            site_id, thread_id, site, url = row
            tx.execute(statements.RAISE_THREAD, (1, thread_id))
            tx.execute(statements.RAISE_SITE, (1, site_id))
            tx.purge(thread_tag(site, url), site_tag(site))
            changed.append(comment_id)
    if unknown:
        raise UnknownComment(unknown)
    return changed


def sync_sites(tx: Transaction, names: Iterable[str]) -> None:
    """Make rows for the sites that have none; those no longer configured keep theirs."""
    for name in names:
        tx.execute("INSERT INTO site (name) VALUES (?) ON CONFLICT (name) DO NOTHING", (name,))


def pending_ids(reader: Reader) -> list[int]:
    """The ids of the comments in the queue, oldest first."""
    query = CommentTable.select(CommentTable.id).where(CommentTable.status == PENDING)
    return [row[0] for row in reader.query(query.order_by(CommentTable.id))]


def count(reader: Reader, site: str, url: str) -> int:
    """The number of approved comments under a page; 0 for one we never heard of."""
    row = reader.execute(statements.COUNT, (site, url)).fetchone()
    return row[0] if row else 0


def counts(reader: Reader, site: str, urls: Iterable[str]) -> dict[str, int]:
    """As `count`, for several pages at once."""
    return {url: count(reader, site, url) for url in urls}


def site_count(reader: Reader, site: str) -> int:
    """The number of approved comments of a whole site."""
    row = reader.execute(statements.SITE_COUNT, (site,)).fetchone()
    return row[0] if row else 0


def page(reader: Reader, site: str, url: str, sort: Sort, limit: int, after: str | None) -> Page:
    """At most `limit` approved comments of a thread, those behind the cursor `after` if given.

    An unknown page has no comments. Raises BadCursor.
    """
    place = cursor.decode(sort, after)
    head = reader.execute(statements.COUNT, (site, url)).fetchone()
    if head is None:
        return Page([], 0, None)
    in_all, thread_id = head
    rows = reader.execute(statements.LIST[sort], (thread_id, *place, limit + 1)).fetchall()
    items = [Comment(*row) for row in rows[:limit]]
    more = cursor.encode(sort, items[-1]) if len(rows) > limit and items else None
    return Page(items, in_all, more)


def latest(reader: Reader, site: str, url: str | None, limit: int) -> list[Entry]:
    """The newest approved comments of a page, or of the whole site, newest first."""
    if url is None:
        rows = reader.execute(statements.LATEST_OF_SITE, (site, limit))
    else:
        rows = reader.execute(statements.LATEST_OF_THREAD, (site, url, limit))
    return [_entry(row) for row in rows.fetchall()]


def listing(reader: Reader, status: str | None, limit: int) -> list[Entry]:
    """The newest comments, those with `status` where one is given, for a moderator."""
    if status is None:
        rows = reader.execute(statements.LISTING, (limit,))
    else:
        rows = reader.execute(statements.LISTING_BY_STATUS, (status, limit))
    return [_entry(row) for row in rows.fetchall()]


def _entry(row: Row) -> Entry:
    *columns, site, url, title = row
    return Entry(Comment(*columns), site, url, title)
