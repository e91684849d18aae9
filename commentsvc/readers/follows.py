"""Follows: who gets mails about the new comments of a page or of a whole site.

Anybody can enter somebody else's address, so its owner is asked first, at most once a day, and at
most once a week after a "no". If the wish came with a comment, the question is mailed when the
comment is published. Storing a comment costs nothing more if somebody follows: the server searches
regularly for new comments, and mails each follower at most once an hour.

    asked ──▸ confirmed ──▸ stopped ──▸ asked, by a new wish
"""

from typing import Final

import msgspec
from peewee import JOIN, fn

from commentsvc import outbox
from commentsvc.db.connection import Row, Snapshot, Transaction
from commentsvc.db.query import Param, Select, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.schema.outbox import (
    ASKED,
    CONFIRMED,
    QUEUED,
    STOPPED,
    FollowerTable,
    FollowWishTable,
    OutboxTable,
)
from commentsvc.errors import UnknownSite
from commentsvc.model import APPROVED
from commentsvc.outbox import PATIENCE, MailAddress
from commentsvc.readers.former_ids import kept, replace
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import DAY_MS, HOUR_MS

# Milliseconds between two questions to an address, by its consent.
REPEAT: Final = {ASKED: DAY_MS, STOPPED: 7 * DAY_MS}
# The most questions to an address within a day.
DAILY: Final = 5
# Mails queued in one search; there are three searches a minute.
BATCH: Final = 50


class Follower(msgspec.Struct, frozen=True):
    """Somebody who follows a page or, with the `url` "", a site. Times are Unix milliseconds."""

    id: int
    site: str
    url: str
    title: str
    thread_id: int | None
    email: str
    consent: str
    language: str
    since_at: int
    until_at: int


def _followers() -> Select:
    return (
        FollowerTable.select(
            FollowerTable.id,
            SiteTable.name,
            fn.COALESCE(ThreadTable.url, ""),
            fn.COALESCE(ThreadTable.title, ""),
            FollowerTable.thread,
            FollowerTable.email,
            FollowerTable.consent,
            FollowerTable.language,
            FollowerTable.since_at,
            FollowerTable.until_at,
        )
        .join(SiteTable, on=SiteTable.id == FollowerTable.site)
        .join(ThreadTable, JOIN.LEFT_OUTER, on=ThreadTable.id == FollowerTable.thread)
    )


def _news() -> Select:
    """Return the comments that a follower has not been told of, except the follower's own."""
    return CommentTable.select(CommentTable.id).where(
        CommentTable.status == literal(APPROVED),
        CommentTable.published_at > FollowerTable.until_at,
        CommentTable.email_key != FollowerTable.email_key,
    )


@prepared
def _find_page(url: Param, site: Param) -> Select:
    """Return the query for the ids of a site, and of a page's thread, NULL if there is none."""
    is_of_page = (ThreadTable.site == SiteTable.id) & (ThreadTable.url == url)
    thread_id = fn.COALESCE(ThreadTable.aliased, ThreadTable.id)
    joined = SiteTable.select(SiteTable.id, thread_id).join(
        ThreadTable, JOIN.LEFT_OUTER, on=is_of_page
    )
    return joined.where(SiteTable.name == site)


@prepared
def _insert_thread(site_id: Param, url: Param) -> Select:
    return ThreadTable.insert(site=site_id, url=url, title="")


@prepared
def find_behind(now: Param, most: Param) -> Select:
    """Return the followers who are due to be mailed and for whom no mail is queued."""
    of_page = _news().where(
        CommentTable.thread == FollowerTable.thread, CommentTable.published_at < now
    )
    of_site = _news().where(
        CommentTable.site == FollowerTable.site, CommentTable.published_at < now
    )
    spelled = FollowerTable.alias("spelled")
    spellings = spelled.select(spelled.email).where(spelled.email_key == FollowerTable.email_key)
    waiting = OutboxTable.select(OutboxTable.id).where(
        OutboxTable.state == literal(QUEUED),
        OutboxTable.kind == "followed",
        OutboxTable.recipient.in_(spellings),
    )
    is_behind = fn.EXISTS(of_page) | (FollowerTable.thread.is_null() & fn.EXISTS(of_site))
    wanted = FollowerTable.select(FollowerTable.id).where(
        FollowerTable.consent == CONFIRMED, FollowerTable.mailed_at <= now - HOUR_MS, is_behind
    )
    return wanted.where(~fn.EXISTS(waiting)).limit(most)


