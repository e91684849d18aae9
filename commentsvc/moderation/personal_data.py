"""Personal data: everything that is stored about a person, who is identified by an e-mail address.

Comments are found with the search index, which has each address as one word; those that are too new
to be in it are read one by one. So a million other comments cost no time. Addresses are compared by
their `address_key`.
"""

from base64 import b64encode
from collections.abc import Iterator

import msgspec
from peewee import JOIN, fn

from commentsvc.comments import images, queries
from commentsvc.db.connection import Snapshot
from commentsvc.db.query import Select
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.schema.notes import PrivateNote
from commentsvc.db.schema.outbox import FollowerTable, SubscriberTable
from commentsvc.db.schema.readers import ReaderTable
from commentsvc.db.schema.search import found_or_new
from commentsvc.feedback import reports
from commentsvc.model import Entry, reaction_counts
from commentsvc.moderation import internal_notes, private_notes, statements
from commentsvc.readers import mailed_comments
from commentsvc.util.i18n import translate
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import rfc3339


def own_comments(email: str) -> Iterator[Select]:
    """Yield queries which together find the ids of all comments with that address.

    Those of a reader who signed in with it may have an earlier address.
    """
    key = address_key(email)
    signed_in = ReaderTable.select(ReaderTable.id).where(ReaderTable.email_key == key)
    yield CommentTable.select(CommentTable.id).where(CommentTable.reader_id.in_(signed_in))
    word = f'email:"{key.encode().hex()}"'
    for among in found_or_new(word):
        query = CommentTable.select(CommentTable.id)
        yield query.where(among, CommentTable.email_key == key)


def _consents(email: str) -> Select:
    return (
        SubscriberTable.select(SiteTable.name, SubscriberTable.consent)
        .join(SiteTable)
        .where(SubscriberTable.email_key == address_key(email))
        .order_by(SiteTable.name)
    )


def _follows(email: str) -> Select:
    return (
        FollowerTable.select(
            SiteTable.name, fn.COALESCE(ThreadTable.url, ""), FollowerTable.consent
        )
        .join(SiteTable)
        .join_from(FollowerTable, ThreadTable, JOIN.LEFT_OUTER)
        .where(FollowerTable.email_key == address_key(email))
        .order_by(SiteTable.name, ThreadTable.url)
    )


def _names(email: str) -> Select:
    return (
        ReaderTable.select(
            SiteTable.name,
            ReaderTable.issuer,
            ReaderTable.subject,
            ReaderTable.name,
            ReaderTable.trusted_by,
        )
        .join(SiteTable)
        .where(ReaderTable.email_key == address_key(email))
        .order_by(SiteTable.name, ReaderTable.issuer, ReaderTable.subject)
    )


class ExportedComment(msgspec.Struct, frozen=True, gc=False):
    """A comment, for its author. Times are in RFC 3339, images are `data:` URLs.

    `internal_notes` are what moderators noted about it, and `reasons_given` how they explained
    their decisions.
    """

    id: int
    site: str
    url: str
    title: str
    parent: int | None
    status: str
    author: str
    author_site: str
    message: str
    created: str
    published: str | None
    edited: str | None
    votes: int
    reactions: dict[str, int]
    images: list[str]
    internal_notes: list[str]
    reasons_given: list[str]


class Consent(msgspec.Struct, frozen=True, gc=False):
    """Whether replies are mailed: "asked", "confirmed" or "stopped"."""

    site: str
    answers_by_mail: str


class Follow(msgspec.Struct, frozen=True, gc=False):
    """Whether new comments of a page, or for "" of the whole site, are mailed."""

    site: str
    url: str
    consent: str


class ReaderName(msgspec.Struct, frozen=True, gc=False):
    """The name of a reader who signed in. `issuer` is "mail", "blog" or the URL of a provider.

    `trusted` says whether a moderator trusts the reader.
    """

    site: str
    issuer: str
    subject: str
    name: str
    trusted: bool


