"""The table of private notes: what readers wrote for the author of the blog alone.

It is a table of its own, so no list of comments can contain one of them.
"""

from typing import Final

import msgspec
import peewee

from commentsvc.db.schema.comments import SiteTable, Table, add_index, one_of
from commentsvc.model import NOTE_STATES


class NoteTable(Table):
    """A private note about the page `url`, with the words that its reader had selected there.

    `may_thank` is 1 if the reader may be thanked by name. `key` is the digest by which a note that
    is sent again is known. `language` is the tag of the reader's language. `decided_at` is when
    `actor` last changed its state or answered, 0 before. `thanks` is the id of the comment with
    public thanks, 0 without; there is no foreign key, since the comment may go.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    site = peewee.ForeignKeyField(SiteTable, index=False)
    url = peewee.TextField()
    title = peewee.TextField()
    author = peewee.TextField()
    email = peewee.TextField()
    email_key = peewee.TextField()
    quote = peewee.TextField()
    message = peewee.TextField()
    language = peewee.TextField()
    may_thank = peewee.IntegerField()
    state = peewee.TextField(constraints=[one_of("state", NOTE_STATES)])
    key = peewee.BlobField(unique=True)
    network = peewee.BlobField(null=True)
    created_at = peewee.IntegerField()
    decided_at = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    actor = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    answer = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    thanks = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])


add_index(NoteTable, "note_by_state", "state", "site", "id")
add_index(NoteTable, "note_by_email", "email_key", where="email_key <> ''")
add_index(NoteTable, "note_by_network", "created_at", where="network IS NOT NULL")

TABLES: Final = (NoteTable,)


class PrivateNote(msgspec.Struct, frozen=True, gc=False):
    """A private note, see NoteTable; `site` is the site's name."""

    id: int
    site: str
    url: str
    title: str
    author: str
    email: str
    quote: str
    message: str
    language: str
    may_thank: bool
    state: str
    created_at: int
    decided_at: int
    actor: str
    answer: str
    thanks: int
