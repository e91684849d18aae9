"""What a reader's browser remembers of a thread: what was seen, and whom it shall not show."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.widget.browser import Answers, comment

OpenThread = Callable[..., Page]
Announce = Callable[[], None]
EARLIER, LATER = "2026-11-20T08:30:00Z", "2026-11-21T08:30:00Z"


def test_what_is_new_since_the_last_visit_is_counted_and_found(
    page: Page, open_thread: OpenThread, answers: Answers, announce: Announce
) -> None:
    answers.comments = [comment(1, "Old."), comment(2, "Old, too.", parent=1)]
    open_thread()
    announce()
    expect(page.locator("time[title]")).to_have_count(2)
    fresh = page.locator(".commentsvc-since")
    expect(fresh).to_have_count(0)
    answers.comments += [
        comment(3, "A new answer.", parent=2, published=LATER),
        comment(4, "Old, and approved now.", published=EARLIER),
        comment(5, "A new thread.", published=LATER),
    ]
    open_thread()
    page.clock.fast_forward(5_000)
    expect(fresh).to_have_accessible_name("2 new since your last visit")
    page.locator("#commentsvc-2 > details > summary").click()  # folds the new answer
    fresh.click()
    expect(page.locator("#commentsvc-3")).to_be_focused()
    expect(page.locator("#commentsvc-3 > article")).to_be_visible()
    onwards = page.get_by_role("button", name="Next new comment")
    expect(onwards).to_have_count(1)
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Next new comment").press("Enter")
    expect(page.locator("#commentsvc-5")).to_be_focused()
    expect(page.locator("#commentsvc-5")).to_be_in_viewport()
    page.get_by_label("Order").select_option("Newest first")
    expect(page.locator(".commentsvc-list > li").first).to_have_id("commentsvc-5")
    expect(fresh).to_have_accessible_name("2 new since your last visit")
    open_thread()
    page.clock.fast_forward(5_000)
    expect(page.locator("time[title]")).to_have_count(5)
    expect(fresh).to_have_count(0)


@pytest.mark.parametrize(("width", "text"), [(360, "+1"), (1280, "1 new since your last visit")])
def test_nothing_moves_when_new_comments_are_counted(
    page: Page, open_thread: OpenThread, answers: Answers, announce: Announce, width: int, text: str
) -> None:
    answers.comments = [comment(1, "Old."), comment(2, "New.", published=LATER)]
    page.set_viewport_size({"width": width, "height": 800})
    seen = '{"/posts/wet-wood/": 1795163400000}'
    page.add_init_script(f"localStorage['commentsvc:visits'] = '{seen}'")
    open_thread()
    top = page.locator("#commentsvc-1").bounding_box()
    page.evaluate("document.querySelector('comment-thread').style.maxWidth = 'none'")
    announce()
    expect(page.locator(".commentsvc-since")).to_have_text(text)
    assert page.locator("#commentsvc-1").bounding_box() == top


def test_comments_that_were_shown_live_are_not_new_at_the_next_visit(
    page: Page, open_thread: OpenThread, answers: Answers, announce: Announce
) -> None:
    answers.comments = [comment(1, "Old.")]
    open_thread()
    announce()
    expect(page.locator("time[title]")).to_have_count(1)
    answers.comments.append(comment(2, "Meanwhile.", published=LATER))
    announce()
    page.get_by_role("button", name="Show 1 new comment").click()
    expect(page.locator("#commentsvc-2")).to_be_visible()
    open_thread()
    page.clock.fast_forward(5_000)
    expect(page.locator("time[title]")).to_have_count(2)
    expect(page.locator(".commentsvc-since")).to_have_count(0)


def test_only_the_last_pages_are_remembered(
    page: Page, open_thread: OpenThread, answers: Answers, announce: Announce
) -> None:
    answers.comments = [comment(1, "Old.")]
    pages = ", ".join(f'"/{number}/": 1' for number in range(300))
    page.add_init_script(f"localStorage['commentsvc:visits'] ??= '{{{pages}}}'")
    open_thread()
    announce()
    expect(page.locator("time[title]")).to_have_count(1)
    page.wait_for_function("localStorage['commentsvc:visits'].includes('wet-wood')")
    kept = page.evaluate("Object.keys(JSON.parse(localStorage['commentsvc:visits']))")
    assert len(kept) == 200
    assert kept[-1] == "/posts/wet-wood/"


def test_a_muted_author_is_folded_until_that_is_taken_back(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [
        comment(1, "Loud!", author="Eve"),
        comment(2, "Calm down.", parent=1),
        comment(3, "LOUDER!", author="Eve", parent=2),
    ]
    open_thread()
    first, third = (page.locator(f"#commentsvc-{number} > article") for number in (1, 3))
    first.get_by_role("button", name="More").click()
    first.get_by_role("button", name="Mute").click()
    unmute = first.get_by_role("button", name="Unmute")
    expect(unmute).to_be_focused()
    expect(page.locator(".commentsvc-status")).to_contain_text("You have muted Eve.")
    for article in (first, third):
        expect(article).to_have_text("You have muted Eve. Unmute")
    expect(page.get_by_text("Calm down.")).to_be_visible()
    open_thread()
    expect(third).to_have_text("You have muted Eve. Unmute")
    page.get_by_label("Order").select_option("Newest first")
    expect(third).to_have_text("You have muted Eve. Unmute")
    third.get_by_role("button", name="Unmute").click()
    expect(page.locator("#commentsvc-3")).to_be_focused()
    expect(first).to_contain_text("Loud!")
    expect(third).to_contain_text("LOUDER!")
    third.get_by_role("button", name="Reply to Eve").click()
    expect(page.locator("#commentsvc-3 [name=message]")).to_be_visible()


def test_nobody_mutes_themselves(page: Page, open_thread: OpenThread, answers: Answers) -> None:
    answers.comments = [comment(1, "Other.")]
    page.add_init_script("localStorage['commentsvc:muted'] = '[\"Ada Byron\"]'")
    page.add_init_script("localStorage['commentsvc:extras'] = true")
    open_thread()
    expect(page.locator("#commentsvc-1 > article")).to_contain_text("You have muted Ada Byron.")


@pytest.mark.parametrize("kept", ["[", "7", '{"0": "Eve"}', "[null]", '"Eve"'])
def test_what_others_put_into_the_storage_hides_no_comment(
    page: Page, open_thread: OpenThread, answers: Answers, announce: Announce, kept: str
) -> None:
    answers.comments = [comment(1, "Here.", published=LATER)]
    for name in ("muted", "visits", "extras"):
        page.add_init_script(f"localStorage['commentsvc:{name}'] = {kept!r}")
    open_thread()
    announce()
    expect(page.locator("#commentsvc-1 > article")).to_contain_text("Here.")


def test_deleted_comments_are_not_new_and_make_no_others_new(
    page: Page, open_thread: OpenThread, answers: Answers, announce: Announce
) -> None:
    answers.comments = [comment(2, "Old.", parent=1)]
    answers.deleted = [{"id": 1, "parent": None, "deleted": True}]
    for _visit in range(2):
        open_thread()
        page.clock.fast_forward(5_000)
        expect(page.locator("time[title]")).to_have_count(1)
        page.wait_for_function("localStorage['commentsvc:visits'].includes('wet-wood')")
        expect(page.locator(".commentsvc-since")).to_have_count(0)


def test_new_comments_are_led_to_also_if_an_author_is_muted_or_the_order_changes(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [
        comment(1, "Loud!", author="Eve", published=LATER),
        comment(2, "New.<br>" + "A line.<br>" * 30, published=LATER),
        comment(3, "Old answer.<br>" + "A line.<br>" * 300, parent=2),
        comment(4, "New, too.", published=LATER),
    ]
    page.add_init_script("""
        localStorage['commentsvc:visits'] ??= '{"/posts/wet-wood/": 1795163400000}';
        localStorage['commentsvc:muted'] = '["Eve"]';
        localStorage['commentsvc:extras'] = true;
    """)
    open_thread()
    expect(page.locator("#commentsvc-1 > article")).to_contain_text("You have muted Eve.")
    page.clock.fast_forward(5_000)
    fresh = page.locator(".commentsvc-since")
    expect(fresh).to_have_accessible_name("2 new since your last visit")
    fresh.click()
    expect(page.locator("#commentsvc-2")).to_be_focused()
    expect(page.locator("#commentsvc-2 > article .commentsvc-meta").first).to_be_in_viewport()
    onwards = page.get_by_role("button", name="Next new comment")
    expect(onwards).to_have_count(1)
    page.get_by_label("Order").select_option("Newest first")
    expect(page.locator(".commentsvc-list > li").first).to_have_id("commentsvc-4")
    expect(onwards).to_have_count(1)
    onwards.click()
    expect(page.locator("#commentsvc-2")).to_be_focused()


def test_a_page_that_nobody_looks_at_is_no_visit(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "Here.")]
    page.add_init_script(
        "Object.defineProperty(document, 'hidden', { value: true, writable: true })"
    )
    open_thread()
    page.clock.fast_forward(5_000)
    expect(page.locator("time[title]")).to_have_count(1)
    assert page.evaluate("localStorage['commentsvc:visits']") is None
    page.evaluate("document.hidden = false; document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_function("localStorage['commentsvc:visits']?.includes('wet-wood')")


@pytest.mark.parametrize(("name", "is_full"), [("$& $$ $'", False), ("<b> # __proto__", True)])
def test_authors_of_any_name_are_muted_also_where_the_storage_is_full(
    page: Page, open_thread: OpenThread, answers: Answers, name: str, is_full: bool
) -> None:
    answers.comments = [comment(1, "Loud!", author=name)]
    if is_full:
        page.add_init_script("""
            const full = new Proxy({}, { set() { throw new Error('QuotaExceededError'); } });
            Object.defineProperty(window, 'localStorage', { value: full });
        """)
    open_thread()
    article = page.locator("#commentsvc-1 > article")
    expect(article.get_by_role("button", name=f"Reply to {name}", exact=True)).to_be_visible()
    article.get_by_role("button", name="More").click()
    article.get_by_role("button", name="Mute").click()
    expect(article).to_have_text(f"You have muted {name}. Unmute")
    unmute = article.get_by_role("button", name="Unmute")
    expect(unmute).to_be_focused()
    expect(unmute).to_have_css("text-decoration-line", "underline")
    unmute.click()
    expect(article).to_contain_text("Loud!")
    article.get_by_role("button", name="Reply").click()
    message = page.locator("#commentsvc-1 textarea")
    expect(message).to_have_attribute("placeholder", f"Reply to {name}")
