"""Records that an import adds besides comments, and how they are removed again.

Comments are noted in `imported_comment`, threads in `imported_thread`; this module notes the rest
in `imported_record`. What readers or moderators have changed since stays as they left it.

    kind         row_id           name                    number
    ban          of the ban                               when it was made
    subscriber   of the address   the consent
    follower     of the address   the consent
    reader       of the reader
    alias        of the alias                             the thread that it leads to
    reaction     of the thread    the emoji               how many
    title        of the thread    the title
    state        of the thread    the state, before aging
    views        of the page                              how many
"""

from typing import Final

from peewee import fn

from commentsvc.db.connection import Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import (
    CommentTable,
    PageViewTable,
    ReactionCountTable,
    ReactionTable,
    SiteTable,
    ThreadTable,
)
from commentsvc.db.schema.imports import ImportedRecordTable, ImportedThreadTable
from commentsvc.db.schema.moderation import BanTable
from commentsvc.db.schema.outbox import FollowerTable, SubscriberTable, SubscriptionTable
from commentsvc.db.schema.readers import ReaderSessionTable, ReaderTable
from commentsvc.model import AGING, views_tag
from commentsvc.spam import bans

BAN: Final = "ban"
SUBSCRIBER: Final = "subscriber"
FOLLOWER: Final = "follower"
READER: Final = "reader"
ALIAS: Final = "alias"
REACTION: Final = "reaction"
TITLE: Final = "title"
STATE: Final = "state"
VIEWS: Final = "views"


@prepared
def note_thread(import_id: Param, thread_id: Param, is_new: Param) -> Select:
    """Note that an import uses a thread; `is_new` is 1 if it made it."""
    row = {
        ImportedThreadTable.import_id: import_id,
        ImportedThreadTable.thread: thread_id,
        ImportedThreadTable.is_new: is_new,
    }
    return ImportedThreadTable.insert(row).on_conflict(
        action="NOTHING",
        conflict_target=[ImportedThreadTable.import_id, ImportedThreadTable.thread],
    )


@prepared
def note(import_id: Param, kind: Param, row_id: Param, name: Param, number: Param) -> Select:
    """Note something that an import adds; the columns are above."""
    row = {
        ImportedRecordTable.import_id: import_id,
        ImportedRecordTable.kind: kind,
        ImportedRecordTable.row_id: row_id,
        ImportedRecordTable.name: name,
        ImportedRecordTable.number: number,
    }
    return ImportedRecordTable.insert(row).on_conflict(
        action="NOTHING",
        conflict_target=[
            ImportedRecordTable.import_id,
            ImportedRecordTable.kind,
            ImportedRecordTable.row_id,
            ImportedRecordTable.name,
        ],
    )


@prepared
def _noted(import_id: Param, kind: Param) -> Select:
    return (
        ImportedRecordTable.select(
            ImportedRecordTable.row_id, ImportedRecordTable.name, ImportedRecordTable.number
        )
        .where(ImportedRecordTable.import_id == import_id, ImportedRecordTable.kind == kind)
        .order_by(ImportedRecordTable.row_id, ImportedRecordTable.name)
    )


@prepared
def _drop_ban(ban_id: Param, created: Param) -> Select:
    return BanTable.delete().where(BanTable.id == ban_id, BanTable.created_at == created)


@prepared
def _drop_subscriber(subscriber_id: Param, consent: Param) -> Select:
    used = SubscriptionTable.select(SubscriptionTable.comment).where(
        SubscriptionTable.subscriber == subscriber_id
    )
    return SubscriberTable.delete().where(
        SubscriberTable.id == subscriber_id,
        SubscriberTable.consent == consent,
        ~fn.EXISTS(used),
    )


@prepared
def _drop_follower(follower_id: Param, consent: Param) -> Select:
    return FollowerTable.delete().where(
        FollowerTable.id == follower_id, FollowerTable.consent == consent
    )


@prepared
def is_noted(import_id: Param, kind: Param, row_id: Param) -> Select:
    """Return the query for whether an import has added that row."""
    return ImportedRecordTable.select(ImportedRecordTable.row_id).where(
        ImportedRecordTable.import_id == import_id,
        ImportedRecordTable.kind == kind,
        ImportedRecordTable.row_id == row_id,
    )


