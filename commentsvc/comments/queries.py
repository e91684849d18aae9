"""Reading comments: functions for `Database.read`.

A cursor that `pagination` did not make raises BadCursor.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import msgspec
from peewee import EnclosedNodeList, fn

from commentsvc.comments import pagination
from commentsvc.comments.pagination import Sort
from commentsvc.db.connection import Row, Snapshot
from commentsvc.db.query import Among, Param, Select, ids_text, literal, prepared
from commentsvc.db.schema.comments import CommentTable, SiteTable, ThreadTable
from commentsvc.db.schema.imports import ImportedCommentTable
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.errors import UnknownComment
from commentsvc.model import AGING, APPROVED, CLOSED, OPEN, PENDING, Comment, Entry


@prepared
def _title(thread_id: Param) -> Select:
    return ThreadTable.select(ThreadTable.title).where(ThreadTable.id == thread_id)


ABOVE: Final = 10  # deleted ancestors that are listed for each comment
# The columns of a Comment, in the order of its fields.
COLUMNS: Final = (
    CommentTable.id,
    CommentTable.thread,
    CommentTable.parent,
    CommentTable.status,
    CommentTable.author,
    CommentTable.email,
    CommentTable.avatar,
    CommentTable.author_site,
    CommentTable.source,
    CommentTable.html,
    CommentTable.created_at,
    CommentTable.published_at,
    CommentTable.edited_at,
    CommentTable.votes,
    CommentTable.role,
    CommentTable.permalink,
    CommentTable.reader_id,
    CommentTable.lang,
    CommentTable.reactions,
)
# The columns of an Entry, in the order of `entry`; the query joins the three tables.
ENTRY: Final = (*COLUMNS, SiteTable.name, ThreadTable.url, ThreadTable.title)
_THREAD: Final = (
    ThreadTable.id,
    ThreadTable.url,
    ThreadTable.count,
    ThreadTable.state,
    ThreadTable.imported,
    ThreadTable.pinned_id,
    ThreadTable.likes,
    ThreadTable.reposts,
    ThreadTable.version,
    ThreadTable.aliased,
)
_POSITION: Final = EnclosedNodeList((CommentTable.published_at, CommentTable.id))


@prepared
def _thread(site: Param, url: Param) -> Select:
    joined = ThreadTable.select(*_THREAD).join(SiteTable, on=SiteTable.id == ThreadTable.site)
    return joined.where(SiteTable.name == site, ThreadTable.url == url)


@prepared
def _aliased(thread_id: Param) -> Select:
    return ThreadTable.select(*_THREAD).where(ThreadTable.id == thread_id)


@prepared
def _site_count(name: Param) -> Select:
    return SiteTable.select(SiteTable.count).where(SiteTable.name == name)


def with_thread(*columns: object) -> Select:
    """Return the query for columns of comments, their threads and sites."""
    return (
        CommentTable.select(*columns)
        .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
        .join(SiteTable, on=SiteTable.id == CommentTable.site)
    )


@prepared
def find_ref(comment_id: Param) -> Select:
    """Return the query for a comment's ThreadRef, status and time of publication."""
    found = with_thread(
        SiteTable.name,
        ThreadTable.url,
        CommentTable.site,
        CommentTable.thread,
        CommentTable.status,
        CommentTable.published_at,
    )
    return found.where(CommentTable.id == comment_id)


def _shown(thread_id: Param, *columns: object) -> Select:
    """Return the query for columns of the approved comments of a thread."""
    return CommentTable.select(*columns).where(
        CommentTable.thread == thread_id, CommentTable.status == APPROVED
    )


@prepared
def _first_published(thread_id: Param) -> Select:
    found = _shown(thread_id, CommentTable.published_at)
    return found.order_by(CommentTable.published_at).limit(1)


@prepared
def _oldest(thread_id: Param, _: Param, published: Param, comment_id: Param, most: Param) -> Select:
    found = _shown(thread_id, *COLUMNS).where(EnclosedNodeList((published, comment_id)) < _POSITION)
    return found.order_by(CommentTable.published_at, CommentTable.id).limit(most)


@prepared
def _in_language(
    thread_id: Param, _: Param, published: Param, comment_id: Param, lang: Param, most: Param
) -> Select:
    """Return the query for the oldest comments in a language; it reads those in others, too."""
    found = _shown(thread_id, *COLUMNS).where(
        EnclosedNodeList((published, comment_id)) < _POSITION, CommentTable.lang == lang
    )
    return found.order_by(CommentTable.published_at, CommentTable.id).limit(most)


