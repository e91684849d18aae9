"""Reports: readers tell the moderators about a comment that should be removed.

A reader can report each comment once; as in `votes`, readers are told apart by a digest of a
random word that their browser keeps. A visible comment with reports is in the queue until a
moderator decides on it; a report has no other effect. Further reports after MOST are not stored.
Neither addresses nor networks are stored.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from peewee import fn

from commentsvc.comments import queries
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Among, Param, Select, ids_text, insertion, literal, prepared
from commentsvc.db.schema.comments import CommentTable, ReportTable, SiteTable, ThreadTable
from commentsvc.errors import UnknownComment
from commentsvc.feedback.votes import DIGEST
from commentsvc.model import APPROVED, Entry
from commentsvc.util.digest import digest

MOST: Final = 20  # reports of one comment
NEWEST: Final = 1_000  # the most comments with reports that a list is made of


@prepared
def _count(comment_id: Param) -> Select:
    return ReportTable.select(fn.COUNT(ReportTable.reporter)).where(
        ReportTable.comment == comment_id
    )


@prepared
def _counts(ids: Param) -> Select:
    return (
        ReportTable.select(ReportTable.comment, fn.COUNT(ReportTable.reporter))
        .where(Among(ReportTable.comment, ids))
        .group_by(ReportTable.comment)
    )


# The comments with reports are found first, since PostgreSQL would read all visible comments if it
# does not know how few they are.
@prepared
def _reported_ids() -> Select:
    ids = ReportTable.select(ReportTable.comment).distinct()
    return ids.order_by(ReportTable.comment.desc()).limit(NEWEST)


@prepared
def _reported(ids: Param, most: Param, skipped: Param) -> Select:
    return _visible(ids).limit(most).offset(skipped)


_KEY: Final = (ReportTable.comment, ReportTable.reporter)
_PUT: Final = insertion(*_KEY, ReportTable.created_at, key=_KEY, change=ReportTable.created_at)


@prepared
def _delete(comment_id: Param) -> Select:
    return ReportTable.delete().where(ReportTable.comment == comment_id)


def report(tx: Transaction, comment_id: int, word: str, now: int) -> None:
    """Store that the reader with that `word` reports a comment, at `now` (Unix milliseconds).

    Raise UnknownComment, also for a comment that is not shown.
    """
    row = tx.first(queries.find_ref, comment_id)
    if row is None or row[4] != APPROVED:
        raise UnknownComment([comment_id])
    [(number,)] = tx.query(_count, comment_id)
    if number < MOST:
        reporter = digest(word, b"reporter", DIGEST)
        tx.change(_PUT, comment_id, reporter, now)


def delete(tx: Transaction, ids: Iterable[int]) -> None:
    """Delete the reports of the comments `ids`, because a moderator has decided."""
    tx.change_each(_delete, ((comment_id,) for comment_id in ids))


def counts(snapshot: Snapshot, ids: Iterable[int]) -> dict[int, int]:
    """Return how many reports each of the comments `ids` has, without those that have none."""
    return dict(snapshot.query(_counts, ids_text(ids)))


def reported(snapshot: Snapshot, sites: Sequence[str] | None, most: int) -> list[Entry]:
    """Return at most `most` visible comments with reports, of those `sites` or of all.

    The newest come first.
    """
    ids = ids_text(comment_id for (comment_id,) in snapshot.query(_reported_ids))
    if sites is None:
        return queries.entries_in_pieces(partial(snapshot.query, _reported, ids), most)
    query = _visible(ids).where(SiteTable.name.in_(list(sites)))
    return queries.entries_in_pieces(
        lambda piece, skipped: snapshot.query(query.limit(piece).offset(skipped)), most
    )


def _visible(ids: Param | str) -> Select:
    """Return the query for those of some comments that are visible, the newest first."""
    return (
        CommentTable.select(*queries.ENTRY)
        .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
        .join(SiteTable, on=SiteTable.id == CommentTable.site)
        .where(
            Among(CommentTable.id, ids),
            CommentTable.status == literal(APPROVED),
        )
        .order_by(CommentTable.id.desc())
    )
