"""The tables of sites, threads, comments, votes and moderators.

These models and the migration steps both say what the tables are; a test compares them. Queries are
written with them (see `db.query`), but for the few that every request runs: `comments.statements`.

A column whose name ends in `_at` is a moment: INTEGER milliseconds of Unix time (UTC), which sort,
index and compare as they are. One that ends in `_ms` is a duration in milliseconds.
A comment's id is never given twice (AUTOINCREMENT), because links in mails and pages name it.
Votes and counts stand in the rows they belong to, so that no reader ever counts rows.
"""

from collections.abc import Sequence
from typing import Final

import peewee

from commentsvc.model import AGING, BADGES, MODERATOR, ROLES, SCOPES, STATES, STATUSES

# Deferred: it gives the models their SQL dialect and is never connected.
schema: Final = peewee.SqliteDatabase(None)


def one_of(column: str, values: Sequence[str]) -> peewee.SQL:
    """Return the constraint that `column` has one of `values`.

    The form with OR is faster than IN (…): for more than two values SQLite builds a temporary table
    per row, which costs 3 to 5 µs of a submission (5 % of its CPU time).
    """
    checks = " OR ".join(f"{column} = '{value}'" for value in values)
    return peewee.SQL(f"CHECK ({checks})")


class Table(peewee.Model):
    """What every table shares: the dialect, and columns that keep to their declared type."""

    class Meta:
        database = schema
        strict_tables = True
        legacy_table_names = False


class SiteTable(Table):
    """One blog, and the number of its approved comments."""

    id = peewee.AutoField()
    name = peewee.TextField(unique=True)
    count = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])

    class Meta:
        table_name = "site"


class ThreadTable(Table):
    """What was said under one page. `url` is canonical; `count` counts approved comments.

    A row with an `alias_id` holds no comments: its url is another name of that thread's page. So a
    url can never be both. `imported` is 1 where comments were imported: they have anchors.
    """

    id = peewee.AutoField()
    site = peewee.ForeignKeyField(SiteTable, index=False)
    url = peewee.TextField()
    title = peewee.TextField()
    count = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    state = peewee.TextField(
        constraints=[peewee.SQL(f"DEFAULT '{AGING}'"), one_of("state", STATES)]
    )
    aliased = peewee.ForeignKeyField("self", column_name="alias_id", null=True, index=False)
    imported = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    # No foreign key: an id is never given twice, and none has to be looked for on a removal.
    pinned_id = peewee.IntegerField(null=True)

    class Meta:
        table_name = "thread"
        indexes = ((("site_id", "url"), True),)


ThreadTable.add_index(
    ThreadTable.index(
        ThreadTable.aliased, where=peewee.SQL("alias_id IS NOT NULL"), name="thread_by_alias"
    )
)


class ModeratorTable(Table):
    """A moderator. `password_hash` is an Argon2 hash with its parameters.

    `language` is the tag of the language of their pages, "" for the browser's. The `role` holds on
    `sites`: their names, one on each line, "" for all. What stands over the moderator's own
    comments: `public_name` ("": `name`), `email`, `site`.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    name = peewee.TextField()
    password_hash = peewee.TextField()
    created_at = peewee.IntegerField()
    language = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    role = peewee.TextField(
        constraints=[peewee.SQL(f"DEFAULT '{MODERATOR}'"), one_of("role", ROLES)]
    )
    sites = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    public_name = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    email = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    site = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])

    class Meta:
        table_name = "moderator"


def is_called(name: str) -> peewee.Expression:
    """Return the condition that a moderator has that name, with ASCII's letters in any case."""
    return peewee.fn.LOWER(ModeratorTable.name) == peewee.fn.LOWER(name)


ModeratorTable.add_index(
    ModeratorTable.index(peewee.SQL("lower(name)"), unique=True, name="moderator_name")
)