@prepared
def _languages(thread_id: Param) -> Select:
    return ThreadTable.select(ThreadTable.lang).where(
        (ThreadTable.id == thread_id) | (ThreadTable.aliased == thread_id), ThreadTable.lang != ""
    )


@prepared
def _newest(thread_id: Param, _: Param, published: Param, comment_id: Param, most: Param) -> Select:
    found = _shown(thread_id, *COLUMNS).where(EnclosedNodeList((published, comment_id)) > _POSITION)
    return found.order_by(CommentTable.published_at.desc(), CommentTable.id.desc()).limit(most)


@prepared
def _top(
    thread_id: Param, votes: Param, published: Param, comment_id: Param, most: Param
) -> Select:
    behind = EnclosedNodeList((published, comment_id)) < _POSITION
    found = _shown(thread_id, *COLUMNS).where(
        CommentTable.votes <= votes, (CommentTable.votes < votes) | behind
    )
    order = CommentTable.votes.desc(), CommentTable.published_at, CommentTable.id
    return found.order_by(*order).limit(most)


# A list continues after the comment whose votes, time and id are bound.
_LIST: Final = {"oldest": _oldest, "newest": _newest, "top": _top}


@prepared
def _changed(thread_id: Param, since: Param, most: Param) -> Select:
    """Return the query for comments that were published, restored or changed since a time.

    Like the list, it reads each comment of the thread.
    """
    changes = ChangeTable.select(1).where(
        ChangeTable.comment == CommentTable.id,
        (ChangeTable.created_at >= since) | (ChangeTable.undone_at >= since),
    )
    found = _shown(thread_id, *COLUMNS).where(
        (CommentTable.published_at >= since) | fn.EXISTS(changes)
    )
    return found.order_by(CommentTable.published_at, CommentTable.id).limit(most)


@prepared
def _votes(thread_id: Param, most: Param) -> Select:
    """Return the query for the votes of comments that have some; those of a reaction may be 0."""
    found = _shown(thread_id, CommentTable.id, CommentTable.votes, CommentTable.reactions)
    return found.where((CommentTable.votes != 0) | (CommentTable.reactions != "")).limit(most)


@prepared
def _find_pinned(comment_id: Param, thread_id: Param) -> Select:
    return _shown(thread_id, *COLUMNS).where(CommentTable.id == comment_id)


@prepared
def _find_anchors(ids: Param) -> Select:
    table = ImportedCommentTable
    found = table.select(table.comment_id, table.anchor)
    return found.where(Among(table.comment_id, ids), table.anchor != "")


@prepared
def _deleted_above(ids: Param, most: Param) -> Select:
    """Return the query for those of comments, and their ancestors, up to an approved one.

    The nearest come first: both databases go on only until they have so many.
    """
    begun = CommentTable.select(CommentTable.id, CommentTable.parent).where(
        Among(CommentTable.id, ids), CommentTable.status != APPROVED
    )
    above = begun.cte("above", recursive=True, columns=("id", "parent_id"))
    parent = CommentTable.alias()
    further = (
        parent.select(parent.id, parent.parent)
        .join(above, on=parent.id == above.c.parent_id)
        .where(parent.status != APPROVED)
    )
    tree = above.union(further)
    return tree.select_from(tree.c.id, tree.c.parent_id).limit(most)


def _latest(condition: object, most: Param, skipped: Param) -> Select:
    """Return the query for the newest of the approved comments with this condition."""
    found = with_thread(*ENTRY).where(CommentTable.status == APPROVED, condition)
    order = CommentTable.published_at.desc(), CommentTable.id.desc()
    return found.order_by(*order).limit(most).offset(skipped)


@prepared
def _latest_of_site(site: Param, most: Param, skipped: Param) -> Select:
    asked = SiteTable.alias()
    site_id = asked.select(asked.id).where(asked.name == site)
    return _latest(CommentTable.site == site_id, most, skipped)


@prepared
def _latest_of_thread(site: Param, url: Param, most: Param, skipped: Param) -> Select:
    thread, of_site = ThreadTable.alias(), SiteTable.alias()
    thread_id = (
        thread.select(fn.COALESCE(thread.aliased, thread.id))
        .join(of_site, on=of_site.id == thread.site)
        .where(of_site.name == site, thread.url == url)
    )
    return _latest(CommentTable.thread == thread_id, most, skipped)


