"""Personal data: everything that is stored about a person, who is identified by an e-mail address.

Comments are found with the search index, which has each address as one word; those that are too new
to be in it are read one by one. So a million other comments cost no time. The case of ASCII letters
in addresses does not matter.
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
    """Yield queries which together find the ids of all comments with that address."""
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
    """A comment, for its author. Times are in RFC 3339."""

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
    """Whether replies are mailed: "asked", "confirmed" or "stopped"."""

    site: str
    answers_by_mail: str


class Export(msgspec.Struct, frozen=True):
    """Everything that is stored about an address."""

    email: str
    exported: str
    comments: list[ExportedComment]
    wishes: list[Consent]


def ids(reader: Reader, email: str) -> list[int]:
    """Return the ids of all comments with that address, whatever their status."""
    return sorted({number for query in own_comments(email) for (number,) in reader.query(query)})


def is_known(reader: Reader, email: str) -> bool:
    """Return whether anything is stored about that address."""
    return bool(ids(reader, email) or reader.first(_consents(email)))


def export(reader: Reader, email: str, now: int) -> Export:
    """Return everything that is stored about that address at `now` (Unix milliseconds).

    What only serves to detect spam is left out: the network's hash and the score.
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
