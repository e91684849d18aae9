"""commentpage: one comment, its text and its history."""

import pytest

from tests.unit.admin_client import Seat, header, seated, text
from tests.unit.app_fixture import Served
from tests.unit.database_fixture import add


@pytest.fixture
def seat(service: Served) -> Seat:
    add(service.database, status="pending", score=5, reasons="4 links (+5)")
    return seated(service)


def test_a_comments_page_has_all_that_is_known_of_it(seat: Seat) -> None:
    html = text(seat.get("comment?id=1"))
    assert "<p>Hello <em>you</em></p>" in html
    assert "Hello *you*</textarea>" in html
    assert "Doubt 5 of 9" in html
    assert "Sent by Ann" in html
    assert ">waits</span>" in html


def test_the_history_tells_who_did_what_and_what_was_undone(seat: Seat) -> None:
    seat.send("decide", one="spam.1", back="comment?id=1")
    seat.send("undo", act="1", back="comment?id=1")
    seat.send("decide", one="approve.1", back="comment?id=1")
    html = text(seat.get("comment?id=1"))
    history = html[html.index("History</h2>") :]
    assert history.index(">published</span>") < history.index(">spam</span>"), "newest first"
    assert history.count("by ann") == 3
    assert "undone by ann" in history


def test_a_new_text_is_stored_rendered_and_noted(service: Served, seat: Seat) -> None:
    answer = seat.send("edit", id="1", message="Better *now*\r\nand here\r\n")
    assert header(answer, "Location") == "comment?id=1&done=edited.1.0.1"
    comment = service.stored()[0].comment
    assert comment.source == "Better *now*\nand here"
    assert "<em>now</em>" in comment.html
    html = text(seat.get("comment?id=1&done=edited.1.0.1"))
    assert "1 comment changed." in html
    assert "<pre>Hello *you*</pre>" in html, "the first words stay"
    seat.send("undo", act="1", back="comment?id=1")
    assert service.stored()[0].comment.source == "Hello *you*"


def test_the_same_text_changes_nothing(service: Served, seat: Seat) -> None:
    answer = seat.send("edit", id="1", message="Hello *you*")
    assert "Nothing was changed" in text(seat.get(header(answer, "Location")))
    assert service.stored()[0].comment.edited_at is None


@pytest.mark.parametrize("message", ["", " \n ", "x" * 201])
def test_a_text_that_is_none_is_kept_in_the_form_and_told(
    service: Served, seat: Seat, message: str
) -> None:
    answer = seat.send("edit", id="1", message=message)
    assert answer.status == 422
    html = text(answer)
    assert 'role="alert"' in html
    assert f"{message.strip()}" in html
    assert service.stored()[0].comment.source == "Hello *you*"


def test_an_edited_text_passes_the_allow_list(service: Served, seat: Seat) -> None:
    hostile = "<script>alert(1)</script> [x](javascript:alert(1)) </textarea><b>"
    seat.send("edit", id="1", message=hostile)
    html = text(seat.get("comment?id=1"))
    assert "<script>alert" not in html
    assert 'href="javascript' not in html
    assert html.count("</textarea>") == 1


@pytest.mark.parametrize("number", ["", "x", "0", "77", "9" * 30, "-1"])
def test_a_comment_that_does_not_exist_is_told(seat: Seat, number: str) -> None:
    assert seat.get(f"comment?id={number}").status == 404
    assert seat.send("edit", id=number, message="Hi").status == 404