@prepared
def _find(comment_id: Param) -> Select:
    return with_thread(*ENTRY).where(CommentTable.id == comment_id)


@prepared
def _listing(most: Param) -> Select:
    return with_thread(*ENTRY).order_by(CommentTable.id.desc()).limit(most)


@prepared
def _listing_approved(most: Param) -> Select:
    found = with_thread(*ENTRY).where(CommentTable.status == APPROVED)
    return found.order_by(CommentTable.id.desc()).limit(most)


@prepared
def _listing_unapproved(status: Param, most: Param) -> Select:
    found = with_thread(*ENTRY).where(
        CommentTable.status == status,
        CommentTable.status != APPROVED,  # lets SQLite use the index of the queue
    )
    return found.order_by(CommentTable.id.desc()).limit(most)


class InLanguage(NamedTuple):
    """Stands for an order: the comments in the language of that tag, the oldest first."""

    tag: str


class Thread(msgspec.Struct, frozen=True, gc=False):
    """A thread: its id (0 if it has no comments), url, number of approved comments, and state.

    `url` is the current one, even if the thread was asked for under an alias: answers are tagged
    with it. `imported` is 1 if imported comments with anchors are in it. `likes` and `reposts` are
    those on other sites. Each change that readers see increments `version`.
    """

    id: int
    url: str
    count: int
    state: str
    imported: int = 0
    pinned: int | None = None
    likes: int = 0
    reposts: int = 0
    version: int = 0


class DeletedComment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A deleted comment with visible replies."""

    id: int
    parent: int | None
    deleted: Literal[True] = True


class CommentList(msgspec.Struct, frozen=True):
    """A page of a list of comments, its thread, and the cursor of the next page, if any.

    From the time `closes` on (Unix milliseconds) the thread takes no more comments; None means
    never. In a list of changes, `votes` has the votes of all comments of the thread that have some,
    and `reactions` their reactions, as they are stored; `votes` is None if the list is not whole.
    `deleted` are ancestors of the `items` that are no longer shown. `anchors` has the fragments of
    links to imported comments in the system that they come from, by id.
    """

    items: list[Comment]
    thread: Thread
    next: str | None
    closes: int | None
    votes: dict[int, int] | None = None
    deleted: list[DeletedComment] = msgspec.field(default_factory=list)
    anchors: dict[int, str] = msgspec.field(default_factory=dict)
    reactions: dict[int, str] = msgspec.field(default_factory=dict)


def has_comments(snapshot: Snapshot) -> bool:
    """Return whether there is a comment, of any status, on any site."""
    return snapshot.first(CommentTable.select(CommentTable.id).limit(1)) is not None


def pending_ids(snapshot: Snapshot) -> list[int]:
    """Return the ids of the comments in the queue, oldest first."""
    query = CommentTable.select(CommentTable.id).where(
        CommentTable.status == PENDING, CommentTable.status != literal(APPROVED)
    )
    return [row[0] for row in snapshot.query(query.order_by(CommentTable.id))]


def counts_by_site(snapshot: Snapshot, ids: Sequence[int]) -> dict[str, int]:
    """Return how many of the comments `ids` each site has, by its name."""
    of_site = with_thread(SiteTable.name, fn.COUNT(CommentTable.id)).group_by(SiteTable.name)
    found = of_site.where(Among(CommentTable.id, ids_text(ids))).order_by(SiteTable.name)
    return dict(snapshot.query(found))


def thread(snapshot: Snapshot, site: str, url: str) -> Thread:
    """Return the thread of a page, also after a move; an empty one for an unknown page."""
    row = snapshot.first(_thread, site, url)
    if row is None:
        return Thread(0, url, 0, AGING)
    if row[9] is not None:
        row = snapshot.first(_aliased, row[9])
        assert row is not None, "an alias stands for a thread"
    return Thread(*row[:9])


def page_title(snapshot: Snapshot, thread_id: int) -> str:
    """Return the title of a thread's page; "" if it is not known."""
    row = snapshot.first(_title, thread_id)
    return row[0] if row else ""


def page_languages(snapshot: Snapshot, thread_id: int) -> set[str]:
    """Return the tags of the languages in which a thread's page is known to be there."""
    return {lang for (lang,) in snapshot.query(_languages, thread_id)}


def site_count(snapshot: Snapshot, site: str) -> int:
    """Return the number of approved comments of a whole site."""
    row = snapshot.first(_site_count, site)
    return row[0] if row else 0