def request(tx: Transaction, page: tuple[str, str], email: str, language: str, now: int) -> None:
    """Ask the owner of an address to confirm mails about a page, or with the url "" about a site.

    `page` is the site's name and a canonical url, `language` a tag, `now` in Unix milliseconds.
    Raise UnknownSite.
    """
    site_id, thread_id = _find_ids(tx, *page)
    before = known(tx, (site_id, thread_id), email)
    if before and (before[1] == CONFIRMED or before[2] > now - REPEAT[before[1]]):
        return
    key = address_key(email)
    lately = (FollowerTable.email_key == key) & (FollowerTable.asked_at > now - DAY_MS)
    if len(tx.query(FollowerTable.select(FollowerTable.id).where(lately).limit(DAILY))) == DAILY:
        return
    wish = {"consent": ASKED, "asked_at": now, "language": language, "email": email}
    if before:
        tx.change(FollowerTable.update(wish).where(FollowerTable.id == before[0]))
    else:
        row = wish | {"site": site_id, "thread": thread_id, "email_key": key}
        tx.change(FollowerTable.insert(row))
    outbox.mail(tx, "follow", MailAddress(email, language), now, lasts=PATIENCE)


def known(snapshot: Snapshot, ids: tuple[int, int | None], email: str) -> Row | None:
    """Return the id, consent and time of the last question of a follower; None if there is none.

    `ids` is the id of the site and that of the thread, None for the whole site.
    """
    site_id, thread_id = ids
    same_page = (
        FollowerTable.thread.is_null() if thread_id is None else FollowerTable.thread == thread_id
    )
    return snapshot.first(
        FollowerTable.select(FollowerTable.id, FollowerTable.consent, FollowerTable.asked_at).where(
            FollowerTable.email_key == address_key(email),
            FollowerTable.site == site_id,
            same_page,
        )
    )


@prepared
def _wishes(first: Param, last: Param) -> Select:
    return (
        FollowWishTable.select(
            FollowWishTable.comment,
            FollowWishTable.language,
            CommentTable.email,
            SiteTable.name,
            ThreadTable.url,
        )
        .join(CommentTable, on=CommentTable.id == FollowWishTable.comment)
        .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
        .join(SiteTable, on=SiteTable.id == ThreadTable.site)
        .where(
            FollowWishTable.comment.between(first, last), CommentTable.status == literal(APPROVED)
        )
        .order_by(FollowWishTable.comment)
    )


def request_at_comment(tx: Transaction, comment_id: int, language: str) -> None:
    """Note that the author of a comment, which has an email address, wants to follow its page."""
    tx.change(FollowWishTable.insert(comment=comment_id, language=language))


def published(tx: Transaction, first: int, last: int, now: int) -> None:
    """Ask the authors of the visible comments from `first` to `last` who want to follow."""
    for comment_id, language, email, site, url in tx.query(_wishes, first, last):
        request(tx, (site, url), email, language, now)
        tx.change(FollowWishTable.delete().where(FollowWishTable.comment == comment_id))


def confirm(tx: Transaction, follower_id: int, now: int) -> bool:
    """Mail new comments from now on; return False if the follower was not asked."""
    confirmed = FollowerTable.update(consent=CONFIRMED, since_at=now - 1, until_at=now - 1).where(
        FollowerTable.id == follower_id, FollowerTable.consent == ASKED
    )
    return bool(tx.change(confirmed))


def stop(tx: Transaction, follower_id: int, now: int) -> None:
    """Send no more mails to a follower."""
    stopped = FollowerTable.update(consent=STOPPED, asked_at=now)
    tx.change(stopped.where(FollowerTable.id == follower_id))