@prepared
def _drop_reader(reader_id: Param) -> Select:
    written = CommentTable.select(CommentTable.id).where(CommentTable.reader_id == reader_id)
    sessions = ReaderSessionTable.select(ReaderSessionTable.id).where(
        ReaderSessionTable.reader == reader_id
    )
    return ReaderTable.delete().where(
        ReaderTable.id == reader_id, ~fn.EXISTS(written), ~fn.EXISTS(sessions)
    )


@prepared
def _drop_alias(alias_id: Param, thread_id: Param) -> Select:
    used = CommentTable.select(CommentTable.id).where(CommentTable.thread == alias_id)
    return ThreadTable.delete().where(
        ThreadTable.id == alias_id, ThreadTable.aliased == thread_id, ~fn.EXISTS(used)
    )


@prepared
def _drop_reactions(thread_id: Param, emoji: Param, before: Param) -> Select:
    return ReactionTable.delete().where(
        ReactionTable.thread == thread_id,
        ReactionTable.emoji == emoji,
        ReactionTable.created_at < before,
    )


@prepared
def _reactions_left(thread_id: Param, emoji: Param) -> Select:
    return ReactionTable.select(fn.COUNT(ReactionTable.reader)).where(
        ReactionTable.thread == thread_id, ReactionTable.emoji == emoji
    )


@prepared
def _reaction_count(thread_id: Param, emoji: Param) -> Select:
    return ReactionCountTable.select(ReactionCountTable.count).where(
        ReactionCountTable.thread == thread_id, ReactionCountTable.emoji == emoji
    )


@prepared
def _set_count(thread_id: Param, emoji: Param, number: Param) -> Select:
    return ReactionCountTable.update(count=number).where(
        ReactionCountTable.thread == thread_id, ReactionCountTable.emoji == emoji
    )


@prepared
def _drop_count(thread_id: Param, emoji: Param) -> Select:
    return ReactionCountTable.delete().where(
        ReactionCountTable.thread == thread_id, ReactionCountTable.emoji == emoji
    )


@prepared
def _clear_title(thread_id: Param, title: Param) -> Select:
    return ThreadTable.update(title="").where(
        ThreadTable.id == thread_id, ThreadTable.title == title
    )


@prepared
def _reset_state(thread_id: Param, state: Param) -> Select:
    return ThreadTable.update(state=AGING).where(
        ThreadTable.id == thread_id, ThreadTable.state == state
    )


@prepared
def _take_views(row_id: Param, number: Param) -> Select:
    fewer = PageViewTable.update(views=PageViewTable.views - number)
    return fewer.where(PageViewTable.id == row_id, PageViewTable.views >= number)


@prepared
def _drop_unviewed(row_id: Param) -> Select:
    return PageViewTable.delete().where(PageViewTable.id == row_id, PageViewTable.views == 0)


def take_back(tx: Transaction, import_id: int, started_at: int) -> None:
    """Delete what was noted, apart from threads; `started_at` is when the import began."""
    for query, kind in (
        (_drop_subscriber, SUBSCRIBER),
        (_drop_follower, FOLLOWER),
        (_clear_title, TITLE),
        (_reset_state, STATE),
    ):
        tx.change_each(query, [row[:2] for row in tx.query(_noted, import_id, kind)])
    readers = tx.query(_noted, import_id, READER)
    tx.change_each(_drop_reader, [(reader_id,) for reader_id, *_rest in readers])
    for query, kind in ((_drop_ban, BAN), (_drop_alias, ALIAS), (_take_views, VIEWS)):
        tx.change_each(query, [row[::2] for row in tx.query(_noted, import_id, kind)])
    tx.change_each(_drop_unviewed, [row[:1] for row in tx.query(_noted, import_id, VIEWS)])
    for thread_id, emoji, number in tx.query(_noted, import_id, REACTION):
        _take_reactions(tx, thread_id, emoji, number, started_at)
    tx.change(ImportedRecordTable.delete().where(ImportedRecordTable.import_id == import_id))
    sites = tx.query(SiteTable.select(SiteTable.name))
    tx.purge(bans.TAG, *(views_tag(site) for (site,) in sites))


def _take_reactions(tx: Transaction, thread_id: int, emoji: str, number: int, before: int) -> None:
    """Delete the reactions to a page that are older than the import, and lower the count."""
    row = tx.first(_reaction_count, thread_id, emoji)
    if row is None:
        return
    tx.change(_drop_reactions, thread_id, emoji, before)
    [(left,)] = tx.query(_reactions_left, thread_id, emoji)
    if rest := max(row[0] - number, left):
        tx.change(_set_count, thread_id, emoji, rest)
    else:
        tx.change(_drop_count, thread_id, emoji)