class ExportedNote(msgspec.Struct, frozen=True, gc=False):
    """A private note, and the `answer` that was mailed, "" for none."""

    id: int
    site: str
    url: str
    author: str
    quote: str
    message: str
    may_thank: bool
    created: str
    answer: str


class CommentByMail(msgspec.Struct, frozen=True, gc=False):
    """A comment that came by mail, and was not confirmed. `received` is in RFC 3339."""

    site: str
    url: str
    author: str
    message: str
    received: str


class ExportedReport(msgspec.Struct, frozen=True, gc=False):
    """A report of a comment, or an objection, on which no moderator has decided yet."""

    site: str
    url: str
    created: str
    name: str
    reason: str
    explanation: str


class Export(msgspec.Struct, frozen=True):
    """Everything that is stored about an address."""

    email: str
    exported: str
    comments: list[ExportedComment]
    wishes: list[Consent]
    follows: list[Follow]
    sign_ins: list[ReaderName]
    notes: list[ExportedNote]
    by_mail: list[CommentByMail]
    reports: list[ExportedReport]


def ids(snapshot: Snapshot, email: str) -> list[int]:
    """Return the ids of all comments with that address, whatever their status."""
    return sorted({number for query in own_comments(email) for (number,) in snapshot.query(query)})


def is_known(snapshot: Snapshot, email: str) -> bool:
    """Return whether anything is stored about that address."""
    others = (_consents, _follows, _names, private_notes.own, reports.own)
    return bool(
        ids(snapshot, email)
        or any(snapshot.first(query(email)) for query in others)
        or mailed_comments.of_address(snapshot, email)
    )


def export(snapshot: Snapshot, email: str, now: int) -> Export:
    """Return everything that is stored about that address at `now` (Unix milliseconds).

    What only serves to detect spam is left out: the network's hash and the score.
    """
    entries = [queries.find(snapshot, number) for number in ids(snapshot, email)]
    return Export(
        email,
        rfc3339(now),
        [_written(snapshot, entry) for entry in entries if entry],
        [Consent(*row) for row in snapshot.query(_consents(email))],
        [Follow(*row) for row in snapshot.query(_follows(email))],
        [
            ReaderName(site, issuer, subject, name, bool(by))
            for site, issuer, subject, name, by in snapshot.query(_names(email))
        ],
        [_noted(note) for note in private_notes.of_address(snapshot, email)],
        [
            CommentByMail(each.site, each.url, each.author, each.words, rfc3339(each.received_at))
            for each in mailed_comments.of_address(snapshot, email)
        ],
        [
            ExportedReport(site, url, rfc3339(created), *said)
            for site, url, created, *said in snapshot.query(reports.own(email))
        ],
    )


def _noted(note: PrivateNote) -> ExportedNote:
    return ExportedNote(
        note.id,
        note.site,
        note.url,
        note.author,
        note.quote,
        note.message,
        note.may_thank,
        rfc3339(note.created_at),
        note.answer,
    )


def _written(snapshot: Snapshot, entry: Entry) -> ExportedComment:
    comment = entry.comment
    created, published, edited = (
        None if moment is None else rfc3339(moment)
        for moment in (comment.created_at, comment.published_at, comment.edited_at)
    )
    assert created, "every comment has a moment when it came"
    return ExportedComment(
        comment.id,
        entry.site,
        entry.url,
        entry.title,
        comment.parent_id,
        comment.status,
        comment.author,
        comment.site,
        comment.source,
        created,
        published,
        edited,
        comment.votes,
        reaction_counts(comment.reactions),
        [
            f"data:image/webp;base64,{b64encode(content).decode()}"
            for content in images.of_comment(snapshot, comment.id)
        ],
        [note.message for note in internal_notes.of_comment(snapshot, comment.id)],
        [
            ": ".join(
                filter(None, (translate(statements.NAMES.get(each.ground, "")), each.message))
            )
            for each in statements.of_comment(snapshot, comment.id)
        ],
    )
