"""The numbers about moderation that a site may publish, by half-year.

They follow the reports that the Digital Services Act asks of larger services (article 15). All are
rounded to ROUNDED, so that they tell of nobody.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from commentsvc.feedback.reports import NAMES
from commentsvc.legal.document import Item, Section
from commentsvc.legal.record import automatic
from commentsvc.model import (
    APPROVED,
    BY_MODERATORS,
    BY_PROGRAMS,
    DELETED,
    OBJECTIONS_COUNTED,
    REPORTS_COUNTED,
    SPAM,
    UNDONE_COUNTED,
)
from commentsvc.moderation.decision_counts import DecisionCount
from commentsvc.settings.schema import Settings
from commentsvc.util.i18n import Message, said_duration
from commentsvc.util.i18n import gettext as _

ROUNDED: Final = 5
TITLE: Final = _("Numbers about moderation")
NOTHING: Final = _("Nothing has been decided yet.")
ROUNDING: Final = _(
    "All numbers are rounded to five, so that nobody can be recognised. Half of all cases took no "
    "longer than the times given here."
)


class NumbersPage(NamedTuple):
    """What the page shows, as a `LegalDocument`."""

    title: Message
    sections: tuple[Section, ...]
    end: tuple[Message, ...]


def numbers(settings: Settings, counted: Sequence[DecisionCount]) -> NumbersPage:
    """Return the page of a site, from the numbers of each half-year, the newest first."""
    halves = [
        Section(_period(half), tuple(_of_half([*rows])))
        for half, rows in groupby(counted, attrgetter("half"))
    ]
    means = Section(_("Moderation"), tuple((each,) for each in automatic(settings)))
    end = (ROUNDING,) if halves else (NOTHING,)
    return NumbersPage(TITLE, (*halves, means), end)


def _period(half: int) -> Message:
    year, is_second = divmod(half, 2)
    first, last = ("07-01", "12-31") if is_second else ("01-01", "06-30")
    return _("%(first)s to %(last)s", first=f"{year}-{first}", last=f"{year}-{last}")


def _of_half(rows: Sequence[DecisionCount]) -> Iterator[Item]:
    reports = [each for each in rows if each.kind == REPORTS_COUNTED]
    objections = [each for each in rows if each.kind == OBJECTIONS_COUNTED]
    yield (_("Reports by readers: %(number)s", number=_rounded(reports)),)
    yield tuple(_reasons(reports))
    yield _outcomes(reports)
    if time := _usual(reports):
        yield (_("Decided within: %(time)s", time=time),)
    people = [each for each in rows if each.kind == BY_MODERATORS]
    yield (_("Decisions by moderators: %(number)s", number=_rounded(people)),)
    yield _outcomes(people)
    if time := _usual(people):
        yield (_("Decided within: %(time)s", time=time),)
    programs = [each for each in rows if each.kind == BY_PROGRAMS]
    yield (_("Decisions by programs alone: %(number)s", number=_rounded(programs)),)
    yield _outcomes(programs)
    undone = [each for each in rows if each.kind == UNDONE_COUNTED]
    yield (_("Decisions that were taken back: %(number)s", number=_rounded(undone)),)
    granted = [each for each in objections if each.outcome]
    yield (_("Objections: %(number)s", number=_rounded(objections)),)
    yield (_("Granted: %(number)s", number=_rounded(granted)),)
    if time := _usual(objections):
        yield (_("Decided within: %(time)s", time=time),)


def _reasons(rows: Iterable[DecisionCount]) -> Iterator[Message]:
    for reason, name in NAMES.items():
        number = _rounded(each for each in rows if each.reason == reason)
        yield _("%(name)s: %(number)s.", name=name, number=number)


def _outcomes(rows: Iterable[DecisionCount]) -> Item:
    each = {
        status: _rounded(row for row in rows if row.outcome == status)
        for status in (APPROVED, SPAM, DELETED)
    }
    return (
        _("Published: %(number)s.", number=each[APPROVED]),
        _("Marked as spam: %(number)s.", number=each[SPAM]),
        _("Deleted: %(number)s.", number=each[DELETED]),
    )


def _rounded(rows: Iterable[DecisionCount]) -> int:
    number = sum(each.number for each in rows)
    return (number + ROUNDED // 2) // ROUNDED * ROUNDED


def _usual(rows: Sequence[DecisionCount]) -> Message | None:
    """Return the median of the times, at most; None for so few that the number is none."""
    timed = [each for each in rows if each.hours]
    if not _rounded(timed):
        return None
    numbers = Counter[int]()
    for each in timed:
        numbers[each.hours] += each.number
    seen, half = 0, sum(numbers.values()) / 2
    for hours, number in sorted(numbers.items()):
        seen += number
        if seen >= half:
            return said_duration(hours * 3_600)
    return None
