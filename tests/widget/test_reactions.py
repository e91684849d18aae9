"""Reactions to comments: choosing an emoji, changing it, taking it back, by mouse and keyboard."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.widget.browser import Answers, comment, fill, open_form, send

OpenThread = Callable[..., Page]
EMOJI = ["👍", "❤️", "🎉", "🪵"]


@pytest.fixture
def reacting(open_thread: OpenThread, answers: Answers) -> Page:
    """Return a page with two comments, of which the first has reactions."""
    answers.emoji = EMOJI
    answers.comments = [
        comment(1, "x", reactions={"👍": 2, "🪵": 1}),
        comment(2, "y", author="Ida", parent=1),
    ]
    page = open_thread()
    expect(page.get_by_role("button", name="React: Ida")).to_be_visible()
    return page


def first(page: Page) -> Locator:
    return page.locator("#commentsvc-1 > article")


def shown(page: Page) -> list[str]:
    return page.locator("#commentsvc-1 > article .commentsvc-emoji > [value]").all_inner_texts()


def test_a_comment_shows_the_reactions_that_it_has(reacting: Page) -> None:
    assert shown(reacting) == ["👍 2", "🪵 1"]
    thumb = first(reacting).get_by_role("button", name="Thumbs up 2")
    expect(thumb).to_have_attribute("aria-pressed", "false")
    expect(thumb).to_have_attribute("title", "Thumbs up")
    expect(first(reacting).get_by_role("group", name="Reactions")).to_be_visible()
    expect(reacting.locator("[name=vote]")).to_have_count(0)
    expect(reacting.locator("#commentsvc-2 .commentsvc-emoji > [value]")).to_have_count(0)
    box = thumb.bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 24
    expect(reacting.get_by_label("Order").locator("option")).to_have_count(3)


def test_a_reader_picks_changes_and_takes_back_one_emoji(reacting: Page, answers: Answers) -> None:
    pick = first(reacting).get_by_role("button", name="React: Ada Byron")
    expect(pick).to_have_attribute("aria-expanded", "false")
    pick.click()
    expect(pick).to_have_attribute("aria-expanded", "true")
    menu = first(reacting).locator(".commentsvc-menu")
    expect(menu.get_by_role("button")).to_have_count(4)
    expect(menu.get_by_role("button", name="Thumbs up")).to_be_focused()
    menu.get_by_role("button", name="Love").click()
    love = first(reacting).get_by_role("button", name="Love 1")
    expect(love).to_have_attribute("aria-pressed", "true")
    expect(love).to_be_focused()
    expect(menu).to_have_count(0)
    assert shown(reacting) == ["👍 2", "❤️ 1", "🪵 1"]
    first(reacting).get_by_role("button", name="Thumbs up 2").click()
    expect(first(reacting).get_by_role("button", name="Thumbs up 3")).to_be_focused()
    assert shown(reacting) == ["👍 3", "🪵 1"]
    reacting.reload()
    thumb = first(reacting).get_by_role("button", name="Thumbs up 3")
    expect(thumb).to_have_attribute("aria-pressed", "true")
    thumb.click()
    expect(first(reacting).get_by_role("button", name="Thumbs up 2")).to_have_attribute(
        "aria-pressed", "false"
    )
    assert [(number, sent["emoji"]) for _, number, sent, _ in answers.acts] == [
        *((1, "❤️"), (1, "👍"), (1, ""))
    ]
    assert len({sent["reader"] for _, _, sent, _ in answers.acts}) == 1


def test_the_last_reaction_that_is_taken_back_leaves_the_focus_at_the_comment(
    reacting: Page,
) -> None:
    pick = reacting.get_by_role("button", name="React: Ida")
    pick.focus()
    reacting.keyboard.press("Enter")
    expect(reacting.locator(".commentsvc-menu [value='👍']")).to_be_focused()
    reacting.keyboard.press("Tab")
    reacting.keyboard.press("Enter")
    love = reacting.locator("#commentsvc-2").get_by_role("button", name="Love 1")
    expect(love).to_be_focused()
    reacting.keyboard.press("Space")
    expect(love).to_have_count(0)
    expect(pick).to_be_focused()


def test_the_emoji_go_with_escape_and_a_second_press(reacting: Page) -> None:
    pick = reacting.get_by_role("button", name="React: Ida")
    menu = reacting.locator(".commentsvc-menu")
    pick.click()
    expect(menu).to_be_visible()
    reacting.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(pick).to_be_focused()
    expect(pick).to_have_attribute("aria-expanded", "false")
    for number in (1, 0):
        pick.click()
        expect(menu).to_have_count(number)


def test_a_click_before_the_answer_to_the_last_one_changes_nothing(
    reacting: Page, answers: Answers
) -> None:
    """Regression in other systems: quick clicks made counts wrong, also below zero."""
    held: list[Route] = []
    reacting.route("**/reactions?lang=*", lambda route: held.append(route))
    thumb, log = (first(reacting).locator(f"[value='{emoji}']") for emoji in "👍🪵")
    with reacting.expect_request("**/reactions?lang=*"):
        thumb.click()
    log.click()
    thumb.click()
    reacting.evaluate("new Promise((seen) => requestAnimationFrame(() => setTimeout(seen)))")
    for route in held:
        answers.answer(route)
    expect(first(reacting).get_by_role("button", name="Thumbs up 3")).to_be_visible()
    assert shown(reacting) == ["👍 3", "🪵 1"]
    assert [sent["emoji"] for _, _, sent, _ in answers.acts] == ["👍"]
    expect(first(reacting).get_by_role("alert")).to_have_count(0)


def test_a_refused_reaction_is_said_and_not_shown(reacting: Page, answers: Answers) -> None:
    said = reacting.locator("#commentsvc-1 > article").get_by_role("alert")
    for status, why in [(409, "The service says why."), (429, "wait"), (0, "cannot be reached")]:
        answers.refuse("POST", status)
        pick = first(reacting).get_by_role("button", name="React: Ada Byron")
        pick.click()
        first(reacting).locator(".commentsvc-menu [value='🎉']").click()
        expect(said).to_contain_text(why)
        expect(pick).to_be_focused()
        assert shown(reacting) == ["👍 2", "🪵 1"]
    answers.recover()
    first(reacting).get_by_role("button", name="Thumbs up 2").click()
    expect(said).to_have_text("")
    expect(first(reacting).get_by_role("button", name="Thumbs up 3")).to_be_visible()


def test_reactions_stay_right_in_lists_that_come_anew(reacting: Page, answers: Answers) -> None:
    first(reacting).get_by_role("button", name="Thumbs up 2").click()
    expect(first(reacting).get_by_role("button", name="Thumbs up 3")).to_be_visible()
    answers.comments[0] = comment(1, "x", reactions={"👍": 7})
    reacting.get_by_label("Order").select_option("newest")
    expect(first(reacting).get_by_role("button", name="Thumbs up 7")).to_be_visible()
    assert shown(reacting) == ["👍 7"]
    expect(first(reacting).get_by_role("group", name="Reactions")).to_have_count(1)


def test_the_emoji_fit_into_a_small_window_in_both_directions(
    open_thread: OpenThread, answers: Answers, page: Page
) -> None:
    page.set_viewport_size({"width": 320, "height": 640})
    answers.emoji = [*"👍👎😄😮😢🎉👏🚀👀💡🦄", "❤️"]
    many = dict.fromkeys(answers.emoji, 1_234)
    answers.comments = [comment(1, "x", reactions=many), comment(2, "y", parent=1, reactions=many)]
    for lang in ("en", "ar"):
        page = open_thread(lang=lang)
        page.evaluate("document.dir = document.documentElement.lang == 'ar' ? 'rtl' : 'ltr'")
        page.locator("#commentsvc-2 [name=react]:not([value])").click()
        menu = page.locator(".commentsvc-menu")
        expect(menu).to_be_visible()
        box = menu.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320
        assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_own_comments_that_wait_have_no_reactions(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.emoji, answers.status = EMOJI, "pending"
    answers.comments = [comment(1, "x")]
    page = open_thread()
    form = open_form(page)
    fill(form)
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    expect(page.locator("#commentsvc-1 [name=react]:not([value])")).to_be_visible()
    expect(page.locator("#commentsvc-101 [name=react]:not([value])")).to_have_count(0)
