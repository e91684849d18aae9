"""Reading the records of an export from one state of the database, one after the other.

Nothing is collected: a million comments take as much memory as one. The history and the votes of
comments are read in the order of the comments, by a cursor each, so that no comment costs a query.

What is never read: moderators' accounts and sessions, digests of edit tokens and of idempotency
keys, the outbox, used links. What can be counted again is not written either: counts, the search
index, statistics.
"""

# ruff: noqa: S608 - each is put together from constants only

import itertools
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Final, Generic, Literal, NamedTuple, TypeVar

import msgspec

from commentsvc.comments.urls import UnknownSiteError, UrlError
from commentsvc.db.sqlite import Reader, Row
from commentsvc.exports.records import (
    FORMAT,
    VERSION,
    BanRecord,
    CommentRecord,
    EndRecord,
    HeaderRecord,
    HistoryRecord,
    Record,
    SubscriberRecord,
    ThreadRecord,
    TrainingRecord,
    TrainingTokenRecord,
    TrainingTotalRecord,
    VoteRecord,
)
from commentsvc.model import AKISMET, AUTHOR
from commentsvc.util.timestamps import rfc3339_ms

T = TypeVar("T")

# Who may be named in a history without a name: no person.
_NOBODY: Final = frozenset({AUTHOR, AKISMET})
# Bans that tell nothing of a person.
_IMPERSONAL: Final = frozenset({"word", "domain"})

_OF_SITE: Final = "(?1 = '' OR s.name = ?1)"
_THREADS: Final = (
    "SELECT t.id, s.name, t.url, t.title, t.state FROM thread AS t JOIN site AS s"
    f" ON s.id = t.site_id WHERE t.alias_id IS NULL AND {_OF_SITE} ORDER BY s.name, t.url"
)
_ALIASES: Final = "SELECT url FROM thread WHERE alias_id = ? ORDER BY url"
# CROSS JOIN keeps the comments the outer loop, which are in the order of their ids then.
_SELECTED: Final = (
    "SELECT c.id, s.name, t.url, c.status, c.created_at, c.source, c.html, coalesce(i.is_html, 0),"
    " c.parent_id,"
    " c.published_at, c.edited_at, c.author, c.email, c.avatar, c.author_site, c.role,"
    " t.pinned_id = c.id, c.votes, p.title,"
    " c.score, c.reasons, c.network, coalesce(i.anchor, ''), b.comment_id, l.label, l.tokens"
    " FROM comment AS c CROSS JOIN thread AS t ON t.id = c.thread_id"
    " CROSS JOIN site AS s ON s.id = c.site_id"
    " LEFT JOIN proposed_title AS p ON p.comment_id = c.id"
    " LEFT JOIN subscription AS b ON b.comment_id = c.id"
    " LEFT JOIN training_comment AS l ON l.comment_id = c.id"
    " LEFT JOIN imported_comment AS i ON i.comment_id = c.id"
    f" WHERE {_OF_SITE} AND (?2 IS NULL OR max(c.created_at, coalesce(c.published_at, 0),"
    " coalesce(c.edited_at, 0)) >= ?2"
    " OR EXISTS (SELECT 1 FROM change AS h WHERE h.comment_id = c.id"
    " AND max(h.created_at, coalesce(h.undone_at, 0)) >= ?2)"
    " OR EXISTS (SELECT 1 FROM vote AS v WHERE v.comment_id = c.id AND v.created_at >= ?2))"
)
_COMMENTS: Final = f"{_SELECTED} ORDER BY c.id"
_COMMENT: Final = f"{_SELECTED} AND c.id = ?3"
# No index has the comments of a thread that wait, so the ids are sorted, which are short.
_IDS_BY_THREAD: Final = (
    "SELECT thread_id, id FROM comment WHERE status = 'approved' OR ?1 AND status = 'pending'"
    " ORDER BY thread_id, id"
)
_THREAD: Final = (
    "SELECT s.name, t.url, t.title, t.state FROM thread AS t JOIN site AS s ON s.id = t.site_id"
    " WHERE t.id = ?"
)
_NEVER: Final = 1 << 63  # behind all ids
_PARENT: Final = 8  # its column in _SELECTED
_HISTORY: Final = (
    "SELECT comment_id, id, decision_id, field, old, new, created_at, actor, old_at, undone_at,"
    " undone_by FROM change ORDER BY comment_id, id"
)
_VOTES: Final = (
    "SELECT comment_id, voter, value, created_at, network FROM vote ORDER BY comment_id, voter"
)
_BANS: Final = "SELECT kind, value, created_at, actor, expires_at FROM ban ORDER BY kind, value"
_SUBSCRIBERS: Final = (
    "SELECT s.name, w.email, w.consent, w.asked_at FROM subscriber AS w JOIN site AS s"
    f" ON s.id = w.site_id WHERE {_OF_SITE} ORDER BY s.name, w.email"
)
_TRAINING_TOTAL: Final = "SELECT spam, good FROM training_total"
_TRAINING_TOKENS: Final = "SELECT hash, spam, good FROM training_token ORDER BY hash"
_COUNT: Final = "SELECT count(*) FROM comment"


