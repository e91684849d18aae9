"""Creating comments: a submission is stored, unless it was stored already.

A retry must never post twice, so every submission has a key. An *explicit* key is a secret of the
client: whoever has it is the author, and gets a new edit token. A *derived* key is a digest of the
content: anybody can compute it, so a repeat gets no token, and only within an hour it is a retry.
What a moderator writes again after it was deleted, or became spam, is none.

`add_new` stores all submissions that wait together. They share the INSERT and all statements after
it: PostgreSQL could store a quarter as many one by one. If one of them is refused or was stored
before, all are rolled back, and `add` stores each, which also finds what was stored before. The ids
of the rows of one INSERT are consecutive, since ids are never used again and only the writer
writes.

    CommentsError
      UnknownSite      no site of that name is configured
      UnknownParent    the comment answered to is not in this thread, or was deleted
      KeyConflict      the key was used before, for other content
      ThreadClosed     the thread takes no more comments
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import peewee

from commentsvc import outbox
from commentsvc.comments import images, titles, tree
from commentsvc.comments.queries import COLUMNS, first_published
from commentsvc.db.connection import Row, Transaction
from commentsvc.db.query import Param, Select, insertion, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.writer import BatchOperation
from commentsvc.errors import (
    KeyConflict,
    ThreadClosed,
    UnknownParent,
    UnknownSite,
)
from commentsvc.model import (
    AGING,
    APPROVED,
    CLOSED,
    DELETED,
    PENDING,
    Comment,
    site_tag,
    thread_tag,
)
from commentsvc.readers import follows, subscriptions
from commentsvc.util.digest import digest
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import HOUR_MS

RETRY: Final = HOUR_MS  # milliseconds in which the same content counts as a retry
KEY_BYTES: Final = 16  # size of a key's digest: the index stays small, and two keys never collide


_FOUND: Final = (
    ThreadTable.url,
    ThreadTable.id,
    ThreadTable.title,
    ThreadTable.state,
    ThreadTable.aliased,
    ThreadTable.lang,
)


@prepared
def find_thread(url: Param, site: Param) -> Select:
    """Return the query for a page: the site's id, then the thread's url, id, title and state.

    Then come the id of the thread that it is an alias of, or NULL, and the page's language. All but
    the site's id are NULL if there is no thread.
    """
    is_of_page = (ThreadTable.site == SiteTable.id) & (ThreadTable.url == url)
    joined = SiteTable.select(SiteTable.id, *_FOUND).join(
        ThreadTable, peewee.JOIN.LEFT_OUTER, on=is_of_page
    )
    return joined.where(SiteTable.name == site)


@prepared
def find_aliased(thread_id: Param) -> Select:
    """Return the query for the same as `find_thread` by the id of a thread."""
    return ThreadTable.select(ThreadTable.site, *_FOUND).where(ThreadTable.id == thread_id)


@prepared
def insert_thread(site_id: Param, url: Param) -> Select:
    """Return the query that makes the thread of a page."""
    return ThreadTable.insert(site=site_id, url=url, title="")


@prepared
def set_title(title: Param, thread_id: Param) -> Select:
    """Return the query that gives a thread a title."""
    return ThreadTable.update(title=title).where(ThreadTable.id == thread_id)


@prepared
def _last_published(site_id: Param) -> Select:
    found = CommentTable.select(CommentTable.published_at).where(
        CommentTable.site == site_id, CommentTable.status == APPROVED
    )
    return found.order_by(CommentTable.published_at.desc()).limit(1)


@prepared
def _find_parent(comment_id: Param, thread_id: Param) -> Select:
    return CommentTable.select(CommentTable.id).where(
        CommentTable.id == comment_id,
        CommentTable.thread == thread_id,
        CommentTable.status != DELETED,
    )


_NEW: Final = (
    CommentTable.site,
    CommentTable.thread,
    CommentTable.parent,
    CommentTable.status,
    CommentTable.author,
    CommentTable.email,
    CommentTable.avatar,
    CommentTable.author_site,
    CommentTable.source,
    CommentTable.html,
    CommentTable.created_at,
    CommentTable.published_at,
    CommentTable.key,
    CommentTable.token_hash,
    CommentTable.token_expires_at,
    CommentTable.score,
    CommentTable.reasons,
    CommentTable.network,
    CommentTable.role,
    CommentTable.moderator,
    CommentTable.permalink,
    CommentTable.reader_id,
    CommentTable.email_key,
    CommentTable.lang,
)
_INSERT: Final = insertion(*_NEW, key=[CommentTable.key])


@prepared
def _raise_thread(number: Param, thread_id: Param) -> Select:
    raised = ThreadTable.update(count=ThreadTable.count + number, version=ThreadTable.version + 1)
    return raised.where(ThreadTable.id == thread_id)


@prepared
def _raise_site(number: Param, site_id: Param) -> Select:
    return SiteTable.update(count=SiteTable.count + number).where(SiteTable.id == site_id)


@prepared
def _find_key(key: Param) -> Select:
    return CommentTable.select(*COLUMNS).where(CommentTable.key == key)


@prepared
def _clear_key(comment_id: Param) -> Select:
    return CommentTable.update(key=None).where(CommentTable.id == comment_id)


@prepared
def _renew_token(token_hash: Param, expires_at: Param, comment_id: Param) -> Select:
    renewed = CommentTable.update(token_hash=token_hash, token_expires_at=expires_at)
    return renewed.where(CommentTable.id == comment_id)


class NewComment(msgspec.Struct, frozen=True, gc=False):
    """A submission that is ready to be stored. `url` is canonical, `html` is sanitized.

    `key` is the client's or, if `derived`, computed from the content. `token_expires_at` is in Unix
    milliseconds. `open_for` is for how many milliseconds after its first publication a thread of
    the site takes comments; 0 means no limit. `score` and `reasons` (one on each line, see
    `spam.reasons`) are the verdict; `network` is a keyed hash. `language` is the tag of the
    language for the mails that `notify` and `follow` ask for. `role` and `moderator_id` are set for
    a moderator's comment, which is stored even if the thread is closed. `permalink` is the address
    of a reply from elsewhere. `any_parent` is explained at `add`.
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
    token_expires_at: int
    open_for: int = 0
    score: int = 0
    reasons: str = ""
    network: bytes | None = None
    notify: bool = False
    follow: bool = False
    language: str = ""
    role: str = ""
    moderator_id: int | None = None
    permalink: str = ""
    reader_id: int | None = None
    any_parent: bool = False


