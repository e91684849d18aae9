"""Replies of moderators are shown at once, with a badge; subscribers are notified."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.auth import accounts
from commentsvc.db.database import Database
from commentsvc.db.schema.outbox import Target
from commentsvc.errors import NotAnswerable, UnknownComment
from commentsvc.moderation import (
    answers,
    history,
    profiles,
    retention,
    threads,
    undo,
)
from commentsvc.moderation.answers import AnswerResult
from commentsvc.readers import subscriptions
from tests.unit.app_fixture import SETTINGS, data, served
from tests.unit.database_fixture import NOW, add, decide, opened

HOUR = 3_600_000


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        database.write_now(accounts.add, "rosa", "hash", NOW)
        profile = database.read_now(profiles.named, "rosa")
        database.write_now(profiles.save, replace(profile, email="rosa@blog.example"))
        yield database


def answer(
    database: Database, comment_id: int = 1, text: str = "*Yes*", now: int = NOW + 1
) -> AnswerResult:
    rosa = database.read_now(profiles.named, "rosa")
    return database.write_now(answers.answer, comment_id, text, rosa, now)


def count(database: Database) -> int:
    [(number,)] = database.read_now(lambda r: r.execute("SELECT count FROM site").fetchall())
    return int(number)


def waiting(database: Database) -> list[tuple[str, str, int | None]]:
    rows = database.read_now(outbox.listing, None, 1 << 62, 100)
    return [(row.channel, row.kind, row.comment_id) for row in reversed(rows)]


def test_an_answer_approves_what_it_answers_and_is_shown_at_once(database: Database) -> None:
    add(database, status="pending")
    result = answer(database)
    comment = result.comment
    assert (comment.status, comment.parent_id, comment.html) == (
        "approved",
        1,
        "<p><em>Yes</em></p>\n",
    )
    assert (comment.author, comment.role) == ("rosa", "owner")
    assert count(database) == 2
    assert [each.actor for each in database.read_now(history.entries, 1)] == ["rosa"]
    database.write_now(undo.decision, result.decision_id, "rosa", NOW + 2)
    assert count(database) == 1


def test_an_answer_to_what_is_shown_decides_nothing(database: Database) -> None:
    add(database)
    assert answer(database).decision_id == 0
    assert count(database) == 2


def test_the_same_answer_twice_is_stored_once(database: Database) -> None:
    add(database, status="pending")
    first = answer(database).comment.id
    assert answer(database).comment.id == first
    assert answer(database, text="No").comment.id != first
    assert answer(database, now=NOW + 2 * HOUR).comment.id != first


@pytest.mark.parametrize("status", ["spam", "deleted"])
def test_the_same_answer_again_is_shown_after_it_was_taken_back(
    database: Database, status: str
) -> None:
    add(database)
    first = answer(database).comment.id
    decide(database, status, first)
    assert count(database) == 1
    again = answer(database).comment
    assert (again.status, count(database)) == ("approved", 2)
    assert answer(database).comment.id == again.id != first


@pytest.mark.parametrize("status", ["spam", "deleted"])
def test_what_readers_do_not_see_cannot_be_answered(database: Database, status: str) -> None:
    add(database)
    decide(database, status, 1)
    with pytest.raises(NotAnswerable):
        answer(database)
    with pytest.raises(UnknownComment):
        answer(database, 99)
    assert count(database) == 0


def test_a_closed_page_takes_answers_of_moderators_alone(database: Database) -> None:
    add(database)
    database.write_now(threads.set_state, "blog", "/post/", "closed")
    assert answer(database).comment.status == "approved"


def test_who_waits_for_answers_is_told_and_moderators_are_not(database: Database) -> None:
    mail, hook = Target("mail", "mo@blog.example", 0), Target("webhook x", "", 0, True)
    database.write_now(outbox.sync_targets, [mail, hook])
    add(database, status="approved", email="ann@reader.example", notify=True)
    database.write_now(subscriptions.confirm, 1, NOW)
    before = waiting(database)
    number = answer(database).comment.id
    assert waiting(database)[len(before) :] == [
        ("webhook x", "submitted", number),
        ("mail", "reply", number),
    ]


def test_who_agrees_after_the_answer_is_told_of_it_once(database: Database) -> None:
    add(database, status="pending", email="ann@reader.example", notify=True)
    number = answer(database).comment.id
    assert waiting(database) == [("mail", "confirm", 1)]
    assert database.write_now(subscriptions.confirm, 1, NOW + 5)
    assert not database.write_now(subscriptions.confirm, 1, NOW + 6)
    assert waiting(database)[1:] == [("mail", "reply", number)]


def test_an_answer_has_no_token_that_changes_it(tmp_path: Path) -> None:
    with served(tmp_path, SETTINGS) as service:
        service.database.write_now(accounts.add, "rosa", "hash", NOW)
        service.submit()
        number = answer(service.database).comment.id
        for token in ("", "x", "0" * 22):
            answered = service.ask(
                "PATCH",
                f"/api/comments/{number}",
                json.dumps({"message": "No"}).encode(),
                content_type="application/json",
                authorization=f"Bearer {token}",
            )
            assert answered.status == 401


def test_the_badge_is_shown_wherever_the_comment_is(tmp_path: Path) -> None:
    with served(tmp_path, SETTINGS) as service:
        service.database.write_now(accounts.add, "rosa", "hash", NOW)
        service.submit()
        answer(service.database)
        shown = data(service.get("/api/comments?url=/p/"))["data"]
        assert [each.get("role") for each in shown] == [None, "owner"]
        assert b'<span class="commentsvc-badge">Owner</span>' in (
            service.get("/embed/thread?url=/p/").body
        )
        assert b"Betreiber" in service.get("/embed/thread?url=/p/&lang=de").body
        assert service.get("/feed.atom").body.count(b'<category term="owner"/>') == 1
        assert service.get("/feed.rss").body.count(b"<category>owner</category>") == 1
        tags = [each.get("tags") for each in json.loads(service.get("/feed.json").body)["items"]]
        assert tags == [["owner"], None]
        [old] = [each for each in data(service.get("/comments?url=/p/"))["data"] if "role" in each]
        assert old["role"] == "owner"


def test_an_erased_author_has_no_badge(database: Database) -> None:
    add(database)
    number = answer(database).comment.id
    database.write_now(retention.forget, "rosa@blog.example", "mo", NOW)
    rows = database.read_now(
        lambda r: r.execute("SELECT role, moderator_id FROM comment WHERE id = ?", (number,))
    )
    assert rows.fetchall() == [("", None)]
