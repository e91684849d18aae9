"""The names of sites in the database: which of them have comments that nobody sees, and new names.

Most tables refer to the row of a site, so that a new name is one change. Some have the name itself:
NAMES lists the tables with one name in a row (and the columns that are unique within a site), LISTS
those with several names in a row, one on each line. A test compares both with the whole schema.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import peewee

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Select
from commentsvc.db.schema.comments import (
    ApiTokenTable,
    BlogSessionTable,
    CommentImageTable,
    CommentTable,
    ImageTable,
    InvitationTable,
    ModeratorTable,
    PageViewTable,
    SiteTable,
    ThreadTable,
)
from commentsvc.db.schema.inbox import MailedCommentTable
from commentsvc.db.schema.mentions import FollowedPostTable, MentionTable
from commentsvc.db.schema.moderation import DecisionCountTable, SettingChangeTable
from commentsvc.db.schema.notes import NoteTable
from commentsvc.db.schema.outbox import FollowerTable, SubscriberTable, SubscriptionTable
from commentsvc.db.schema.readers import ReaderSkeletonTable, ReaderTable, SignInLinkTable
from commentsvc.db.schema.search import DailyStatsTable
from commentsvc.errors import CommentsError
from commentsvc.model import EVERY_TAG
from commentsvc.moderation import threads
from commentsvc.util.suggestions import no_such

NAMES: Final[dict[Any, tuple[str, ...]]] = {
    MentionTable: ("source", "url"),
    FollowedPostTable: ("url", "address"),
    SettingChangeTable: (),
    BlogSessionTable: (),
}
LISTS: Final[tuple[Any, ...]] = (ModeratorTable, InvitationTable, ApiTokenTable)
# The tables whose rows belong to a site, with the columns of which a site has each value once.
ROWS: Final[dict[Any, tuple[str, ...]]] = {
    CommentTable: (),
    ThreadTable: ("url",),
    PageViewTable: ("url",),
    ImageTable: ("name",),
    SubscriberTable: ("email_key",),
    FollowerTable: ("email_key", "thread"),
    ReaderTable: ("issuer", "subject"),
    ReaderSkeletonTable: ("skeleton", "reader"),
    SignInLinkTable: (),
    DailyStatsTable: ("day", "status"),
    DecisionCountTable: ("half", "kind", "reason", "outcome", "hours"),
    MailedCommentTable: (),
    NoteTable: (),
}

# The rows of a site that a row of another table names by its id.
REFERENCES: Final[tuple[tuple[Any, Any, Any], ...]] = (
    (ReaderTable, CommentTable, CommentTable.reader_id),
    (SubscriberTable, SubscriptionTable, SubscriptionTable.subscriber),
    (ImageTable, CommentImageTable, CommentImageTable.image),
)


class SiteRefused(CommentsError):
    """A site cannot get that name."""


class HiddenSite(NamedTuple):
    """A site that the settings do not have, and the number of its comments."""

    name: str
    comments: int


def hidden(snapshot: Snapshot, names: Sequence[str]) -> list[HiddenSite]:
    """Return the sites with comments whose name is not one of `names`, those of the settings."""
    number = peewee.fn.COUNT(CommentTable.id)
    query = (
        SiteTable.select(SiteTable.name, number)
        .join(CommentTable, on=CommentTable.site == SiteTable.id)
        .where(SiteTable.name.not_in([*names]))
        .group_by(SiteTable.name)
        .order_by(SiteTable.name)
    )
    return [HiddenSite(name, comments) for name, comments in snapshot.query(query)]


def explain(site: HiddenSite, names: Sequence[str]) -> str:
    """Return a line about a hidden site for the operator."""
    noun = "comment" if site.comments == 1 else "comments"
    return (
        f'{site.comments} {noun} of the site "{site.name}" cannot be seen, since no [[site]] has'
        f" this name. If it has a new name: commentsvc site rename {site.name} {names[0]}"
        " --data DIR. Else add the site again"
    )


def rename(tx: Transaction, old: str, new: str, who: str, now: int, *, merges: bool) -> int:
    """Give a site another name; return how many comments it has.

    A site `new` without content is replaced. With `merges`, one with content joins: pages of the
    same url become one page, and `who` is in the history of their comments at the time `now`. Raise
    SiteRefused.
    """
    ours, theirs = _id(tx, old), _id(tx, new)
    if ours is None:
        stored = tx.query(SiteTable.select(SiteTable.name).order_by(SiteTable.name))
        raise SiteRefused(no_such("stored site", old, [name for (name,) in stored]))
    if old == new:
        raise SiteRefused("the new name is the old one")
    if theirs is not None:
        content = tx.first(CommentTable.select(CommentTable.id).where(CommentTable.site == theirs))
        if content and not merges:
            raise SiteRefused(
                f'the site "{new}" has comments, too: make a backup, then put both together with'
                " --merge, which cannot be undone"
            )
        _join(tx, (theirs, new), (ours, old), who, now)
    tx.change(SiteTable.update(name=new).where(SiteTable.id == ours))
    for table, columns in NAMES.items():
        if columns:
            _drop_doubles(tx, table, (new, old), columns)
        tx.change(table.update(site=new).where(table.site == old))
    for table in LISTS:
        key = table._meta.primary_key
        for number, text in tx.query(table.select(key, table.sites).where(table.sites != "")):
            names = [new if name == old else name for name in text.split("\n")]
            changed = "\n".join(dict.fromkeys(names))
            if changed != text:
                tx.change(table.update(sites=changed).where(key == number))
    tx.purge(EVERY_TAG)
    [(comments,)] = tx.query(_number(ours))
    return int(comments)


def _id(snapshot: Snapshot, name: str) -> int | None:
    row = snapshot.first(SiteTable.select(SiteTable.id).where(SiteTable.name == name))
    return row[0] if row else None


def _number(site: int) -> Select:
    number = peewee.fn.COUNT(CommentTable.id)
    return CommentTable.select(number).where(CommentTable.site == site)


def _join(
    tx: Transaction, source: tuple[int, str], target: tuple[int, str], who: str, now: int
) -> None:
    """Move all rows of the site `source` to the site `target`, and delete `source`."""
    theirs, ours = source[0], target[0]
    _join_threads(tx, source, target, who, now)
    _add_up(tx, PageViewTable, "views", theirs, ours)
    _add_up(tx, DailyStatsTable, "count", theirs, ours)
    _add_up(tx, DecisionCountTable, "count", theirs, ours)
    for shared, user, column in REFERENCES:
        for kept, gone in tx.query(_pairs(shared, theirs, ours, shared.id)):
            tx.change(user.update({column: kept}).where(column == gone))
    for table, columns in ROWS.items():
        if columns and table is not ThreadTable:
            _drop_doubles(tx, table, (theirs, ours), columns)
        tx.change(table.update(site=ours).where(table.site == theirs))
    [(count,)] = tx.query(SiteTable.select(SiteTable.count).where(SiteTable.id == theirs))
    tx.change(SiteTable.update(count=SiteTable.count + count).where(SiteTable.id == ours))
    tx.change(SiteTable.delete().where(SiteTable.id == theirs))


def _join_threads(
    tx: Transaction, source: tuple[int, str], target: tuple[int, str], who: str, now: int
) -> None:
    """Put together the pages that both sites have; all counts of the sites stay as they are."""
    for _, gone in tx.query(_pairs(ThreadTable, source[0], target[0], ThreadTable.id)):
        [(url, aliased)] = tx.query(
            ThreadTable.select(ThreadTable.url, ThreadTable.aliased).where(ThreadTable.id == gone)
        )
        moving = f"{url}#{source[1]}"  # no page has such a url
        tx.change(ThreadTable.update(site=target[0], url=moving).where(ThreadTable.id == gone))
        if aliased is None:
            [before] = tx.query(SiteTable.select(SiteTable.count).where(SiteTable.id == target[0]))
            threads.merge(tx, target[1], moving, url, who, now)
            tx.change(SiteTable.update(count=before[0]).where(SiteTable.id == target[0]))
        tx.change(ThreadTable.delete().where(ThreadTable.id == gone, ThreadTable.url == moving))


def _pairs(table: Any, theirs: int, ours: int, *shown: Any) -> Select:
    """Return the query for rows of both sites with the same key: that of `ours`, then `theirs`."""
    other = table.alias()
    same = [getattr(other, name) == getattr(table, name) for name in ROWS[table]]
    on = (other.site == theirs) & (table.site == ours)
    for each in same:
        on &= each
    columns = [(each, getattr(other, each.name)) for each in shown]
    return table.select(*[one for pair in columns for one in pair]).join(other, on=on)


def _add_up(tx: Transaction, table: Any, column: str, theirs: int, ours: int) -> None:
    """Add the numbers in a column of the rows that both sites have to those of `ours`."""
    number = getattr(table, column)
    keys = [getattr(table, name) for name in ROWS[table]]
    for key in tx.query(_pairs(table, theirs, ours, *keys, number)):
        *names, _, more = key
        same = [each == value for each, value in zip(keys, names[::2], strict=True)]
        tx.change(table.update({number: number + more}).where(table.site == ours, *same))


def _drop_doubles(
    tx: Transaction,
    table: Any,
    sites: tuple[object, object],
    columns: Sequence[str],
) -> None:
    """Delete the rows of the first of two `sites` whose key the second has, too."""
    other = table.alias()
    same = other.site == sites[1]
    for name in columns:
        same &= getattr(other, name) == getattr(table, name)
    exists = peewee.fn.EXISTS(other.select(peewee.SQL("1")).where(same))
    tx.change(table.delete().where(table.site == sites[0], exists))
