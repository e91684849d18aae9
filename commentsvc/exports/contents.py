"""Contents: reads the records of an export from one state of the database, one after the other.

Records are not collected: a million comments take as much memory as one. The history and the votes
are read in the order of the comments, with one cursor each, so that no comment costs a query.

These are never exported: moderators' accounts and what opens them, readers' sessions, digests of
edit tokens and of idempotency keys, links, the outbox and the inbox, what was found at other
servers, and what can be computed again: counts, the search index, statistics.
"""

import itertools
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Final, Generic, Literal, NamedTuple, TypeVar

import msgspec
from peewee import JOIN, Case, fn

from commentsvc.comments.page_urls import UnknownSiteError, UrlError
from commentsvc.db.connection import Row, Snapshot
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.comments import (
    CommentImageTable,
    CommentTable,
    ImageTable,
    PageViewTable,
    ProposedTitleTable,
    ReactionTable,
    ReportTable,
    SiteTable,
    ThreadTable,
    VoteTable,
)
from commentsvc.db.schema.imports import ImportedCommentTable
from commentsvc.db.schema.moderation import (
    BanTable,
    ChangeTable,
    InternalNoteTable,
    SavedReplyTable,
    SettingChangeTable,
    StatementOfReasonsTable,
    TrainingCommentTable,
    TrainingTokenTable,
    TrainingTotalTable,
)
from commentsvc.db.schema.notes import NoteTable
from commentsvc.db.schema.outbox import (
    FollowerTable,
    FollowWishTable,
    SubscriberTable,
    SubscriptionTable,
)
from commentsvc.db.schema.readers import ReaderTable
from commentsvc.exports.columns import (
    BAN,
    HISTORY,
    INTERNAL_NOTE,
    NOTE_COLUMNS,
    REACTION,
    REPORT,
    SAVED_REPLY,
    STATEMENT,
    VOTE,
)
from commentsvc.exports.records import (
    FORMAT,
    VERSION,
    BanRecord,
    CommentRecord,
    EndRecord,
    FollowerRecord,
    HeaderRecord,
    HistoryRecord,
    IdentityRecord,
    ImageRecord,
    NoteRecord,
    ReaderRecord,
    Record,
    SavedReplyRecord,
    SettingRecord,
    SubscriberRecord,
    ThreadRecord,
    TrainingRecord,
    TrainingTokenRecord,
    TrainingTotalRecord,
    ViewsRecord,
    VoteRecord,
)
from commentsvc.feedback import reactions
from commentsvc.model import AKISMET, APPROVED, AUTHOR, CLASSIFIER, PENDING, reaction_counts
from commentsvc.util.suggestions import no_such
from commentsvc.util.timestamps import rfc3339_ms

T = TypeVar("T")

# Actors of a history who are not persons.
_NOBODY: Final = frozenset({AUTHOR, AKISMET, CLASSIFIER})
# Kinds of bans that do not name a person.
_IMPERSONAL: Final = frozenset({"word", "domain"})


def _threads(selection: "Selection") -> Select:
    threads = (
        ThreadTable.select(
            ThreadTable.id, SiteTable.name, ThreadTable.url, ThreadTable.title, ThreadTable.state
        )
        .join(SiteTable)
        .where(ThreadTable.aliased.is_null())
        .order_by(SiteTable.name, ThreadTable.url)
    )
    return _of_site(selection, threads)


def _of_site(selection: "Selection", query: Select) -> Select:
    """Return a query of rows and their sites, for the selected site only if there is one."""
    return query.where(SiteTable.name == selection.site) if selection.site else query


@prepared
def _aliases(thread_id: Param) -> Select:
    urls = ThreadTable.select(ThreadTable.url).where(ThreadTable.aliased == thread_id)
    return urls.order_by(ThreadTable.url)


@prepared
def _reactions(thread_id: Param) -> Select:
    given = ReactionTable.select(*REACTION.columns).where(ReactionTable.thread == thread_id)
    return given.order_by(ReactionTable.emoji, ReactionTable.reader)


