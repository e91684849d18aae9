"""Reports: readers tell the moderators about a comment that should be removed.

A reader can report each comment once; as in `votes`, readers are told apart by a digest of a
random word that their browser keeps. A report has a reason, and may have an explanation; those of
older clients have neither. A visible comment with reports is in the queue until a moderator decides
on it, and the first report is mailed; reports have no other effect. Further ones after MOST are not
stored. Networks are not stored. Where a site mails decisions, a reader may leave a name and an
email address: they are deleted with the report.

An objection to a decision is a report, too, of a comment in any status: so a person decides again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from peewee import fn

from commentsvc import outbox
from commentsvc.comments import queries
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Among, Param, Select, ids_text, literal, prepared
from commentsvc.db.schema.comments import CommentTable, ReportTable, SiteTable, ThreadTable
from commentsvc.errors import UnknownComment
from commentsvc.feedback.votes import DIGEST
from commentsvc.model import APPROVED, Entry
from commentsvc.util.digest import digest
from commentsvc.util.i18n import Message, pgettext
from commentsvc.util.origin import address_key
from commentsvc.util.text import one_line

MOST: Final = 20  # reports of one comment
EXPLANATION_LENGTH: Final = 500  # characters
NAME_LENGTH: Final = 100  # characters
SHOWN: Final = 5  # reports of one comment whose words are in a list
NEWEST: Final = 1_000  # the most comments with reports that a list is made of


# The names of model.REPORT_REASONS, in the words of the widget.
NAMES: Final[Mapping[str, Message]] = {
    "illegal": pgettext("tools.illegal", "Illegal content"),
    "abuse": pgettext("tools.abuse", "Insults, threats or harassment"),
    "spam": pgettext("tools.spam", "Spam or advertising"),
    "other": pgettext("tools.other", "Something else"),
}


class Reason(NamedTuple):
    """Why a reader reports a comment: one of model.REPORT_REASONS or "", and the reader's words.

    The rest is as in ReportTable.
    """

    code: str = ""
    explanation: str = ""
    name: str = ""
    email: str = ""
    language: str = ""
    in_good_faith: int = 0
    objects: int = 0


NO_REASON: Final = Reason()


class Reports(NamedTuple):
    """The reports of a comment: how many, the reasons by frequency, and the newest with words.

    `objections` is how many of them object to a decision.
    """

    number: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    said: tuple[Reason, ...] = ()
    objections: int = 0

    @property
    def explanations(self) -> list[str]:
        """Return the words of those who wrote some."""
        return [each.explanation for each in self.said if each.explanation]

    @property
    def named(self) -> list[tuple[Message, int]]:
        """Return the reasons by their names."""
        return [(NAMES[code], number) for code, number in self.reasons]


_REASON: Final = (
    ReportTable.reason,
    ReportTable.explanation,
    ReportTable.name,
    ReportTable.email,
    ReportTable.language,
    ReportTable.in_good_faith,
    ReportTable.objects,
)


@prepared
def _count(comment_id: Param) -> Select:
    return ReportTable.select(fn.COUNT(ReportTable.reporter)).where(
        ReportTable.comment == comment_id
    )


@prepared
def _of_comments(ids: Param) -> Select:
    columns = (ReportTable.comment, *_REASON)
    newest_first = (ReportTable.comment, ReportTable.created_at.desc(), ReportTable.reporter)
    return (
        ReportTable.select(*columns).where(Among(ReportTable.comment, ids)).order_by(*newest_first)
    )


# The comments with reports are found first, since PostgreSQL would read all visible comments if it
# does not know how few they are.
@prepared
def _reported_ids() -> Select:
    ids = ReportTable.select(ReportTable.comment).distinct()
    return ids.order_by(ReportTable.comment.desc()).limit(NEWEST)


@prepared
def _reported(ids: Param, most: Param, skipped: Param) -> Select:
    return _newest_first(ids).limit(most).offset(skipped)


@prepared
def _number_visible(ids: Param) -> Select:
    return _visible(ids, fn.COUNT(CommentTable.id))


@prepared
def _delete(comment_id: Param) -> Select:
    return ReportTable.delete().where(ReportTable.comment == comment_id)


def report(
    tx: Transaction, comment_id: int, word: str, now: int, reason: Reason = NO_REASON
) -> None:
    """Store that the reader with that `word` reports a comment, at `now` (Unix milliseconds).

    It takes the place of an earlier report by that reader. Raise UnknownComment, also for a comment
    that is not shown, unless the reader objects to that.
    """
    row = tx.first(queries.find_ref, comment_id)
    if row is None or (row[4] != APPROVED and not reason.objects):
        raise UnknownComment([comment_id])
    [(number,)] = tx.query(_count, comment_id)
    if number < MOST or reason.objects:
        reporter = digest(word, b"reporter", DIGEST)
        said = reason._replace(
            explanation=one_line(reason.explanation)[:EXPLANATION_LENGTH],
            name=one_line(reason.name)[:NAME_LENGTH],
        )
        key = {ReportTable.comment: comment_id, ReportTable.reporter: reporter}
        values = dict(zip(_REASON, said, strict=True))
        values |= {ReportTable.created_at: now, ReportTable.email_key: address_key(said.email)}
        stored = ReportTable.insert(key | values)
        tx.change(stored.on_conflict(conflict_target=[*key], preserve=[*values]))
    if not number:
        outbox.reported(tx, comment_id, now)


def take(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Reason]]:
    """Delete the reports of the comments `ids`, because a moderator has decided.

    Return those reports, by comment.
    """
    rows = tx.query(_of_comments, ids_text(ids))
    found = {
        comment_id: [Reason(*row[1:]) for row in some]
        for comment_id, some in groupby(rows, itemgetter(0))
    }
    tx.change_each(_delete, [(comment_id,) for comment_id in found])
    return found


def own(email: str) -> Select:
    """Return the query for the reports with that address: site, page, time, name, words."""
    key = address_key(email)
    shown = (SiteTable.name, ThreadTable.url, ReportTable.created_at, ReportTable.name)
    found = ReportTable.select(*shown, ReportTable.reason, ReportTable.explanation)
    found = found.join(CommentTable).join(ThreadTable).join(SiteTable)
    found = found.where(ReportTable.email_key == key, ReportTable.email_key != literal(""))
    return found.order_by(ReportTable.created_at)


def forget(tx: Transaction, email: str) -> None:
    """Delete the reports with that address."""
    key = address_key(email)
    tx.change(ReportTable.delete().where(ReportTable.email_key == key, ReportTable.email_key != ""))


def of_comments(snapshot: Snapshot, ids: Iterable[int], shown: int = SHOWN) -> dict[int, Reports]:
    """Return the reports of each of the comments `ids` that has some; `shown` explanations each."""
    found = {}
    for comment_id, rows in groupby(snapshot.query(_of_comments, ids_text(ids)), itemgetter(0)):
        every = [Reason(*row[1:]) for row in rows]
        reasons = Counter(each.code for each in every if each.code).most_common()
        said = tuple(each for each in every if each.explanation or each.email or each.name)
        objections = sum(each.objects for each in every)
        found[comment_id] = Reports(len(every), tuple(reasons), said[:shown], objections)
    return found


def count(snapshot: Snapshot, sites: Sequence[str] | None) -> int:
    """Return how many visible comments with reports there are, on those `sites` or on all."""
    ids = ids_text(comment_id for (comment_id,) in snapshot.query(_reported_ids))
    if sites is None:
        return int(snapshot.query(_number_visible, ids)[0][0])
    some = _visible(ids, fn.COUNT(CommentTable.id)).where(SiteTable.name.in_(list(sites)))
    return int(snapshot.query(some)[0][0])


def reported(snapshot: Snapshot, sites: Sequence[str] | None, most: int) -> list[Entry]:
    """Return at most `most` visible comments with reports, of those `sites` or of all.

    The newest come first.
    """
    ids = ids_text(comment_id for (comment_id,) in snapshot.query(_reported_ids))
    if sites is None:
        return queries.entries_in_pieces(partial(snapshot.query, _reported, ids), most)
    query = _newest_first(ids).where(SiteTable.name.in_(list(sites)))
    return queries.entries_in_pieces(
        lambda piece, skipped: snapshot.query(query.limit(piece).offset(skipped)), most
    )


def _newest_first(ids: Param | str) -> Select:
    return _visible(ids, *queries.ENTRY).order_by(CommentTable.id.desc())


def _visible(ids: Param | str, *columns: Select) -> Select:
    """Return the query for `columns` of those of some comments that wait for a decision.

    These are visible, or there is an objection to their status.
    """
    objects = ReportTable.select(ReportTable.comment).where(
        ReportTable.comment == CommentTable.id, ReportTable.objects == 1
    )
    return (
        CommentTable.select(*columns)
        .join(ThreadTable, on=ThreadTable.id == CommentTable.thread)
        .join(SiteTable, on=SiteTable.id == CommentTable.site)
        .where(
            Among(CommentTable.id, ids),
            (CommentTable.status == literal(APPROVED)) | fn.EXISTS(objects),
        )
    )