class CommentTable(Table):
    """What somebody wrote. `site_id` repeats the thread's, so that a site's latest have an index.

    What a moderator wrote has a `role`, and a `moderator_id` while the account exists.

    `key` is a digest of the submission's idempotency key, `token_hash` one of its edit token.
    The long texts come late: what stands before them is read without following overflow pages.
    `score` and `reasons` are of the verdict on it, for moderators; `network` is a keyed hash.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    site = peewee.ForeignKeyField(SiteTable, index=False)
    thread = peewee.ForeignKeyField(ThreadTable, index=False)
    parent = peewee.ForeignKeyField("self", null=True, index=False)
    status = peewee.TextField(constraints=[one_of("status", STATUSES)])
    created_at = peewee.IntegerField()
    published_at = peewee.IntegerField(null=True)
    edited_at = peewee.IntegerField(null=True)
    votes = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    role = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''"), one_of("role", ("", *BADGES))])
    moderator = peewee.ForeignKeyField(ModeratorTable, null=True, on_delete="SET NULL", index=False)
    key = peewee.BlobField(null=True, unique=True)
    token_hash = peewee.BlobField()
    token_expires_at = peewee.IntegerField()
    author = peewee.TextField()
    email = peewee.TextField()
    avatar = peewee.TextField()
    author_site = peewee.TextField()
    source = peewee.TextField()
    html = peewee.TextField()
    score = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    reasons = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    network = peewee.BlobField(null=True)

    class Meta:
        table_name = "comment"


# Lists show approved comments only, so their indexes hold nothing else; SQLite appends the id to
# each. The literal is part of the contract: a bound parameter would not let SQLite use them. The
# list by votes sorts what it finds by time: an index more would cost every submission a page.
_approved = peewee.SQL("status = 'approved'")
CommentTable.add_index(
    CommentTable.index(
        CommentTable.thread, CommentTable.published_at, where=_approved, name="comment_by_time"
    )
)
CommentTable.add_index(
    CommentTable.index(
        CommentTable.site, CommentTable.published_at, where=_approved, name="comment_latest"
    )
)
# The queue is short, however many comments are approved. The id makes it grow at the end of each
# status, and with the site one site's part is found without a look at the rows of the others.
CommentTable.add_index(
    CommentTable.index(
        CommentTable.status,
        CommentTable.id,
        CommentTable.site,
        where=peewee.SQL("status <> 'approved'"),
        name="comment_by_status",
    )
)

# Those that still have one, by age: it grows at its end, so that a submission changes no page more.
CommentTable.add_index(
    CommentTable.index(
        CommentTable.created_at,
        CommentTable.network,
        where=peewee.SQL("network IS NOT NULL"),
        name="comment_by_network",
    )
)

# Whom a site trusts: few have an address, and a submission that waits is in none of these.
CommentTable.add_index(
    CommentTable.index(
        CommentTable.email,
        CommentTable.site,
        where=peewee.SQL("status = 'approved' AND email <> ''"),
        name="comment_by_email",
    )
)

# Only answers are in it: a row can be deleted without a look at all others for answers to it.
CommentTable.add_index(
    CommentTable.index(
        CommentTable.parent, where=peewee.SQL("parent_id IS NOT NULL"), name="comment_by_parent"
    )
)

CommentTable.add_index(
    CommentTable.index(
        CommentTable.moderator,
        where=peewee.SQL("moderator_id IS NOT NULL"),
        name="comment_by_moderator",
    )
)


class ProposedTitleTable(Table):
    """The title of its page that a comment came with, while the thread had none: see `titles`."""

    comment = peewee.ForeignKeyField(CommentTable, primary_key=True, on_delete="CASCADE")
    title = peewee.TextField()

    class Meta:
        table_name = "proposed_title"


class SessionTable(Table):
    """A browser that is signed in. `digest` is that of its cookie."""

    id = peewee.AutoField()
    digest = peewee.BlobField(unique=True)
    moderator = peewee.ForeignKeyField(ModeratorTable, on_delete="CASCADE")
    created_at = peewee.IntegerField()
    seen_at = peewee.IntegerField()
    user_agent = peewee.TextField()

    class Meta:
        table_name = "session"


class TwoFactorTable(Table):
    """The authenticator app of a moderator: see `auth.two_factor`.

    The app's secret is derived from `totp_salt` and the service's key. `last_step` is the time step
    of the last code that was used; `confirmed` is 0 until the first.
    """

    moderator = peewee.ForeignKeyField(ModeratorTable, primary_key=True, on_delete="CASCADE")
    totp_salt = peewee.BlobField()
    last_step = peewee.IntegerField()
    confirmed = peewee.IntegerField()

    class Meta:
        table_name = "two_factor"


class RecoveryCodeTable(Table):
    """A recovery code of a moderator, as its digest."""

    id = peewee.AutoField()
    moderator = peewee.ForeignKeyField(ModeratorTable, on_delete="CASCADE")
    digest = peewee.BlobField()

    class Meta:
        table_name = "recovery_code"


class InvitationTable(Table):
    """An account to come, which an owner offers by a link: see `auth.invitations`.

    `role` and `sites` are those of the account, `email` is where the link was mailed, "" for none.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    moderator = peewee.ForeignKeyField(ModeratorTable, on_delete="CASCADE")
    role = peewee.TextField(constraints=[one_of("role", ROLES)])
    sites = peewee.TextField()
    email = peewee.TextField()
    created_at = peewee.IntegerField()
    expires_at = peewee.IntegerField()

    class Meta:
        table_name = "invitation"


class ApiTokenTable(Table):
    """A token for programs of a moderator, as its digest: see `auth.api_tokens`."""

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    moderator = peewee.ForeignKeyField(ModeratorTable, on_delete="CASCADE")
    digest = peewee.BlobField(unique=True)
    name = peewee.TextField()
    scope = peewee.TextField(constraints=[one_of("scope", SCOPES)])
    sites = peewee.TextField()
    created_at = peewee.IntegerField()
    used_at = peewee.IntegerField()
    expires_at = peewee.IntegerField()

    class Meta:
        table_name = "api_token"


class VoteTable(Table):
    """What one reader thinks of a comment: 1 for it, -1 against it.

    `voter` is a digest of what tells that reader's browser from others, `network` a keyed hash.
    """

    comment = peewee.ForeignKeyField(CommentTable, on_delete="CASCADE", index=False)
    voter = peewee.BlobField()
    value = peewee.IntegerField(constraints=[peewee.Check("value IN (-1, 1)")])
    network = peewee.BlobField(null=True)
    created_at = peewee.IntegerField()

    class Meta:
        table_name = "vote"
        primary_key = peewee.CompositeKey("comment", "voter")


_networked = peewee.SQL("network IS NOT NULL")
VoteTable.add_index(
    VoteTable.index(VoteTable.comment, VoteTable.network, where=_networked, name="vote_by_network")
)
VoteTable.add_index(VoteTable.index(VoteTable.created_at, where=_networked, name="vote_by_age"))


class ReportTable(Table):
    """That a reader reports a comment. `reporter` is a digest as in VoteTable."""

    comment = peewee.ForeignKeyField(CommentTable, on_delete="CASCADE", index=False)
    reporter = peewee.BlobField()
    created_at = peewee.IntegerField()

    class Meta:
        table_name = "report"
        primary_key = peewee.CompositeKey("comment", "reporter")


TABLES: Final = (
    SiteTable,
    ThreadTable,
    ModeratorTable,
    CommentTable,
    ProposedTitleTable,
    SessionTable,
    TwoFactorTable,
    RecoveryCodeTable,
    InvitationTable,
    ApiTokenTable,
    VoteTable,
    ReportTable,
)
