"""The tables of sites, threads and comments, of what readers think of them, and of moderators.

The models define the tables; a database that exists gets a migration step for each change. Queries
are written with the models (see `db.query`).

A column whose name ends in `_at` is a time in Unix milliseconds (UTC), and one that ends in `_ms`
is a duration in milliseconds. The id of a comment is never used again (AUTOINCREMENT), because
links in mails and pages contain it. Votes and counts are stored in the rows they belong to, so that
no reader's request counts rows.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import peewee

from commentsvc.model import (
    AGING,
    BADGES,
    MODERATOR,
    REPORT_REASONS,
    ROLES,
    SCOPES,
    STATES,
    STATUSES,
)

# A deferred database: it gives the models their SQL dialect and is never opened.
schema: Final = peewee.SqliteDatabase(None)


def is_for_sqlite(ctx: Any) -> bool:  # Any: peewee's Context, which is not in its stubs
    """Return whether SQL is made for SQLite."""
    return bool(ctx.state.param == schema.param)


def one_of(column: str, values: Sequence[str]) -> peewee.SQL:
    """Return the constraint that `column` has one of `values`.

    It uses OR, since IN (…) with more than two values makes SQLite build a temporary table for each
    row, which takes 3 to 5 µs of a submission (5 % of its CPU time).
    """
    checks = " OR ".join(f"{column} = '{value}'" for value in values)
    return peewee.SQL(f"CHECK ({checks})")


def _name(table: type) -> str:
    """Return the name of a table: that of the class `SignInAttemptTable` is `sign_in_attempt`."""
    return re.sub("(?<!^)([A-Z])", r"_\1", table.__name__.removesuffix("Table")).lower()


class Table(peewee.Model):
    """The base of all tables: the dialect, the name, and strict column types."""

    class Meta:
        database = schema
        strict_tables = True
        table_function = _name
        legacy_table_names = False


def add_index(
    table: type[Table], name: str, *columns: str | peewee.SQL, where: str = "", unique: bool = False
) -> None:
    """Give a table an index of the rows for which the SQL `where` is true, "" for all rows."""
    fields = [getattr(table, each) if isinstance(each, str) else each for each in columns]
    condition = peewee.SQL(where) if where else None
    table.add_index(table.index(*fields, where=condition, unique=unique, name=name))


class SiteTable(Table):
    """A blog, and the number of its approved comments. `math` is 1 if it shows formulas.

    `images` is the address of the service, for the URLs of images in comments; "" without images.
    `notices` is 1 if authors and reporters are mailed decisions: see `moderation.notices`.
    """

    id = peewee.AutoField()
    name = peewee.TextField(unique=True)
    count = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    math = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    images = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    notices = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])


class ThreadTable(Table):
    """The comments of one page. `url` is canonical; `count` is the number of approved comments.

    A row with an `alias_id` has no comments: its url is another name of that thread's page. So no
    url can be both. `imported` is 1 if comments were imported into the thread: they have anchors.
    `likes` and `reposts` are those on other sites: see `mentions`. Each change that readers see
    increments `version`. `lang` is the tag of the page's language, "" if it is not known; the blog
    is asked for it, and the page's translations, at `ask_at`: see `moderation.translations`.
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
    # No foreign key: ids are never used again, and deleting a comment must not search for it.
    pinned_id = peewee.IntegerField(null=True)
    likes = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    reposts = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    version = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    lang = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    ask_at = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])

    class Meta:
        indexes = ((("site_id", "url"), True),)


add_index(ThreadTable, "thread_by_alias", "aliased", where="alias_id IS NOT NULL")
_shown = "count > 0 AND alias_id IS NULL"
add_index(ThreadTable, "thread_to_ask", "site", "ask_at", where=_shown)


