"""The tables of readers who signed in: see `readers.accounts`.

The column `reader_id` of a comment has no foreign key, so that storing a comment costs no further
look-up; ids are never used again.
"""

from typing import Final

import peewee

from commentsvc.db.schema.comments import SiteTable, Table


class ReaderTable(Table):
    """A reader of one site, with the identity that an issuer has confirmed.

    `name` is "" until the reader has chosen one; `email` is "" if none is verified. `trusted_by`
    is the moderator who trusts the reader since `trusted_at`, "" for none.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    site = peewee.ForeignKeyField(SiteTable, index=False)
    issuer = peewee.TextField()
    subject = peewee.TextField()
    name = peewee.TextField()
    email = peewee.TextField()
    created_at = peewee.IntegerField()
    trusted_by = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    trusted_at = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    email_key = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])

    class Meta:
        indexes = ((("site_id", "issuer", "subject"), True),)


class ReaderSkeletonTable(Table):
    """What a reader's name looks like: see `spam.protected_names`."""

    reader = peewee.ForeignKeyField(ReaderTable, on_delete="CASCADE", index=False)
    site = peewee.ForeignKeyField(SiteTable, index=False)
    skeleton = peewee.TextField(column_name="look")

    class Meta:
        table_name = "reader_look"
        primary_key = peewee.CompositeKey("site", "skeleton", "reader")


class ReaderSessionTable(Table):
    """A browser in which a reader is signed in. `digest` is that of its token."""

    id = peewee.AutoField()
    digest = peewee.BlobField(unique=True)
    reader = peewee.ForeignKeyField(ReaderTable, on_delete="CASCADE")
    expires_at = peewee.IntegerField()


class SignInLinkTable(Table):
    """A link for signing in that was mailed; `page` and `word` say where the browser goes then."""

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    site = peewee.ForeignKeyField(SiteTable, index=False)
    email = peewee.TextField()
    page = peewee.TextField()
    word = peewee.TextField()
    asked_at = peewee.IntegerField()
    email_key = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])


TABLES: Final = (ReaderTable, ReaderSkeletonTable, ReaderSessionTable, SignInLinkTable)