def _selected(site: str, since: int | None) -> Select:
    """Return the query with the columns of `_comment`, for a site, or for all if it is "".

    All joins are outer joins, though each comment has a thread and a site: so the comments are the
    outer loop, and are read in the order of their ids.
    """
    outer = JOIN.LEFT_OUTER
    query = (
        CommentTable.select(
            CommentTable.id,
            SiteTable.name,
            ThreadTable.url,
            CommentTable.status,
            CommentTable.created_at,
            CommentTable.source,
            CommentTable.html,
            fn.COALESCE(ImportedCommentTable.is_html, 0),
            CommentTable.parent,
            CommentTable.published_at,
            CommentTable.edited_at,
            CommentTable.author,
            CommentTable.email,
            CommentTable.avatar,
            CommentTable.author_site,
            CommentTable.permalink,
            CommentTable.role,
            Case(None, [(ThreadTable.pinned_id == CommentTable.id, 1)], 0),
            CommentTable.votes,
            ProposedTitleTable.title,
            CommentTable.score,
            CommentTable.reasons,
            CommentTable.network,
            fn.COALESCE(ImportedCommentTable.anchor, ""),
            SubscriptionTable.language,
            FollowWishTable.language,
            TrainingCommentTable.label,
            TrainingCommentTable.tokens,
            ReaderTable.issuer,
            ReaderTable.subject,
            CommentTable.lang,
            CommentTable.reactions,
        )
        .join(ThreadTable, outer, on=ThreadTable.id == CommentTable.thread)
        .join(SiteTable, outer, on=SiteTable.id == CommentTable.site)
    )
    of_comments = (ProposedTitleTable, SubscriptionTable, FollowWishTable, TrainingCommentTable)
    for table in of_comments:
        query = query.join_from(CommentTable, table, outer, on=table.comment == CommentTable.id)
    query = query.join_from(
        CommentTable, ReaderTable, outer, on=ReaderTable.id == CommentTable.reader_id
    )
    is_its = ImportedCommentTable.comment_id == CommentTable.id
    query = query.join_from(CommentTable, ImportedCommentTable, outer, on=is_its)
    if site:  # a subquery: a condition on a joined table would make it an inner join
        wanted = SiteTable.alias("wanted")
        ids = wanted.select(wanted.id).where(wanted.name == site)
        query = query.where(CommentTable.site == ids)
    return query if since is None else query.where(_changed(since))


def _changed(since: int) -> Select:
    """Return the condition that a comment is new, was changed or was voted on since a time."""
    changes = ChangeTable.select(ChangeTable.id).where(
        ChangeTable.comment == CommentTable.id,
        (ChangeTable.created_at >= since) | (ChangeTable.undone_at >= since),
    )
    votes = VoteTable.select(VoteTable.value).where(
        VoteTable.comment == CommentTable.id, VoteTable.created_at >= since
    )
    reported = ReportTable.select(ReportTable.reporter).where(
        ReportTable.comment == CommentTable.id, ReportTable.created_at >= since
    )
    return (
        (CommentTable.created_at >= since)
        | (CommentTable.published_at >= since)
        | (CommentTable.edited_at >= since)
        | fn.EXISTS(changes)
        | fn.EXISTS(votes)
        | fn.EXISTS(reported)
    )


def _ids_by_thread(*, pending: bool) -> Select:
    """Return the query for the ids of the comments, page by page.

    No index has the pending comments of a thread, so the ids are sorted; they are short.
    """
    shown = [APPROVED, PENDING] if pending else [APPROVED]
    ids = CommentTable.select(CommentTable.thread, CommentTable.id)
    return ids.where(CommentTable.status.in_(shown)).order_by(CommentTable.thread, CommentTable.id)


@prepared
def _thread(thread_id: Param) -> Select:
    found = ThreadTable.select(
        SiteTable.name, ThreadTable.url, ThreadTable.title, ThreadTable.state
    ).join(SiteTable)
    return found.where(ThreadTable.id == thread_id)


