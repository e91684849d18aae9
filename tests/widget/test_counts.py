"""<comment-count>: one request for a page, and what readers see without an answer."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.widget.browser import POST, SERVICE, Answers, comment

LIST = "/list/"  # a page that exists as a route only


def show(page: Page, *urls: str, lang: str = "en", before: str = "") -> None:
    """Open a page with a count for each of `urls`, in this order."""
    counts = "".join(f'<p><comment-count url="{url}"><i>–</i></comment-count></p>' for url in urls)
    script = f'<script type="module" src="{SERVICE}/static/count.js"></script>'
    body = f'<!doctype html><html lang="{lang}"><meta charset="utf-8">{script}{before}{counts}'
    page.route(f"**{LIST}", lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto(LIST)


def asked(answers: Answers) -> list[list[str]]:
    """Return the addresses in each request for counts."""
    targets = [urlsplit(target) for _, target in answers.requests]
    return [parse_qs(parts.query)["url"] for parts in targets if "counts" in parts.path]


def test_a_list_page_asks_once_and_loads_the_small_script_alone(
    page: Page, answers: Answers
) -> None:
    answers.comments = [comment(n, "Yes.") for n in range(1, 4)]
    page.goto("/")
    expect(page.locator("comment-count").filter(has_text="3 comments")).to_have_count(1)
    expect(page.locator("comment-count").filter(has_text="No comments")).to_have_count(9)
    assert [target.partition("?")[0] for _, target in answers.requests] == [
        "/static/count.js",
        "/api/comments/counts",
    ]


def test_nothing_is_asked_until_a_count_is_near_the_viewport(page: Page, answers: Answers) -> None:
    """Then all counts are requested at once."""
    show(page, "/a/", "/b/", before="<style>p { margin-top: 3000px }</style>")
    page.wait_for_load_state("networkidle")
    assert asked(answers) == []
    page.locator("comment-count").first.scroll_into_view_if_needed()
    expect(page.locator("comment-count")).to_have_text(["No comments"] * 2)
    assert asked(answers) == [["/a/", "/b/"]]


def test_the_request_is_the_same_whatever_the_order_of_the_page(
    page: Page, answers: Answers
) -> None:
    show(page, "/b/", "/ä&x=1/", "/a/", "/b/")
    expect(page.locator("comment-count").first).to_have_text("No comments")
    assert asked(answers) == [["/ä&x=1/", "/a/", "/b/"]]


def test_more_counts_than_one_request_takes_are_asked_for_in_parts(
    page: Page, answers: Answers
) -> None:
    urls = [f"/post-{n}/" for n in range(150)]
    show(page, *urls)
    expect(page.locator("comment-count").last).to_have_text("No comments")
    assert sorted(len(part) for part in asked(answers)) == [75, 75]
    assert sorted(url for part in asked(answers) for url in part) == sorted(urls)


def test_long_addresses_stay_within_the_longest_target_the_service_reads(
    page: Page, answers: Answers
) -> None:
    show(page, *(f"/{n:03}/{'long/' * 30}" for n in range(90)))
    expect(page.locator("comment-count").last).to_have_text("No comments")
    assert sum(map(len, asked(answers))) == 90
    assert all(len(target) < 8192 for _, target in answers.requests)


def test_counts_added_later_are_asked_for_together(page: Page, answers: Answers) -> None:
    show(page, "/a/")
    expect(page.locator("comment-count")).to_have_text("No comments")
    page.evaluate(
        """() => document.body.insertAdjacentHTML("beforeend",
           '<comment-count url="/c/"></comment-count><comment-count url="/b/"></comment-count>')"""
    )
    expect(page.locator("comment-count").last).to_have_text("No comments")
    assert asked(answers) == [["/a/"], ["/b/", "/c/"]]


@pytest.mark.parametrize(
    ("count", "text"), [(0, "No comments"), (1, "1 comment"), (2, "2 comments")]
)
def test_a_count_reads_as_a_sentence_would(
    page: Page, answers: Answers, count: int, text: str
) -> None:
    answers.comments = [comment(n, "Yes.") for n in range(count)]
    show(page, POST)
    expect(page.locator("comment-count")).to_have_text(text)


def test_a_link_inside_a_count_stays_a_link(page: Page, answers: Answers) -> None:
    answers.comments = [comment(1, "Yes.")]
    page.goto("/")
    link = page.get_by_role("link", name="1 comment")
    expect(link).to_have_attribute("href", f"{POST}#comments")


@pytest.mark.parametrize(
    ("status", "body"),
    [(0, None), (500, None), (429, None), (502, "<h1>Bad gateway</h1>"), (200, "null"), (200, "{")],
)
def test_without_an_answer_the_fallback_stays(
    page: Page, answers: Answers, status: int, body: str | None
) -> None:
    answers.refuse("GET", status, body=body)
    with page.expect_request("**/api/comments/counts?*"):
        show(page, "/a/")
    page.wait_for_load_state("networkidle")
    expect(page.locator("comment-count")).to_have_text("–")
