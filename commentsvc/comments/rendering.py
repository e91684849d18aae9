"""Rendering: makes the HTML of a comment in its thread, as the comment's site wants it."""

from peewee import fn

from commentsvc.comments import queries
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.connection import Snapshot
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.markup import markdown, people
from commentsvc.model import APPROVED


def find_people(
    snapshot: Snapshot, thread_id: int, source: str, before: int | None = None
) -> dict[str, int]:
    """Return the people whom `source` mentions, with the id of the last comment of each.

    For a stored comment, only those with ids below its own, `before`, count.
    """
    named = people.names(source) if "@" in source else set()
    if not named or not thread_id:
        return {}
    query = CommentTable.select(CommentTable.author, fn.MAX(CommentTable.id)).where(
        CommentTable.thread == thread_id,
        CommentTable.status == literal(APPROVED),
        CommentTable.author.in_(sorted(named)),
    )
    if before is not None:
        query = query.where(CommentTable.id < before)
    return dict(snapshot.query(query.group_by(CommentTable.author)))


def find_people_on(snapshot: Snapshot, page: PageRef, source: str) -> dict[str, int]:
    """Return the people whom a new comment on `page` mentions; see `find_people`."""
    return find_people(snapshot, queries.thread(snapshot, *page).id, source)


@prepared
def _features(thread_id: Param) -> Select:
    found = ThreadTable.select(SiteTable.math, SiteTable.images).join(SiteTable)
    return found.where(ThreadTable.id == thread_id)


def render(snapshot: Snapshot, thread_id: int, source: str, before: int | None = None) -> str:
    """Return the HTML of `source` in a thread; see `markdown.render`, and `find_people`."""
    may_have_more = "$" in source or "math" in source or "image:" in source
    math, images = (may_have_more and snapshot.first(_features, thread_id)) or (0, "")
    named = find_people(snapshot, thread_id, source, before)
    return markdown.render(source, bool(math), named, images)
