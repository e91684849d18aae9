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
from commentsvc.db.schema.moderation import BanTable, SavedReplyTable, SettingChangeTable
from commentsvc.db.schema.notes import NoteTable
from commentsvc.db.schema.outbox import FollowerTable, SubscriberTable, SubscriptionTable
from commentsvc.db.schema.readers import ReaderSessionTable, ReaderTable
from commentsvc.model import AGING, EVERY_TAG, SETTINGS_TAG, views_tag
from commentsvc.spam import bans

BAN: Final = "ban"
SUBSCRIBER: Final = "subscriber"
FOLLOWER: Final = "follower"
READER: Final = "reader"
NOTE: Final = "note"
SAVED_REPLY: Final = "saved reply"
SETTING: Final = "setting"
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
def _note(import_id: Param, kind: Param, row_id: Param, name: Param, number: Param) -> Select:
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


def note(
    tx: Transaction, import_id: int, kind: str, row_id: int, name: str = "", number: int = 0
) -> None:
    """Note something that an import adds; the columns are above."""
    tx.change(_note, import_id, kind, row_id, name, number)


@prepared
def is_noted(import_id: Param, kind: Param, row_id: Param) -> Select:
    """Return the query for whether an import has added that row."""
    return ImportedRecordTable.select(ImportedRecordTable.row_id).where(
        ImportedRecordTable.import_id == import_id,
        ImportedRecordTable.kind == kind,
        ImportedRecordTable.row_id == row_id,
    )


@prepared
def _ban(row_id: Param, _name: Param, number: Param) -> Select:
    return BanTable.delete().where(BanTable.id == row_id, BanTable.created_at == number)


@prepared
def _subscriber(row_id: Param, name: Param, _number: Param) -> Select:
    used = SubscriptionTable.select(SubscriptionTable.comment).where(
        SubscriptionTable.subscriber == row_id
    )
    return SubscriberTable.delete().where(
        SubscriberTable.id == row_id, SubscriberTable.consent == name, ~fn.EXISTS(used)
    )


@prepared
def _follower(row_id: Param, name: Param, _number: Param) -> Select:
    return FollowerTable.delete().where(FollowerTable.id == row_id, FollowerTable.consent == name)


@prepared
def _reader(row_id: Param, _name: Param, _number: Param) -> Select:
    written = CommentTable.select(CommentTable.id).where(CommentTable.reader_id == row_id)
    sessions = ReaderSessionTable.select(ReaderSessionTable.id).where(
        ReaderSessionTable.reader == row_id
    )
    return ReaderTable.delete().where(
        ReaderTable.id == row_id, ~fn.EXISTS(written), ~fn.EXISTS(sessions)
    )


@prepared
def _private_note(row_id: Param, _name: Param, _number: Param) -> Select:
    return NoteTable.delete().where(NoteTable.id == row_id)


@prepared
def _saved_reply(row_id: Param, _name: Param, _number: Param) -> Select:
    return SavedReplyTable.delete().where(SavedReplyTable.id == row_id)


@prepared
def _setting(row_id: Param, _name: Param, _number: Param) -> Select:
    return SettingChangeTable.delete().where(SettingChangeTable.id == row_id)


@prepared
def _alias(row_id: Param, _name: Param, number: Param) -> Select:
    used = CommentTable.select(CommentTable.id).where(CommentTable.thread == row_id)
    return ThreadTable.delete().where(
        ThreadTable.id == row_id, ThreadTable.aliased == number, ~fn.EXISTS(used)
    )


@prepared
def _title(row_id: Param, name: Param, _number: Param) -> Select:
    return ThreadTable.update(title="").where(ThreadTable.id == row_id, ThreadTable.title == name)


@prepared
def _state(row_id: Param, name: Param, _number: Param) -> Select:
    aging = ThreadTable.update(state=AGING)
    return aging.where(ThreadTable.id == row_id, ThreadTable.state == name)


@prepared
def _views(row_id: Param, _name: Param, number: Param) -> Select:
    fewer = PageViewTable.update(views=PageViewTable.views - number)
    return fewer.where(PageViewTable.id == row_id, PageViewTable.views >= number)


# The queries that take back the noted rows, with the columns `row_id`, `name` and `number`.
_TAKE_BACK: Final = {
    SUBSCRIBER: _subscriber,
    FOLLOWER: _follower,
    TITLE: _title,
    STATE: _state,
    READER: _reader,
    NOTE: _private_note,
    SAVED_REPLY: _saved_reply,
    SETTING: _setting,
    BAN: _ban,
    ALIAS: _alias,
    VIEWS: _views,
}


def take_back(tx: Transaction, import_id: int, started_at: int) -> None:
    """Delete what was noted, apart from threads; `started_at` is when the import began."""
    table = ImportedRecordTable
    noted = table.select(table.row_id, table.name, table.number)
    noted = noted.where(table.import_id == import_id).order_by(table.row_id, table.name)
    if tx.first(noted.where(table.kind == SETTING).limit(1)):
        tx.purge(SETTINGS_TAG, EVERY_TAG)
    for kind, query in _TAKE_BACK.items():
        tx.change_each(query, tx.query(noted.where(table.kind == kind)))
    for thread_id, emoji, number in tx.query(noted.where(table.kind == REACTION)):
        _take_reactions(tx, thread_id, emoji, number, started_at)
    pages = table.select(table.row_id).where(table.import_id == import_id, table.kind == VIEWS)
    tx.change(PageViewTable.delete().where(PageViewTable.id.in_(pages), PageViewTable.views == 0))
    tx.change(table.delete().where(table.import_id == import_id))
    sites = tx.query(SiteTable.select(SiteTable.name))
    tx.purge(bans.TAG, *(views_tag(site) for (site,) in sites))


def _take_reactions(tx: Transaction, thread_id: int, emoji: str, number: int, before: int) -> None:
    """Delete the reactions to a page that are older than the import, and lower the count."""
    given = (ReactionTable.thread == thread_id) & (ReactionTable.emoji == emoji)
    counted = (ReactionCountTable.thread == thread_id) & (ReactionCountTable.emoji == emoji)
    row = tx.first(ReactionCountTable.select(ReactionCountTable.count).where(counted))
    if row is None:
        return
    tx.change(ReactionTable.delete().where(given, ReactionTable.created_at < before))
    [(left,)] = tx.query(ReactionTable.select(fn.COUNT(ReactionTable.reader)).where(given))
    if rest := max(row[0] - number, left):
        tx.change(ReactionCountTable.update(count=rest).where(counted))
    else:
        tx.change(ReactionCountTable.delete().where(counted))