class ModeratorTable(Table):
    """A moderator. `password_hash` is an Argon2 hash with its parameters.

    `language` is the tag of the language for the moderation pages, "" for the browser's. The `role`
    applies to `sites`, a list of names with one on each line, "" for all. `public_name` ("" means
    `name`), `email` and `site` are shown with the moderator's own comments.

    `verified_email` is the address that somebody proved to be theirs; only if `email` is equal to
    it, an answer by mail counts. `may_link` is 1 if also the first sign-in with that address at a
    provider opens the account: see `auth.identities`. `asked_email` is an address that was sent a
    link to confirm it at `asked_at`, "" for none.
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
    verified_email = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    may_link = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    asked_email = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    asked_at = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])


def is_called(name: str) -> peewee.Expression:
    """Return the condition that a moderator has that name, ignoring the case of ASCII letters."""
    return peewee.fn.LOWER(ModeratorTable.name) == peewee.fn.LOWER(name)


add_index(ModeratorTable, "moderator_name", peewee.SQL("lower(name)"), unique=True)


class CommentTable(Table):
    """A comment. `site_id` repeats the thread's, for the index of a site's latest comments.

    A comment by a moderator has a `role`, and a `moderator_id` while the account exists.

    `key` is a digest of the submission's idempotency key, `token_hash` a digest of the edit token.
    The long texts come last, so that SQLite reads the columns before them without overflow pages.
    `score` and `reasons` are the verdict of the spam checks, for moderators; `network` is a keyed
    hash. `permalink` is the address of a reply from elsewhere, "" for what was written here.
    `reader_id` is set if the author had signed in: see `readers.accounts`. `email` is as it was
    typed, and `email_key` its `address_key`, by which addresses are compared here and elsewhere.
    `lang` is the tag of its language, that of the page where it was written; "" if not known.
    `reactions` has the number of readers by emoji, as a JSON object; "" if there are none.
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
    permalink = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    # No foreign key, so that a submission looks up no further row; ids are never used again.
    reader_id = peewee.IntegerField(null=True)
    email_key = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    lang = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    reactions = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])


# Lists show approved comments only, so their indexes hold nothing else; SQLite appends the id to
# each entry. The condition is a literal, because SQLite would not use these indexes with a bound
# parameter. The list by votes uses an index by time and sorts what it finds: another index would
# make each submission write another page.
_approved = "status = 'approved'"
add_index(CommentTable, "comment_by_time", "thread", "published_at", where=_approved)
add_index(CommentTable, "comment_latest", "site", "published_at", where=_approved)
# The queue stays short, however many comments are approved. With the id, new entries are added at
# the end of each status; with the site, one site's queue is found without reading the rows of
# others.
add_index(CommentTable, "comment_by_status", "status", "id", "site", where="status <> 'approved'")

# Comments that still have a network hash, by age: new entries are added at the end of the index, so
# that a submission changes no further page.
add_index(CommentTable, "comment_by_network", "created_at", "network", where="network IS NOT NULL")

# Approved comments with an e-mail address, to find out whom a site trusts. Few have an address, and
# a pending submission is not in this index.
add_index(
    CommentTable,
    "comment_by_email_key",
    "email_key",
    "site",
    where="status = 'approved' AND email_key <> ''",
)

# Only replies are in this index: it finds the replies to a comment that is deleted.
add_index(CommentTable, "comment_by_parent", "parent", where="parent_id IS NOT NULL")

add_index(CommentTable, "comment_by_reader", "reader_id", where="reader_id IS NOT NULL")

add_index(CommentTable, "comment_by_moderator", "moderator", where="moderator_id IS NOT NULL")


class ProposedTitleTable(Table):
    """The page title that a comment was sent with, while its thread had none: see `titles`."""

    comment = peewee.ForeignKeyField(CommentTable, primary_key=True, on_delete="CASCADE")
    title = peewee.TextField()


class SessionTable(Table):
    """A signed-in browser. `digest` is that of its cookie."""

    id = peewee.AutoField()
    digest = peewee.BlobField(unique=True)
    moderator = peewee.ForeignKeyField(ModeratorTable, on_delete="CASCADE")
    created_at = peewee.IntegerField()
    seen_at = peewee.IntegerField()
    user_agent = peewee.TextField()


