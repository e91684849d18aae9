"""Subscriptions: authors who get mails about replies to their comments, and about their approval.

Authors subscribe with a submission, where anybody can enter somebody else's address. So the owner
of the address is asked to confirm it, once for each site, and only after the comment was published.
Where comments are published without a moderator, a limit for each network keeps programs from
mailing strangers by it (see `submissions.service`). Until the owner has confirmed, no other mail is
sent there, and the question is repeated at most once a day. After a "no" it is never asked again.

    asked ──▸ confirmed ──▸ stopped
      └────────────────────────▴
"""

from typing import Final

from peewee import fn

from commentsvc.db.connection import Row, Snapshot, Transaction
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable
from commentsvc.db.schema.outbox import (
    ASKED,
    CONFIRMED,
    MAIL,
    QUEUED,
    STOPPED,
    FollowerTable,
    OutboxTable,
    SubscriberTable,
    SubscriptionTable,
)
from commentsvc.model import APPROVED
from commentsvc.outbox import PATIENCE
from commentsvc.readers.former_ids import kept
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import DAY_MS

# Milliseconds until the question may be repeated, since the first mail may have been lost.
REPEAT: Final = DAY_MS


Answer, Own = CommentTable.alias("answer"), CommentTable.alias("own")
_QUEUED_MAIL: Final = (
    OutboxTable.channel,
    OutboxTable.kind,
    OutboxTable.recipient,
    OutboxTable.comment,
    OutboxTable.state,
    OutboxTable.created_at,
    OutboxTable.due_at,
    OutboxTable.expires_at,
)


def _mail(found: Select, kind: str, comment_id: Select, now: Param) -> Select:
    """Return the query that puts a mail into the outbox for each row of `found`."""
    row = (MAIL, kind, "", comment_id, QUEUED, now, now, now + PATIENCE)
    return OutboxTable.insert_from(found.select(*row), _QUEUED_MAIL)


@prepared
def _add_subscriber(comment_id: Param) -> Select:
    whose = (CommentTable.site, CommentTable.email, CommentTable.email_key)
    author = CommentTable.select(*whose, ASKED, 0).where(CommentTable.id == comment_id)
    into = (
        SubscriberTable.site,
        SubscriberTable.email,
        SubscriberTable.email_key,
        SubscriberTable.consent,
        SubscriberTable.asked_at,
    )
    return SubscriberTable.insert_from(author, into).on_conflict(
        action="NOTHING", conflict_target=[SubscriberTable.email_key, SubscriberTable.site]
    )


@prepared
def _subscribe(language: Param, comment_id: Param) -> Select:
    wishes = (
        CommentTable.select(CommentTable.id, SubscriberTable.id, language)
        .join(
            SubscriberTable,
            on=(SubscriberTable.email_key == CommentTable.email_key)
            & (SubscriberTable.site == CommentTable.site),
        )
        .where(CommentTable.id == comment_id, SubscriberTable.consent != STOPPED)
    )
    into = (SubscriptionTable.comment, SubscriptionTable.subscriber, SubscriptionTable.language)
    return SubscriptionTable.insert_from(wishes, into)


def _answers_to_tell() -> Select:
    """Return the visible replies about which no mail was sent.

    A reply is mailed once, when it is published for the first time.
    """
    mailed = OutboxTable.select(1).where(
        OutboxTable.comment == Answer.id, OutboxTable.kind == "reply"
    )
    return (
        Answer.select()
        .join(SubscriptionTable, on=SubscriptionTable.comment == Answer.parent)
        .join(SubscriberTable, on=SubscriberTable.id == SubscriptionTable.subscriber)
        .where(
            Answer.status == literal(APPROVED),
            Answer.email_key != SubscriberTable.email_key,
            ~fn.EXISTS(mailed),
        )
    )


@prepared
def _tell_answers(first: Param, last: Param, now: Param) -> Select:
    found = _answers_to_tell().where(
        Answer.id.between(first, last), SubscriberTable.consent == CONFIRMED
    )
    return _mail(found, "reply", Answer.id, now)


@prepared
def _tell_author(comment_id: Param, now: Param) -> Select:
    found = (
        Own.select()
        .join(SubscriptionTable, on=SubscriptionTable.comment == Own.id)
        .join(SubscriberTable, on=SubscriberTable.id == SubscriptionTable.subscriber)
        .where(Own.id == comment_id, SubscriberTable.consent == CONFIRMED)
    )
    return _mail(found, "published", Own.id, now)


@prepared
def _tell_missed(subscriber_id: Param, now: Param) -> Select:
    """Return the query that mails replies which arrived while the question was open."""
    found = _answers_to_tell().where(SubscriberTable.id == subscriber_id)
    return _mail(found, "reply", Answer.id, now)


