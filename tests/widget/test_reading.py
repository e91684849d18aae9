"""<comment-thread>: what readers can do with a thread besides reading it from top to bottom."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.widget.browser import (
    NOW,
    POST,
    RICH,
    SERVICE,
    Answers,
    comment,
    fill,
    open_form,
    pause_clock,
    send,
)

OpenThread = Callable[..., Page]


def targets(answers: Answers) -> list[str]:
    return [target for _, target in answers.requests if target.startswith("/api/comments?")]


def test_two_lines_are_enough(open_thread: OpenThread, answers: Answers) -> None:
    answers.comments = [comment(1, "Yes.")]
    page = open_thread()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    assert targets(answers) == ["/api/comments?url=%2Fposts%2Fwet-wood%2F&sort=oldest&limit=100"]


def test_the_order_can_be_chosen(open_thread: OpenThread, answers: Answers) -> None:
    answers.comments = [comment(1, "One."), comment(2, "Two."), comment(3, "Answer.", parent=1)]
    page = open_thread(sort="newest")
    threads = page.locator(".commentsvc-list > li")
    expect(threads).to_have_text([re.compile("Two"), re.compile("One.*Answer", re.DOTALL)])
    order = page.get_by_label("Order")
    expect(order).to_have_value("newest")
    order.select_option("Oldest first")
    expect(threads).to_have_text([re.compile("One.*Answer", re.DOTALL), re.compile("Two")])


def test_what_comes_late_never_replaces_what_the_reader_chose_since(
    open_thread: OpenThread, answers: Answers
) -> None:
    """A part of the thread in one order, and the thread in another, come after the last choice."""
    answers.comments = [comment(number, "A text.") for number in range(1, 7)]
    answers.part = 2
    page = open_thread()
    numbers = "(items) => items.map((item) => item.id.slice(-1)).join('')"
    items = page.locator(".commentsvc-list > li")
    expect(items).to_have_count(2)
    late = re.compile("after=|sort=newest")
    held: list[Route] = []
    page.route(late, lambda route: held.append(route))
    page.get_by_role("button", name="Show more comments").click()
    order = page.get_by_label("Order")
    with page.expect_request("**/api/comments?*newest*"):
        order.select_option("Newest first")
    with page.expect_response("**/api/comments?*oldest*"):
        order.select_option("Oldest first")
    page.unroute(late)
    for route in held:
        answers.answer(route)
    assert len(held) == 2
    page.get_by_role("button", name="Show more comments").click()
    expect(items).to_have_count(4)
    assert items.evaluate_all(numbers) == "1234"


@pytest.mark.parametrize(
    ("depth", "home"),
    [
        ("0", ".commentsvc-list"),
        ("1", "#commentsvc-1 > details > ol"),
        ("9", "#commentsvc-2 > details > ol"),
    ],
)
def test_a_site_chooses_how_deep_replies_are_nested(
    open_thread: OpenThread, answers: Answers, depth: str, home: str
) -> None:
    answers.comments = [
        comment(1, "Question?"),
        comment(2, "Answer.", parent=1, author="Ida"),
        comment(3, "Thanks.", parent=2),
    ]
    page = open_thread(depth=depth)
    expect(page.locator(f"{home} > #commentsvc-3")).to_be_visible()
    answered = page.locator("#commentsvc-3 > article").get_by_role("link", name="↪ Ida")
    expect(answered).to_have_count(0 if depth == "9" else 1)


@pytest.mark.parametrize(
    ("anchor", "target"),
    [
        ("comment-7", "#comment-7"),
        ("isso-2", "#isso-2"),
        ("remark42__comment-a-b", "#remark42__comment-a-b"),
        ("remark42__comment-a-b", "#comment-a-b"),
        ("65a7", "#65a7"),
        ("comment-7", "#commentsvc-50"),
    ],
)
def test_old_links_lead_to_imported_comments(
    open_thread: OpenThread, answers: Answers, anchor: str, target: str
) -> None:
    """The number in an old link may be the id of another comment in this service."""
    answers.part = 20
    answers.comments = [comment(n, f"Number {n}.", anchor=f"x-{n}") for n in range(1, 60)]
    answers.comments[49] = comment(50, "Number 50.", anchor=anchor)
    page = open_thread(target=target)
    item = page.locator(f'[id="{anchor}"]')
    expect(item).to_be_in_viewport()
    expect(item).to_contain_text("Number 50.")
    assert item.locator("time").first.evaluate("it => it.parentNode.hash") == f"#{anchor}"


def test_a_link_of_ours_and_an_old_one_may_have_the_same_number(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.part = 20
    answers.comments = [comment(n, f"Number {n}.") for n in range(1, 60)]
    answers.comments[49] = comment(50, "Number 50.", anchor="comment-3")
    page = open_thread(target="#comment-3")
    expect(page.locator("#comment-3")).to_be_in_viewport()
    expect(page.locator("#comment-3")).to_contain_text("Number 50.")
    page.locator("#commentsvc-3 > article time").click()
    expect(page.locator("#commentsvc-3:target")).to_contain_text("Number 3.")


def test_an_old_link_to_all_comments_leads_to_the_thread(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(n, f"Number {n}.") for n in range(1, 30)]
    page = open_thread(target="#disqus_thread", more="<div style='height: 4000px'></div>")
    expect(page.locator("comment-thread h2")).to_be_in_viewport()


def test_a_link_to_something_else_in_the_page_fetches_nothing(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.part = 2
    answers.comments = [comment(n, f"Number {n}.") for n in range(1, 9)]
    page = open_thread(target="#there", more="<p id=there></p>")
    expect(page.locator("#commentsvc-2")).to_be_visible()
    assert len(targets(answers)) == 1


def test_a_thread_that_loads_on_a_click_asks_for_nothing_before(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "Yes.")]
    page = open_thread(load="click")
    show = page.get_by_role("button", name="Show comments")
    expect(show).to_be_visible()
    assert targets(answers) == []
    show.click()
    expect(page.locator("#commentsvc-1")).to_be_focused()


COUNT = (
    f'<script type="module" src="{SERVICE}/static/count.js"></script>'
    f'<p><comment-count url="{POST}">Comments</comment-count></p>'
)


@pytest.mark.parametrize(
    ("lang", "number", "text"),
    [
        ("en", 12, "Show comments (12)"),
        ("de", 1, "Kommentare anzeigen (1)"),
        ("bn", 12, "(১২)"),
        ("en", 0, "Show comments"),
    ],
)
def test_a_button_says_how_many_comments_it_shows_where_the_page_counts_them(
    open_thread: OpenThread, answers: Answers, lang: str, number: int, text: str
) -> None:
    """By the request of the count, whichever comes first, and the page does not move."""
    answers.comments = [comment(n, "Yes.") for n in range(1, number + 1)]
    page = open_thread(load="click", lang=lang, more=COUNT)
    show = page.locator("comment-thread .commentsvc-button")
    expect(show).to_contain_text(text)
    if not number:
        page.wait_for_load_state("networkidle")
        expect(show).to_have_text(text)
    assert [each for each in targets(answers) if "counts" not in each] == []
    assert len([each for _, each in answers.requests if "/api/comments/counts" in each]) == 1
    height = page.locator("comment-thread").bounding_box()
    page.evaluate(
        "(url) => document.querySelector('comment-count').show({ counts: { [url]: 3456 } })", POST
    )
    digits = "৩" if lang == "bn" else "3"
    expect(show).to_contain_text(f"({digits}")
    assert page.locator("comment-thread").bounding_box() == height
    show.click()
    if number:
        expect(page.locator("#commentsvc-1")).to_be_focused()
    else:
        expect(page.locator("comment-thread section")).to_be_visible()


def test_a_link_to_a_comment_finds_it_in_a_later_part_and_marks_it(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.part = 20
    answers.comments = [comment(n, f"Number {n}.") for n in range(1, 60)]
    page = open_thread(target="#commentsvc-50")
    expect(page.locator("#commentsvc-50")).to_be_in_viewport()
    expect(page.locator("#commentsvc-50:target")).to_have_count(1)
    assert len(targets(answers)) == 3


def test_dates_are_relative_and_exact_on_hover(open_thread: OpenThread, answers: Answers) -> None:
    moments = {
        "2026-11-21T12:00:30Z": "just now",  # by a clock that is ahead
        "2026-11-21T11:59:01Z": "just now",
        "2026-11-21T11:59:00Z": "1 minute ago",
        "2026-11-21T11:57:15Z": "2 minutes ago",
        "2026-11-21T10:01:00Z": "1 hour ago",
        "2026-11-19T08:30:00Z": "2 days ago",
        "2024-01-02T03:04:05Z": "2 years ago",
    }
    answers.comments = [comment(n, "x", published=moment) for n, moment in enumerate(moments, 1)]
    page = open_thread()
    expect(page.locator("time")).to_have_text([*moments.values()])
    expect(page.locator("time").last).to_have_attribute("title", "January 2, 2024 at 3:04 AM")


def test_a_day_is_no_yesterday(open_thread: OpenThread, answers: Answers) -> None:
    """Regression: 47 hours ago was shown as "yesterday", and 729 days ago as "last year"."""
    answers.comments = [
        comment(1, "x", published="2026-11-19T13:00:00Z"),
        comment(2, "x", published="2024-11-22T12:00:00Z"),
    ]
    page = open_thread()
    expect(page.locator("time")).to_have_text(["1 day ago", "1 year ago"])


def test_the_chosen_order_is_remembered(open_thread: OpenThread, answers: Answers) -> None:
    answers.comments = [comment(1, "One."), comment(2, "Two.")]
    page = open_thread()
    first = page.locator(".commentsvc-list > li").first
    expect(first).to_have_id("commentsvc-1")
    page.get_by_label("Order").select_option("newest")
    expect(first).to_have_id("commentsvc-2")
    page.reload()
    expect(first).to_have_id("commentsvc-2")
    expect(page.get_by_label("Order")).to_have_value("newest")


def test_dates_go_on_while_the_page_is_open(open_thread: OpenThread, answers: Answers) -> None:
    elsewhere = "https://rosa.example/reply"
    answers.comments = [comment(1, "x", published="2026-11-21T11:58:00Z", permalink=elsewhere)]
    page = open_thread()
    pause_clock(page)
    page.reload()
    expect(page.locator("time")).to_have_text("2 minutes ago")
    expect(page.get_by_role("link", name="rosa.example")).to_have_attribute("href", elsewhere)
    with page.expect_response("**/live.js"):
        page.clock.run_for(5_000)
    page.evaluate(f"import('{SERVICE}/static/thread/live.js')")  # it starts the timer
    page.clock.run_for(61_000)
    expect(page.locator("time")).to_have_text("3 minutes ago")


def test_what_is_from_other_sites_is_shown_at_once_and_without_them(
    open_thread: OpenThread, answers: Answers
) -> None:
    elsewhere = {"permalink": "https://rosa.example/reply", "site": "https://rosa.example/"}
    answers.comments = [comment(1, "x", **elsewhere)]
    answers.likes = 3
    page = open_thread()
    page.clock.install(time=NOW)  # so that no time passes
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    expect(page.locator(".commentsvc-heading")).to_have_text("1 comment ♥ 3")
    expect(page.get_by_role("link", name="rosa.example")).to_be_visible()
    assert asked
    origin = page.evaluate("location.origin")
    assert not [url for url in asked if not url.startswith((f"{origin}/", f"{SERVICE}/"))]


def test_an_author_has_an_initial_in_the_colour_of_the_name(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [
        comment(1, "x", author="Ada"),
        comment(2, "x", author="Ida"),
        comment(3, "x", author="Ada"),
        comment(4, "x", author="Ada", avatar="0" * 32),
        comment(5, "x", author="😀 Max"),
        comment(6, "x", author="🇩🇪 Max", initial="🇩🇪"),
    ]
    page = open_thread()
    page.locator("#commentsvc-6").wait_for()
    pictures = page.locator(".commentsvc-avatar")
    expect(pictures).to_have_text(["A", "I", "A", "A", "😀", "🇩🇪"])
    colours = pictures.evaluate_all("(all) => all.map((a) => getComputedStyle(a).backgroundColor)")
    assert colours[0] == colours[2] == colours[3] != colours[1]


def test_there_is_a_feed_of_the_thread(open_thread: OpenThread, answers: Answers) -> None:
    answers.comments = [comment(1, "One."), comment(2, "Two.")]
    feed = open_thread().get_by_role("link", name="Atom feed")
    expect(feed).to_have_attribute("href", f"{SERVICE}/feed.atom?url=%2Fposts%2Fwet-wood%2F")


@pytest.mark.parametrize("closed", ["by the page", "by the service"])
def test_a_closed_thread_is_read_and_not_written(
    open_thread: OpenThread, answers: Answers, closed: str
) -> None:
    answers.comments = [comment(1, "Yes.")]
    if closed == "by the service":
        answers.closes = "2026-11-21T11:00:00Z"
    page = open_thread(**({"closed": ""} if closed == "by the page" else {}))
    expect(page.get_by_text("This page no longer accepts comments.")).to_be_visible()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    expect(page.get_by_role("button", name="Reply")).to_have_count(0)
    expect(page.locator("form")).to_have_count(0)


def test_a_thread_that_closes_tomorrow_is_open(open_thread: OpenThread, answers: Answers) -> None:
    answers.closes = "2026-11-22T12:00:00Z"
    expect(open_thread().get_by_label("Be the first to comment")).to_be_visible()


def test_what_waits_for_approval_is_shown_to_its_author_while_it_can_be_changed(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.status = "pending"
    page = open_thread()
    form = open_form(page)
    fill(form, "Mine.")
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    page.reload()
    expect(page.locator("#commentsvc-101 .commentsvc-badge")).to_have_text("Awaiting approval")
    expect(page.get_by_text("Thank you")).to_have_count(0)
    page.clock.set_fixed_time("2026-11-21T12:16:00Z")
    page.reload()
    page.get_by_role("heading", name="No comments").wait_for()
    expect(page.locator("#commentsvc-101")).to_have_count(0)


def test_ones_own_published_comment_on_a_later_part_waits_for_nobody(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "First.")]
    page = open_thread()
    form = open_form(page)
    fill(form, "Mine.")
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    answers.part = 1
    page.reload()
    page.get_by_role("button", name="Show more comments").wait_for()
    expect(page.locator("#commentsvc-101 .commentsvc-body")).to_have_text("Mine.")
    expect(page.locator(".commentsvc-badge")).to_have_count(0)


@pytest.mark.parametrize("status", [200, 404])
def test_a_picture_covers_the_initial_and_comes_from_the_service_alone(
    page: Page, open_thread: OpenThread, answers: Answers, status: int
) -> None:
    square = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
        '<path d="M0 0h9v9h-9z" fill="#f00"/></svg>'
    )
    body = square if status == 200 else '{"error": {}}'
    page.route(
        "**/api/avatar/*",
        lambda route: route.fulfill(status=status, content_type="image/svg+xml", body=body),
    )
    answers.comments = [comment(1, "x", picture=f"api/avatar/{'a' * 32}"), comment(2, "y")]
    with page.expect_response("**/api/avatar/*") as asked:
        open_thread()
    assert asked.value.url == f"{SERVICE}/api/avatar/{'a' * 32}"
    image = page.locator("#commentsvc-1 .commentsvc-avatar img")
    if status == 404:
        expect(image).to_have_count(0)  # and the initial is shown
        return
    image.evaluate("(image) => image.decode()")
    tile = page.locator("#commentsvc-1 .commentsvc-avatar")
    shown = tile.screenshot()
    image.evaluate("(image) => image.remove()")
    assert tile.screenshot() != shown
    expect(page.locator(".commentsvc-avatar img")).to_have_count(0)


def test_notes_tasks_and_formulas_have_their_styles_and_a_mention_finds_a_later_page(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "One.", html=RICH), comment(2, "Two."), comment(3, "Three.")]
    answers.part = 1
    page = open_thread()
    body = page.locator("#commentsvc-1 .commentsvc-body")
    expect(body.locator("section")).to_have_css("border-top-style", "solid")
    expect(body.locator("pre")).to_have_attribute("tabindex", "0")
    expect(body.locator("math")).to_have_attribute("tabindex", "0")
    body.locator("sup a").click()
    assert page.evaluate("location.hash") == "#commentsvc-note-a-1"
    expect(page.locator("#commentsvc-3")).to_have_count(0)
    body.get_by_role("link", name="@Ada Byron").click()
    expect(page.locator("#commentsvc-3")).to_be_in_viewport()


# Every link of the thread that leads to a place on the same page.
SAME_PAGE = """thread => [...thread.querySelectorAll("a[href*='#']")].map(({ href }) => href)"""


@pytest.mark.parametrize("base", ["/", "/elsewhere/", "https://cdn.example/", "?page=2"])
def test_links_to_the_same_page_work_with_any_base_address(
    page: Page, open_thread: OpenThread, answers: Answers, base: str
) -> None:
    answers.comments = [
        comment(1, "Rich.", html=RICH),
        comment(2, "Two.", parent=1, author="Ida"),
        comment(3, "Three.", parent=2),
    ]
    for name in ("moderator", "extras"):
        page.add_init_script(f"localStorage.setItem('commentsvc:{name}', true)")
    open_thread("#commentsvc-2?moderate", more=f'<base href="{base}" target="_blank">', depth="1")
    here = page.url.partition("#")[0]
    thread = page.locator("section.commentsvc-thread")
    expect(thread.get_by_role("link", name="Moderate", exact=True)).to_have_count(3)
    expect(thread.get_by_role("link", name="Moderate here")).to_have_count(1)
    expect(thread.locator("pre[tabindex]")).to_have_count(1)
    assert page.url == here + "#commentsvc-2"
    assert [address.partition("#")[0] for address in thread.evaluate(SAME_PAGE)] == [
        # date, footnote, mention, back, moderation, and so on
        *(here, here, here, here, f"{SERVICE}/moderation/comment?id=1"),
        *(here, f"{SERVICE}/moderation/comment?id=2"),
        *(here, here, f"{SERVICE}/moderation/comment?id=3"),
    ]
    thread.get_by_role("link", name="@Ada Byron").click()
    assert page.url == here + "#commentsvc-3"
    form = open_form(page)
    fill(form, "[top](#top)")
    page.route(
        f"{SERVICE}/api/preview?*",
        lambda route: route.fulfill(
            json={"html": '<p><a href="#top">top</a></p>'},
            headers={"Access-Control-Allow-Origin": "*"},
        ),
    )
    form.get_by_role("button", name="Preview").click()
    expect(form.get_by_role("link", name="top")).to_have_attribute("href", here + "#top")
    page.goto("/")
    open_thread("#commentsvc-reader=0", more=f'<base href="{base}">')
    expect(page).to_have_url(here)


def test_links_to_the_same_page_follow_a_router_that_changes_its_address(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    """As in Angular, whose pages always have a base address."""
    answers.comments = [comment(1, "One.")]
    open_thread(more='<base href="/">')
    here = page.url
    date = page.locator("#commentsvc-1 .commentsvc-date a")
    expect(date).to_have_attribute("href", here + "#commentsvc-1")
    page.evaluate("history.pushState(null, '', location.pathname + '?tab=2')")
    date.click()
    expect(page).to_have_url(here + "?tab=2#commentsvc-1")


@pytest.mark.parametrize("part", ["**/api/comments?*", "**/locales/en.json"])
@pytest.mark.parametrize("status", [503, 0])
def test_a_thread_that_cannot_load_leaves_no_gap(
    page: Page, open_thread: OpenThread, part: str, status: int
) -> None:
    page.route(part, lambda route: route.fulfill(status=status) if status else route.abort())
    open_thread(more="<style>footer { height: 9px }</style>")
    failed = page.locator("comment-thread.commentsvc-failed")
    expect(failed).to_have_count(1)
    page.wait_for_load_state("networkidle")
    assert failed.evaluate("element => element.offsetHeight") < 200


MARKS = "\u0301" * 80 + "a" + "\u0316" * 80


def test_marks_above_and_below_letters_stay_in_their_comment(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    """No comment draws over its neighbours, nor its text over its author's name."""
    answers.comments = [
        comment(1, "One."),
        comment(2, f"Z{MARKS} <a href='/'>link</a>", author="Z" + "\u0301" * 30),
        comment(3, "Three."),
    ]
    open_thread()
    text = page.locator("#commentsvc-2")
    expect(text).to_be_visible()
    shots = []
    for hidden in ("visible", "hidden"):
        text.evaluate("(element, value) => (element.style.visibility = value)", hidden)
        shots.append(
            [page.locator(f"#commentsvc-{n} .commentsvc-body").screenshot() for n in (1, 3)]
        )
    assert shots[0] == shots[1]