def _history() -> Select:
    changes = ChangeTable.select(ChangeTable.comment, *HISTORY.columns)
    return changes.order_by(ChangeTable.comment, ChangeTable.id)


def _votes() -> Select:
    votes = VoteTable.select(VoteTable.comment, *VOTE.columns)
    return votes.order_by(VoteTable.comment, VoteTable.voter)


def _reports() -> Select:
    reports = ReportTable.select(ReportTable.comment, *REPORT.columns)
    return reports.order_by(ReportTable.comment, ReportTable.reporter)


def _statements() -> Select:
    table = StatementOfReasonsTable
    given = table.select(table.comment, *STATEMENT.columns)
    return given.order_by(table.comment, table.decided_at)


def _internal_notes() -> Select:
    notes = InternalNoteTable.select(InternalNoteTable.comment, *INTERNAL_NOTE.columns)
    return notes.order_by(InternalNoteTable.comment, InternalNoteTable.id)


def _images() -> Select:
    return (
        CommentImageTable.select(CommentImageTable.comment, ImageTable.name, ImageTable.content)
        .join(ImageTable)
        .order_by(CommentImageTable.comment, ImageTable.name)
    )


_NEVER: Final = 1 << 63  # greater than all ids
_PARENT: Final = 8  # the index of the parent's column in `_selected`


class Selection(msgspec.Struct, frozen=True):
    """What is exported: one `site`, or all for ""; only what is new or changed `since` a time.

    `since` is in Unix milliseconds. An `anonymous` export names neither readers nor moderators.
    """

    site: str = ""
    since: int | None = None
    anonymous: bool = False


def comment_count(snapshot: Snapshot) -> int:
    """Return an upper bound for the number of exported comments."""
    [(count,)] = snapshot.query(CommentTable.select(fn.COUNT(CommentTable.id)))
    return int(count)


def records(snapshot: Snapshot, selection: Selection) -> Iterator[Record]:
    """Yield all records of an export in their order; `snapshot` must keep one state meanwhile.

    Raise UnknownSiteError.
    """
    check_site(snapshot, selection.site)
    yield HeaderRecord(
        format=FORMAT,
        version=VERSION,
        site=selection.site,
        since=_moment(selection.since),
        anonymous=selection.anonymous,
    )
    counts = dict.fromkeys(msgspec.structs.asdict(EndRecord()), 0)
    for name, read in (
        ("threads", threads),
        ("comments", comments),
        ("bans", _bans),
        ("subscribers", _subscribers),
        ("followers", _followers),
        ("readers", _readers),
        ("notes", _notes),
        ("saved_replies", _saved_replies),
        ("settings", _settings),
        ("training_totals", _training_totals),
        ("training_tokens", _training_tokens),
        ("views", _views),
    ):
        for record in read(snapshot, selection):
            yield record
            counts[name] += 1
    yield EndRecord(**counts)


def check_site(snapshot: Snapshot, site: str) -> None:
    """Raise UnknownSiteError if there is no such site; "" means all."""
    known = [
        name
        for (name,) in snapshot.query(SiteTable.select(SiteTable.name).order_by(SiteTable.name))
    ]
    if site and site not in known:
        raise UnknownSiteError(no_such("site", site, known))


def threads(snapshot: Snapshot, selection: Selection) -> Iterator[ThreadRecord]:
    """Yield the comment threads, by site and url."""
    for thread_id, site, url, title, state in snapshot.each(_threads(selection)):
        aliases = tuple(alias for (alias,) in snapshot.each(_aliases, thread_id))
        numbers = sorted(reactions.counts(snapshot, thread_id).items())
        given = {emoji: number for emoji, number in numbers if number > 0}
        one_by_one = () if selection.anonymous else snapshot.each(_reactions, thread_id)
        reacted = tuple(map(REACTION.record, one_by_one))
        yield ThreadRecord(site, url, title, state, aliases, given, reacted)


