"""Decisions: the tables of what moderators decided, and of what their decisions teach."""

from typing import Final

import peewee

from commentsvc.db.schema.comments import CommentTable, Table, one_of
from commentsvc.model import APPROVED, BANS, CHANGES, SPAM


class BanTable(Table):
    """What is not welcome: an author (name or address), a network's hash, a word, a domain."""

    id = peewee.AutoField()
    kind = peewee.TextField(constraints=[one_of("kind", BANS)])
    value = peewee.TextField()
    made = peewee.IntegerField()
    who = peewee.TextField()
    expires = peewee.IntegerField(null=True)

    class Meta:
        table_name = "ban"
        indexes = ((("kind", "value"), True),)


class ChangeTable(Table):
    """One change of one comment: of what, from what to what, who made it, when, was it undone.

    The changes that one decision made share an `act`. For a status, `moment` is what `published`
    was before; for a text, what `edited` was.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    act = peewee.IntegerField()
    comment = peewee.ForeignKeyField(CommentTable, on_delete="CASCADE", index=False)
    what = peewee.TextField(constraints=[one_of("what", CHANGES)])
    was = peewee.TextField()
    became = peewee.TextField()
    moment = peewee.IntegerField(null=True)
    made = peewee.IntegerField()
    who = peewee.TextField()
    undone = peewee.IntegerField(null=True)
    undone_by = peewee.TextField(null=True)

    class Meta:
        table_name = "change"
        indexes = ((("comment_id",), False), (("act",), False))


ChangeTable.add_index(
    ChangeTable.index(ChangeTable.who, where=peewee.SQL("undone IS NULL"), name="change_by_who")
)


class WordTable(Table):
    """In how many comments that were marked as spam, and approved, a token was seen: see tokens."""

    hash = peewee.IntegerField(primary_key=True)
    spam = peewee.IntegerField()
    good = peewee.IntegerField()

    class Meta:
        table_name = "word"


class LessonTable(Table):
    """A comment whose tokens are counted in the words, as a `kind`; `words` are their numbers."""

    comment = peewee.ForeignKeyField(CommentTable, primary_key=True, on_delete="CASCADE")
    kind = peewee.TextField(constraints=[one_of("kind", (SPAM, APPROVED))])
    words = peewee.BlobField()

    class Meta:
        table_name = "lesson"


class TaughtTable(Table):
    """One row, once there was a lesson: how many there were, and how often that changed."""

    id = peewee.AutoField()
    spam = peewee.IntegerField()
    good = peewee.IntegerField()
    version = peewee.IntegerField()

    class Meta:
        table_name = "taught"


class RemovalTable(Table):
    """How much old spam was removed on a day (of Unix time, UTC)."""

    day = peewee.IntegerField(primary_key=True)
    number = peewee.IntegerField()

    class Meta:
        table_name = "removal"


TABLES: Final = (BanTable, ChangeTable, WordTable, LessonTable, TaughtTable, RemovalTable)