class ThreadRef(NamedTuple):
    """A stored thread: its site's name, its canonical url, and the ids of both."""

    site: str
    url: str
    site_id: int
    thread_id: int


class InsertResult(msgspec.Struct, frozen=True, gc=False):
    """The result of a submission; `token_valid` says whether its edit token was stored."""

    comment: Comment
    token_valid: bool
    repeated: bool


def add(tx: Transaction, new: NewComment, now: int) -> InsertResult:
    """Store a submission at the time `now` (Unix milliseconds), unless it was stored before.

    With `any_parent`, a comment whose parent is gone becomes a top-level comment, and a deleted
    comment can be answered as long as it is listed for its replies (as in Isso).

    Raise UnknownSite, UnknownParent, KeyConflict, ThreadClosed.
    """
    key = digest_of_key(new.key, new.derived)
    for row in tx.query(_find_key, key):
        stored = Comment(*row)
        is_wanted = new.moderator_id is None or stored.status in (PENDING, APPROVED)
        if not new.derived or (is_wanted and now - stored.created_at < RETRY):
            return _repeat(tx, new, stored, now)
        tx.change(_clear_key, stored.id)
    [added] = add_new(tx, [(new, now)])
    return added


def add_new(tx: Transaction, items: Sequence[tuple[NewComment, int]]) -> list[InsertResult]:
    """Do as `add` for each of `items`, none of which was stored before; else raise KeyConflict.

    What it raises concerns one of them, but all have to be rolled back.
    """
    untitled: set[ThreadRef] = set()
    threads = _find_threads(tx, items, untitled)
    submissions = [_placed(tx, new, threads[new.url, new.site][0]) for new, _ in items]
    rows: list[Row] = []
    proposals: list[tuple[int, str]] = []
    newest: dict[int, int] = {}
    shown: dict[ThreadRef, int] = {}
    for new, (_, now) in zip(submissions, items, strict=True):
        ref, lang = threads[new.url, new.site]
        if new.title and _gives_title(tx, new, ref, untitled):
            proposals.append((len(rows), new.title))
        published_at = None
        if new.status == APPROVED:
            shown[ref] = shown.get(ref, 0) + 1
            if ref.site_id not in newest:
                newest[ref.site_id] = last_published(tx, ref.site_id)
            published_at = newest[ref.site_id] = max(newest[ref.site_id], now)
        rows.append(_row(new, now, published_at, ref, lang))
    ids = tx.insert_each(_INSERT, rows)
    if ids is None:
        raise KeyConflict("the key was used before")
    add_to_counts(tx, shown)
    stored = list(map(_comment, ids, rows))
    titles.propose(tx, [(ids[number], title) for number, title in proposals])
    for new, comment in zip(submissions, stored, strict=True):
        if "image:" in new.source:
            images.link(tx, comment.id, new.source)
    _queue_messages(tx, submissions, stored, items[0][1])
    return [InsertResult(comment, token_valid=True, repeated=False) for comment in stored]


