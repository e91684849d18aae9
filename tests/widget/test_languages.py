"""A thread in several languages: marks, the choice of one, translations by the browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.accessibility import assert_fine
from tests.widget.browser import Answers, comment
from tests.widget.test_access import PICTURES

OpenThread = Callable[..., Page]
Announce = Callable[[], None]
TRANSLATOR = """self.Translator = {
  availability: async ({ sourceLanguage: from }) => (from == "la" ? "unavailable" : "downloadable"),
  create: async ({ sourceLanguage, targetLanguage }) => ({
    translate: async (text) => `<b>${sourceLanguage}>${targetLanguage}: ${text}`,
  }),
}"""


@pytest.fixture
def several(answers: Answers) -> Answers:
    answers.comments = [
        comment(1, "Good morning.", lang="en"),
        comment(2, "Guten Morgen.", lang="de", author="Bea"),
        comment(3, "Answered in English.", lang="en", parent=2),
        comment(4, "Salve.", lang="la"),
        comment(5, "Unknown."),
    ]
    return answers


@pytest.mark.parametrize("width", [360, 1280])
def test_readers_choose_a_language_and_nothing_moves_before(
    page: Page, open_thread: OpenThread, several: Answers, announce: Announce, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    open_thread()
    top = page.locator("#commentsvc-1").bounding_box()
    announce()
    choice = page.get_by_label("All languages")
    expect(choice.locator("option")).to_have_text(["All languages", "English", "German", "Latin"])
    assert page.locator("#commentsvc-1").bounding_box() == top
    body = page.locator("#commentsvc-2 > article .commentsvc-body")
    expect(body).to_have_attribute("lang", "de")
    expect(page.locator("#commentsvc-5 .commentsvc-body")).not_to_have_attribute("lang", "de")
    choice.select_option("German")
    shown = page.locator(".commentsvc-comment:visible")
    expect(shown).to_have_count(1)
    choice.select_option("English")
    expect(shown).to_have_count(3)
    expect(page.locator("#commentsvc-3")).to_be_visible()
    expect(page.locator("#commentsvc-2")).to_be_visible()
    page.get_by_label("Order").select_option("Newest first")
    expect(shown).to_have_count(3)
    choice.select_option("")
    expect(shown).to_have_count(5)


def test_the_browser_translates_a_comment_of_another_language(
    page: Page, open_thread: OpenThread, several: Answers, announce: Announce
) -> None:
    page.add_init_script(TRANSLATOR)
    open_thread()
    announce()
    button = page.get_by_role("button", name="Translate")
    expect(button).to_have_count(1)
    button.press("Enter")
    article = page.locator("#commentsvc-2 > article")
    expect(article.locator("[lang=en]")).to_have_text("<b>de>en: Guten Morgen.")
    expect(article.locator("[lang=de]")).to_be_hidden()
    original = page.get_by_role("button", name="Show original")
    expect(original).to_be_focused()
    original.press("Enter")
    expect(article.locator("[lang=de]")).to_be_visible()
    expect(article.locator("[lang=en]")).to_be_hidden()


def test_the_choice_of_a_language_and_a_translation_have_no_violation(
    page: Page, open_thread: OpenThread, several: Answers, announce: Announce
) -> None:
    page.add_init_script(TRANSLATOR)
    open_thread()
    announce()
    expect(page.get_by_role("button", name="Translate")).to_be_visible()
    assert_fine(page, PICTURES / "languages-offered")
    page.get_by_role("button", name="Translate").click()
    expect(page.get_by_role("button", name="Show original")).to_be_visible()
    page.get_by_label("All languages").select_option("German")
    assert_fine(page, PICTURES / "languages-chosen")


def test_without_a_translator_or_languages_nothing_is_offered(
    page: Page, open_thread: OpenThread, answers: Answers, several: Answers, announce: Announce
) -> None:
    open_thread()
    announce()
    expect(page.get_by_label("All languages")).to_be_visible()
    expect(page.get_by_role("button", name="Translate")).to_have_count(0)
    answers.comments = [comment(1, "Hello.", lang="en"), comment(2, "Hello.")]
    open_thread()
    announce()
    expect(page.locator("#commentsvc-1 [lang=en]")).to_have_count(1)
    expect(page.get_by_label("All languages")).to_have_count(0)


def test_a_language_that_the_browser_cannot_name_is_shown_by_its_tag(
    page: Page, open_thread: OpenThread, answers: Answers, announce: Announce
) -> None:
    answers.comments = [comment(1, "Hello.", lang="en"), comment(2, "Hallo.", lang="de-x")]
    open_thread()
    announce()
    choice = page.get_by_label("All languages")
    expect(choice.locator("option")).to_have_text(["All languages", "English", "de-x"])
