"""The widget stays small: the files that a reader's browser loads, gzipped as servers send them."""

import gzip

from playwright.sync_api import Page, expect

from commentsvc.util.i18n import languages
from tests.widget.browser import POST, WIDGET, Answers, comment, fill, open_form

# Bytes of scripts and styles. What is used later comes on top.
COUNTING = 800
PARTS = ("tools", "reactions")
READING = 8 * 1024
WRITING = 5 * 1024


def take_loaded(answers: Answers) -> dict[str, int]:
    """Return the compressed sizes of the scripts and styles loaded since the last call."""
    names = [target.partition("?")[0].removeprefix("/static/") for _, target in answers.requests]
    answers.requests.clear()
    files = [WIDGET / name for name in names if name.endswith((".js", ".css"))]
    return {file.name: len(gzip.compress(file.read_bytes())) for file in files}


def test_each_journey_loads_no_more_than_its_budget(page: Page, answers: Answers) -> None:
    """One reader's journey: a list of posts, a thread with replies and votes, writing a comment."""
    answers.voting = "both"
    answers.comments = [comment(1, "x"), comment(2, "y", parent=1)]
    page.goto("/")
    expect(page.locator("comment-count").first).to_contain_text("comment")
    counting = take_loaded(answers)
    page.goto(POST)
    page.locator("comment-thread").scroll_into_view_if_needed()
    expect(page.locator("#commentsvc-2")).to_be_visible()
    page.wait_for_load_state("networkidle")
    reading = {name: size for name, size in take_loaded(answers).items() if name not in counting}
    fill(open_form(page))
    page.wait_for_load_state("networkidle")
    writing = take_loaded(answers)
    assert 0 < sum(counting.values()) <= COUNTING, counting
    assert COUNTING < sum(reading.values()) <= READING, reading
    assert COUNTING < sum(writing.values()) <= WRITING, writing


def test_a_file_that_is_loaded_on_use_is_small() -> None:
    sizes = {file.name: len(gzip.compress(file.read_bytes())) for file in WIDGET.glob("*.js")}
    assert {name for name, size in sizes.items() if size > 1_250} == {
        "comments.js",
        "common.js",
        "form.js",
    }


def test_a_language_has_no_more_than_the_words_need() -> None:
    for language in languages().values():
        assert len(gzip.compress(language.widget_json)) <= 1_300, language.tag
        for part in PARTS:
            assert len(gzip.compress(language.part(part))) <= 512, (language.tag, part)
