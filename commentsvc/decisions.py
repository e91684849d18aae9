"""Decisions: the tables of what moderators decided, on comments and for the future."""

from typing import Final

import peewee

from commentsvc.models import BANS, CHANGES, CommentTable, Table


class BanTable(Table):
    """What is not welcome: an author (name or address), a network's hash, a word, a domain."""

    id = peewee.AutoField()
    kind = peewee.TextField(constraints=[peewee.Check(f"kind IN {BANS}")])
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
    what = peewee.TextField(constraints=[peewee.Check(f"what IN {CHANGES}")])
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


TABLES: Final = (BanTable, ChangeTable)