def _add_one(tx: Transaction, item: tuple[NewComment, int]) -> InsertResult:
    return add(tx, *item)


# For `Database.write_each`: an item is the submission and the time, as for `add`.
ADD: Final = BatchOperation(_add_one, add_new)


def add_to_counts(tx: Transaction, shown: Mapping[ThreadRef, int]) -> None:
    """Add a number, which may be negative, to the count of each thread and of its site; purge."""
    sites: dict[int, int] = {}
    for ref, number in shown.items():
        sites[ref.site_id] = sites.get(ref.site_id, 0) + number
        tx.purge(thread_tag(ref.site, ref.url), site_tag(ref.site))
    tx.change_each(_raise_thread, [(number, ref.thread_id) for ref, number in shown.items()])
    tx.change_each(_raise_site, [(number, site) for site, number in sites.items()])


def changed(tx: Transaction, ref: ThreadRef) -> None:
    """Note a change of a thread that leaves its count as it is, and purge its answers."""
    tx.change(_raise_thread, 0, ref.thread_id)
    tx.purge(thread_tag(ref.site, ref.url))


def _queue_messages(
    tx: Transaction, submissions: Sequence[NewComment], stored: Sequence[Comment], now: int
) -> None:
    """Queue the messages about new comments, whose ids are consecutive."""
    first, last = stored[0].id, stored[-1].id
    outbox.submitted(tx, first, last, now)
    notifies = follows_page = False
    for new, comment in zip(submissions, stored, strict=True):
        if new.notify:
            subscriptions.subscribe(tx, comment.id, new.language)
        if new.follow:
            follows.request_at_comment(tx, comment.id, new.language)
            follows_page = follows_page or new.status == APPROVED
        notifies = notifies or (new.status == APPROVED and (new.notify or new.parent is not None))
    if notifies:
        subscriptions.published(tx, first, last, now)
    if follows_page:
        follows.published(tx, first, last, now)


def digest_of_key(key: str, derived: bool) -> bytes:
    """Return the digest of a key; a derived key never has the digest of an explicit one."""
    kind = b"derived" if derived else b"explicit"
    return digest(key, kind, KEY_BYTES)


def _thread(
    tx: Transaction, new: NewComment, now: int, row: Row | None, untitled: set[ThreadRef]
) -> tuple[ThreadRef, bool, str]:
    """Return the thread for `new`, whether it is closed, and the language of the page.

    Note untitled threads in `untitled`. `row` is what `find_thread` finds. The first submission for
    a page makes the thread.
    """
    if row is None:
        raise UnknownSite(f"no site is named {new.site}")
    lang = row[6] or ""
    if row[5] is not None:
        row = tx.first(find_aliased, row[5])
        assert row is not None, "an alias stands for a thread"
    site_id, url, thread_id, title, state, *_ = row
    if thread_id is None:
        inserted = tx.insert(insert_thread, (site_id, new.url))
        assert inserted is not None, "an INSERT gives an id"
        ref = ThreadRef(new.site, new.url, site_id, inserted)
        untitled.add(ref)
        return ref, False, lang
    closed = not new.role and (
        state == CLOSED
        or (
            state == AGING
            and new.open_for > 0
            and _first_published(tx, thread_id, now) + new.open_for <= now
        )
    )
    ref = ThreadRef(new.site, url, site_id, thread_id)
    if not title:
        untitled.add(ref)
    return ref, closed, lang


