"""The forms that close, move and merge pages."""

import re

import pytest

from commentsvc.admin.threads import MOST
from commentsvc.comments.page_urls import PageRef
from commentsvc.feedback import reactions, views
from commentsvc.feedback.reactions import Reaction
from commentsvc.model import GONE, MOVED
from commentsvc.moderation import moved_pages, threads
from commentsvc.moderation.moved_pages import BlogAnswer
from tests.unit.admin_client import Seat, header, seated, text
from tests.unit.app_fixture import Served, data
from tests.unit.database_fixture import add


@pytest.fixture
def seat(service: Served) -> Seat:
    for url in ("/a/", "/b/", "/b/"):
        add(service.database, url=url, title=f"Page {url}")
    return seated(service)


def count(service: Served, url: str) -> int:
    return int(data(service.get(f"/api/comments/count?url={url}"))["count"])


def names(html: str) -> list[str]:
    return re.findall(r'class="name" href="thread\?id=\d+">([^<]*)<', html)


def test_threads_are_listed_and_found(seat: Seat) -> None:
    html = text(seat.get("threads"))
    assert names(html) == ["Page /b/", "Page /a/"]
    assert "2 comments" in html
    assert names(text(seat.get("threads?q=/a"))) == ["Page /a/"]
    assert "No page was found" in text(seat.get("threads?q=zzz"))
    assert seat.get("threads?before=x").status == 404


def test_without_a_thread_there_is_a_kind_word(service: Served) -> None:
    assert "No comments yet" in text(seated(service).get("threads"))


def test_many_threads_are_read_in_pieces(service: Served) -> None:
    seat = seated(service)
    for number in range(MOST + 3):
        add(service.database, url=f"/{number}/")
    html = text(seat.get("threads?q=/"))
    older = re.search(r'href="(threads[^"]+)" rel="next"', html)
    assert older
    rest = text(seat.get(older[1].replace("&amp;", "&")))
    assert names(html) + names(rest) == [f"/{n}/" for n in reversed(range(MOST + 3))]


@pytest.mark.parametrize(("state", "status"), [("closed", 400), ("open", 201), ("aging", 201)])
def test_a_thread_is_closed_and_opened(
    service: Served, seat: Seat, state: str, status: int
) -> None:
    answer = seat.send("thread", id="1", do="state", value=state)
    assert header(answer, "Location") == "thread?id=1&done=state"
    html = text(seat.get("thread?id=1&done=state"))
    assert f'value="{state}" class="main" aria-pressed="true"' in html
    assert service.submit(url="/a/", author="Ida").status == status


def test_a_moderator_changes_the_title_of_a_page(service: Served, seat: Seat) -> None:
    assert b"Page /b/" in service.get("/feed.atom?url=/b/").body
    answer = seat.send("thread", id="2", do="title", value=" <New>\ntitle ")
    assert header(answer, "Location") == "thread?id=2&done=title"
    html = text(seat.get("thread?id=2&done=title"))
    assert "<h1>&lt;New&gt; title</h1>" in html
    assert 'value="&lt;New&gt; title"' in html
    assert "Title saved." in html
    assert b"Page /b/" not in service.get("/feed.atom?url=/b/").body


def test_a_page_moves_with_its_comments(service: Served, seat: Seat) -> None:
    answer = seat.send("thread", id="1", do="move", value="https://blog.example/c/?utm_source=x")
    assert header(answer, "Location") == "thread?id=1&done=move"
    assert (count(service, "/a/"), count(service, "/c/")) == (1, 1)
    html = text(seat.get("thread?id=1"))
    assert '<code dir="ltr">/a/</code>' in html, "also where lines begin on the right"


def test_two_pages_become_one_when_that_is_sure(service: Served, seat: Seat) -> None:
    answer = seat.send("thread", id="1", do="merge", value="/b/")
    assert answer.status == 400
    assert "cannot be undone" in text(answer)
    assert count(service, "/b/") == 2
    answer = seat.send("thread", id="1", do="merge", value="/b/", sure="yes")
    assert header(answer, "Location") == "thread?id=2&done=merge"
    assert (count(service, "/a/"), count(service, "/b/")) == (3, 3)
    assert seat.get("thread?id=1").status == 404


