"""Numbers of decisions: what is counted once, when, and that they tell of nobody."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commentsvc.db.database import Database
from commentsvc.feedback import reports
from commentsvc.feedback.reports import Reason
from commentsvc.model import APPROVED, AUTHOR, CLASSIFIER, DELETED, PENDING, SPAM
from commentsvc.moderation import changes, decision_counts, retention, site_names, undo
from commentsvc.moderation.decision_counts import DecisionCount
from commentsvc.util.timestamps import HOUR_MS
from tests.unit.database_fixture import NOW, add, decide, opened, site

HALF = decision_counts.half_of(NOW)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as opened_database:
        yield opened_database


def counted(database: Database, site: str = "blog") -> list[tuple[object, ...]]:
    rows = database.read_now(decision_counts.of_site, site)
    assert all(isinstance(each, DecisionCount) for each in rows)
    return sorted(each[1:] for each in rows)


def report(database: Database, number: int, word: str, reason: Reason, now: int = NOW) -> None:
    database.write_now(reports.report, number, word, now, reason)


def test_decisions_are_counted_by_who_made_them_and_how_long_it_took(database: Database) -> None:
    for _ in range(4):
        add(database, status=PENDING)
    decide(database, APPROVED, 1, 2, now=NOW + 3 * HOUR_MS)
    decide(database, SPAM, 2, now=NOW + 3 * HOUR_MS)
    database.write_now(changes.change, [3], SPAM, CLASSIFIER, NOW)
    database.write_now(changes.change, [4], DELETED, AUTHOR, NOW)
    assert counted(database) == [
        ("moderator", "", APPROVED, 4, 2),
        ("moderator", "", SPAM, 0, 1),
        ("program", "", SPAM, 1, 1),
    ]
    decide(database, SPAM, 2)
    assert ("moderator", "", SPAM, 0, 1) in counted(database), "it changed nothing"


def test_reports_are_counted_by_reason_and_outcome(database: Database) -> None:
    add(database)
    add(database)
    report(database, 1, "first", Reason("illegal"))
    report(database, 1, "second", Reason("abuse"))
    report(database, 2, "first", Reason("spam"))
    decide(database, DELETED, 1, now=NOW + HOUR_MS)
    decide(database, APPROVED, 2, now=NOW + 100 * HOUR_MS)
    assert counted(database) == [
        ("moderator", "", DELETED, 0, 1),
        ("report", "abuse", DELETED, 1, 1),
        ("report", "illegal", DELETED, 1, 1),
        ("report", "spam", APPROVED, 128, 1),
    ]


def test_objections_are_granted_by_a_change_or_by_taking_back(database: Database) -> None:
    for _ in range(3):
        add(database)
    decide(database, DELETED, 1, 2)
    for number in (1, 2, 3):
        report(database, number, "objects", Reason(objects=1))
    decide(database, DELETED, 1)
    database.write_now(undo.last, [2], "Mo", NOW)
    decide(database, SPAM, 3)
    found = [each for each in counted(database) if each[0] in ("objection", "undone")]
    assert found == [
        ("objection", "", "", 1, 1),
        ("objection", "", APPROVED, 1, 1),
        ("objection", "", SPAM, 1, 1),
        ("undone", "", "", 0, 1),
    ]


def test_numbers_stay_when_an_author_is_forgotten_and_name_nobody(database: Database) -> None:
    add(database, email="ann@x.example")
    decide(database, DELETED, 1)
    before = counted(database)
    database.write_now(retention.forget, "ann@x.example", AUTHOR, NOW)
    assert counted(database) == before == [("moderator", "", DELETED, 0, 1)]


def test_the_numbers_of_two_sites_that_become_one_are_added_up(database: Database) -> None:
    database.write_now(site("other"))
    for name in ("blog", "other"):
        add(database, site=name, url=f"/{name}/")
    decide(database, SPAM, 1, 2)
    database.write_now(lambda tx: site_names.rename(tx, "other", "blog", "Mo", NOW, merges=True))
    assert counted(database) == [("moderator", "", SPAM, 0, 2)]


@pytest.mark.parametrize(
    ("hours", "bucket"), [(0, 1), (1, 1), (2, 2), (3, 4), (24, 32), (10**6, 1 << 13)]
)
def test_a_time_is_the_next_power_of_two(hours: int, bucket: int) -> None:
    assert decision_counts.hours_of(hours * HOUR_MS) == bucket


def test_a_year_has_two_halves() -> None:
    moments = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 6, 7, 12)]
    halves = [decision_counts.half_of(int(each.timestamp() * 1_000)) for each in moments]
    assert halves == [4052, 4052, 4053, 4053]
    assert HALF in (4052, 4053)