def comments(snapshot: Snapshot, selection: Selection) -> Iterator[CommentRecord]:
    """Yield the comments, by id."""
    anonymous = selection.anonymous
    history = _ByComment(snapshot.each(_history()), partial(_change, anonymous))
    voters = _ByComment(iter(()) if anonymous else snapshot.each(_votes()), VOTE.record)
    images = _ByComment(
        iter(()) if anonymous else snapshot.each(_images()), lambda row: ImageRecord(*row)
    )
    reported = _ByComment(iter(()) if anonymous else snapshot.each(_reports()), REPORT.record)
    noted = _ByComment(
        iter(()) if anonymous else snapshot.each(_internal_notes()), INTERNAL_NOTE.record
    )
    explained = _ByComment(
        iter(()) if anonymous else snapshot.each(_statements()), STATEMENT.record
    )
    selected = _selected(selection.site, selection.since)
    for row in snapshot.each(selected.order_by(CommentTable.id)):
        comment = _comment(row, anonymous, history.take(row[0]), voters.take(row[0]))
        more = {
            "images": images.take(row[0]),
            "reports": reported.take(row[0]),
            "internal_notes": noted.take(row[0]),
            "statements": explained.take(row[0]),
        }
        if any(more.values()):
            comment = msgspec.structs.replace(comment, **more)
        yield comment


class Page(NamedTuple):
    """A page, the time of its first comment, and an iterator of its comments."""

    thread: ThreadRecord
    first: str
    comments: Iterator[CommentRecord]


def pages(snapshot: Snapshot, selection: Selection, *, pending: bool = False) -> Iterator[Page]:
    """Yield published (and with `pending`, waiting) comments by page, without their history.

    The comments of a page must be read before the next page. A comment whose parent is not exported
    has no parent. Raise UnknownSiteError.
    """
    check_site(snapshot, selection.site)
    for thread_id, rows in itertools.groupby(
        snapshot.each(_ids_by_thread(pending=pending)), itemgetter(0)
    ):
        ids = [comment_id for _, comment_id in rows]
        [(site, url, title, state)] = snapshot.query(_thread, thread_id)
        found = _of_page(snapshot, selection, ids)
        if (first := next(found, None)) is not None:
            thread = ThreadRecord(site, url, title, state)
            yield Page(thread, first.created, itertools.chain((first,), found))


def address(thread: ThreadRecord, origins: Mapping[str, str]) -> str:
    """Return the URL of a page; `origins` are by site. Raise UrlError if its site has none."""
    origin = origins.get(thread.site, "")
    if not origin:
        raise UrlError(
            f"The site {thread.site} has no origins in the settings, and each link of this format"
            " begins with one."
        )
    return origin + thread.url


def _of_page(
    snapshot: Snapshot, selection: Selection, ids: Sequence[int]
) -> Iterator[CommentRecord]:
    @prepared
    def find(comment_id: Param) -> Select:
        return _selected(selection.site, selection.since).where(CommentTable.id == comment_id)

    known = frozenset(ids)
    for comment_id in ids:
        for row in snapshot.query(find, comment_id):
            if row[_PARENT] not in known:
                row = (*row[:_PARENT], None, *row[_PARENT + 1 :])
            yield _comment(row, selection.anonymous, (), ())


def _comment(
    row: Row,
    anonymous: bool,
    history: tuple[HistoryRecord, ...],
    voters: tuple[VoteRecord, ...],
) -> CommentRecord:
    (
        comment_id, site, url, status, created, source, html, is_html, parent, published, edited,
        author, email, avatar, author_site, permalink, role, pinned, votes, title, score, reasons,
        network, anchor, subscription, wish, label, tokens, issuer, subject, lang,
        stored,
    ) = row  # fmt: skip
    given = reaction_counts(stored)
    always = (comment_id, site, url, status, rfc3339_ms(created), source, html)
    markup: Literal["markdown", "html"] = "html" if is_html else "markdown"
    more = (parent, _moment(published), _moment(edited))
    if anonymous:
        return CommentRecord(
            *always,
            markup,
            *more,
            pinned=bool(pinned),
            votes=votes,
            score=score,
            anchor=anchor,
            history=history,
            lang=lang,
            reactions=given,
        )
    return CommentRecord(
        *always,
        markup,
        *more,
        author,
        email,
        avatar,
        author_site,
        permalink,
        role,
        bool(pinned),
        votes,
        title or "",
        score,
        reasons,
        _as_hex(network),
        anchor,
        subscription is not None,
        _training(label, tokens),
        history,
        voters,
        None if subject is None else IdentityRecord(issuer, subject),
        follows=wish is not None,
        language=subscription or wish or "",
        lang=lang,
        reactions=given,
    )


