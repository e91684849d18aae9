"""Personal data: all that is kept of somebody, who is known by an e-mail address.

Comments are found by the index of words, which holds each address as one word, and, where
they are too new to be in it, one by one; so a million of others costs nothing. Addresses are
the same in any case of ASCII's letters.
"""

from collections.abc import Iterator

import msgspec
from peewee import fn

from commentsvc.comments import queries
from commentsvc.db.query import Select
from commentsvc.db.schema.comments import CommentTable, SiteTable
from commentsvc.db.schema.outbox import SubscriberTable
from commentsvc.db.schema.search import found_or_new
from commentsvc.db.sqlite import Reader
from commentsvc.model import Entry
from commentsvc.util.timestamps import rfc3339


def own_comments(email: str) -> Iterator[Select]:
    """Yield queries that find the ids of all comments with that address together."""
    word = f'email:"{email.encode().lower().hex()}"'
    for among in found_or_new(word):
        query = CommentTable.select(CommentTable.id)
        yield query.where(among, fn.LOWER(CommentTable.email) == fn.LOWER(email))


def _consents(email: str) -> Select:
    return (
        SubscriberTable.select(SiteTable.name, SubscriberTable.consent)
        .join(SiteTable)
        .where(fn.LOWER(SubscriberTable.email) == fn.LOWER(email))
        .order_by(SiteTable.name)
    )


class ExportedComment(msgspec.Struct, frozen=True, gc=False):
    """A comment, for the one who wrote it. Moments are RFC 3339."""

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


class Consent(msgspec.Struct, frozen=True, gc=False):
    """Whether answers are told by mail: "asked", "confirmed" or "stopped"."""

    site: str
    answers_by_mail: str


class Export(msgspec.Struct, frozen=True):
    """All of it."""

    email: str
    exported: str
    comments: list[ExportedComment]
    wishes: list[Consent]


def ids(reader: Reader, email: str) -> list[int]:
    """Return the ids of all comments with that address, in whatever status."""
    return sorted({number for query in own_comments(email) for (number,) in reader.query(query)})


def is_known(reader: Reader, email: str) -> bool:
    """Return whether anything is kept of that address."""
    return bool(ids(reader, email) or reader.first(_consents(email)))


def export(reader: Reader, email: str, now: int) -> Export:
    """Return all that is kept of that address at the moment `now` (Unix milliseconds).

    Not in it is what concerns our defence alone: a network's hash and the points of a verdict.
    """
    entries = [queries.find(reader, number) for number in ids(reader, email)]
    wishes = [Consent(*row) for row in reader.query(_consents(email))]
    return Export(email, rfc3339(now), [_written(entry) for entry in entries if entry], wishes)


def _written(entry: Entry) -> ExportedComment:
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
    )