def list_comments(
    snapshot: Snapshot,
    page: tuple[str, str],
    sort: Sort | InLanguage,
    limit: int,
    after: str | None,
    open_for: int = 0,
) -> CommentList:
    """Return at most `limit` approved comments of a thread, those after the cursor if given.

    A list of long comments has fewer, as all lists here do: see `pagination`. The pinned comment
    comes first. The cursors of all further pages contain its id, so that no comment is lost or
    repeated if another one is pinned meanwhile. `page` is the site's name and the url. `open_for`
    is for how many milliseconds the site's threads take comments; 0 means no limit. Raise
    BadCursor.
    """
    order = "oldest" if isinstance(sort, InLanguage) else sort
    begin, above = pagination.decode(order, after)
    found = thread(snapshot, *page)
    first = [] if after else _pinned(snapshot, found)
    if isinstance(sort, InLanguage):
        first = [each for each in first if each.lang == sort.tag]
    if first:
        above = first[0].id
    # One more than fits shows that the list goes on.
    others = _listed(snapshot, found.id, sort, begin, limit - len(first) + 1, without=above)
    items, goes_on = pagination.first_part([*first, *others], limit)
    more = None
    if goes_on:
        last = items[-1] if len(items) > len(first) else None
        more = pagination.encode(order, last, above)
    deleted = deleted_above(snapshot, {item.id: item.parent_id for item in items})
    closes, anchors = _closes(snapshot, found, open_for), _anchors(snapshot, found, items)
    return CommentList(items, found, more, closes, deleted=deleted, anchors=anchors)


def _listed(
    snapshot: Snapshot,
    thread_id: int,
    sort: Sort | InLanguage,
    begin: tuple[int, ...],
    most: int,
    *,
    without: int,
) -> list[Comment]:
    """Return at most `most` approved comments of a thread, those from `begin` on.

    They are read in pieces, and none are read for which an answer has no room. Those by votes are
    read at once, since each statement sorts the whole thread. The comment with the id `without` is
    left out.
    """
    found: list[Comment] = []
    longest = most + 1 if sort == "top" else pagination.PIECE
    while True:
        piece = min(most - len(found) + 1, longest)
        if isinstance(sort, InLanguage):
            rows = snapshot.query(_in_language, thread_id, *begin, sort.tag, piece)
        else:
            rows = snapshot.query(_LIST[sort], thread_id, *begin, piece)
        found += [Comment(*row) for row in rows if row[0] != without]
        if len(rows) < piece or len(found) >= most or not pagination.has_room(found):
            return found
        begin = pagination.behind(Comment(*rows[-1]))


def changed(
    snapshot: Snapshot,
    page: tuple[str, str],
    since: int,
    limit: int,
    most_votes: int,
    open_for: int = 0,
) -> CommentList:
    """Return at most `limit` new or changed approved comments of a thread, oldest first.

    A client that has all comments shown at the time `since` (Unix milliseconds), and replaces or
    adds these, has as many as the thread counts, unless some are no longer shown. Votes are not
    changes, so they are in `votes`: None if more than `limit` comments have changed, if more than
    `most_votes` have votes, or if an answer has no room for them. The pinned comment is always
    included. `page` and `open_for` are as for `list_comments`; `next` is None.
    """
    found = thread(snapshot, *page)
    new = [Comment(*row) for row in snapshot.query(_changed, found.id, since, limit + 1)]
    known = {each.id for each in new}
    pinned = [each for each in _pinned(snapshot, found) if each.id not in known]
    items, goes_on = pagination.first_part([*pinned, *new], limit + len(pinned))
    voted = [] if goes_on else snapshot.query(_votes, found.id, most_votes + 1)
    reactions = {number: given for number, _, given in voted if given}
    votes = None
    if not goes_on and len(voted) <= most_votes and pagination.has_room_for_all(reactions.values()):
        votes = {number: total for number, total, _ in voted}
    else:
        reactions = {}
    deleted = deleted_above(snapshot, {item.id: item.parent_id for item in items})
    closes, anchors = _closes(snapshot, found, open_for), _anchors(snapshot, found, items)
    return CommentList(items, found, None, closes, votes, deleted, anchors, reactions)


def _pinned(snapshot: Snapshot, thread: Thread) -> list[Comment]:
    """Return the pinned comment of a thread in a list, which is empty if none is shown."""
    if thread.pinned is None:
        return []
    return [Comment(*row) for row in snapshot.query(_find_pinned, thread.pinned, thread.id)]


