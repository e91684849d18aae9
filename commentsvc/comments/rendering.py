"""Rendering: makes the HTML of a comment in its thread, as the comment's site wants it."""

from commentsvc.comments import markdown, people
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import SiteTable, ThreadTable
from commentsvc.db.sqlite import Reader


@prepared
def _math(thread_id: Param) -> Select:
    return ThreadTable.select(SiteTable.math).join(SiteTable).where(ThreadTable.id == thread_id)


def render(reader: Reader, thread_id: int, source: str, before: int | None = None) -> str:
    """Return the HTML of `source` in a thread; see `markdown.render`, and `people.find`."""
    may_have_math = "$" in source or "math" in source
    math = may_have_math and reader.query(_math, thread_id) == [(1,)]
    return markdown.render(source, math, people.find(reader, thread_id, source, before))
