"""All tables, each after those to which its rows refer."""

from typing import Final

from commentsvc.db.schema import (
    comments,
    imports,
    inbox,
    mentions,
    moderation,
    notes,
    outbox,
    readers,
    search,
)

TABLES: Final = tuple(
    table
    for part in (comments, moderation, search, notes, outbox, inbox, imports, mentions, readers)
    for table in part.TABLES
)
