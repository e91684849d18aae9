"""Retention: what is deleted after some time, and what is deleted when its author asks.

Network hashes, of comments, votes, reactions and images, and old spam are deleted in batches, in
pauses without new comments (see `runtime.maintenance`). For the deleted spam, a number per day and
the filter's training are kept; spam with replies stays.

A person is identified by an e-mail address. Comments of that person are emptied rather than
removed: replies keep their position, and an empty, deleted comment contains nothing. Copies of the
content are deleted too: the history, which has former texts, the images, the subscription to
replies, and waiting mails. The search index is updated by triggers (see `db.schema.search`). Bans
stay, since they are moderators' decisions. SQLite overwrites deleted data when it needs the space.

How long the rest is kept: the settings `privacy.keep_network_days`, `spam.keep_spam_days` and
`moderation.session_days`; `runtime.maintenance` (deleted comments), `outbox` (messages),
`private_notes`,
`inbox.inbox` (mails), `readers.accounts` (readers' sessions and links), `auth.sessions`.
"""

from typing import Final

import peewee
from peewee import fn

from commentsvc.comments import images
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Prepared, Select, literal, prepared
from commentsvc.db.schema.comments import (
    CommentImageTable,
    CommentTable,
    ImageTable,
    ReactionTable,
    VoteTable,
)
from commentsvc.db.schema.moderation import (
    ChangeTable,
    InternalNoteTable,
    RemovedSpamTable,
    StatementOfReasonsTable,
)
from commentsvc.db.schema.notes import NoteTable
from commentsvc.db.schema.outbox import (
    FollowWishTable,
    OutboxTable,
    SubscriberTable,
    SubscriptionTable,
)
from commentsvc.feedback import reports
from commentsvc.model import APPROVED, DELETED, SPAM
from commentsvc.moderation import changes, personal_data, private_notes
from commentsvc.readers import accounts, follows, former_ids, mailed_comments
from commentsvc.spam import training
from commentsvc.util.origin import address_key, is_spelling
from commentsvc.util.timestamps import DAY_MS


class StoredNetworks:
    """The network hashes in one table, whose rows have a `created_at`."""

    def __init__(self, *key: peewee.Field) -> None:
        """Take the primary key of the table."""
        table = key[0].model

        def old(before: Param, most: Param) -> Select:
            """Return the query for rows from before that time, in the order of the index."""
            networked = table.network.is_null(False) & (table.created_at < before)
            return table.select(*key).where(networked).order_by(table.created_at).limit(most)

        def drop(*values: Param) -> Select:
            row = (field == value for field, value in zip(key, values, strict=True))
            return table.update(network=None).where(*row)

        self.find = Prepared(old)  # each second
        self._drop = Prepared(drop, len(key))

    def is_due(self, snapshot: Snapshot, before: int) -> bool:
        """Return whether a row from before that time (Unix ms) still has a network hash."""
        return snapshot.first(self.find, before, 1) is not None

    def drop(self, tx: Transaction, before: int, most: int) -> None:
        """Delete the hashes of at most `most` rows from before that time."""
        tx.change_each(self._drop, tx.query(self.find, before, most))


COMMENTS: Final = StoredNetworks(CommentTable.id)
VOTES: Final = StoredNetworks(VoteTable.comment, VoteTable.voter)
REACTIONS: Final = StoredNetworks(ReactionTable.thread, ReactionTable.emoji, ReactionTable.reader)
IMAGES: Final = StoredNetworks(ImageTable.id)
NOTES: Final = StoredNetworks(NoteTable.id)
NETWORKS: Final = (COMMENTS, VOTES, REACTIONS, IMAGES, NOTES)


def _decided(since: Param | int) -> Select:
    """Return the query for the decisions since then on a comment of the query around it."""
    return ChangeTable.select(ChangeTable.id).where(
        ChangeTable.comment == CommentTable.id,
        (ChangeTable.created_at >= since) | (ChangeTable.undone_at >= since),
    )


@prepared
def pictured_and_deleted(before: Param, most: Param) -> Select:
    """Return the query for comments with images that were deleted before that time."""
    return (
        CommentTable.select(CommentTable.id)
        .where(
            CommentTable.id << CommentImageTable.select(CommentImageTable.comment),
            CommentTable.status == DELETED,
            CommentTable.created_at < before,
            ~fn.EXISTS(_decided(before)),
        )
        .limit(most)
    )