@prepared
def _ask(first: Param, last: Param, now: Param, until: Param) -> Select:
    found = (
        Own.select()
        .join(SubscriptionTable, on=SubscriptionTable.comment == Own.id)
        .join(SubscriberTable, on=SubscriberTable.id == SubscriptionTable.subscriber)
        .where(
            Own.id.between(first, last),
            Own.status == literal(APPROVED),
            SubscriberTable.consent == ASKED,
            SubscriberTable.asked_at <= until,
        )
        .group_by(SubscriberTable.id)
    )
    return _mail(found, "confirm", fn.MIN(Own.id), now)


@prepared
def _asked_now(first: Param, last: Param, now: Param, until: Param) -> Select:
    asked = (
        SubscriptionTable.select(SubscriptionTable.subscriber)
        .join(Own, on=Own.id == SubscriptionTable.comment)
        .where(Own.id.between(first, last), Own.status == literal(APPROVED))
    )
    return SubscriberTable.update(asked_at=now).where(
        SubscriberTable.consent == ASKED,
        SubscriberTable.asked_at <= until,
        SubscriberTable.id.in_(asked),
    )


@prepared
def _confirmed(key: Param) -> Select:
    of_replies = SubscriberTable.select(SubscriberTable.id).where(
        SubscriberTable.email_key == key, SubscriberTable.consent == CONFIRMED
    )
    of_pages = FollowerTable.select(FollowerTable.id).where(
        FollowerTable.email_key == key, FollowerTable.consent == CONFIRMED
    )
    return of_replies.union_all(of_pages).limit(1)


@prepared
def _any() -> Select:
    return SubscriptionTable.select(SubscriptionTable.comment).limit(1)


def subscribe(tx: Transaction, comment_id: int, language: str = "") -> None:
    """Note that the author of a comment, which has an e-mail address, wants mails about replies.

    `language` is the tag of the language that they wrote in.
    """
    tx.change(_add_subscriber, comment_id)
    tx.change(_subscribe, language, comment_id)


def has_confirmed(snapshot: Snapshot, email: str) -> bool:
    """Return whether the owner of an address has agreed to mails about comments, on any site."""
    return snapshot.first(_confirmed, address_key(email)) is not None


def published(tx: Transaction, first: int, last: int, now: int) -> None:
    """Mail about the visible comments from `first` to `last`, and ask their authors to confirm."""
    if not tx.first(_any):
        return
    tx.change(_tell_answers, first, last, now)
    tx.change(_ask, first, last, now, now - REPEAT)
    tx.change(_asked_now, first, last, now, now - REPEAT)


def approved(tx: Transaction, comment_id: int, now: int) -> None:
    """Mail an author, if confirmed, that their comment, which had to wait, is published."""
    if tx.first(_any):
        tx.change(_tell_author, comment_id, now)


def subscriber(snapshot: Snapshot, comment_id: int) -> Row | None:
    """Return id, address and consent of the subscriber to replies to a comment, or None."""
    found = SubscriptionTable.select(
        SubscriberTable.id, SubscriberTable.email, SubscriberTable.consent
    ).join(SubscriberTable)
    return snapshot.first(found.where(SubscriptionTable.comment == comment_id))


def language_of(snapshot: Snapshot, comment_id: int, kind: str) -> str:
    """Return the tag of the language for a mail about a comment; "" if it is not known.

    A `reply` is mailed to the author of the parent comment, all else to the comment's own.
    """
    above = CommentTable.select(CommentTable.parent).where(CommentTable.id == comment_id)
    row = snapshot.first(
        SubscriptionTable.select(SubscriptionTable.language).where(
            SubscriptionTable.comment == (above if kind == "reply" else comment_id)
        )
    )
    return row[0] if row else ""


def find(snapshot: Snapshot, subscriber_id: int) -> Row | None:
    """Return the id and the site's name of a subscriber, also by a former id; None if gone."""
    found = SubscriberTable.select(SubscriberTable.id, SiteTable.name).join(SiteTable)
    return snapshot.first(found.where(SubscriberTable.id == kept(SubscriberTable, subscriber_id)))


def confirm(tx: Transaction, subscriber_id: int, now: int) -> bool:
    """Mail the subscriber about replies, also those that exist at the time `now`.

    Return False if the subscriber was not asked.
    """
    confirmed = SubscriberTable.update(consent=CONFIRMED).where(
        SubscriberTable.id == subscriber_id, SubscriberTable.consent == ASKED
    )
    if not tx.change(confirmed):
        return False
    tx.change(_tell_missed, subscriber_id, now)
    return True


def stop(tx: Transaction, subscriber_id: int) -> None:
    """Never mail the subscriber again; mails that wait are not sent."""
    stopped = SubscriberTable.update(consent=STOPPED)
    tx.change(stopped.where(SubscriberTable.id == subscriber_id))
    tx.change(SubscriptionTable.delete().where(SubscriptionTable.subscriber == subscriber_id))