def _gives_title(
    tx: Transaction, new: NewComment, ref: ThreadRef, untitled: set[ThreadRef]
) -> bool:
    """Return whether the title of `new` is to be stored; if `new` is approved, set it at once."""
    if ref not in untitled:
        return False
    if new.status == APPROVED:
        tx.change(set_title, new.title, ref.thread_id)
        untitled.discard(ref)
    return True


def _first_published(tx: Transaction, thread_id: int, now: int) -> int:
    first = first_published(tx, thread_id)
    return now if first is None else first


def last_published(tx: Transaction, site_id: int) -> int:
    """Return when the newest comment of a site was published; 0 if none was.

    Later comments get at least this time, even if the clock was set back, so they come last.
    """
    row = tx.first(_last_published, site_id)
    return int(row[0]) if row else 0


def _find_threads(
    tx: Transaction, items: Sequence[tuple[NewComment, int]], untitled: set[ThreadRef]
) -> dict[tuple[str, str], tuple[ThreadRef, str]]:
    """Return the thread and the language of each page, by url and site, that `items` are for.

    Raise ThreadClosed or UnknownSite.
    """
    firsts: dict[tuple[str, str], tuple[NewComment, int]] = {}
    for new, now in items:
        page = (new.url, new.site)
        if page not in firsts or (firsts[page][0].role and not new.role):  # who may be refused
            firsts[page] = (new, now)
    threads = {}
    for page, (new, now) in firsts.items():
        ref, closed, lang = _thread(tx, new, now, tx.first(find_thread, *page), untitled)
        if closed:
            raise ThreadClosed(f"the thread {ref.url} takes no more comments")
        threads[page] = ref, lang
    return threads


def _placed(tx: Transaction, new: NewComment, ref: ThreadRef) -> NewComment:
    """Return `new` with the parent that it gets in its thread. Raise UnknownParent."""
    if new.parent is None or tx.first(_find_parent, new.parent, ref.thread_id):
        return new
    if not new.any_parent:
        raise UnknownParent(f"comment {new.parent} is not in this thread")
    is_listed = tree.is_listed(tx, new.parent, ref.thread_id)
    return new if is_listed else msgspec.structs.replace(new, parent=None)


def _row(new: NewComment, now: int, published_at: int | None, ref: ThreadRef, lang: str) -> Row:
    """Return the parameters of _INSERT."""
    return (
        ref.site_id,
        ref.thread_id,
        new.parent,
        new.status,
        new.author,
        new.email,
        new.avatar,
        new.author_site,
        new.source,
        new.html,
        now,
        published_at,
        digest_of_key(new.key, new.derived),
        new.token_hash,
        new.token_expires_at,
        new.score,
        new.reasons,
        new.network,
        new.role,
        new.moderator_id,
        new.permalink,
        new.reader_id,
        address_key(new.email),
        lang,
    )


def _comment(comment_id: int, row: Row) -> Comment:
    """Return the comment that was stored with `row`."""
    role, _, permalink, reader_id, _, lang = row[-6:]
    return Comment(*(comment_id, *row[1:12], None, 0, role, permalink, reader_id, lang))


def _repeat(tx: Transaction, new: NewComment, stored: Comment, now: int) -> InsertResult:
    """Return the result of a submission that was stored before. Raise KeyConflict."""
    ref, *_ = _thread(tx, new, now, tx.first(find_thread, new.url, new.site), set())
    if stored.status == APPROVED:  # by an instance that may still wait for others
        tx.purge(thread_tag(ref.site, ref.url), site_tag(ref.site))
    if new.derived:
        return InsertResult(stored, token_valid=False, repeated=True)
    parent = stored.parent_id if new.any_parent else new.parent
    key = address_key(new.email)
    sent = (ref.thread_id, parent, new.author, key, new.author_site, new.source)
    if sent != (
        stored.thread_id,
        stored.parent_id,
        stored.author,
        address_key(stored.email),
        stored.site,
        stored.source,
    ):
        raise KeyConflict("the key was used before, for another comment")
    tx.change(_renew_token, new.token_hash, new.token_expires_at, stored.id)
    return InsertResult(stored, token_valid=True, repeated=True)