def spam_since(before: int, most: int) -> Select:
    """Return the query for `old_spam`: spam stored, and last decided on, before that time."""
    answer = CommentTable.alias("answer")
    answered = answer.select(answer.id).where(answer.parent == CommentTable.id)
    return (
        CommentTable.select(CommentTable.id)
        .where(
            CommentTable.status == SPAM,
            CommentTable.status != literal(APPROVED),  # lets SQLite use the index
            CommentTable.created_at < before,
            ~fn.EXISTS(_decided(before)),
            ~fn.EXISTS(answered),
        )
        .order_by(CommentTable.id)
        .limit(most)
    )


@prepared
def _remove(comment_id: Param) -> Select:
    return CommentTable.delete().where(CommentTable.id == comment_id)


@prepared
def _remove_mails(recipient: Param) -> Select:
    return OutboxTable.delete().where(OutboxTable.recipient == recipient)


@prepared
def _empty(comment_id: Param, token_hash: Param) -> Select:
    who = ("author", "email", "email_key", "avatar", "author_site", "role", "permalink")
    nothing = dict.fromkeys((*who, "source", "html", "reasons"), "")
    emptied = CommentTable.update(
        **nothing,
        moderator=None,
        reader_id=None,
        key=None,
        token_hash=token_hash,
        token_expires_at=0,
        score=0,
        network=None,
    )
    return emptied.where(CommentTable.id == comment_id)


def has_deleted_images(snapshot: Snapshot, before: int) -> bool:
    """Return whether a comment that was deleted before that time (Unix ms) has an image."""
    return snapshot.first(pictured_and_deleted, before, 1) is not None


def drop_deleted_images(tx: Transaction, before: int, most: int) -> None:
    """Delete the images of at most `most` comments that were deleted before that time."""
    for (comment_id,) in tx.query(pictured_and_deleted, before, most):
        images.remove(tx, comment_id)


def old_spam(snapshot: Snapshot, before: int, most: int) -> list[int]:
    """Return the ids of at most `most` spam comments older than that time, oldest first."""
    return [number for (number,) in snapshot.query(spam_since(before, most))]


def drop_spam(tx: Transaction, before: int, most: int, now: int) -> int:
    """Delete at most `most` of `old_spam` and count them at the time `now`; return how many."""
    ids = old_spam(tx, before, most)
    tx.change_each(_remove, [(number,) for number in ids])
    if ids:
        counted = RemovedSpamTable.insert(day=now // DAY_MS, count=len(ids))
        tx.change(
            counted.on_conflict(
                conflict_target=[RemovedSpamTable.day],
                update={RemovedSpamTable.count: RemovedSpamTable.count + len(ids)},
            )
        )
    return len(ids)


def removed(snapshot: Snapshot, since: int) -> int:
    """Return how many spam comments were deleted since the day `since` (of Unix time)."""
    total = RemovedSpamTable.select(fn.COALESCE(fn.SUM(RemovedSpamTable.count), 0))
    [(number,)] = snapshot.query(total.where(RemovedSpamTable.day >= since))
    return int(number)


def forget(tx: Transaction, email: str, who: str, now: int) -> tuple[int, ...]:
    """Empty and delete all comments, and private notes, with that address at `now` (Unix ms).

    Return their ids. This cannot be undone. `who` is a name as in `changes`.
    """
    ids = tuple(personal_data.ids(tx, email))
    changes.change(tx, ids, DELETED, who, now)
    ids += private_notes.forget(tx, email, who, now)
    for comment_id in ids:
        for table in (ChangeTable, SubscriptionTable, FollowWishTable, OutboxTable):
            tx.change(table.delete().where(table.comment == comment_id))
        for said in (InternalNoteTable, StatementOfReasonsTable):
            tx.change(said.delete().where(said.comment == comment_id))
        images.remove(tx, comment_id)
        tx.change(_empty, comment_id, b"")
    training.update(tx, ids)  # nobody has decided on them any more
    key = address_key(email)
    follows.forget(tx, email)
    reports.forget(tx, email)
    accounts.forget(tx, email)
    mailed_comments.forget(tx, email)
    tx.change(SubscriberTable.delete().where(SubscriberTable.email_key == key))
    former_ids.forget(tx)
    recipients = tx.query(OutboxTable.select(OutboxTable.recipient).distinct())
    spellings = [(each,) for (each,) in recipients if is_spelling(each, key)]
    tx.change_each(_remove_mails, spellings)
    return ids
