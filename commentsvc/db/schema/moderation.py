"""The tables of what moderators decided, and of what their decisions teach."""

from typing import Final

import peewee

from commentsvc.db.schema.comments import CommentTable, Table, one_of
from commentsvc.model import APPROVED, BANS, CHANGES, SPAM


class BanTable(Table):
    """What is not welcome: an author (name or address), a network's hash, a word, a domain."""

    id = peewee.AutoField()
    kind = peewee.TextField(constraints=[one_of("kind", BANS)])
    value = peewee.TextField()
    created_at = peewee.IntegerField()
    actor = peewee.TextField()
    expires_at = peewee.IntegerField(null=True)

    class Meta:
        table_name = "ban"
        indexes = ((("kind", "value"), True),)


class ChangeTable(Table):
    """One change of one comment: which field, its old and new value, who made it, who undid it.

    The changes that one decision made share a `decision_id`. `old_at` is what `published_at` was
    before a change of the status, and `edited_at` before one of the text.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    decision_id = peewee.IntegerField()
    comment = peewee.ForeignKeyField(CommentTable, on_delete="CASCADE", index=False)
    field = peewee.TextField(constraints=[one_of("field", CHANGES)])
    old = peewee.TextField()
    new = peewee.TextField()
    old_at = peewee.IntegerField(null=True)
    created_at = peewee.IntegerField()
    actor = peewee.TextField()
    undone_at = peewee.IntegerField(null=True)
    undone_by = peewee.TextField(null=True)

    class Meta:
        table_name = "change"
        indexes = ((("comment_id",), False), (("decision_id",), False))


ChangeTable.add_index(
    ChangeTable.index(
        ChangeTable.actor, where=peewee.SQL("undone_at IS NULL"), name="change_by_actor"
    )
)


class TrainingTokenTable(Table):
    """In how many comments that were marked as spam, or approved, a token was seen."""

    hash = peewee.IntegerField(primary_key=True)
    spam = peewee.IntegerField()
    good = peewee.IntegerField()

    class Meta:
        table_name = "training_token"


class TrainingCommentTable(Table):
    """A comment whose tokens are counted, as `label`; `tokens` are their hashes (4 bytes each)."""

    comment = peewee.ForeignKeyField(CommentTable, primary_key=True, on_delete="CASCADE")
    label = peewee.TextField(constraints=[one_of("label", (SPAM, APPROVED))])
    tokens = peewee.BlobField()

    class Meta:
        table_name = "training_comment"


class TrainingTotalTable(Table):
    """One row, once there is a training comment: how many there are. Changes raise `version`."""

    id = peewee.AutoField()
    spam = peewee.IntegerField()
    good = peewee.IntegerField()
    version = peewee.IntegerField()

    class Meta:
        table_name = "training_total"


class RemovedSpamTable(Table):
    """How many comments in spam were removed for their age on a day (of Unix time, UTC)."""

    day = peewee.IntegerField(primary_key=True)
    count = peewee.IntegerField()

    class Meta:
        table_name = "removed_spam"


TABLES: Final = (
    BanTable,
    ChangeTable,
    TrainingTokenTable,
    TrainingCommentTable,
    TrainingTotalTable,
    RemovedSpamTable,
)