def find(snapshot: Snapshot, follower_id: int) -> Follower | None:
    """Return a follower, also by a former id; None if there is none."""
    row = snapshot.first(_followers().where(FollowerTable.id == kept(FollowerTable, follower_id)))
    return Follower(*row) if row else None


def asked(snapshot: Snapshot, email: str, moment: int) -> Follower | None:
    """Return the follower who was asked to confirm at a time; None if they have answered."""
    is_asked = (FollowerTable.asked_at == moment) & (FollowerTable.consent == ASKED)
    row = snapshot.first(
        _followers().where(FollowerTable.email_key == address_key(email), is_asked)
    )
    return Follower(*row) if row else None


def mailed(snapshot: Snapshot, email: str, moment: int) -> Follower | None:
    """Return the follower who got the mail queued at a time; None if they no longer follow."""
    is_mailed = (FollowerTable.mailed_at == moment) & (FollowerTable.consent == CONFIRMED)
    row = snapshot.first(
        _followers().where(FollowerTable.email_key == address_key(email), is_mailed)
    )
    return Follower(*row) if row else None


def news(snapshot: Snapshot, follower: Follower, most: int) -> list[int]:
    """Return the ids of at most `most` comments for the follower's current mail, oldest first."""
    found = CommentTable.select(CommentTable.id).where(
        CommentTable.status == literal(APPROVED),
        CommentTable.published_at > follower.since_at,
        CommentTable.published_at <= follower.until_at,
        CommentTable.email_key != address_key(follower.email),
    )
    if follower.thread_id is None:
        site = SiteTable.select(SiteTable.id).where(SiteTable.name == follower.site)
        found = found.where(CommentTable.site == site)
    else:
        found = found.where(CommentTable.thread == follower.thread_id)
    ordered = found.order_by(CommentTable.published_at, CommentTable.id).limit(most)
    return [comment_id for (comment_id,) in snapshot.query(ordered)]


def queue_mails(tx: Transaction, now: int) -> None:
    """Queue mails for followers with new comments, at most BATCH."""
    for number, (follower_id,) in enumerate(tx.query(find_behind, now, BATCH)):
        follower = find(tx, follower_id)
        assert follower is not None, "it was just found"
        stamp = now + number  # unique: one person may get two mails
        update = FollowerTable.update(since_at=follower.until_at, until_at=now - 1, mailed_at=stamp)
        tx.change(update.where(FollowerTable.id == follower_id))
        to = MailAddress(follower.email, follower.language)
        outbox.mail(tx, "followed", to, stamp, lasts=PATIENCE)


def move(tx: Transaction, source_id: int, target_id: int) -> None:
    """Let the followers of one thread follow another instead.

    Of two rows of an address, that of the other thread stays, unless it alone is not confirmed.
    """
    here, there = FollowerTable.alias("here"), FollowerTable.alias("there")
    alike = (
        here.select(here.id, here.consent, there.id, there.consent)
        .join(there, on=there.email_key == here.email_key)
        .where(here.thread == source_id, there.thread == target_id)
    )
    for ours, consent, theirs, other in tx.query(alike):
        goes = (consent, other) == (CONFIRMED, ASKED)
        former, stays = (theirs, ours) if goes else (ours, theirs)
        replace(tx, FollowerTable, former, stays)
    tx.change(FollowerTable.update(thread=target_id).where(FollowerTable.thread == source_id))


def forget(tx: Transaction, email: str) -> None:
    """Delete the follows of an address."""
    tx.change(FollowerTable.delete().where(FollowerTable.email_key == address_key(email)))


def _find_ids(tx: Transaction, site: str, url: str) -> tuple[int, int | None]:
    """Return the ids of a site and of a page's thread; make the thread if there is none."""
    row = tx.first(_find_page, url, site)
    if row is None:
        raise UnknownSite(f"no site is named {site}")
    if not url:
        return row[0], None
    return row[0], row[1] or tx.insert(_insert_thread, (row[0], url))