class BlogSessionTable(Table):
    """A page of a blog on which a moderator decides: see `auth.blog_sessions`.

    `digest` is that of its token, `session` the browser that is signed in. The token counts for the
    `site` of that name and for pages of an `origin`.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    digest = peewee.BlobField(unique=True)
    moderator = peewee.ForeignKeyField(ModeratorTable, on_delete="CASCADE")
    session = peewee.ForeignKeyField(SessionTable, on_delete="CASCADE")
    site = peewee.TextField()
    origin = peewee.TextField()
    created_at = peewee.IntegerField()
    used_at = peewee.IntegerField()
    expires_at = peewee.IntegerField()


class SignInAttemptTable(Table):
    """A bucket of attempts to sign in, or of requests for mails: see `auth.attempts`."""

    key = peewee.BlobField(primary_key=True)
    full_at = peewee.IntegerField(index=True)


class TwoFactorTable(Table):
    """The authenticator app of a moderator: see `auth.two_factor`.

    The app's secret is derived from `totp_salt` and the service's key. `last_step` is the time step
    of the last code that was used; `confirmed` is 0 until the first code was used.
    """

    moderator = peewee.ForeignKeyField(ModeratorTable, primary_key=True, on_delete="CASCADE")
    totp_salt = peewee.BlobField()
    last_step = peewee.IntegerField()
    confirmed = peewee.IntegerField()


class RecoveryCodeTable(Table):
    """The digest of a recovery code of a moderator."""

    id = peewee.AutoField()
    moderator = peewee.ForeignKeyField(ModeratorTable, on_delete="CASCADE")
    digest = peewee.BlobField()


class InvitationTable(Table):
    """An invitation to make an account, which an owner sends as a link: see `auth.invitations`.

    `role` and `sites` are those of the new account; `email` is the address to which the link was
    mailed, "" if it was not.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    moderator = peewee.ForeignKeyField(ModeratorTable, on_delete="CASCADE")
    role = peewee.TextField(constraints=[one_of("role", ROLES)])
    sites = peewee.TextField()
    email = peewee.TextField()
    created_at = peewee.IntegerField()
    expires_at = peewee.IntegerField()


class ApiTokenTable(Table):
    """A moderator's API token for programs, stored as its digest: see `auth.api_tokens`."""

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    moderator = peewee.ForeignKeyField(ModeratorTable, on_delete="CASCADE")
    digest = peewee.BlobField(unique=True)
    name = peewee.TextField()
    scope = peewee.TextField(constraints=[one_of("scope", SCOPES)])
    sites = peewee.TextField()
    created_at = peewee.IntegerField()
    used_at = peewee.IntegerField()
    expires_at = peewee.IntegerField()


class PasskeyTable(Table):
    """A passkey of a moderator: its id, its public key and the device's counter.

    See `auth.passkeys`; `used_at` is 0 before the first sign-in.
    """

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    moderator = peewee.ForeignKeyField(ModeratorTable, on_delete="CASCADE")
    credential_id = peewee.BlobField(unique=True)
    credential = peewee.BlobField()
    sign_count = peewee.IntegerField()
    name = peewee.TextField()
    created_at = peewee.IntegerField()
    used_at = peewee.IntegerField()


class IdentityTable(Table):
    """A moderator's identity at an issuer of OpenID Connect: see `auth.identities`."""

    id = peewee.AutoField()
    moderator = peewee.ForeignKeyField(ModeratorTable, on_delete="CASCADE")
    issuer = peewee.TextField()
    subject = peewee.TextField()
    created_at = peewee.IntegerField()

    class Meta:
        indexes = ((("issuer", "subject"), True),)


class VoteTable(Table):
    """The vote of a reader on a comment: 1 for it, -1 against it.

    `voter` is a digest of the random id in that reader's browser; `network` is a keyed hash. A
    reaction has an `emoji`, which is "" for other votes.
    """

    comment = peewee.ForeignKeyField(CommentTable, on_delete="CASCADE", index=False)
    voter = peewee.BlobField()
    value = peewee.IntegerField(constraints=[peewee.Check("value IN (-1, 1)")])
    network = peewee.BlobField(null=True)
    created_at = peewee.IntegerField()
    emoji = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])

    class Meta:
        primary_key = peewee.CompositeKey("comment", "voter")


