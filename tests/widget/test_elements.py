"""The elements beside the thread: their one request, their use, and missing answers."""

import re

from playwright.sync_api import Page, expect

from tests.widget.browser import POST, SERVICE, Answers, comment, wait_in
from tests.widget.test_counts import asked
from tests.widget.test_sizes import take_loaded

ELEMENT = 700  # bytes, gzipped
STYLES = 960
LATEST: dict[str, object] = {
    "id": 7,
    "author": "Rosa Weber",
    "excerpt": "Two coats <b>",
    "link": f"{POST}#commentsvc-7",
    "title": "Oil on wet wood",
    "published": "2026-11-21T11:00:00Z",
}
POPULAR: dict[str, object] = {"link": POST, "title": "Oil on wet wood", "count": 12}
VIEWED: dict[str, object] = {"link": POST, "title": "Oil on wet wood", "views": 1_234}
REACTIONS = f'<page-reactions url="{POST}"><i>–</i></page-reactions>'
ALL = (
    f'<comment-count url="{POST}">–</comment-count><comment-count url="/b/">–</comment-count>'
    f"{REACTIONS}<latest-comments><i>–</i></latest-comments>"
    '<popular-pages period="week"><i>–</i></popular-pages>'
    f'<page-views url="{POST}" count>–</page-views><page-views url="/b/">–</page-views>'
    '<popular-pages by="views"><i>–</i></popular-pages>'
)

OTHERS = "page-reactions, page-views, latest-comments, popular-pages"