class Selection(msgspec.Struct, frozen=True):
    """What is exported: of one `site` or, with "", of all; what is new or changed `since` then.

    `since` is in Unix milliseconds. An `anonymous` export names no reader and no moderator.
    """

    site: str = ""
    since: int | None = None
    anonymous: bool = False


def comment_count(reader: Reader) -> int:
    """Return how many comments there are at most to export."""
    [(count,)] = reader.execute(_COUNT).fetchall()
    return int(count)


def records(reader: Reader, selection: Selection) -> Iterator[Record]:
    """Read all records of an export, in their order; `reader` keeps to one state meanwhile.

    Raises UnknownSiteError.
    """
    _check_site(reader, selection)
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
        ("training_totals", _training_totals),
        ("training_tokens", _training_tokens),
    ):
        for record in read(reader, selection):
            yield record
            counts[name] += 1
    yield EndRecord(**counts)


def _check_site(reader: Reader, selection: Selection) -> None:
    known = [name for (name,) in reader.execute("SELECT name FROM site ORDER BY name")]
    if selection.site and selection.site not in known:
        raise UnknownSiteError(f"There is no site of this name; known: {', '.join(known)}.")


def threads(reader: Reader, selection: Selection) -> Iterator[ThreadRecord]:
    """Read the comment threads, by site and url."""
    for thread_id, site, url, title, state in reader.execute(_THREADS, (selection.site,)):
        aliases = tuple(alias for (alias,) in reader.execute(_ALIASES, (thread_id,)))
        yield ThreadRecord(site, url, title, state, aliases)


def comments(reader: Reader, selection: Selection) -> Iterator[CommentRecord]:
    """Read the comments, by id."""
    anonymous = selection.anonymous
    history = _ByComment(reader.execute(_HISTORY), partial(_change, anonymous))
    voters = _ByComment(iter(()) if anonymous else reader.execute(_VOTES), _vote)
    for row in reader.execute(_COMMENTS, (selection.site, selection.since)):
        yield _comment(row, anonymous, history.take(row[0]), voters.take(row[0]))


class Page(NamedTuple):
    """A page with comments, when the first of them was written, and those that are to be read."""

    thread: ThreadRecord
    first: str
    comments: Iterator[CommentRecord]


def pages(reader: Reader, selection: Selection, *, pending: bool = False) -> Iterator[Page]:
    """Read the comments that are shown, and those that wait, page by page, without their history.

    Those of a page are to be read before the next page. A comment whose parent is not among them
    answers none. Raises UnknownSiteError.
    """
    _check_site(reader, selection)
    for thread_id, rows in itertools.groupby(
        reader.execute(_IDS_BY_THREAD, (pending,)), itemgetter(0)
    ):
        ids = [comment_id for _, comment_id in rows]
        [(site, url, title, state)] = reader.execute(_THREAD, (thread_id,)).fetchall()
        found = _of_page(reader, selection, ids)
        if (first := next(found, None)) is not None:
            thread = ThreadRecord(site, url, title, state)
            yield Page(thread, first.created, itertools.chain((first,), found))


def address(thread: ThreadRecord, origins: Mapping[str, str]) -> str:
    """Return the whole address of a page; `origins` are by site. Raises UrlError without one."""
    origin = origins.get(thread.site, "")
    if not origin:
        raise UrlError(
            f"The site {thread.site} has no origins in the settings, and each link of this format"
            " begins with one."
        )
    return origin + thread.url


