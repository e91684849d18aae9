"""What an author's later changes do to a comment, its count and its history."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc import outbox
from commentsvc.backup import integrity
from commentsvc.comments import queries
from commentsvc.db.database import Database
from commentsvc.db.schema.outbox import Target
from commentsvc.delivery.channels import targets
from commentsvc.errors import UnknownComment
from commentsvc.model import APPROVED, AUTHOR, DELETED, PENDING, SPAM, Comment
from commentsvc.moderation import author_edits, history
from commentsvc.settings.schema import Settings
from commentsvc.spam import training
from commentsvc.spam.score import Verdict
from tests.unit.database_fixture import HOUR, NOW, add, decide, opened

LATER = NOW + HOUR
ACCEPT, HOLD, FILE = Verdict("accept"), Verdict("hold", 5, ("a link",)), Verdict("spam", 9, ("x",))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database
        assert database.read_now(integrity.check) == []


def revise(database: Database, number: int, text: str, verdict: Verdict = ACCEPT) -> Comment:
    return database.write_now(author_edits.edit, number, text, verdict, LATER)


def count(database: Database) -> int:
    return database.read_now(queries.thread, "blog", "/post/").count


@pytest.mark.parametrize(
    ("before", "verdict", "after"),
    [
        (APPROVED, ACCEPT, APPROVED),
        (APPROVED, HOLD, PENDING),
        (APPROVED, FILE, SPAM),
        (PENDING, ACCEPT, PENDING),
        (PENDING, HOLD, PENDING),
        (PENDING, FILE, SPAM),
        (SPAM, ACCEPT, SPAM),
        (SPAM, HOLD, SPAM),
    ],
)
def test_an_edit_never_shows_what_was_not_shown(
    database: Database, before: str, verdict: Verdict, after: str
) -> None:
    number = add(database, status=before).comment.id
    comment = revise(database, number, "*New*", verdict)
    assert (comment.status, comment.source, comment.edited_at) == (after, "*New*", LATER)
    assert comment.html == "<p><em>New</em></p>\n"
    assert count(database) == (after == APPROVED)


def test_the_history_has_the_old_text_and_says_who_changed_it(database: Database) -> None:
    number = add(database).comment.id
    revise(database, number, "New", HOLD)
    changes = database.read_now(history.entries, number)
    assert [(change.field, change.old, change.new, change.actor) for change in changes] == [
        ("status", APPROVED, PENDING, AUTHOR),
        ("text", "Hello *you*", "New", AUTHOR),
    ]


def test_the_verdict_is_the_one_on_the_new_text(database: Database) -> None:
    number = add(database, score=2, reasons="old").comment.id
    revise(database, number, "New", HOLD)
    sql = "SELECT score, reasons FROM comment"
    assert database.read_now(lambda snapshot: snapshot.execute(sql).fetchall()) == [(5, "a link")]


def test_the_same_text_changes_nothing(database: Database) -> None:
    number = add(database).comment.id
    assert revise(database, number, "Hello *you*", FILE).status == APPROVED
    assert database.read_now(history.entries, number) == []


def test_what_waits_again_comes_back_to_its_position(database: Database) -> None:
    first, second = add(database).comment, add(database, now=NOW + 1).comment
    revise(database, first.id, "New", HOLD)
    decide(database, APPROVED, first.id, now=LATER)
    page = database.read_now(queries.list_comments, ("blog", "/post/"), "oldest", 9, None)
    assert [comment.id for comment in page.items] == [first.id, second.id]


def test_moderators_are_told_of_what_waits_again(database: Database) -> None:
    target = Target("mail", "mo@blog.example", 0, changes=False)
    number = add(database).comment.id
    database.write_now(outbox.sync_targets, [*targets(Settings()), target])
    revise(database, number, "New")
    assert database.read_now(outbox.backlogs) == {}
    revise(database, number, "Newer", HOLD)
    assert database.read_now(outbox.backlogs)["mail"].queued == 1


def test_the_filter_learns_from_moderators_alone(database: Database) -> None:
    number = add(database, status=PENDING).comment.id
    revise(database, number, "New", FILE)
    assert database.read_now(training.version) == 0
    decide(database, APPROVED, number)
    learned = database.read_now(training.version)
    database.write_now(author_edits.delete, number, LATER)
    assert database.read_now(training.version) == learned


def test_a_withdrawn_comment_is_deleted_once(database: Database) -> None:
    number = add(database).comment.id
    answer = add(database, parent=number).comment.id
    for _ in range(2):
        database.write_now(author_edits.delete, number, LATER)
    found = database.read_now(queries.find, number)
    assert found is not None
    assert found.comment.status == DELETED
    assert len(database.read_now(history.entries, number)) == 1
    shown = database.read_now(queries.latest, "blog", "/post/", 9)
    assert [entry.comment.id for entry in shown] == [answer]


def test_what_is_not_there_cannot_be_changed(database: Database) -> None:
    number = add(database, status=DELETED).comment.id
    for gone in (number, 99):
        with pytest.raises(UnknownComment):
            revise(database, gone, "New")
    with pytest.raises(UnknownComment):
        database.write_now(author_edits.delete, 99, LATER)