def show(page: Page, elements: str = ALL, lang: str = "en") -> None:
    """Open a page with some elements and all of their scripts."""
    scripts = "".join(
        f'<script type="module" src="{SERVICE}/static/{name}.js"></script>'
        for name in ("reactions", "views", "latest", "popular")
    )
    body = (
        f'<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>A page</title>'
        f"{scripts}<main><h1>A page</h1>{elements}</main>"
    )
    page.route("**/list/", lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto("/list/")


def fill(answers: Answers) -> None:
    answers.comments = [comment(1, "Yes.")]
    answers.reactions = {"👍": 2, "🦄": 0}
    answers.latest = [LATEST] * 7
    answers.popular = [POPULAR]
    answers.views = {POST: 1_233, "/b/": 0}
    answers.viewed = [VIEWED]


def test_all_elements_of_a_page_come_with_one_request(page: Page, answers: Answers) -> None:
    fill(answers)
    show(page)
    expect(page.get_by_role("button")).to_have_count(2)
    latest = page.locator("latest-comments li")
    expect(latest).to_have_count(5)
    expect(latest.first).to_have_text(re.compile("Rosa Weber.*1 hour ago.*Two coats <b>.*Oil on"))
    expect(latest.first.get_by_role("link")).to_have_attribute("href", str(LATEST["link"]))
    expect(page.locator("popular-pages li")).to_have_text(
        ["Oil on wet wood 12 comments", "Oil on wet wood 1,234 views"]
    )
    expect(page.locator("popular-pages .commentsvc-hint").first).to_have_css(
        "display", "inline-block"
    )
    page.add_style_tag(content="li:not(:empty)::before { content: '-' }")  # as a theme has it
    mark = "(all) => all.map((it) => getComputedStyle(it, '::before').content)"
    assert set(page.locator("latest-comments li, popular-pages li").evaluate_all(mark)) == {"none"}
    expect(page.locator("page-views")).to_have_text([re.compile("1,23[34] views"), "–"])
    expect(page.locator("comment-count")).to_have_text(["1 comment", "No comments"])
    assert asked(answers) == [["/b/", POST]]
    sizes = take_loaded(answers)
    assert {"reactions.js", "views.js", "latest.js", "popular.js"} < sizes.keys()
    for name in ("reactions.js", "views.js", "latest.js", "popular.js"):
        assert sizes[name] <= ELEMENT, name
    assert sizes["elements.css"] <= STYLES


def test_the_newest_comments_are_without_those_of_muted_authors(
    page: Page, answers: Answers
) -> None:
    fill(answers)
    answers.latest = [*(LATEST | {"author": "Eve"} for _ in range(6)), LATEST]
    show(page)
    latest = page.locator("latest-comments")
    expect(latest.get_by_role("listitem")).to_have_count(5)
    for kept, shown in ('["Eve"]', "Rosa Weber"), ('["Eve","Rosa Weber"]', "–"), ("7", "Eve"):
        page.evaluate(f"localStorage['commentsvc:muted'] = '{kept}'")
        page.reload()
        expect(latest).to_contain_text(shown)
        assert latest.get_by_role("listitem").count() == {"7": 5}.get(kept, kept == '["Eve"]')


def test_a_reader_reacts_once_and_takes_it_back(page: Page, answers: Answers) -> None:
    fill(answers)
    show(page, 2 * REACTIONS, "de")
    group = page.get_by_role("group", name="Reaktionen").first
    thumb = group.get_by_role("button", name="Daumen hoch 2", exact=True)
    expect(thumb).to_have_attribute("aria-pressed", "false")
    expect(group.get_by_role("button", name="🦄", exact=True)).to_be_visible()
    thumb.focus()
    page.keyboard.press("Enter")
    pressed = page.get_by_role("button", name="Daumen hoch 3", pressed=True)
    expect(pressed).to_have_count(2)  # both elements of the page
    expect(pressed.first).to_be_focused()
    page.reload()
    expect(pressed).to_have_count(2)
    pressed.last.click()
    expect(page.get_by_role("button", name="Daumen hoch 2", pressed=False)).to_have_count(2)
    first, second = answers.reacted
    assert (first["url"], first["emoji"], first["given"]) == (POST, "👍", True)
    assert second == first | {"given": False}
    assert "lang=de" in next(target for method, target in answers.requests if method == "POST")


def test_a_refused_reaction_says_why_and_counts_nothing(page: Page, answers: Answers) -> None:
    fill(answers)
    show(page, REACTIONS)
    answers.refuse("POST", 409)
    button = page.get_by_role("button", name="Thumbs up 2")
    button.click()
    expect(page.get_by_role("alert")).to_have_text("The service says why.")
    expect(button).to_have_attribute("aria-pressed", "false")
    answers.recover()
    button.click()
    expect(page.get_by_role("button", name="Thumbs up 3", pressed=True)).to_be_visible()
    expect(page.get_by_role("alert")).to_have_text("")


def test_where_there_is_nothing_to_show_the_fallback_stays(page: Page, answers: Answers) -> None:
    show(page)
    expect(page.locator("comment-count").first).to_have_text("No comments")
    expect(page.locator(OTHERS)).to_have_text(["–"] * 6)
    answers.refuse("GET", 503)
    with page.expect_response("**/api/comments/counts?*"):
        show(page)
    expect(page.locator(OTHERS)).to_have_text(["–"] * 6)


def test_only_an_element_with_count_counts_a_view_and_only_once(
    page: Page, answers: Answers
) -> None:
    fill(answers)
    show(page, 2 * f'<page-views hidden url="{POST}" count></page-views>')
    expect(page.locator("page-views").first).to_be_hidden()
    page.wait_for_load_state("networkidle")
    assert answers.views == {POST: 1_234, "/b/": 0}
    assert asked(answers) == [], "what nobody sees is not requested"
    page.evaluate("document.querySelector('main').append(document.querySelector('page-views'))")
    page.evaluate("document.querySelector('page-views').hidden = false")
    expect(page.locator("page-views").first).to_have_text("1,234 views")
    page.reload()
    wait_in(page, lambda: answers.views[POST] != 1_234, "the view to be counted")
    page.wait_for_load_state("networkidle")
    assert answers.views[POST] == 1_235
    answers.refuse("POST", 0)
    show(page, f'<page-views url="{POST}" count>–</page-views>', "pl")
    expect(page.locator("page-views")).to_have_text("1235 wyświetleń")


def test_a_page_that_is_rendered_before_it_is_seen_counts_when_it_is(
    page: Page, answers: Answers
) -> None:
    fill(answers)
    page.add_init_script("Object.defineProperty(document, 'prerendering', {value: true})")
    show(page)
    expect(page.locator("page-views").last).to_have_text("–")
    assert answers.views[POST] == 1_233
    with page.expect_request("**/api/views?*"):
        page.evaluate("document.dispatchEvent(new Event('prerenderingchange'))")
