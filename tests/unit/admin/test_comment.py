"""The page of one comment, with its text and history."""

import re
from typing import Any

import pytest

from commentsvc.comments import images, search
from commentsvc.markup import image_names
from commentsvc.moderation import history, profiles
from commentsvc.readers import accounts
from tests.unit.admin_client import Seat, header, seated, text
from tests.unit.app_fixture import Served, data
from tests.unit.database_fixture import add


@pytest.fixture
def seat(service: Served) -> Seat:
    add(service.database, status="pending", score=5, reasons="links +5 4")
    return seated(service)


def test_a_comments_page_has_all_that_is_known_of_it(seat: Seat) -> None:
    html = text(seat.get("comment?id=1"))
    assert "<p>Hello <em>you</em></p>" in html
    assert "Hello *you*</textarea>" in html
    assert '<div class="words" dir="auto">' in html, "in the direction of its first letter"
    assert "Spam score 5 of 9" in html
    assert "Sent by Ann" in html
    assert ">waiting</span>" in html


def test_the_history_tells_who_did_what_and_what_was_undone(seat: Seat) -> None:
    seat.send("decide", one="spam.1", back="comment?id=1")
    seat.send("undo", act="1", back="comment?id=1")
    seat.send("decide", one="approve.1", back="comment?id=1")
    html = text(seat.get("comment?id=1"))
    history = html[html.index("History</h2>") :]
    assert history.index(">published</span>") < history.index(">spam</span>"), "newest first"
    assert history.count("by ann") == 3
    assert "undone by ann" in history


def test_the_page_of_a_comment_that_was_edited_often_is_short(
    seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "SHOWN", 2)
    for number in range(4):
        seat.send("edit", id="1", message=f"Text {number}")
    html = text(seat.get("comment?id=1"))
    assert ("Text 2" in html, "Text 1" in html, "Text 0" in html) == (True, True, False)


def test_a_new_text_is_stored_rendered_and_noted(service: Served, seat: Seat) -> None:
    answer = seat.send("edit", id="1", message="Better *now*\r\nand here\r\n")
    assert header(answer, "Location") == "comment?id=1&done=edited.1.0.1"
    comment = service.stored()[0].comment
    assert comment.source == "Better *now*\nand here"
    assert "<em>now</em>" in comment.html
    html = text(seat.get("comment?id=1&done=edited.1.0.1"))
    assert "1 comment changed." in html
    assert '<pre dir="auto">Hello *you*</pre>' in html, "the first words stay"
    seat.send("undo", act="1", back="comment?id=1")
    assert service.stored()[0].comment.source == "Hello *you*"


def test_a_reader_who_signed_in_can_be_trusted_and_no_longer(service: Served, seat: Seat) -> None:
    write = service.database.write_now
    who = write(accounts.identified, "blog", ("mail", "eve@b.example"), "eve@b.example", 0)
    write(accounts.choose_name, who, "Eve", ["eve"])
    add(service.database, author="Eve", reader_id=who.id)
    assert "Trust this author" not in text(seat.get("comment?id=1")), (
        "that author only typed a name"
    )
    assert "Trust this author" in text(seat.get("comment?id=2"))
    answer = seat.send("trust", trust=str(who.id), back="comment?id=2")
    assert header(answer, "Location") == "comment?id=2"
    assert "Trusted by ann" in text(seat.get("comment?id=2"))
    assert "No longer trust Eve" in text(seat.get("bans"))
    assert seat.send("trust", trust="99").status == 404
    seat.send("trust", distrust=str(who.id), back="bans")
    assert "Trusted authors" not in text(seat.get("bans"))


def test_a_moderator_corrects_the_language_of_a_comment(service: Served, seat: Seat) -> None:
    answer = seat.send("comment-language", id="1", lang=" PT-br ")
    assert header(answer, "Location") == "comment?id=1&done=edited.1.0.1"
    assert service.stored()[0].comment.lang == "pt-BR"
    html = text(seat.get("comment?id=1"))
    assert 'value="pt-BR"' in html
    assert "– → pt-BR" in html
    assert service.stored()[0].comment.edited_at is None, "its words are the same"
    seat.send("undo", act="1", back="comment?id=1")
    assert service.stored()[0].comment.lang == ""


@pytest.mark.parametrize("lang", ["", "german", "d", '"><b>', "de_AT", "x" * 99])
def test_what_is_no_language_is_kept_in_the_form_and_told(
    service: Served, seat: Seat, lang: str
) -> None:
    answer = seat.send("comment-language", id="1", lang=lang)
    html = text(answer)
    assert (answer.status, "tag of a language" in html, "><b>" in html) == (422, True, False)
    assert service.stored()[0].comment.lang == ""


def test_the_same_text_changes_nothing(service: Served, seat: Seat) -> None:
    answer = seat.send("edit", id="1", message="Hello *you*")
    assert "Nothing was changed" in text(seat.get(header(answer, "Location")))
    assert service.stored()[0].comment.edited_at is None


