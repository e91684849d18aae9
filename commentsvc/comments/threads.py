"""Threads: closing them, and what happens when a page gets another address.

A blog's pages move, and one page may have been talked about under two addresses. The old
address stays in the table as an alias, a row that names the thread it stands for; so whatever old
pages, feeds and readers ask for leads to the same comments, and a submission that is under way
lands with them. An alias never leads to an alias: what leads to a thread that moves is set anew.

Stored answers are tagged with the url where the thread is, whatever they were asked for with. So
what changes a thread's url purges the tags of both.

    CommentsError
      UnknownThread   nothing was said under this url
      UrlTaken        comments are there already: merge them instead
"""

# ruff: noqa: S608 - each is put together from constants only

from typing import Final

import msgspec

from commentsvc.comments import statements
from commentsvc.comments.create import ThreadRef, add_to_counts
from commentsvc.comments.errors import UnknownThread, UrlTaken
from commentsvc.comments.submission import page_title
from commentsvc.db.sqlite import Reader, Row, Transaction
from commentsvc.model import THREAD, site_tag, thread_tag
from commentsvc.util.i18n import gettext as _

# (site, url) finds the thread, or that which the url is an alias of.
_FIND: Final = (
    "SELECT r.url, r.site_id, r.id, r.title, r.count, r.state FROM thread AS t"
    " JOIN site AS s ON s.id = t.site_id JOIN thread AS r ON r.id = coalesce(t.alias_id, t.id)"
    " WHERE s.name = ? AND t.url = ?"
)
# The comments of a thread: the approved, by the index of its list, and all others, by that of the
# queue. There is no index of all: it would cost every submission a page, for what is rarely done.
_APPROVED: Final = "thread_id = ? AND status = 'approved'"
_OTHERS: Final = (
    "status <> 'approved' AND status IN ('pending', 'spam', 'deleted') AND thread_id = ?"
)
_LIST: Final = (
    "SELECT t.id, s.name, t.url, t.title, t.count, t.state,"
    " (SELECT group_concat(a.url, char(10)) FROM thread AS a WHERE a.alias_id = t.id)"
    " FROM thread AS t JOIN site AS s ON s.id = t.site_id"
    " WHERE t.alias_id IS NULL AND t.id < ? AND (? OR instr(t.url, ?) OR instr(t.title, ?))"
    " ORDER BY t.id DESC LIMIT ?"
)


class ThreadSummary(msgspec.Struct, frozen=True, gc=False):
    """A thread as a moderator sees it. `count` is of approved comments, `aliases` are urls."""

    id: int
    site: str
    url: str
    title: str
    count: int
    state: str
    aliases: tuple[str, ...]


def find(reader: Reader, site: str, url: str) -> ThreadRef:
    """Where the thread is that `url`, canonical, leads to. Raises UnknownThread."""
    row = reader.execute(_FIND, (site, url)).fetchone()
    if row is None:
        raise UnknownThread(
            _("no comment was ever sent for %(url)s on %(site)s", url=url, site=site)
        )
    return ThreadRef(site, *row[:3])


def has_comments(reader: Reader, thread_id: int) -> bool:
    """Whether a thread has comments of any status."""
    return any(
        reader.execute(f"SELECT 1 FROM comment WHERE {condition} LIMIT 1", (thread_id,)).fetchone()
        for condition in (_APPROVED, _OTHERS)
    )


def set_state(tx: Transaction, site: str, url: str, state: str) -> None:
    """Let a thread close by its age, keep it open, or close it. Raises UnknownThread."""
    ref = find(tx, site, url)
    tx.execute("UPDATE thread SET state = ? WHERE id = ?", (state, ref.thread_id))
    tx.purge(thread_tag(site, ref.url))


def set_title(tx: Transaction, site: str, url: str, title: str) -> None:
    """Give a page a title, which stays whatever comments say; "" lets them say it again.

    Raises UnknownThread.
    """
    ref = find(tx, site, url)
    tx.execute(statements.TITLE_THREAD, (page_title(title), ref.thread_id))
    for condition in (_APPROVED, _OTHERS):
        tx.execute(
            "DELETE FROM proposed_title WHERE comment_id IN"
            f" (SELECT id FROM comment WHERE {condition})",
            (ref.thread_id,),
        )
    tx.purge(thread_tag(site, ref.url), site_tag(site))


def move(tx: Transaction, site: str, url: str, to: str) -> None:
    """Put the thread of a page under the url `to`; the old url stays as an alias.

    Raises UnknownThread, and UrlTaken where another thread is at `to`.
    """
    ref = find(tx, site, url)
    if ref.url == to:
        return
    if (vacant := _vacant(tx, ref, to)) is not None:  # no url may stand there twice
        tx.execute("UPDATE thread SET url = '' WHERE id = ?", (vacant,))
    tx.execute("UPDATE thread SET url = ? WHERE id = ?", (to, ref.thread_id))
    _put_alias(tx, ref, ref.url, vacant)
    tx.purge(thread_tag(site, ref.url), thread_tag(site, to), site_tag(site))


