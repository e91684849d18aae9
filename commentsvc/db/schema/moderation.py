"""The tables of moderators' decisions, and of the spam filter's training."""

from typing import Final

import peewee

from commentsvc.db.schema.comments import (
    CommentTable,
    SiteTable,
    Table,
    ThreadTable,
    add_index,
    one_of,
)
from commentsvc.model import APPROVED, BANS, CHANGES, COUNTED, GROUNDS, SPAM, UNLISTED


class BanTable(Table):
    """A ban of an author (name or address), a network (its hash), a word or a domain."""

    id = peewee.AutoField()
    kind = peewee.TextField(constraints=[one_of("kind", BANS)])
    value = peewee.TextField()
    created_at = peewee.IntegerField()
    actor = peewee.TextField()
    expires_at = peewee.IntegerField(null=True)

    class Meta:
        indexes = ((("kind", "value"), True),)


class ChangeTable(Table):
    """A change of a field of a comment: its old and new value, who made it, who undid it.

    All changes of one decision have the same `decision_id`. For a change of the status, `old_at` is
    the previous `published_at`; for a change of the text, the previous `edited_at`.
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
        indexes = ((("comment_id",), False), (("decision_id",), False))


# PostgreSQL's indexes have no id of the row by themselves, by which the newest is found.
add_index(ChangeTable, "change_by_actor", "actor", "id", where="undone_at IS NULL")


class StatementOfReasonsTable(Table):
    """Why the moderator `actor` decided so about a comment: see `moderation.statements`.

    `decided_at` is the time of the decision. `ground` is "" if the moderator named none.
    """

    comment = peewee.ForeignKeyField(CommentTable, on_delete="CASCADE", index=False)
    decided_at = peewee.IntegerField()
    actor = peewee.TextField()
    ground = peewee.TextField(constraints=[one_of("ground", ("", *GROUNDS))])
    message = peewee.TextField()

    class Meta:
        primary_key = peewee.CompositeKey("comment", "decided_at")


class InternalNoteTable(Table):
    """A note by the moderator `actor` on a comment, which only moderators see."""

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    comment = peewee.ForeignKeyField(CommentTable, on_delete="CASCADE")
    actor = peewee.TextField()
    message = peewee.TextField()
    created_at = peewee.IntegerField()

    class Meta:
        table_name = "internal_note"


class SavedReplyTable(Table):
    """A text for answers, with its title, and the moderator `actor` who changed it last."""

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    title = peewee.TextField(unique=True)
    message = peewee.TextField()
    actor = peewee.TextField()
    changed_at = peewee.IntegerField()

    class Meta:
        table_name = "saved_reply"


class SettingChangeTable(Table):
    """A change of a setting of a `site`, NULL for the service: `old` and `new` are its JSON values.

    The newest change of a setting has its value; NULL stands for that of the file, or the default.
    `undone_by` is who took the change back, by another one.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    site = peewee.TextField(null=True)
    key = peewee.TextField()
    old = peewee.TextField(null=True)
    new = peewee.TextField(null=True)
    actor = peewee.TextField()
    created_at = peewee.IntegerField()
    undone_by = peewee.TextField(null=True)

    class Meta:
        table_name = "setting_change"


class UnlistedPageTable(Table):
    """A page with comments that the blog's sitemap does not list: see `moderation.moved_pages`.

    The blog was asked for `url`; the page is now at `target`, "" if it is not elsewhere. Both are
    canonical. It is asked again at `next_at`. `answered_at` and `actor` belong to a moderator's
    answer. `decision_id` is that of the comments that were merged, 0 if the thread was moved;
    `aliases` are the other addresses that it had, one on each line.
    """

    thread = peewee.ForeignKeyField(ThreadTable, primary_key=True, on_delete="CASCADE")
    url = peewee.TextField()
    state = peewee.TextField(constraints=[one_of("state", UNLISTED)])
    target = peewee.TextField()
    next_at = peewee.IntegerField()
    answered_at = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    actor = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    decision_id = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    aliases = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])


add_index(UnlistedPageTable, "unlisted_page_by_state", "state", "answered_at")


class TrainingTokenTable(Table):
    """In how many comments marked as spam, and in how many approved ones, a token occurs."""

    hash = peewee.IntegerField(primary_key=True)
    spam = peewee.IntegerField()
    good = peewee.IntegerField()


class TrainingCommentTable(Table):
    """A comment that taught the filter, as `label`; `tokens` are hashes of 4 bytes each."""

    comment = peewee.ForeignKeyField(CommentTable, primary_key=True, on_delete="CASCADE")
    label = peewee.TextField(constraints=[one_of("label", (SPAM, APPROVED))])
    tokens = peewee.BlobField()


class TrainingTotalTable(Table):
    """One row: how many comments taught the filter. Each change increments `version`.

    There is no row before the first one.
    """

    id = peewee.AutoField()
    spam = peewee.IntegerField()
    good = peewee.IntegerField()
    version = peewee.IntegerField()


class RemovedSpamTable(Table):
    """How many spam comments were deleted because of their age on a day (of Unix time, UTC)."""

    day = peewee.IntegerField(primary_key=True)
    count = peewee.IntegerField()


class DecisionCountTable(Table):
    """How many decisions were alike in a half-year: see `moderation.decision_counts`.

    `half` is twice the year, and one more from July on. `reason` is one of model.REPORT_REASONS
    or "", `outcome` a status. `hours` is how long it took, at most: a power of two, 0 if not known.
    """

    site = peewee.ForeignKeyField(SiteTable, index=False)
    half = peewee.IntegerField()
    kind = peewee.TextField(constraints=[one_of("kind", COUNTED)])
    reason = peewee.TextField()
    outcome = peewee.TextField()
    hours = peewee.IntegerField()
    count = peewee.IntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("site", "half", "kind", "reason", "outcome", "hours")


TABLES: Final = (
    BanTable,
    ChangeTable,
    StatementOfReasonsTable,
    InternalNoteTable,
    SavedReplyTable,
    SettingChangeTable,
    UnlistedPageTable,
    TrainingTokenTable,
    TrainingCommentTable,
    TrainingTotalTable,
    RemovedSpamTable,
    DecisionCountTable,
)
