"""Rerender: updates stored HTML after the renderer has changed.

After each start, the stored HTML is compared with what the renderer now makes of its source, in the
background and in batches, and updated if it differs. So the renderer needs no version number. A
batch, once a second, takes at most BUDGET_MS of a reading thread. Batches are small while nothing
differs, as after most starts.
"""

import asyncio
import logging
from typing import Final, NamedTuple

from peewee import JOIN, Case, fn

from commentsvc.comments import queries
from commentsvc.comments.create import ThreadRef, add_to_counts
from commentsvc.comments.rendering import render
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseError
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.imports import ImportedCommentTable
from commentsvc.markup.markdown import ALLOWANCE, EXPANSION, clean
from commentsvc.util.clock import SYSTEM_CLOCK

_log = logging.getLogger(__name__)

PAUSE: Final = 1.0  # seconds between two batches
PIECE: Final = 500  # the most comments of a batch
SMALL_PIECE: Final = 100  # the most while nothing differs: half a percent of a processor
BUDGET_MS: Final = 50


@prepared
def _piece(after: Param, newest: Param, most: Param) -> Select:
    """Return the query for `most` comments with ids above `after`, up to `newest`.

    HTML beyond the renderer's limit, which is in bytes (at most 4 per character), certainly
    differs, and may be too long to read, so it is left out. If an imported comment's HTML was not
    made from its text, it is only sanitized again.
    """
    is_html = ImportedCommentTable.is_html
    bound = fn.LENGTH(CommentTable.source) * 4 * EXPANSION + ALLOWANCE
    is_read = (is_html == 1) | (fn.LENGTH(CommentTable.html) <= bound)
    html = Case(None, [(is_read, CommentTable.html)])
    return (
        CommentTable.select(
            CommentTable.id, CommentTable.thread, CommentTable.source, html, is_html
        )
        .join(
            ImportedCommentTable,
            JOIN.LEFT_OUTER,
            on=ImportedCommentTable.comment_id == CommentTable.id,
        )
        .where(CommentTable.id > after, CommentTable.id <= newest)
        .order_by(CommentTable.id)
        .limit(most)
    )


@prepared
def _store(html: Param, comment_id: Param, source: Param) -> Select:
    return CommentTable.update(html=html).where(
        CommentTable.id == comment_id, CommentTable.source == source
    )


class Outdated(NamedTuple):
    """A comment whose stored HTML differs from what its `source` gives now."""

    id: int
    source: str
    html: str


class ComparedBatch(NamedTuple):
    """The outdated comments of a batch, and the last id that was compared; None at the end."""

    outdated: list[Outdated]
    last: int | None


async def run(database: Database, pause: float = PAUSE) -> None:
    """Update the HTML of all comments."""
    last: int | None = 0
    newest: int | None = None
    most = SMALL_PIECE
    while last is not None:
        await asyncio.sleep(pause)
        try:
            if newest is None:
                newest = await database.read(newest_id)
            batch = await database.read(find_outdated, last, newest, most)
            if batch.outdated:
                most = PIECE
                await database.write(store, batch.outdated)
            last = batch.last
        except DatabaseError:
            pass  # full or busy, which is logged elsewhere: try the same batch again
        except Exception:
            _log.exception("stored comments are not rendered again after comment %d", last)
            return


def newest_id(snapshot: Snapshot) -> int:
    """Return the id of the newest comment: later ones are made by the current renderer."""
    [(newest,)] = snapshot.query(CommentTable.select(fn.COALESCE(fn.MAX(CommentTable.id), 0)))
    return int(newest)


def find_outdated(snapshot: Snapshot, after: int, newest: int, most: int) -> ComparedBatch:
    """Compare `most` comments with ids above `after`, up to `newest`."""
    end = SYSTEM_CLOCK.monotonic_ms() + BUDGET_MS
    outdated: list[Outdated] = []
    last: int | None = None
    for number, thread_id, source, html, is_html in snapshot.each(_piece, after, newest, most):
        last = number
        try:
            now = clean(html) if is_html else render(snapshot, thread_id, source, number)
        except Exception:
            _log.exception("comment %d cannot be rendered again", number)
            continue
        if now != html:
            outdated.append(Outdated(number, source, now))
        if SYSTEM_CLOCK.monotonic_ms() >= end:
            break
    return ComparedBatch(outdated, last)


def store(tx: Transaction, outdated: list[Outdated]) -> None:
    """Store the new HTML, except of comments edited meanwhile, and purge."""
    for each in outdated:
        if tx.change(_store, each.html, each.id, each.source):
            [(*spot, _, _)] = tx.query(queries.find_ref, each.id)
            add_to_counts(tx, {ThreadRef(*spot): 0})  # only to purge