def _of_page(reader: Reader, selection: Selection, ids: Sequence[int]) -> Iterator[CommentRecord]:
    known = frozenset(ids)
    for comment_id in ids:
        wanted = (selection.site, selection.since, comment_id)
        for row in reader.execute(_COMMENT, wanted):
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
        author, email, avatar, author_site, role, pinned, votes, title, score, reasons, network,
        anchor, subscription, label, tokens,
    ) = row  # fmt: skip
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
        )
    return CommentRecord(
        *always,
        markup,
        *more,
        author,
        email,
        avatar,
        author_site,
        role,
        bool(pinned),
        votes,
        title or "",
        score,
        reasons,
        _digest(network),
        anchor,
        subscription is not None,
        _training(label, tokens),
        history,
        voters,
    )


class _ByComment(Generic[T]):
    """What belongs to comments, `made` of rows in the order of the comments' ids, their first."""

    def __init__(self, rows: Iterator[Row], made: Callable[[Row], T]) -> None:
        self._rows = rows
        self._made = made
        self._advance()

    def _advance(self) -> None:
        self._row = next(self._rows, ())
        self._id = self._row[0] if self._row else _NEVER

    def take(self, comment_id: int) -> tuple[T, ...]:
        """Return what belongs to a comment, whose id is above that of the last call."""
        while self._id < comment_id:
            self._advance()
        if self._id > comment_id:
            return ()
        found = []
        while self._id == comment_id:
            found.append(self._made(self._row))
            self._advance()
        return tuple(found)


def _change(anonymous: bool, row: Row) -> HistoryRecord:
    _, number, decision, field, old, new, created, actor, old_at, undone, undone_by = row
    if anonymous:
        actor = _impersonal(actor)
        undone_by = undone_by and _impersonal(undone_by)
    return HistoryRecord(
        number,
        decision,
        field,
        old,
        new,
        rfc3339_ms(created),
        actor,
        _moment(old_at),
        _moment(undone),
        undone_by,
    )


def _impersonal(actor: str) -> str:
    return actor if actor in _NOBODY else ""


def _vote(row: Row) -> VoteRecord:
    _, voter, value, created, network = row
    return VoteRecord(voter.hex(), value, rfc3339_ms(created), _digest(network))


def _training(label: str | None, tokens: bytes | None) -> TrainingRecord | None:
    if label is None or tokens is None:
        return None
    return TrainingRecord(label, struct.unpack(f"<{len(tokens) // 4}I", tokens))  # type: ignore[arg-type]  # the table's CHECK says that it is one of them


def _bans(reader: Reader, selection: Selection) -> Iterator[BanRecord]:
    """Read the bans, which are those of the whole service: one site's export has none."""
    if selection.site:
        return
    for kind, value, created, actor, expires in reader.execute(_BANS):
        if selection.anonymous:
            if kind not in _IMPERSONAL:
                continue
            actor = ""
        yield BanRecord(kind, value, rfc3339_ms(created), actor, _moment(expires))


def _subscribers(reader: Reader, selection: Selection) -> Iterator[SubscriberRecord]:
    if selection.anonymous:
        return
    for site, email, consent, asked in reader.execute(_SUBSCRIBERS, (selection.site,)):
        yield SubscriberRecord(site, email, consent, _moment(asked or None))


def _training_totals(reader: Reader, selection: Selection) -> Iterator[TrainingTotalRecord]:
    """Read what the spam filter was taught; it holds names, and is that of all sites."""
    if not selection.site and not selection.anonymous:
        for row in reader.execute(_TRAINING_TOTAL):
            yield TrainingTotalRecord(*row)


def _training_tokens(reader: Reader, selection: Selection) -> Iterator[TrainingTokenRecord]:
    if not selection.site and not selection.anonymous:
        for row in reader.execute(_TRAINING_TOKENS):
            yield TrainingTokenRecord(*row)


def _moment(moment: int | None) -> str | None:
    return None if moment is None else rfc3339_ms(moment)


def _digest(value: bytes | None) -> str | None:
    return None if value is None else value.hex()
