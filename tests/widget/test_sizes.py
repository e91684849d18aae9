"""The widget stays small: the files that a reader's browser loads, gzipped as servers send them."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from commentsvc.api.static_files import lean
from commentsvc.util.i18n import languages
from tests.e2e.program import Service
from tests.widget.browser import (
    POST,
    SCRIPTS,
    TEXT,
    WIDGET,
    Answers,
    comment,
    fill,
    open_form,
    pause_clock,
    wait_in,
)

# Bytes of scripts and styles as the service sends them. What is used later comes on top.
COUNTING = 800
PARTS = ("tools", "reactions", "views", "images")
READING = 8 * 1024
WRITING = 5 * 1024
# Bytes of all answers to a reader's first view of a short thread, with their heads.
FIRST_VIEW = 9 * 1024


def size(file: Path) -> int:
    return len(gzip.compress(lean(file.name, file.read_bytes())))


def take_loaded(answers: Answers) -> dict[str, int]:
    """Return the compressed sizes of the scripts and styles loaded since the last call."""
    names = [target.partition("?")[0].removeprefix("/static/") for _, target in answers.requests]
    answers.requests.clear()
    files = [WIDGET / name for name in names if name.endswith((".js", ".css"))]
    return {file.name: size(file) for file in files}


@pytest.mark.usefixtures("paused_clock")  # live updates begin after five seconds
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
    sizes = {file.name: size(file) for file in SCRIPTS}
    assert {name for name, size in sizes.items() if size > 1_250} == {
        "comments.js",
        "common.js",
        "form.js",
        "moderation.js",  # only for moderators, in a tab in which they moderate
    }


def test_a_script_can_still_be_read_as_it_is_sent(page: Page) -> None:
    scripts = {path: lean(path.name, path.read_bytes()).decode() for path in WIDGET.rglob("*.js")}
    scripts[Path("wrong.js")] = "let a=1 let b=2"
    errors = page.evaluate(
        """(scripts) => Promise.all(scripts.map((script) =>
          // What this imports is not found once the script was read: nothing starts
          import("data:text/javascript," + encodeURIComponent(script + '\\nimport "nowhere";'))
            .then(() => "", (error) => error.name)
        ))""",
        list(scripts.values()),
    )
    assert dict(zip(scripts, errors, strict=True)) == {
        path: "SyntaxError" if path.name == "wrong.js" else "TypeError" for path in scripts
    }


def test_a_stylesheet_has_the_same_rules_as_it_is_sent(page: Page) -> None:
    for file in WIDGET.rglob("*.css"):
        sent = lean(file.name, file.read_bytes()).decode()
        assert "\n" not in sent
        before, after = page.evaluate(
            r"""(texts) => texts.map((text) => {
              const sheet = new CSSStyleSheet();
              sheet.replaceSync(text);
              const rules = [...sheet.cssRules].map((rule) => rule.cssText);
              // Values with var() are told as they were written
              return rules.map((rule) => rule.replaceAll(/(?<=[(,])\s+|\s+(?=\))/g, ""));
            })""",
            [file.read_text(), sent],
        )
        assert before == after, file


def test_a_language_has_no_more_than_the_words_need() -> None:
    for language in languages().values():
        assert len(gzip.compress(language.widget_json)) <= 850, language.tag
        for part in PARTS:
            assert len(gzip.compress(language.part(part))) <= 1_000, (language.tag, part)


def test_a_first_page_view_takes_9_kb_in_5_requests(
    start: Callable[..., Service], tab: Page, tmp_path: Path
) -> None:
    """With the real service, and nothing in between that compresses."""
    service = start(COMMENTSVC_MODERATION_POLICY="none")
    pause_clock(tab)
    for number in range(3):
        fields = {"url": POST, "author": f"Reader {number}", "message": f"Reader {number}: {TEXT}"}
        body = json.dumps(fields).encode()
        header = {"Content_Type": "application/json"}
        assert service.request("POST", "/api/comments", body, **header).status == 201
    asked: dict[str, str] = {}
    sizes: dict[str, int] = {}

    def note(event: dict[str, Any]) -> None:  # Any: as Chromium tells it
        asked[event["requestId"]] = event["request"]["url"]

    def add(event: dict[str, Any]) -> None:
        if asked[event["requestId"]].startswith(service.address):
            sizes[asked[event["requestId"]]] = event["encodedDataLength"]

    devtools = tab.context.new_cdp_session(tab)
    devtools.on("Network.requestWillBeSent", note)
    devtools.on("Network.loadingFinished", add)
    devtools.send("Network.enable")
    script = f"{service.address}/static/comments.js"
    page = (
        '<!doctype html><html lang="en"><title>A page</title><body text="#222">'
        f'<script type="module" src="{script}"></script>'
        f'<comment-thread url="{POST}"></comment-thread>'
    )
    (tmp_path / "blog" / "short.html").write_text(page)
    tab.goto("/short.html")
    expect(tab.locator("li.commentsvc-comment")).to_have_count(3)
    tab.wait_for_load_state("networkidle")
    wait_in(tab, lambda: len(sizes) >= 5, "the answers")
    assert len(sizes) == 5, sizes
    assert 5_000 < sum(sizes.values()) <= FIRST_VIEW, sizes