def _anchors(snapshot: Snapshot, thread: Thread, items: Sequence[Comment]) -> dict[int, str]:
    """Return the anchors of comments, by id; threads without imported comments have none."""
    if not thread.imported:
        return {}
    return dict(snapshot.query(_find_anchors, ids_text(item.id for item in items)))


def deleted_above(snapshot: Snapshot, parents: Mapping[int, int | None]) -> list[DeletedComment]:
    """Return those ancestors of comments that are no longer shown, up to the next one that is.

    `parents` maps the id of each comment that is shown to the id of its parent. Of a long row of
    ancestors, which only an import makes, the nearest are returned: ABOVE for each comment.
    """
    missing = {parent for parent in parents.values() if parent is not None} - parents.keys()
    if not missing:
        return []
    rows = snapshot.query(_deleted_above, ids_text(sorted(missing)), ABOVE * len(missing))
    return [DeletedComment(*row) for row in sorted(rows)]


def _closes(snapshot: Snapshot, thread: Thread, open_for: int) -> int | None:
    if thread.state == CLOSED:
        return 0
    if thread.state == OPEN or not open_for:
        return None
    first = first_published(snapshot, thread.id)
    return None if first is None else first + open_for


def first_published(snapshot: Snapshot, thread_id: int) -> int | None:
    """Return when the first approved comment of a thread was published, None if none was."""
    row = snapshot.first(_first_published, thread_id)
    return row[0] if row else None


def latest(snapshot: Snapshot, site: str, url: str | None, limit: int) -> list[Entry]:
    """Return the newest approved comments of a page, or of the whole site, newest first."""

    def read(most: int, skipped: int) -> Sequence[Row]:
        if url is None:
            return snapshot.query(_latest_of_site, site, most, skipped)
        return snapshot.query(_latest_of_thread, site, url, most, skipped)

    return entries_in_pieces(read, limit)


def replies(snapshot: Snapshot, comment_id: int, limit: int) -> list[Entry]:
    """Return the newest approved replies to a comment, newest first."""
    found = (
        with_thread(*ENTRY)
        .where(CommentTable.parent == comment_id, CommentTable.status == literal(APPROVED))
        .order_by(CommentTable.published_at.desc(), CommentTable.id.desc())
    )
    return entries_in_pieces(
        lambda most, skipped: snapshot.query(found.limit(most).offset(skipped)), limit
    )


def find(snapshot: Snapshot, comment_id: int) -> Entry | None:
    """Return the comment with that id, whatever its status; None if there is none."""
    row = snapshot.first(_find, comment_id)
    return entry(row) if row else None


def get(snapshot: Snapshot, comment_id: int) -> Entry:
    """Return the comment with that id, whatever its status. Raise UnknownComment."""
    found = find(snapshot, comment_id)
    if found is None:
        raise UnknownComment([comment_id])
    return found


def listing(snapshot: Snapshot, status: str | None, limit: int) -> list[Entry]:
    """Return the newest comments, only those with `status` if it is given, for a moderator."""
    if status is None:
        rows = snapshot.query(_listing, limit)
    elif status == APPROVED:
        rows = snapshot.query(_listing_approved, limit)
    else:
        rows = snapshot.query(_listing_unapproved, status, limit)
    return [entry(row) for row in rows]


def entries_in_pieces(read: Callable[[int, int], Sequence[Row]], limit: int) -> list[Entry]:
    """Return at most `limit` entries of a list: fewer if they are long, see `pagination`.

    `read` returns a number of rows behind a number of others. None are read for which the list has
    no room.
    """
    found: list[Entry] = []
    while len(found) < limit and pagination.has_room(each.comment for each in found):
        piece = min(limit - len(found), pagination.PIECE)
        rows = read(piece, len(found))
        found += map(entry, rows)
        if len(rows) < piece:
            break
    return first_entries(found, limit)[0]


def first_entries(entries: Iterable[Entry], limit: int) -> tuple[list[Entry], bool]:
    """Return the first of `entries`, and whether others follow, as `pagination.first_part`."""
    found = [*entries]
    shown, goes_on = pagination.first_part([each.comment for each in found], limit)
    return found[: len(shown)], goes_on


def entry(row: Row) -> Entry:
    """Return the Entry of a row with the columns ENTRY."""
    *columns, site, url, title = row
    return Entry(Comment(*columns), site, url, title)
