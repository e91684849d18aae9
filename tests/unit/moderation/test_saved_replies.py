"""Saved replies: texts that moderators put into answers, and their bounds."""

from commentsvc.moderation import saved_replies
from commentsvc.moderation.saved_replies import MOST, TITLE_LENGTH
from tests.unit.admin_client import Seat, header, text
from tests.unit.app_fixture import Served
from tests.unit.database_fixture import add


def test_a_saved_reply_is_put_into_an_answer(service: Served, seat: Seat) -> None:
    add(service.database)
    answer = seat.send("replies", name="Thanks ", message="Thank you for *this*!")
    assert header(answer, "Location") == "replies?saved=1"
    seat.send("replies", name="Thanks", message="Thank you!")
    assert [
        (each.title, each.message) for each in service.database.read_now(saved_replies.listing)
    ] == [("Thanks", "Thank you!")]
    page = text(seat.get("comment?id=1"))
    assert 'href="comment?id=1&amp;reply=1#answer" data-reply="Thank you!"' in page
    assert "Thank you!</textarea>" not in page
    assert "Thank you!</textarea>" in text(seat.get("comment?id=1&reply=1"))
    assert "Thank you!</textarea>" in text(seat.get("replies?id=1")), "to change it"
    seat.send("replies", delete="1")
    assert service.database.read_now(saved_replies.listing) == []


def test_saved_replies_are_bounded_and_a_refused_one_stays_in_the_form(
    service: Served, seat: Seat
) -> None:
    for name, words in (("", "Hi"), ("x" * (TITLE_LENGTH + 1), "Hi"), ("Long", "y" * 9_000)):
        refused = seat.send("replies", name=name, message=words)
        assert refused.status == 422
        assert f"{words}</textarea>" in text(refused)
    for number in range(MOST):
        assert seat.send("replies", name=f"{number}", message="Hi").status == 303
    assert seat.send("replies", name="another", message="Hi").status == 422
    assert seat.send("replies", name="0", message="Hello").status == 303, "it takes no more room"
