"""Subscriptions: who is told of answers to their comments, and who wants to be told no more.

A wish comes with a submission; anybody can write somebody else's address there. So the
owner of the address is asked to confirm it, once for each site, and only when the comment is
published: no program can make us send mail to strangers past a moderator. Until the owner has
confirmed, nothing else is mailed there, and the question is repeated once a day at most. After
a "no" it never comes again.

    asked ──▸ confirmed ──▸ stopped
      └────────────────────────▴
"""

from typing import Final

from peewee import fn

from commentsvc.db.outbox import PATIENCE
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable
from commentsvc.db.schema.outbox import (
    ASKED,
    CONFIRMED,
    MAIL,
    QUEUED,
    STOPPED,
    OutboxTable,
    SubscriberTable,
    SubscriptionTable,
)
from commentsvc.db.sqlite import Reader, Row, Transaction
from commentsvc.model import APPROVED
from commentsvc.util.timestamps import DAY_MS

# A question may be repeated after this: it may have been lost; in milliseconds.
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
    author = CommentTable.select(CommentTable.site, CommentTable.email, ASKED, 0).where(
        CommentTable.id == comment_id
    )
    into = (
        SubscriberTable.site,
        SubscriberTable.email,
        SubscriberTable.consent,
        SubscriberTable.asked_at,
    )
    return SubscriberTable.insert_from(author, into).on_conflict(
        action="NOTHING", conflict_target=[SubscriberTable.email, SubscriberTable.site]
    )


@prepared
def _subscribe(language: Param, comment_id: Param) -> Select:
    wishes = (
        CommentTable.select(CommentTable.id, SubscriberTable.id, language)
        .join(
            SubscriberTable,
            on=(SubscriberTable.email == CommentTable.email)
            & (SubscriberTable.site == CommentTable.site),
        )
        .where(CommentTable.id == comment_id, SubscriberTable.consent != STOPPED)
    )
    into = (SubscriptionTable.comment, SubscriptionTable.subscriber, SubscriptionTable.language)
    return SubscriptionTable.insert_from(wishes, into)


def _answers_to_tell() -> Select:
    """Return the answers that are shown, and that no mail told of.

    A comment is told of once, when it is published for the first time.
    """
    told = OutboxTable.select(1).where(
        OutboxTable.comment == Answer.id, OutboxTable.kind == "reply"
    )
    return (
        Answer.select()
        .join(SubscriptionTable, on=SubscriptionTable.comment == Answer.parent)
        .join(SubscriberTable, on=SubscriberTable.id == SubscriptionTable.subscriber)
        .where(
            Answer.status == literal(APPROVED),
            Answer.email != SubscriberTable.email,
            ~fn.EXISTS(told),
        )
    )


@prepared
def _tell_answers(first: Param, last: Param, now: Param) -> Select:
    found = _answers_to_tell().where(
        Answer.id.between(first, last), SubscriberTable.consent == CONFIRMED
    )
    return _mail(found, "reply", Answer.id, now)


@prepared
def _tell_missed(subscriber_id: Param, now: Param) -> Select:
    """Tell what was told nobody since the question was open; a moderator may answer at once."""
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
def _any() -> Select:
    return SubscriptionTable.select(SubscriptionTable.comment).limit(1)


def subscribe(tx: Transaction, comment_id: int, language: str = "") -> None:
    """Note that the author of a comment, which has an address, wants to be told of answers.

    `language` is the tag of the language that they wrote in.
    """
    tx.change(_add_subscriber, comment_id)
    tx.change(_subscribe, language, comment_id)


def published(tx: Transaction, first: int, last: int, now: int) -> None:
    """Tell of those comments from `first` to `last` that are shown, and ask their authors."""
    if not tx.first(_any):
        return
    tx.change(_tell_answers, first, last, now)
    tx.change(_ask, first, last, now, now - REPEAT)
    tx.change(_asked_now, first, last, now, now - REPEAT)


def subscriber(reader: Reader, comment_id: int) -> Row | None:
    """Of who is told of answers to a comment: id, address and consent; None where nobody is."""
    told = SubscriptionTable.select(
        SubscriberTable.id, SubscriberTable.email, SubscriberTable.consent
    ).join(SubscriberTable)
    return reader.first(told.where(SubscriptionTable.comment == comment_id))


def language_of(reader: Reader, comment_id: int, kind: str) -> str:
    """Return the tag of the language of who is mailed about a comment; "" where it is not known.

    A `reply` is mailed to the author of the comment above it, all else to its own.
    """
    above = CommentTable.select(CommentTable.parent).where(CommentTable.id == comment_id)
    row = reader.first(
        SubscriptionTable.select(SubscriptionTable.language).where(
            SubscriptionTable.comment == (above if kind == "reply" else comment_id)
        )
    )
    return row[0] if row else ""


def site_of(reader: Reader, subscriber_id: int) -> str | None:
    """Return the name of the site that a subscriber is told of; None for one who is gone."""
    sites = SubscriberTable.select(SiteTable.name).join(SiteTable)
    row = reader.first(sites.where(SubscriberTable.id == subscriber_id))
    return row[0] if row else None


def confirm(tx: Transaction, subscriber_id: int, now: int) -> bool:
    """Tell the subscriber of answers, also of those that are there at the moment `now`.

    Returns False where that is no question any more.
    """
    confirmed = SubscriberTable.update(consent=CONFIRMED).where(
        SubscriberTable.id == subscriber_id, SubscriberTable.consent == ASKED
    )
    if not tx.change(confirmed):
        return False
    tx.change(_tell_missed, subscriber_id, now)
    return True


def stop(tx: Transaction, subscriber_id: int) -> None:
    """Tell the subscriber of nothing any more, for good; what waits is not sent."""
    stopped = SubscriberTable.update(consent=STOPPED)
    tx.change(stopped.where(SubscriberTable.id == subscriber_id))
    tx.change(SubscriptionTable.delete().where(SubscriptionTable.subscriber == subscriber_id))
