"""Training the filter: each decision is counted once, and can be undone exactly."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.db.database import Database
from commentsvc.moderation import changes, retention, undo
from commentsvc.spam import training
from commentsvc.spam.bayes import tokens
from tests.unit.database_fixture import NOW, add, decide, opened

NOTHING: dict[str, tuple[int, int]] = {}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def said(database: Database, text: str, status: str = "pending") -> int:
    return add(database, status=status, author="", source=text).comment.id


def counted(database: Database, *words: str) -> dict[str, tuple[int, int]]:
    """Return in how many spam and good comments each of the words occurred, if in any."""
    sql = "SELECT hash, spam, good FROM training_token WHERE spam + good > 0"
    rows = database.read_now(lambda snapshot: snapshot.execute(sql).fetchall())
    known = {number: counts for number, *counts in rows}
    numbered = tokens("", "", " ".join(words))
    return {word: (*known[number],) for number, word in numbered.items() if number in known}


def totals(database: Database) -> tuple[int, int]:
    row = database.read_now(
        lambda snapshot: snapshot.execute("SELECT spam, good FROM training_total").fetchone()
    )
    return row or (0, 0)


def test_only_decisions_teach(database: Database) -> None:
    said(database, "cheap pills", "spam")
    said(database, "nice bread", "approved")
    assert (counted(database, "pills", "bread"), totals(database)) == (NOTHING, (0, 0))
    assert database.read_now(training.version) == 0


def test_each_decision_is_counted_and_another_one_takes_its_place(database: Database) -> None:
    number = said(database, "cheap cheap pills")
    decide(database, "spam", number)
    assert counted(database, "cheap", "pills") == {"cheap": (1, 0), "pills": (1, 0)}
    assert totals(database) == (1, 0)
    decide(database, "approved", number)
    assert counted(database, "cheap", "pills") == {"cheap": (0, 1), "pills": (0, 1)}
    assert totals(database) == (0, 1)
    decide(database, "deleted", number)
    assert (counted(database, "cheap"), totals(database)) == (NOTHING, (0, 0))


def test_undoing_takes_back_what_was_taught_and_teaches_what_was_before(database: Database) -> None:
    number = said(database, "cheap pills", "spam")
    decide(database, "approved", number)
    act = decide(database, "spam", number).decision_id
    assert counted(database, "pills") == {"pills": (1, 0)}
    database.write_now(undo.decision, act, "Mo", NOW)
    assert counted(database, "pills") == {"pills": (0, 1)}
    database.write_now(undo.last, [number], "Mo", NOW)
    assert (counted(database, "pills"), totals(database)) == (NOTHING, (0, 0))


def test_what_is_taken_back_is_what_was_counted_whatever_the_text_is_now(
    database: Database,
) -> None:
    number = said(database, "cheap pills")
    decide(database, "approved", number)
    database.write_now(changes.edit, number, "other words", "Mo", NOW)
    decide(database, "spam", number)
    assert counted(database, "pills", "other") == {"other": (1, 0)}


def test_what_an_author_wants_forgotten_is_unlearned(database: Database) -> None:
    number = add(database, source="secret words", email="ann@blog.example").comment.id
    decide(database, "spam", number)
    assert counted(database, "secret") == {"secret": (1, 0)}
    database.write_now(retention.forget, "ann@blog.example", "Mo", NOW)
    assert (counted(database, "secret"), totals(database)) == (NOTHING, (0, 0))


def test_a_comment_that_is_erased_leaves_what_was_learned(database: Database) -> None:
    number = said(database, "cheap pills")
    decide(database, "spam", number)
    database.write_now(lambda tx: tx.execute("DELETE FROM change"))
    database.write_now(lambda tx: tx.execute("DELETE FROM comment WHERE id = ?", (number,)))
    assert counted(database, "pills") == {"pills": (1, 0)}
    left = database.read_now(
        lambda snapshot: snapshot.execute("SELECT * FROM training_comment").fetchall()
    )
    assert left == []


def test_the_rarest_words_go_when_there_are_too_many(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "WORDS", 20)
    for _ in range(2):
        decide(database, "spam", said(database, "cheap pills"))
    decide(database, "spam", said(database, " ".join(f"rare{n}" for n in range(19))))
    [(kept,)] = database.read_now(
        lambda snapshot: snapshot.execute("SELECT count(*) FROM training_token").fetchall()
    )
    assert kept == 18
    assert counted(database, "cheap", "pills") == {"cheap": (2, 0), "pills": (2, 0)}


def test_one_act_teaches_a_bounded_number_of_comments(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "LEARNED", 3)
    ids = [said(database, f"text {n}") for n in range(5)]
    act = decide(database, "spam", *ids).decision_id
    assert totals(database) == (3, 0)
    database.write_now(undo.decision, act, "Mo", NOW)
    assert totals(database) == (0, 0)


def test_odds_are_those_of_robinson_once_there_are_enough_lessons(database: Database) -> None:
    for n in range(training.LEAST):
        assert database.read_now(training.odds) == {}
        decide(database, "spam", said(database, "pills" if n < 5 else "both"))
        decide(database, "approved", said(database, "both"))
        decide(database, "approved", said(database, "bread"))
    odds = database.read_now(training.odds)
    found = {
        word: odds.get(number)
        for w in ("pills", "both", "bread")
        for number, word in tokens("", "", w).items()
    }
    # In 5 of 10 spam, 5 of 10 spam and 10 of 20 good, 10 of 20 good.
    assert found == {
        "pills": pytest.approx((0.5 + 5) / 6),
        "both": None,
        "bread": pytest.approx(0.5 / 11),
    }


def test_the_version_changes_with_each_lesson(database: Database) -> None:
    number = said(database, "cheap pills")
    seen = [database.read_now(training.version)]
    for status in ("spam", "approved", "deleted"):
        decide(database, status, number)
        seen.append(database.read_now(training.version))
    assert len(set(seen)) == 4
