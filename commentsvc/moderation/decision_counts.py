"""Numbers of decisions by half-year, which a site may publish: see `legal.numbers`.

Each decision adds to rows of the table. They name no comment and nobody, so they stay when comments
are deleted. What an author changes is no decision. Taking one back is counted beside it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Among, Param, Select, ids_text, prepared
from commentsvc.db.schema.comments import CommentTable, ReportTable, SiteTable
from commentsvc.db.schema.moderation import DecisionCountTable
from commentsvc.model import (
    AKISMET,
    APPROVED,
    AUTHOR,
    BY_MODERATORS,
    BY_PROGRAMS,
    CLASSIFIER,
    OBJECTIONS_COUNTED,
    PENDING,
    REPORTS_COUNTED,
    UNDONE_COUNTED,
)
from commentsvc.util.timestamps import HOUR_MS

LONGEST: Final = 1 << 13  # hours, most of a year
SHOWN: Final = 4  # half-years


class OpenReport(NamedTuple):
    """A report or an objection on which a person decides now."""

    comment: int
    reason: str
    objects: int
    created_at: int


class DecisionCount(NamedTuple):
    """A row of DecisionCountTable, without its site; `number` is its count."""

    half: int
    kind: str
    reason: str
    outcome: str
    hours: int
    number: int


def half_of(moment: int) -> int:
    """Return the half-year of a time in Unix milliseconds: see DecisionCountTable."""
    day = datetime.fromtimestamp(moment / 1_000, UTC)
    return 2 * day.year + (day.month > 6)


def hours_of(duration_ms: int) -> int:
    """Return the smallest power of two, at most LONGEST, that is not less than a duration."""
    hours = max(1, -(-duration_ms // HOUR_MS))
    return min(LONGEST, 1 << (hours - 1).bit_length())


@prepared
def _open_reports(ids: Param) -> Select:
    columns = (ReportTable.comment, ReportTable.reason, ReportTable.objects, ReportTable.created_at)
    return ReportTable.select(*columns).where(Among(ReportTable.comment, ids))


@prepared
def _sent(ids: Param) -> Select:
    sent = CommentTable.select(CommentTable.id, CommentTable.site, CommentTable.created_at)
    return sent.where(Among(CommentTable.id, ids))


def open_reports(snapshot: Snapshot, ids: Iterable[int]) -> list[OpenReport]:
    """Return the reports of the comments `ids`, before a decision deletes them."""
    return [OpenReport(*row) for row in snapshot.query(_open_reports, ids_text(ids))]


def count(
    tx: Transaction,
    reported: Iterable[OpenReport],
    changed: Mapping[int, str],
    to: str,
    who: str,
    now: int,
) -> None:
    """Count a decision by `who` at `now` (Unix milliseconds) for the status `to`.

    It closed the reports `reported`. The comments `changed` had these statuses before.
    """
    reported = [] if who in (AUTHOR, AKISMET, CLASSIFIER) else list(reported)
    if who == AUTHOR or not (changed or reported):
        return
    found = tx.query(_sent, ids_text({*changed, *(each.comment for each in reported)}))
    sites = {comment_id: site_id for comment_id, site_id, _ in found}
    numbers = Counter[tuple[int, str, str, str, int]]()
    kind = BY_PROGRAMS if who in (AKISMET, CLASSIFIER) else BY_MODERATORS
    for comment_id, site_id, created_at in found:
        if was := changed.get(comment_id):
            hours = hours_of(now - created_at) if was == PENDING else 0
            numbers[site_id, kind, "", to, hours] += 1
    for each in reported:
        if each.objects:
            outcome = to if each.comment in changed else ""
            about = (OBJECTIONS_COUNTED, "", outcome)
        else:
            about = (REPORTS_COUNTED, each.reason, to)
        numbers[sites[each.comment], *about, hours_of(now - each.created_at)] += 1
    _add(tx, numbers, now)


def count_undone(
    tx: Transaction,
    undone: Iterable[int],
    reported: Iterable[OpenReport],
    who: str,
    now: int,
) -> None:
    """Count that `who` took back decisions about comments of these sites, by their id, at `now`.

    That closed the reports `reported`, since their comments are shown again.
    """
    closed = list(reported)
    numbers = Counter((site_id, UNDONE_COUNTED, "", "", 0) for site_id in undone)
    _add(tx, numbers, now)
    count(tx, closed, {each.comment: "" for each in closed}, APPROVED, who, now)


def _add(tx: Transaction, numbers: Mapping[tuple[int, str, str, str, int], int], now: int) -> None:
    key = ("site", "half", "kind", "reason", "outcome", "hours")
    half = half_of(now)
    for (site_id, *about, hours), number in numbers.items():
        row = dict(zip(key, (site_id, half, *about, hours), strict=True))
        stored = DecisionCountTable.insert(**row, count=number)
        more = {DecisionCountTable.count: DecisionCountTable.count + number}
        target = [getattr(DecisionCountTable, name) for name in key]
        tx.change(stored.on_conflict(conflict_target=target, update=more))


def of_site(snapshot: Snapshot, site: str) -> list[DecisionCount]:
    """Return the numbers of a site in its last SHOWN half-years, the newest first."""
    table = DecisionCountTable
    about = (table.kind, table.reason, table.outcome, table.hours)
    columns = (table.half, *about, table.count)
    mine = table.select(*columns).join(SiteTable).where(SiteTable.name == site)
    newest = mine.order_by(table.half.desc()).limit(1)
    row = snapshot.first(newest)
    if row is None:
        return []
    since = table.half > row[0] - SHOWN
    return [
        DecisionCount(*each)
        for each in snapshot.query(mine.where(since).order_by(table.half.desc()))
    ]