_networked = "network IS NOT NULL"
add_index(VoteTable, "vote_by_network", "comment", "network", where=_networked)
add_index(VoteTable, "vote_by_age", "created_at", where=_networked)


class ReportTable(Table):
    """A reader's report of a comment. `reporter` is a digest like `VoteTable.voter`.

    `reason` is "" if the reader gave none; `explanation` is in the reader's words. Readers may give
    a `name` and an `email`; `language` is the tag of theirs. `in_good_faith` is 1 if they said that
    the report is accurate and complete. `objects` is 1 for an objection to a decision.
    """

    comment = peewee.ForeignKeyField(CommentTable, on_delete="CASCADE", index=False)
    reporter = peewee.BlobField()
    created_at = peewee.IntegerField()
    reason = peewee.TextField(
        constraints=[peewee.SQL("DEFAULT ''"), one_of("reason", ("", *REPORT_REASONS))]
    )
    explanation = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    name = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    email = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    email_key = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    language = peewee.TextField(constraints=[peewee.SQL("DEFAULT ''")])
    in_good_faith = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])
    objects = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])

    class Meta:
        primary_key = peewee.CompositeKey("comment", "reporter")


add_index(ReportTable, "report_by_email", "email_key", where="email_key <> ''")


class ReactionTable(Table):
    """A reader's reaction to a page with an emoji. `reader` and `network` are as in VoteTable."""

    thread = peewee.ForeignKeyField(ThreadTable, on_delete="CASCADE", index=False)
    emoji = peewee.TextField()
    reader = peewee.BlobField()
    network = peewee.BlobField(null=True)
    created_at = peewee.IntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("thread", "emoji", "reader")


add_index(ReactionTable, "reaction_by_network", "thread", "emoji", "network", where=_networked)
add_index(ReactionTable, "reaction_by_age", "created_at", where=_networked)


class ReactionCountTable(Table):
    """How many reactions with an emoji a page has; an import may add some without their readers."""

    thread = peewee.ForeignKeyField(ThreadTable, on_delete="CASCADE", index=False)
    emoji = peewee.TextField()
    count = peewee.IntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("thread", "emoji")


class PageViewTable(Table):
    """How often a page was viewed. `url` is canonical; the page needs no thread."""

    id = peewee.AutoField(constraints=[peewee.SQL("AUTOINCREMENT")])
    site = peewee.ForeignKeyField(SiteTable, index=False)
    url = peewee.TextField()
    views = peewee.IntegerField()

    class Meta:
        indexes = ((("site_id", "url"), True),)


class ImageTable(Table):
    """A picture for comments, a WebP file. `name` is made from the content: see `comments.images`.

    `created_at` is when it was last uploaded, and `network` a keyed hash of where from.
    """

    id = peewee.AutoField()
    site = peewee.ForeignKeyField(SiteTable, index=False)
    name = peewee.TextField()
    created_at = peewee.IntegerField()
    content = peewee.BlobField()
    network = peewee.BlobField(null=True)

    class Meta:
        indexes = ((("name", "site_id"), True),)


add_index(ImageTable, "image_by_network", "created_at", "network", where="network IS NOT NULL")


class CommentImageTable(Table):
    """A comment and an image that its text names."""

    comment = peewee.ForeignKeyField(CommentTable, on_delete="CASCADE", index=False)
    image = peewee.ForeignKeyField(ImageTable, on_delete="CASCADE")

    class Meta:
        primary_key = peewee.CompositeKey("comment", "image")


TABLES: Final = (
    SiteTable,
    ThreadTable,
    ModeratorTable,
    CommentTable,
    ProposedTitleTable,
    SessionTable,
    BlogSessionTable,
    SignInAttemptTable,
    TwoFactorTable,
    RecoveryCodeTable,
    InvitationTable,
    ApiTokenTable,
    PasskeyTable,
    IdentityTable,
    VoteTable,
    ReportTable,
    ReactionTable,
    ReactionCountTable,
    PageViewTable,
    ImageTable,
    CommentImageTable,
)