class _ByComment(Generic[T]):
    """Groups rows by comment; they are in the order of the comment ids, their first column."""

    def __init__(self, rows: Iterator[Row], made: Callable[[Row], T]) -> None:
        self._rows = rows
        self._made = made
        self._advance()

    def _advance(self) -> None:
        self._row = next(self._rows, ())
        self._id = self._row[0] if self._row else _NEVER

    def take(self, comment_id: int) -> tuple[T, ...]:
        """Return the items of a comment, whose id must be above that of the last call."""
        while self._id < comment_id:
            self._advance()
        if self._id > comment_id:
            return ()
        found = []
        while self._id == comment_id:
            found.append(self._made(self._row[1:]))
            self._advance()
        return tuple(found)


def _change(anonymous: bool, row: Row) -> HistoryRecord:
    change = HISTORY.record(row)
    if not anonymous:
        return change
    undone_by = change.undone_by and _impersonal(change.undone_by)
    return msgspec.structs.replace(change, actor=_impersonal(change.actor), undone_by=undone_by)


def _impersonal(actor: str) -> str:
    return actor if actor in _NOBODY else ""


def _training(label: str | None, tokens: bytes | None) -> TrainingRecord | None:
    if label is None or tokens is None:
        return None
    return TrainingRecord(label, struct.unpack(f"<{len(tokens) // 4}I", tokens))  # type: ignore[arg-type]  # the table's CHECK says that it is one of them


def _bans(snapshot: Snapshot, selection: Selection) -> Iterator[BanRecord]:
    """Yield the bans, which belong to the whole service: an export of one site has none."""
    if selection.site:
        return
    bans = BanTable.select(*BAN.columns).order_by(BanTable.kind, BanTable.value)
    for ban in map(BAN.record, snapshot.each(bans)):
        if not selection.anonymous:
            yield ban
        elif ban.kind in _IMPERSONAL:
            yield msgspec.structs.replace(ban, actor="")


def _saved_replies(snapshot: Snapshot, selection: Selection) -> Iterator[SavedReplyRecord]:
    """Yield the saved replies, which belong to the whole service, as bans do."""
    if selection.site or selection.anonymous:
        return
    replies = SavedReplyTable.select(*SAVED_REPLY.columns).order_by(SavedReplyTable.title)
    yield from map(SAVED_REPLY.record, snapshot.each(replies))


def _settings(snapshot: Snapshot, selection: Selection) -> Iterator[SettingRecord]:
    """Yield the settings that were changed in the browser; for one site, only its own."""
    if selection.anonymous:
        return
    table = SettingChangeTable
    newest = table.select(fn.MAX(table.id)).group_by(table.site, table.key)
    changed = table.select(table.key, table.new, table.actor, table.created_at, table.site)
    changed = changed.where(table.id.in_(newest), table.new.is_null(False)).order_by(table.id)
    if selection.site:
        changed = changed.where(table.site == selection.site)
    for key, new, actor, created, site in snapshot.each(changed):
        yield SettingRecord(key, msgspec.json.decode(new), actor, rfc3339_ms(created), site or "")


def _subscribers(snapshot: Snapshot, selection: Selection) -> Iterator[SubscriberRecord]:
    if selection.anonymous:
        return
    subscribers = (
        SubscriberTable.select(
            SiteTable.name,
            SubscriberTable.email,
            SubscriberTable.consent,
            SubscriberTable.asked_at,
        )
        .join(SiteTable)
        .order_by(SiteTable.name, SubscriberTable.email)
    )
    for site, email, consent, asked in snapshot.each(_of_site(selection, subscribers)):
        yield SubscriberRecord(site, email, consent, _moment(asked or None))


