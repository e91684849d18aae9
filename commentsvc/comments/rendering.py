"""Rendering: makes the HTML of a comment in its thread, as the comment's site wants it."""

from commentsvc.comments import markdown, people
from commentsvc.db.connection import Reader
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import SiteTable, ThreadTable


@prepared
def _features(thread_id: Param) -> Select:
    found = ThreadTable.select(SiteTable.math, SiteTable.images).join(SiteTable)
    return found.where(ThreadTable.id == thread_id)


def render(reader: Reader, thread_id: int, source: str, before: int | None = None) -> str:
    """Return the HTML of `source` in a thread; see `markdown.render`, and `people.find`."""
    may_have_more = "$" in source or "math" in source or "image:" in source
    math, images = (may_have_more and reader.first(_features, thread_id)) or (0, "")
    named = people.find(reader, thread_id, source, before)
    return markdown.render(source, bool(math), named, images)
