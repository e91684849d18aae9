"""All tables, each after those to which its rows refer."""

from typing import Final

from commentsvc.db.schema import (
    comments,
    imports,
    inbox,
    mentions,
    moderation,
    outbox,
    readers,
    search,
)

TABLES: Final = tuple(
    table
    for part in (comments, moderation, search, outbox, inbox, imports, mentions, readers)
    for table in part.TABLES
)