def _followers(snapshot: Snapshot, selection: Selection) -> Iterator[FollowerRecord]:
    if selection.anonymous:
        return
    url = fn.COALESCE(ThreadTable.url, "")
    followers = (
        FollowerTable.select(
            SiteTable.name,
            FollowerTable.email,
            FollowerTable.consent,
            FollowerTable.asked_at,
            url,
            FollowerTable.language,
        )
        .join(SiteTable, on=SiteTable.id == FollowerTable.site)
        .join_from(FollowerTable, ThreadTable, JOIN.LEFT_OUTER)
        .order_by(SiteTable.name, url, FollowerTable.email)
    )
    for site, email, consent, asked, page, language in snapshot.each(
        _of_site(selection, followers)
    ):
        yield FollowerRecord(site, email, consent, rfc3339_ms(asked), page, language)


def _readers(snapshot: Snapshot, selection: Selection) -> Iterator[ReaderRecord]:
    if selection.anonymous:
        return
    signed_in = (
        ReaderTable.select(
            SiteTable.name,
            ReaderTable.issuer,
            ReaderTable.subject,
            ReaderTable.name,
            ReaderTable.email,
            ReaderTable.trusted_by,
            ReaderTable.trusted_at,
        )
        .join(SiteTable)
        .where(ReaderTable.name != "")
        .order_by(SiteTable.name, ReaderTable.issuer, ReaderTable.subject)
    )
    for site, *who, email, by, at in snapshot.each(_of_site(selection, signed_in)):
        issuer, subject, name = who
        trusted = rfc3339_ms(at) if at else None
        yield ReaderRecord(site, issuer, subject, name, email, by, trusted)


def _notes(snapshot: Snapshot, selection: Selection) -> Iterator[NoteRecord]:
    if selection.anonymous:
        return
    plain = [getattr(NoteTable, name) for name in NOTE_COLUMNS]
    moments = (NoteTable.may_thank, NoteTable.created_at, NoteTable.decided_at)
    written = NoteTable.select(SiteTable.name, *moments, *plain).join(SiteTable)
    written = written.where(NoteTable.author != "")  # of others, only thanks are left
    rows = snapshot.each(_of_site(selection, written.order_by(NoteTable.id)))
    for site, may_thank, created, decided, *row in rows:
        yield NoteRecord(
            site=site,
            created=rfc3339_ms(created),
            decided=_moment(decided or None),
            may_thank=bool(may_thank),
            **dict(zip(NOTE_COLUMNS, row, strict=True)),
        )


def _training_totals(snapshot: Snapshot, selection: Selection) -> Iterator[TrainingTotalRecord]:
    """Yield the totals of the spam filter's training, which belongs to all sites and has names."""
    if not selection.site and not selection.anonymous:
        totals = TrainingTotalTable.select(TrainingTotalTable.spam, TrainingTotalTable.good)
        for row in snapshot.query(totals):
            yield TrainingTotalRecord(*row)


def _training_tokens(snapshot: Snapshot, selection: Selection) -> Iterator[TrainingTokenRecord]:
    if not selection.site and not selection.anonymous:
        tokens = TrainingTokenTable.select(
            TrainingTokenTable.hash, TrainingTokenTable.spam, TrainingTokenTable.good
        )
        for row in snapshot.each(tokens.order_by(TrainingTokenTable.hash)):
            yield TrainingTokenRecord(*row)


def _views(snapshot: Snapshot, selection: Selection) -> Iterator[ViewsRecord]:
    viewed = PageViewTable.select(SiteTable.name, PageViewTable.url, PageViewTable.views)
    viewed = viewed.join(SiteTable).order_by(SiteTable.name, PageViewTable.url)
    for row in snapshot.each(_of_site(selection, viewed)):
        yield ViewsRecord(*row)


def _moment(moment: int | None) -> str | None:
    return None if moment is None else rfc3339_ms(moment)


def _as_hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()
