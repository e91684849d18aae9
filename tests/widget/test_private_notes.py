"""Private notes: the box in the form, and corrections of words of the page."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.widget.browser import POST, SERVICE, TEXT, Answers, comment, fill, open_form, send

PRIVATE = "Only for the author of this page"
THANK = "You may thank me by name in public"
CORRECT = "Suggest a correction"
SENT = "Only the author of this page can read it."

ARTICLE = (
    '<article><h1>Oak</h1><p id="words">Dry teh oak in the shed.</p><a href="#x">A link</a>'
    "<comment-corrections><p>Fallback</p></comment-corrections>"
    '<comment-thread url="/p/"><p id="outside">Not ours</p></comment-thread></article>'
)


def begin(page: Page, answers: Answers) -> Locator:
    answers.notes = []
    page.goto(POST)
    page.locator("comment-thread").scroll_into_view_if_needed()
    form = open_form(page)
    form.get_by_label(PRIVATE).wait_for()
    return form


def test_a_form_has_no_box_where_the_site_takes_no_notes(page: Page, answers: Answers) -> None:
    page.goto(POST)
    fill(open_form(page))
    page.wait_for_load_state("networkidle")
    expect(page.get_by_label(PRIVATE)).to_have_count(0)
    assert not [target for _, target in answers.requests if "private.js" in target]


def test_a_note_goes_to_the_author_alone(page: Page, answers: Answers) -> None:
    answers.comments = [comment(1, "Hello")]
    form = begin(page, answers)
    expect(form.get_by_label(THANK)).to_be_hidden()
    fill(form)
    form.get_by_label("Website").fill("rosa.example")
    form.get_by_label(PRIVATE).check()
    expect(form.get_by_label("Website")).to_be_hidden()
    form.get_by_label(THANK).check()
    page.evaluate("addEventListener('comment-submitted', () => (document.title = 'told'))")
    form.get_by_role("button", name="Send to the author").click()
    expect(form.get_by_role("status")).to_contain_text(SENT)
    expect(form.locator("textarea")).to_have_value("")
    expect(form.get_by_label(PRIVATE)).to_be_checked()
    assert answers.submissions == []
    assert answers.notes
    [note] = answers.notes
    assert {"site", "parent", "notify", "agreed", "private"} & {*note} == set()
    assert (note["message"], note["url"], note["thank"]) == (TEXT, POST, True)
    assert note["form_token"] == "a form token"
    expect(page.locator("li.commentsvc-comment")).to_have_count(1)
    assert page.title() != "told", "the blog's page hears of comments alone"
    form.get_by_label(PRIVATE).uncheck()
    expect(form.get_by_label(THANK)).to_be_hidden()
    fill(form, "In public")
    send(form)
    expect(page.locator("article", has_text="In public")).to_be_visible()
    assert len(answers.notes) == 1


def test_a_private_draft_stays_private_whatever_fails(page: Page, answers: Answers) -> None:
    """Also before the box has come, and where the site has switched notes off meanwhile."""
    form = begin(page, answers)
    fill(form)
    form.get_by_label(PRIVATE).check()
    form.get_by_label(THANK).check()
    page.reload()
    form = open_form(page)
    expect(form.get_by_label(PRIVATE)).to_be_checked()
    expect(form.get_by_label(THANK)).to_be_checked()
    expect(form.locator("textarea")).to_have_value(TEXT)
    page.route("**/static/form/private.js*", lambda route: route.abort())
    answers.notes = None
    page.reload()
    form = open_form(page)
    send(form)
    expect(form.get_by_role("alert").last).to_contain_text("kept")
    page.unroute("**/static/form/private.js*")
    send(form)
    expect(form.get_by_text("Private notes are not accepted here.")).to_be_visible()
    expect(form.locator("textarea")).to_have_value(TEXT)
    assert answers.submissions == []


def test_a_reply_is_never_private(page: Page, answers: Answers) -> None:
    answers.comments = [comment(1, "Hello")]
    answers.notes = []
    page.goto(POST)
    page.locator("#commentsvc-1").get_by_role("button", name="Reply").click()
    form = page.locator("#commentsvc-1 form")
    form.locator("textarea").fill("Hi")
    page.wait_for_load_state("networkidle")
    expect(form.get_by_label(PRIVATE)).to_have_count(0)


def test_a_note_has_no_picture_and_agrees_to_no_guidelines(page: Page, answers: Answers) -> None:
    answers.images = 1_000_000
    answers.asks = {"agreement": "I agree", "site": "required"}
    form = begin(page, answers)
    fill(form)
    form.get_by_label(PRIVATE).check()
    expect(form.get_by_role("button", name="Add a picture")).to_be_disabled()
    expect(form.get_by_label("I agree")).to_be_hidden()
    send(form)
    expect(form.get_by_role("status")).to_contain_text(SENT)
    form.get_by_label(PRIVATE).uncheck()
    expect(form.get_by_label("I agree")).to_be_visible()
    fill(form)
    send(form)
    expect(form.get_by_label("Website")).to_be_focused()
    assert answers.submissions == []


def show_article(page: Page) -> None:
    """Show an article whose words can be corrected."""
    page.goto("/")
    page.evaluate(
        """async ([html, script]) => {
          document.querySelector("main").innerHTML = html;
          await import(script);
        }""",
        [ARTICLE, f"{SERVICE}/static/corrections.js"],
    )
    expect(page.get_by_role("button", name=CORRECT)).to_be_visible()


@pytest.fixture
def article(page: Page, answers: Answers) -> Page:
    answers.notes = []
    show_article(page)
    return page


def select(page: Page, words: str, start: int, end: int) -> None:
    page.evaluate(
        """([words, start, end]) => {
          const text = document.querySelector(words).firstChild;
          getSelection().setBaseAndExtent(text, start, text, end);
        }""",
        [words, start, end],
    )


def test_a_button_appears_at_selected_words_which_go_with_the_note(
    article: Page, answers: Answers
) -> None:
    near = article.locator(".commentsvc-at-words")
    expect(near).to_be_hidden()
    loaded = [target for _, target in answers.requests]
    assert not [each for each in loaded if "form" in each], "what it needs is loaded on use"
    select(article, "#words", 4, 11)
    expect(near).to_be_visible()
    button, words = near.bounding_box(), article.locator("#words").bounding_box()
    assert button
    assert words
    assert words["y"] < button["y"] < words["y"] + words["height"] + 30
    near.click()
    dialog = article.get_by_role("dialog", name=CORRECT)
    expect(dialog.locator("blockquote")).to_have_text("teh oak")
    expect(dialog.locator("textarea")).to_be_focused()
    expect(dialog.get_by_label(THANK)).to_be_visible()
    expect(dialog.get_by_label(PRIVATE)).to_be_hidden()
    expect(dialog.get_by_label("Website")).to_be_hidden()
    dialog.locator("textarea").fill("the oak")
    dialog.get_by_label("Name", exact=True).fill("Rosa")
    dialog.get_by_role("button", name="Send to the author").click()
    expect(dialog.get_by_role("status")).to_contain_text(SENT)
    expect(dialog.get_by_role("button")).to_be_focused()
    article.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    assert answers.notes
    [note] = answers.notes
    assert (note["quote"], note["message"], note["url"]) == ("teh oak", "the oak", "/")
    assert answers.submissions == []


def test_the_keyboard_suggests_a_correction_of_the_words_and_keeps_the_draft(
    article: Page, answers: Answers
) -> None:
    select(article, "#words", 4, 11)
    button = article.get_by_role("button", name=CORRECT)
    article.get_by_role("link", name="A link").focus()
    select(article, "#words", 4, 11)
    article.keyboard.press("Tab")
    expect(button).to_be_focused()
    article.keyboard.press("Enter")
    dialog = article.get_by_role("dialog", name=CORRECT)
    expect(dialog.locator("textarea")).to_be_focused()
    expect(dialog.locator("blockquote")).to_have_text("teh oak")
    article.keyboard.type("It is ")
    article.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
    article.evaluate("getSelection().removeAllRanges()")
    expect(article.locator(".commentsvc-at-words")).to_be_hidden()
    button.press("Enter")
    expect(dialog.locator("blockquote")).to_have_text("teh oak")
    expect(dialog.locator("textarea")).to_have_value("It is ")
    assert answers.notes == []


def test_no_button_appears_at_words_of_the_comments(article: Page) -> None:
    select(article, "#words", 4, 11)
    near = article.locator(".commentsvc-at-words")
    expect(near).to_be_visible()
    select(article, "comment-corrections button", 0, 7)
    expect(near).to_be_hidden()
