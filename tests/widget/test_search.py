"""The search: of a site by its element, and of a long thread by a button beside its heading."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.accessibility import assert_accessible, save_picture
from tests.widget.browser import POST, SERVICE, Answers, comment
from tests.widget.test_access import PICTURES
from tests.widget.test_sizes import take_loaded

OpenThread = Callable[..., Page]
Announce = Callable[[], None]
BUDGET = 1_300  # bytes, gzipped


def accessible(page: Page, name: str) -> None:
    save_picture(page, PICTURES / f"search-{name}.png")
    assert_accessible(page)


def result(number: int, text: str, page: str = "https://blog.example/a/") -> dict[str, Any]:
    return {
        "id": number,
        "author": f"Rosa {number}",
        "excerpt": text,
        "link": f"{page}#commentsvc-{number}",
        "title": "Oil on wet wood",
        "published": "2026-11-21T11:00:00Z",
    }


def show(page: Page, attributes: str = "", lang: str = "en") -> None:
    body = (
        f'<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>A page</title>'
        f'<script type="module" src="{SERVICE}/static/search.js"></script><main><h1>A page</h1>'
        f'<comment-search {attributes}><a href="/s">Search</a></comment-search></main>'
    )
    page.route("**/found/", lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto("/found/")


def test_a_reader_searches_the_site_and_goes_on(page: Page, answers: Answers) -> None:
    answers.found = [result(1, "Two <b>"), result(2, "Three"), result(3, "Four")]
    show(page, 'site="blog"')
    field = page.get_by_role("searchbox", name="Search comments")
    field.fill("wet wood")
    field.press("Enter")
    links = page.locator("comment-search li a")
    expect(links).to_have_text(["Two <b>", "Three"])
    expect(links.first).to_have_attribute("href", "https://blog.example/a/#commentsvc-1")
    more = page.get_by_role("button", name="Show more comments")
    above = page.locator("comment-search li").last.bounding_box()
    below = more.bounding_box()
    assert above
    assert below
    assert below["y"] - above["y"] - above["height"] >= 12, "they stand apart"
    more.click()
    expect(links).to_have_count(3)
    expect(links.last).to_be_focused()
    expect(page.get_by_role("button", name="Show more comments")).to_have_count(0)
    asked = [target for _, target in answers.requests if "/api/search" in target]
    assert asked == [
        "/api/search?q=wet+wood&site=blog&lang=en",
        "/api/search?q=wet+wood&site=blog&lang=en&before=2",
    ]
    sizes = take_loaded(answers)
    assert sizes["search.js"] <= BUDGET
    accessible(page, "site")
    answers.found = []
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("No comment has these words.")
    expect(links).to_have_count(0)


def test_a_refused_search_says_why_and_a_broken_one_that_it_is(
    page: Page, answers: Answers
) -> None:
    show(page, lang="de")
    field = page.get_by_role("searchbox", name="Kommentare durchsuchen")
    field.fill("holz")
    answers.refuse("GET", 429)
    field.press("Enter")
    expect(page.get_by_role("status")).to_have_text("The service says why.")
    answers.refuse("GET", 502, body="<html>")
    field.press("Enter")
    broken = "Die Kommentare können gerade nicht geladen werden."
    expect(page.get_by_role("status")).to_have_text(broken)
    answers.refuse("GET", 0)
    field.press("Enter")
    expect(page.get_by_role("status")).to_have_text(broken)


def test_an_empty_search_asks_nothing_and_the_fallback_stays_without_the_service(
    page: Page, answers: Answers
) -> None:
    show(page)
    page.get_by_role("searchbox").press("Enter")
    assert not [target for _, target in answers.requests if "/api/search" in target]
    page.route(f"{SERVICE}/static/locales/*", lambda route: route.abort())
    show(page)
    expect(page.get_by_role("link", name="Search")).to_be_visible()


def test_the_element_follows_its_attributes(page: Page, answers: Answers) -> None:
    show(page, 'url="/p/"')
    page.get_by_role("searchbox").fill("a")
    page.locator("comment-search").evaluate("element => (element.lang = 'fr')")
    page.get_by_role("button", name="Rechercher").wait_for()
    page.locator("comment-search").evaluate("element => (element.url = '/q/')")
    page.get_by_role("searchbox").fill("b")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_role("status")).to_have_text("Aucun commentaire ne contient ces mots.")
    assert "q=b&url=%2Fq%2F&lang=fr" in answers.requests[-1][1]


@pytest.mark.parametrize("number", [50, 51])
def test_a_long_thread_is_searched_and_a_result_is_shown_in_its_place(
    page: Page, open_thread: OpenThread, answers: Answers, announce: Announce, number: int
) -> None:
    chain = [comment(each, f"Text {each}.", parent=each - 1) for each in (2, 3)]
    others = [comment(each, f"Text {each}.") for each in range(4, number + 1)]
    answers.comments = [comment(1, "Text 1."), *chain, *others]
    answers.part = 40
    page.set_viewport_size({"width": 360, "height": 700})
    open_thread()
    first = page.locator("#commentsvc-1")
    expect(first).to_be_visible()
    at_first = first.bounding_box()
    announce()
    expect(page.locator("time[title]")).to_have_count(40)
    button = page.get_by_role("button", name="Search comments")
    if number == 50:
        expect(button).to_have_count(0)
        return
    button.wait_for()
    assert first.bounding_box() == at_first, "nothing moves"
    here = page.url
    answers.found = [result(number, "Far away.", here), result(3, "Folded.", here)]
    button.click()
    field = page.get_by_role("searchbox", name="Search comments")
    expect(field).to_be_focused()
    field.fill("text")
    field.press("Enter")
    accessible(page, "thread")
    page.get_by_role("link", name="Far away.").click()
    expect(page.locator(f"#commentsvc-{number}")).to_be_in_viewport()
    page.get_by_role("link", name="Folded.").click()
    expect(page.locator("#commentsvc-3 > article")).to_be_in_viewport()
    assert page.url == f"{here}#commentsvc-3"
    asked = [target for _, target in answers.requests if "/api/search" in target]
    assert asked == [f"/api/search?q=text&url={POST.replace('/', '%2F')}&lang=en"]
    button.click()
    expect(field).to_have_count(0)