def test_moderators_see_an_image_before_others(service: Served, seat: Seat) -> None:
    name = image_names.name(b"RIFF red", 4, 3)
    service.database.write_now(images.put, "blog", name, b"RIFF red", 0, images.Quota(99))
    html = f'<p><img src="https://comments.example/images/{name}.webp" alt="Red"></p>'
    add(service.database, status="pending", source=f"![Red](image:{name})", html=html)
    shown = text(seat.get("comment?id=2"))
    assert html in shown
    assert f'<img src="image?name={name}" alt="" loading="lazy">' in shown
    answer = seat.get(f"image?name={name}")
    assert (answer.status, answer.body) == (200, b"RIFF red")
    assert header(answer, "Cache-Control") == "no-store"
    assert header(answer, "X-Content-Type-Options") == "nosniff"
    assert service.get(f"/images/{name}.webp").status == 404
    assert seat.get("image?name=x").status == 404


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
    assert html.count("</textarea>") == 3, "of the text, of an answer and of a note"


@pytest.mark.parametrize("back", ["queue", "comment?id=1"])
def test_a_comment_is_approved_and_answered_in_one_step(
    service: Served, seat: Seat, back: str
) -> None:
    page = text(seat.get(back))
    assert 'formaction="answer" name="answer" value="1"' in page
    assert "Approve and answer" in page
    fields = {"answer": "1", "text.1": "*Yes*\r\nindeed", "text.2": "", "back": back}
    location = header(seat.send("answer", **fields), "Location")
    assert location.partition("done=")[2] == "answered.1.0.1"
    answer, question = (entry.comment for entry in service.stored())
    assert (question.status, answer.status, answer.parent_id) == ("approved", "approved", 1)
    assert (answer.source, answer.author, answer.role) == ("*Yes*\nindeed", "ann", "owner")
    page = text(seat.get(location))
    assert "Your answer is published." in page
    assert "1 comment approved." in page
    seat.send("undo", act="1", back=back)
    assert service.stored()[1].comment.status == "pending"


def test_an_answer_to_what_is_published_says_so(service: Served, seat: Seat) -> None:
    seat.send("decide", one="approve.1", back="queue")
    html = text(seat.get("comment?id=1"))
    assert "Approve and answer" not in html
    location = header(seat.send("answer", answer="1", **{"text.1": "Yes"}), "Location")
    assert location == "queue?done=answered.0.0.0"
    html = text(seat.get(location))
    assert "Your answer is published." in html
    assert "Nothing was changed" not in html
    [shown] = data(service.get("/api/comments?url=/post/"))["data"][1:]
    assert (shown["author"], shown["role"], shown["parent"]) == ("ann", "owner", 1)


@pytest.mark.parametrize("message", ["", " \n ", "x" * 201])
def test_an_answer_that_is_none_is_kept_in_the_form_and_told(
    service: Served, seat: Seat, message: str
) -> None:
    answer = seat.send("answer", answer="1", **{"text.1": message})
    assert answer.status == 422
    html = text(answer)
    assert 'role="alert"' in html
    assert message.strip() in html
    assert [entry.comment.status for entry in service.stored()] == ["pending"]


def test_what_is_spam_or_unknown_is_not_answered(service: Served, seat: Seat) -> None:
    seat.send("decide", one="spam.1", back="queue")
    assert 'name="answer"' not in text(seat.get("comment?id=1"))
    for number, status in (("1", 409), ("77", 404), ("x", 404)):
        assert seat.send("answer", answer=number, **{f"text.{number}": "Yes"}).status == status
    assert len(service.stored()) == 1


def test_own_comments_can_be_changed_for_ever(service: Served, seat: Seat) -> None:
    seat.send("answer", answer="1", **{"text.1": "Yes"})
    service.now += 5 * 86_400
    seat.send("edit", id="2", message="No")
    comment = service.stored()[0].comment
    assert (comment.source, comment.status, comment.role) == ("No", "approved", "owner")


def test_a_hostile_answer_passes_the_allow_list(service: Served, seat: Seat) -> None:
    seat.send("answer", answer="1", **{"text.1": "<script>alert(1)</script></textarea><b>"})
    assert "<script>alert" not in service.stored()[0].comment.html
    assert "<script>alert" not in text(seat.get("comment?id=2"))


@pytest.mark.parametrize("number", ["", "x", "0", "77", "9" * 30, "-1"])
def test_a_comment_that_does_not_exist_is_told(seat: Seat, number: str) -> None:
    assert seat.get(f"comment?id={number}").status == 404
    assert seat.send("edit", id=number, message="Hi").status == 404


def test_a_comment_shows_what_else_its_author_wrote_on_the_moderators_sites(
    service: Served, seat: Seat
) -> None:
    rosa: dict[str, Any] = {"email": "rosa@home.example", "author": "Rosa"}  # Any: of a submission
    numbers = [
        add(service.database, status=status, source=f"No {status}", site=site, **rosa).comment.id
        for site, status in (("blog", "approved"), ("blog", "spam"), ("notes", "pending"))
    ]
    add(service.database, email="jo@home.example", html="<p>by Jo</p>")
    service.database.write_now(search.index_pending, 1_000)
    html = text(seat.get(f"comment?id={numbers[0]}"))
    part = html[html.index('id="author-title"') : html.index('id="history-title"')]
    assert re.findall(r'href="comment\?id=(\d+)"', part) == [str(n) for n in numbers[:0:-1]]
    assert [f"{word} 1</span>" in part for word in ("waiting", "published", "spam")] == [True] * 3
    assert "deleted" not in part
    limited = seated(service, "lea")
    service.database.write_now(profiles.assign, "lea", "moderator", ["blog"])
    html = text(limited.get(f"comment?id={numbers[0]}"))
    assert f"comment?id={numbers[1]}" in html
    assert f"comment?id={numbers[2]}" not in html
