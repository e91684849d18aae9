"""Notes that moderators write about comments: who sees them, their bounds, and their end."""

import pytest

from commentsvc.db.database import Database
from commentsvc.errors import NoteRefused, UnknownComment
from commentsvc.model import Comment
from commentsvc.moderation import internal_notes, permissions, personal_data, retention
from commentsvc.moderation.internal_notes import LENGTH, MOST, InternalNote
from tests.unit.admin_client import Seat, header, text
from tests.unit.app_fixture import Served
from tests.unit.database_fixture import NOW, add

MO = permissions.actor(1, "Mo", "moderator", "")
EVA = permissions.actor(2, "Eva", "moderator", "other")


def note(database: Database, comment_id: int, words: str = "Rude before") -> None:
    database.write_now(internal_notes.add, MO, comment_id, words, NOW)


def messages(notes: list[InternalNote]) -> list[str]:
    return [each.message for each in notes]


def test_notes_show_where_else_the_author_was_noted(service: Served) -> None:
    database = service.database
    first = add(database, email="ann@a.example").comment
    second = add(database, email="Ann@a.example", url="/other/").comment
    for nobody in (add(database), add(database)):
        note(database, nobody.comment.id, "no address")
    note(database, first.id)

    def seen(comment: Comment, sites: list[str] | None, key: str = "") -> list[str]:
        return messages(database.read_now(internal_notes.of_author, comment, key, sites))

    assert seen(second, None, "ann@a.example") == ["Rude before"]
    assert seen(second, ["other"], "ann@a.example") == [], "it is a note of another site"
    assert seen(first, None, "ann@a.example") == [], "its own notes stand with it"
    assert seen(add(database).comment, None) == []


def test_notes_are_bounded_and_confined_to_the_sites_of_a_moderator(service: Served) -> None:
    database = service.database
    comment_id = add(database).comment.id
    for words in ("", "  ", "x" * (LENGTH + 1)):
        with pytest.raises(NoteRefused):
            note(database, comment_id, words)
    for number in range(MOST):
        note(database, comment_id, f"{number}")
    with pytest.raises(NoteRefused):
        note(database, comment_id)
    [first, *_] = database.read_now(internal_notes.of_comment, comment_id)
    with pytest.raises(UnknownComment):
        database.write_now(internal_notes.add, EVA, comment_id, "Hi", NOW)
    with pytest.raises(UnknownComment):
        database.write_now(internal_notes.remove, EVA, comment_id, first.id)
    database.write_now(internal_notes.remove, MO, add(database).comment.id, first.id)
    assert len(database.read_now(internal_notes.of_comment, comment_id)) == MOST
    database.write_now(internal_notes.remove, MO, comment_id, first.id)
    assert len(database.read_now(internal_notes.of_comment, comment_id)) == MOST - 1


def test_authors_get_notes_with_their_data_and_erasing_deletes_them(service: Served) -> None:
    database = service.database
    comment_id = add(database, email="ann@a.example").comment.id
    note(database, comment_id)
    [exported] = database.read_now(personal_data.export, "ann@a.example", NOW).comments
    assert exported.internal_notes == ["Rude before"]
    database.write_now(retention.forget, "ann@a.example", "Mo", NOW)
    assert database.read_now(internal_notes.of_comment, comment_id) == []


def test_a_note_is_on_the_comments_page_and_in_no_public_answer(
    service: Served, seat: Seat
) -> None:
    add(service.database)
    answer = seat.send("internal-note", id="1", internal="Only for us")
    assert header(answer, "Location") == "comment?id=1&saved=1#notes"
    assert "Only for us" in text(seat.get("comment?id=1"))
    for path in ("/api/comments?url=/a/", "/embed/thread?url=/a/", "/feed.atom"):
        assert "Only for us" not in service.get(path).body.decode()
    refused = seat.send("internal-note", id="1", internal="y" * (LENGTH + 1))
    assert refused.status == 422
    assert "y" * LENGTH in text(refused), "no text is lost"
    seat.send("internal-note", id="1", delete="1")
    assert "Only for us" not in text(seat.get("comment?id=1"))
