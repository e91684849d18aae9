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
