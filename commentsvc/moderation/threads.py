"""Threads: close them, move them to another url, and merge two.

The pages of a blog move, and a page may have had comments under two urls. The old url stays in the
table as an alias, a row that names the thread it stands for. So requests from old pages, feeds and
readers find the same comments, and a submission under way is stored with them. An alias never names
another alias: when a thread becomes an alias, its aliases are updated.

Cached answers are tagged with the current url of the thread, whichever url was requested. So a
change of a thread's url purges the tags of both.

    CommentsError
      UnknownThread   there is no thread for this url
      UrlTaken        comments are there already: merge them instead
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import peewee
from peewee import fn

from commentsvc.comments import create
from commentsvc.comments.create import ThreadRef, add_to_counts, changed
from commentsvc.comments.submission import page_title
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Select, literal
from commentsvc.db.schema.comments import CommentTable, ProposedTitleTable, SiteTable, ThreadTable
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.errors import UnknownThread, UrlTaken
from commentsvc.feedback import reactions, views
from commentsvc.model import AGING, APPROVED, DELETED, PENDING, SPAM, THREAD, site_tag, thread_tag
from commentsvc.readers import follows
from commentsvc.util.i18n import gettext as _


def comments_of(thread_id: object) -> tuple[Select, Select]:
    """Return two conditions for a thread's comments: the approved ones, and all others.

    The first uses the index of the list, the second the index of the queue. One index for all would
    make each submission write another page, for operations that are rare.
    """
    is_there = CommentTable.thread == thread_id
    others = (
        (CommentTable.status != literal(APPROVED))
        & CommentTable.status.in_([PENDING, SPAM, DELETED])
        & is_there
    )
    return is_there & (CommentTable.status == literal(APPROVED)), others


class ThreadSummary(msgspec.Struct, frozen=True, gc=False):
    """A thread for moderators. `count` is that of approved comments; `aliases` are urls."""

    id: int
    site: str
    url: str
    title: str
    count: int
    state: str
    aliases: tuple[str, ...]


class Merged(NamedTuple):
    """How many comments moved, and the id of the decision in their history."""

    moved: int
    decision_id: int


def find(snapshot: Snapshot, site: str, url: str) -> ThreadRef:
    """Return the thread for the canonical `url`, which may be an alias. Raise UnknownThread."""
    named, found = ThreadTable.alias("named"), ThreadTable.alias("found")
    row = snapshot.first(
        named.select(found.url, found.site, found.id)
        .join(SiteTable, on=SiteTable.id == named.site)
        .join(found, on=found.id == fn.COALESCE(named.aliased, named.id))
        .where(SiteTable.name == site, named.url == url)
    )
    if row is None:
        raise UnknownThread(
            _("no comment was ever sent for %(url)s on %(site)s", url=url, site=site)
        )
    return ThreadRef(site, *row)


def has_comments(snapshot: Snapshot, thread_id: int) -> bool:
    """Return whether a thread has comments of any status."""
    return any(
        snapshot.first(CommentTable.select(CommentTable.id).where(condition).limit(1))
        for condition in comments_of(thread_id)
    )


def set_state(tx: Transaction, site: str, url: str, state: str) -> None:
    """Set whether a thread is open, closed, or closes by its age. Raise UnknownThread."""
    ref = find(tx, site, url)
    tx.change(ThreadTable.update(state=state).where(ThreadTable.id == ref.thread_id))
    changed(tx, ref)


def set_title(tx: Transaction, site: str, url: str, title: str) -> None:
    """Set the title of a page, which no comment changes then; "" lets comments set it again.

    Raise UnknownThread.
    """
    ref = find(tx, site, url)
    tx.change(create.set_title, page_title(title), ref.thread_id)
    for condition in comments_of(ref.thread_id):
        comments = CommentTable.select(CommentTable.id).where(condition)
        tx.change(ProposedTitleTable.delete().where(ProposedTitleTable.comment.in_(comments)))
    changed(tx, ref)
    tx.purge(site_tag(site))


def move(tx: Transaction, site: str, url: str, to: str) -> None:
    """Move the thread of a page to the url `to`; the old url stays as an alias.

    Raise UnknownThread, and UrlTaken if another thread is at `to`.
    """
    ref = find(tx, site, url)
    if ref.url == to:
        return
    if (vacant := _vacant(tx, ref, to)) is not None:  # urls are unique
        tx.change(ThreadTable.update(url="").where(ThreadTable.id == vacant))
    tx.change(ThreadTable.update(url=to).where(ThreadTable.id == ref.thread_id))
    _put_alias(tx, ref, ref.url, vacant)
    views.move(tx, ref, ref.url, to)
    changed(tx, ref)
    tx.purge(thread_tag(site, to), site_tag(site))


def add_alias(tx: Transaction, site: str, url: str, alias: str) -> None:
    """Make the url `alias` an alias of the thread of `url`.

    Raise UnknownThread, and UrlTaken if another thread is at `alias`.
    """
    ref = find(tx, site, url)
    if ref.url == alias:
        raise UrlTaken(_("%(url)s is the page's own address", url=alias))
    _put_alias(tx, ref, alias, _vacant(tx, ref, alias))
    views.move(tx, ref, alias, ref.url)
    changed(tx, ref)
    tx.purge(thread_tag(site, alias))


def remove_alias(tx: Transaction, site: str, alias: str) -> None:
    """Make the url `alias` a page of its own, without comments. Raise UnknownThread if it is one.

    The row stays: to delete it, SQLite would search all comments for one that refers to it.
    """
    ref = find(tx, site, alias)
    if ref.url == alias:
        raise UnknownThread(
            _("%(url)s is not an alias of another page on %(site)s", url=alias, site=site)
        )
    tx.change(
        ThreadTable.update(aliased=None).where(
            ThreadTable.site == ref.site_id, ThreadTable.url == alias
        )
    )
    changed(tx, ref)
    tx.purge(thread_tag(site, alias))


def merge(tx: Transaction, site: str, url: str, into: str, who: str, now: int) -> Merged:
    """Move all comments of a page to the page `into`, and make its url an alias of that.

    They move whatever their status; each has the move in its history, at the time `now` (Unix
    milliseconds). Raise UnknownThread for either url.
    """
    source, target = find(tx, site, url), find(tx, site, into)
    if source == target:
        raise UrlTaken(_("%(url)s and %(other)s are already the same page", url=url, other=into))
    [(count, title)] = tx.query(
        ThreadTable.select(ThreadTable.count, ThreadTable.title).where(
            ThreadTable.id == source.thread_id
        )
    )
    decision_id = tx.last_id("change") + 1
    moved = 0
    for condition in comments_of(source.thread_id):
        row = {
            ChangeTable.decision_id: decision_id,
            ChangeTable.comment: CommentTable.id,
            ChangeTable.field: THREAD,
            ChangeTable.old: source.url,
            ChangeTable.new: target.url,
            ChangeTable.created_at: now,
            ChangeTable.actor: who,
        }
        comments = CommentTable.select(*row.values()).where(condition)
        tx.change(ChangeTable.insert_from(comments, [*row]))
        moved += tx.change(CommentTable.update(thread=target.thread_id).where(condition))
    tx.change(
        ThreadTable.update(aliased=target.thread_id, state=AGING, pinned_id=None).where(
            (ThreadTable.id == source.thread_id) | (ThreadTable.aliased == source.thread_id)
        )
    )
    tx.change(
        ThreadTable.update(title=title).where(
            ThreadTable.id == target.thread_id, ThreadTable.title == ""
        )
    )
    follows.move(tx, source.thread_id, target.thread_id)
    reactions.move(tx, source.thread_id, target.thread_id)
    views.move(tx, source, source.url, target.url)
    add_to_counts(tx, {source: -count, target: count})
    return Merged(moved, decision_id)


def separate(
    tx: Transaction, url: str, merged: ThreadRef, decision_id: int, who: str, now: int
) -> None:
    """Take back the merging `decision_id`: the page of `url` gets back what the thread got by it.

    Replies to those comments that were written since go with them. Reactions, views and who follows
    the page stay. Raise UnknownThread if the address leads elsewhere now.
    """
    row = tx.first(
        ThreadTable.select(ThreadTable.id).where(
            ThreadTable.site == merged.site_id,
            ThreadTable.url == url,
            ThreadTable.aliased == merged.thread_id,
        )
    )
    if row is None:
        raise UnknownThread(
            _("%(url)s is not an alias of another page on %(site)s", url=url, site=merged.site)
        )
    source = ThreadRef(merged.site, url, merged.site_id, row[0])
    # A decision that moved nothing leaves its id to the next one, and that may be another merging.
    ours = (
        (ChangeTable.decision_id == decision_id)
        & (ChangeTable.field == THREAD)
        & (ChangeTable.old == url)
    )
    tx.change(ThreadTable.update(aliased=None).where(ThreadTable.id == source.thread_id))
    tx.change(_giving_back(ours, merged.thread_id, source.thread_id))
    tx.change(
        ChangeTable.update(undone_at=now, undone_by=who).where(
            ours, ChangeTable.undone_at.is_null()
        )
    )
    approved = CommentTable.select(fn.COUNT(CommentTable.id)).where(
        CommentTable.thread == source.thread_id, CommentTable.status == literal(APPROVED)
    )
    [(count,)] = tx.query(approved)
    add_to_counts(tx, {source: count, merged: -count})


def _giving_back(ours: peewee.Expression, merged_id: int, source_id: int) -> Select:
    """Return the query that moves the comments of those changes, and all replies to them."""
    moved = ChangeTable.select(ChangeTable.comment).where(ours)
    below = moved.cte("below", recursive=True, columns=("id",))
    reply = CommentTable.alias()
    tree = below.union(reply.select(reply.id).join(below, on=reply.parent == below.c.id))
    ids = tree.select_from(tree.c.id)
    given = CommentTable.update(thread=source_id)
    return given.where(CommentTable.thread == merged_id, CommentTable.id.in_(ids))


def listing(
    snapshot: Snapshot,
    containing: str,
    limit: int,
    before: int | None,
    sites: Sequence[str] | None = None,
) -> list[ThreadSummary]:
    """Return the newest threads whose url or title contains a text, of ids below `before`.

    They are of those `sites`, of all for None. The case of ASCII letters does not matter.
    """
    query = (
        ThreadTable.select(
            ThreadTable.id,
            SiteTable.name,
            ThreadTable.url,
            ThreadTable.title,
            ThreadTable.count,
            ThreadTable.state,
        )
        .join(SiteTable)
        .where(ThreadTable.aliased.is_null())
        .order_by(ThreadTable.id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(ThreadTable.id < before)
    if sites is not None:
        query = query.where(SiteTable.name.in_(sites))
    if containing:
        query = query.where(
            ThreadTable.url.contains(containing) | ThreadTable.title.contains(containing)
        )
    found = snapshot.query(query)
    aliases: dict[int, list[str]] = {row[0]: [] for row in found}
    for thread_id, url in snapshot.query(
        ThreadTable.select(ThreadTable.aliased, ThreadTable.url)
        .where(ThreadTable.aliased.in_([*aliases]))
        .order_by(ThreadTable.url)
    ):
        aliases[thread_id].append(url)
    return [ThreadSummary(*(*row, tuple(aliases[row[0]]))) for row in found]


def _vacant(tx: Transaction, ref: ThreadRef, url: str) -> int | None:
    """Return the id of the row of `url` that may become an alias of `ref`; None if there is none.

    Raise UrlTaken if it has comments, or is an alias of another thread.
    """
    rows = ThreadTable.select(ThreadTable.id, ThreadTable.aliased).where(
        ThreadTable.site == ref.site_id, ThreadTable.url == url
    )
    for row_id, alias_id in tx.query(rows):
        if alias_id is not None and alias_id != ref.thread_id:
            raise UrlTaken(_("%(url)s is an alias of another page: remove it there first", url=url))
        if has_comments(tx, row_id):
            raise UrlTaken(
                _("there are comments under %(url)s: merge the two pages instead", url=url)
            )
        return int(row_id)
    return None


def _put_alias(tx: Transaction, ref: ThreadRef, url: str, vacant: int | None) -> None:
    if vacant is None:
        row = {
            ThreadTable.site: ref.site_id,
            ThreadTable.url: url,
            ThreadTable.title: "",
            ThreadTable.aliased: ref.thread_id,
        }
        tx.change(ThreadTable.insert(row))
    else:
        reactions.move(tx, vacant, ref.thread_id)
        follows.move(tx, vacant, ref.thread_id)
        leading = (ThreadTable.id == vacant) | (ThreadTable.aliased == vacant)
        tx.change(ThreadTable.update(aliased=ref.thread_id).where(leading))
        tx.change(ThreadTable.update(url=url).where(ThreadTable.id == vacant))