def test_an_address_is_added_and_removed(service: Served, seat: Seat) -> None:
    seat.send("thread", id="1", do="alias", value="/old/")
    assert count(service, "/old/") == 1
    assert 'value="/old/"' in text(seat.get("thread?id=1"))
    seat.send("thread", id="1", do="unalias", value="/old/")
    assert count(service, "/old/") == 0


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"do": "move", "value": "/b/"}, 409),
        ({"do": "alias", "value": "/b/"}, 409),
        ({"do": "alias", "value": "/a/"}, 409),
        ({"do": "unalias", "value": "/zzz/"}, 404),
        ({"do": "move", "value": "https://evil.example/"}, 400),
        ({"do": "move", "value": ""}, 400),
        ({"do": "merge", "value": "/zzz/", "sure": "yes"}, 404),
        ({"do": "state", "value": "ajar"}, 400),
        ({"do": "explode", "value": "/b/"}, 400),
        ({}, 400),
    ],
)
def test_what_cannot_be_done_is_told_on_the_page(
    service: Served, seat: Seat, fields: dict[str, object], status: int
) -> None:
    answer = seat.send("thread", id="1", **fields)
    assert answer.status == status
    html = text(answer)
    assert 'role="alert"' in html
    assert "Page /a/" in html
    assert (count(service, "/a/"), count(service, "/b/")) == (1, 2)


def test_reactions_are_shown_and_removed(service: Served, seat: Seat) -> None:
    assert "Reactions" not in text(seat.get("thread?id=1"))
    reaction = Reaction("👍", "a reader")
    service.database.write_now(reactions.react, PageRef("blog", "/a/"), reaction, (), 0)
    assert "<p>👍 1</p>" in text(seat.get("thread?id=1"))
    answer = seat.send("thread", id="1", do="remove_reactions")
    html = text(seat.get(header(answer, "Location")))
    assert "Reactions removed." in html
    assert "<p>👍 1</p>" not in html


def test_views_are_shown_and_set_to_zero(service: Served, seat: Seat) -> None:
    assert "Views" not in text(seat.get("thread?id=1"))
    service.database.write_now(views.add, {PageRef("blog", "/a/"): 2})
    assert "viewed 2 times" in text(seat.get("thread?id=1"))
    answer = seat.send("thread", id="1", do="remove_views")
    html = text(seat.get(header(answer, "Location")))
    assert "The views are set to zero." in html
    assert "viewed" not in html


@pytest.mark.parametrize("number", ["", "0", "77", "x"])
def test_a_thread_that_does_not_exist_is_told(seat: Seat, number: str) -> None:
    assert seat.get(f"thread?id={number}").status == 404
    assert seat.send("thread", id=number, do="state", value="open").status == 404


def found(service: Served, url: str, target: str) -> int:
    """Store that the blog says where a page has moved, "" for one that is gone."""
    thread = service.database.read_now(threads.find, "blog", url)
    state = MOVED if target else GONE
    answer = BlogAnswer(thread.thread_id, url, state, target, 0)
    service.database.write_now(moved_pages.save, [answer])
    return thread.thread_id


def test_comments_follow_pages_that_have_moved_and_come_back(service: Served, seat: Seat) -> None:
    ids = [found(service, "/a/", "/new/"), found(service, "/b/", "/newer/")]
    assert "2 pages have moved or are gone" in text(seat.get("threads"))
    assert "/newer/" in text(seat.get("moved"))
    assert header(seat.send("moved", do="follow", id=ids), "Location") == "moved?done=follow"
    assert [count(service, url) for url in ("/new/", "/newer/", "/a/")] == [1, 2, 1]
    page = text(seat.get("moved?done=follow"))
    assert "The comments have followed their pages." in page
    assert "Undo the last answer about 2 pages" in page
    seat.send("moved", do="undo")
    assert [count(service, url) for url in ("/a/", "/b/", "/new/")] == [1, 2, 0]


def test_comments_of_a_page_that_is_gone_may_stay(service: Served, seat: Seat) -> None:
    number = found(service, "/a/", "")
    assert "1 page is gone" in text(seat.get("moved"))
    seat.send("moved", do="stay", id=number)
    page = text(seat.get("moved"))
    assert "1 page is gone" not in page
    assert "left where they are" in page


def test_an_answer_that_changes_nothing_says_so(service: Served, seat: Seat) -> None:
    number = found(service, "/a/", "/new/")
    seat.send("moved", do="follow", id=number)
    again = header(seat.send("moved", do="follow", id=number), "Location")
    assert "Nothing was changed." in text(seat.get(again))
    service.database.write_now(threads.move, "blog", "/new/", "/newer/")
    back = header(seat.send("moved", do="undo", id=number), "Location")
    assert "Nothing was changed." in text(seat.get(back))


def test_an_answer_about_moved_pages_names_them(service: Served, seat: Seat) -> None:
    found(service, "/a/", "/new/")
    refused = seat.send("moved", do="follow")
    assert refused.status == 400
    assert "Choose at least one page" in text(refused)
    assert seat.send("moved", do="x", id=1).status == 400
    assert seat.send("moved", do="follow", id="x").status == 404
    assert count(service, "/new/") == 0