def add_alias(tx: Transaction, site: str, url: str, alias: str) -> None:
    """Let the url `alias` lead to the thread of `url`.

    Raises UnknownThread, and UrlTaken where another thread is at `alias`.
    """
    ref = find(tx, site, url)
    if ref.url == alias:
        raise UrlTaken(_("%(url)s is the page's own address", url=alias))
    _put_alias(tx, ref, alias, _vacant(tx, ref, alias))
    tx.purge(thread_tag(site, alias), thread_tag(site, ref.url))


def remove_alias(tx: Transaction, site: str, alias: str) -> None:
    """Let the url `alias` stand for itself, without comments. Raises UnknownThread if it does.

    The row stays: to take it away, SQLite would look through all comments for one that needs it.
    """
    ref = find(tx, site, alias)
    if ref.url == alias:
        raise UnknownThread(
            _("%(url)s is no alias of another page on %(site)s", url=alias, site=site)
        )
    place = (ref.site_id, alias)
    tx.execute("UPDATE thread SET alias_id = NULL WHERE site_id = ? AND url = ?", place)
    tx.purge(thread_tag(site, alias), thread_tag(site, ref.url))


def merge(tx: Transaction, site: str, url: str, into: str, who: str, now: int) -> int:
    """Put all comments of a page under the page `into`, of which it becomes an alias.

    Returns how many comments moved, whatever their status; each has it in its history, at the
    moment `now` (Unix milliseconds). It cannot be undone. Raises UnknownThread for either url.
    """
    source, target = find(tx, site, url), find(tx, site, into)
    if source == target:
        raise UrlTaken(_("%(url)s and %(other)s are one page already", url=url, other=into))
    [(count, title)] = tx.execute(
        "SELECT count, title FROM thread WHERE id = ?", (source.thread_id,)
    ).fetchall()
    [(act,)] = tx.execute(statements.NEXT_ACT).fetchall()
    moved = 0
    for condition in (_APPROVED, _OTHERS):
        tx.execute(
            "INSERT INTO change (decision_id, comment_id, field, old, new, created_at, actor)"
            f" SELECT ?, id, ?, ?, ?, ?, ? FROM comment WHERE {condition}",
            (act, THREAD, source.url, target.url, now, who, source.thread_id),
        )
        moved += tx.execute(
            f"UPDATE comment SET thread_id = ? WHERE {condition}",
            (target.thread_id, source.thread_id),
        ).rowcount
    tx.execute(
        "UPDATE thread SET alias_id = ?, state = 'aging', pinned_id = NULL"
        " WHERE id = ? OR alias_id = ?",
        (target.thread_id, source.thread_id, source.thread_id),
    )
    tx.execute("UPDATE thread SET title = ? WHERE id = ? AND title = ''", (title, target.thread_id))
    add_to_counts(tx, {source: -count, target: count})
    return moved


def listing(reader: Reader, containing: str, limit: int, before: int | None) -> list[ThreadSummary]:
    """The newest threads whose url or title contains a text, those made before the id `before`."""
    least = 2**63 - 1 if before is None else before
    rows = reader.execute(_LIST, (least, not containing, containing, containing, limit))
    return [_listed(row) for row in rows.fetchall()]


def _listed(row: Row) -> ThreadSummary:
    *columns, aliases = row
    return ThreadSummary(*(*columns, tuple(sorted(aliases.split("\n"))) if aliases else ()))


def _vacant(tx: Transaction, ref: ThreadRef, url: str) -> int | None:
    """The row of `url` that may become an alias of `spot`, None where there is none.

    Raises UrlTaken where it holds comments, or is an alias of another thread.
    """
    rows = tx.execute(
        "SELECT id, alias_id FROM thread WHERE site_id = ? AND url = ?", (ref.site_id, url)
    )
    for row_id, alias_id in rows.fetchall():
        if alias_id is not None and alias_id != ref.thread_id:
            raise UrlTaken(_("%(url)s is an alias of another page: take that away first", url=url))
        if has_comments(tx, row_id):
            raise UrlTaken(
                _("there are comments under %(url)s: merge the two pages instead", url=url)
            )
        return int(row_id)
    return None


def _put_alias(tx: Transaction, ref: ThreadRef, url: str, vacant: int | None) -> None:
    if vacant is None:
        tx.execute(
            "INSERT INTO thread (site_id, url, title, alias_id) VALUES (?, ?, '', ?)",
            (ref.site_id, url, ref.thread_id),
        )
    else:
        tx.execute(
            "UPDATE thread SET url = ?, alias_id = ? WHERE id = ?", (url, ref.thread_id, vacant)
        )
