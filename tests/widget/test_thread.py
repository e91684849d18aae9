"""<comment-thread>: what a reader sees of the comments, and what a comment cannot do."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from commentsvc.util.text import hue
from tests.widget.browser import POST, SERVICE, WIDGET, Answers, comment, fill, send

Open = Callable[[], Page]


def test_comments_stand_in_order_with_author_date_and_text(
    open_post: Open, answers: Answers
) -> None:
    answers.comments = [comment(1, "First."), comment(2, "<em>Second</em>.", author="Ida")]
    page = open_post()
    expect(page.get_by_role("heading", name="2 comments")).to_be_visible()
    expect(page.locator(".commentsvc-body")).to_have_text(["First.", "Second."])
    expect(page.locator(".commentsvc-body em")).to_have_text("Second")
    expect(page.locator(".commentsvc-author")).to_have_text(["Ada Byron", "Ida"])
    expect(page.locator("#commentsvc-1 time")).to_have_text("1 day ago")
    expect(page.locator("#commentsvc-1 time")).to_have_attribute(
        "title", "November 20, 2026 at 8:30 AM"
    )
    expect(page.locator("#commentsvc-1 time")).to_have_attribute("datetime", "2026-11-20T08:30:00Z")


def test_replies_stand_under_what_they_answer(open_post: Open, answers: Answers) -> None:
    answers.comments = [
        comment(1, "Question?"),
        comment(2, "Another."),
        comment(3, "Answer.", parent=1),
        comment(4, "Thanks.", parent=3),
        comment(5, "Its parent is not shown.", parent=99),
    ]
    page = open_post()
    expect(
        page.locator("#commentsvc-1 > details > .commentsvc-replies > #commentsvc-3")
    ).to_be_visible()
    expect(
        page.locator("#commentsvc-3 > details > .commentsvc-replies > #commentsvc-4")
    ).to_be_visible()
    expect(page.locator(".commentsvc-list > li")).to_have_count(3)


def test_names_are_text_and_only_web_addresses_become_links(
    open_post: Open, answers: Answers
) -> None:
    answers.comments = [
        comment(1, "x", author="<img src=x onerror=alert(1)>", site="javascript:alert(1)"),
        comment(2, "x", author="Ida", site="https://ida.example/"),
    ]
    page = open_post()
    expect(page.locator("#commentsvc-1 .commentsvc-author")).to_have_text(
        "<img src=x onerror=alert(1)>"
    )
    expect(page.locator(".commentsvc-thread img")).to_have_count(0)
    expect(page.locator(".commentsvc-author[href]")).to_have_count(1)
    ida = page.get_by_role("link", name="Ida")
    expect(ida).to_have_attribute("href", "https://ida.example/")
    expect(ida).to_have_attribute("rel", "nofollow ugc noopener")


def test_a_thread_far_below_waits_until_the_reader_comes_near(page: Page, answers: Answers) -> None:
    page.set_viewport_size({"width": 360, "height": 400})
    page.route("**/css/blog.css", lambda route: route.fulfill(body="article { height: 3000px }"))
    page.goto(POST)
    expect(page.locator("comment-count")).to_have_text("No comments")
    assert not [target for _, target in answers.requests if "comments?" in target]
    page.mouse.wheel(0, 2500)
    expect(page.locator("section.commentsvc-thread")).to_be_visible()


def test_a_long_thread_comes_in_parts(open_post: Open, answers: Answers) -> None:
    answers.part = 2
    answers.comments = [comment(n, f"Number {n}.") for n in range(1, 6)]
    page = open_post()
    more = page.get_by_role("button", name="Show more comments")
    more.click()
    expect(page.locator("#commentsvc-3")).to_be_focused()
    more.click()
    expect(page.locator(".commentsvc-comment")).to_have_count(5)
    expect(more).to_be_hidden()
    expect(page.get_by_role("heading", name="5 comments")).to_be_visible()


def test_a_script_that_fails_leaves_the_focus_of_a_press_in_the_thread(
    open_post: Open, answers: Answers
) -> None:
    answers.part = 1
    answers.comments = [comment(1, "One."), comment(2, "Two.")]
    page = open_post()
    page.route("**/static/thread/reveal.js", lambda route: route.abort())
    page.get_by_role("button", name="Show more comments").click()
    expect(page.locator("#commentsvc-2")).to_be_visible()
    expect(page.get_by_role("heading", name="2 comments")).to_be_focused()


def test_a_part_that_fails_can_be_asked_for_again(open_post: Open, answers: Answers) -> None:
    answers.part = 1
    answers.comments = [comment(1, "One."), comment(2, "Two.")]
    page = open_post()
    answers.refuse("GET", 503)
    page.get_by_role("button", name="Show more comments").click()
    expect(page.get_by_role("alert").filter(has_text="cannot be loaded")).to_be_visible()
    expect(page.locator("#commentsvc-1")).to_be_visible()
    answers.recover()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#commentsvc-2")).to_be_focused()
    expect(page.get_by_role("alert").filter(has_text="cannot be loaded")).to_have_count(0)


@pytest.mark.parametrize("status", [0, 500, 503])
def test_without_an_answer_the_fallback_stays_and_the_reader_can_try_again(
    page: Page, answers: Answers, status: int
) -> None:
    answers.refuse("GET", status)
    page.goto(POST)
    thread = page.locator("comment-thread")
    thread.scroll_into_view_if_needed()
    expect(page.get_by_role("alert")).to_have_text("The comments cannot be loaded at the moment.")
    expect(thread).to_have_class("commentsvc-failed")
    expect(thread.locator("noscript")).to_have_count(1)
    answers.recover()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("section.commentsvc-thread")).to_be_visible()
    expect(page.get_by_role("heading", name="No comments")).to_be_focused()
    expect(thread).to_have_class("")


def test_a_link_to_a_comment_leads_to_it(page: Page, answers: Answers) -> None:
    answers.comments = [comment(n, f"Number {n}.") for n in range(1, 30)]
    page.goto(f"{POST}#comments")
    page.locator("#commentsvc-29").wait_for()
    page.goto("about:blank")
    page.goto(f"{POST}#commentsvc-20")
    page.locator("comment-thread").scroll_into_view_if_needed()
    expect(page.locator("#commentsvc-20")).to_be_in_viewport()


def test_the_stylesheet_comes_before_the_blogs_own(open_post: Open) -> None:
    page = open_post()
    sheets = page.evaluate("[...document.styleSheets].map((sheet) => sheet.href)")
    assert sheets[0] == f"{SERVICE}/static/comments.css"
    assert sheets[1].endswith("/css/blog.css")


def test_a_thread_without_its_stylesheet_still_works(page: Page, answers: Answers) -> None:
    answers.comments = [comment(1, "Yes.")]
    page.route("**/comments.css", lambda route: route.abort())
    page.goto(POST)
    page.locator("comment-thread").scroll_into_view_if_needed()
    expect(page.locator("#commentsvc-1")).to_be_visible()


def test_replies_can_be_folded(open_post: Open, answers: Answers) -> None:
    answers.comments = [comment(1, "Question?"), comment(2, "Answer.", parent=1)]
    page = open_post()
    fold = page.locator("#commentsvc-1 summary").first
    expect(fold).to_have_text("Replies (1)")
    # The line beside the replies is the button, as long as they are
    line, replies = fold.bounding_box(), page.locator("#commentsvc-1 > details").bounding_box()
    assert line
    assert replies
    assert line["height"] == replies["height"]
    assert 24 <= line["width"] <= 40
    fold.click(position={"x": 12, "y": line["height"] - 9})
    expect(page.locator("#commentsvc-2")).to_be_hidden()
    fold.press("Enter")
    expect(page.locator("#commentsvc-2")).to_be_visible()
    expect(page.locator("#commentsvc-2 summary")).to_be_hidden()


def test_deep_branches_begin_folded_on_a_phone_but_links_unfold_them(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    answers.comments = [comment(n, "x", parent=n - 1 or None) for n in range(1, 6)]
    open_thread()
    expect(page.locator("#commentsvc-3 summary").first).to_have_text("Replies (2)")
    expect(page.locator("#commentsvc-3")).to_be_visible()
    expect(page.locator("#commentsvc-4")).to_be_hidden()
    page.goto("about:blank")
    open_thread("#commentsvc-5")
    expect(page.locator("#commentsvc-5")).to_be_in_viewport()


def test_a_reply_to_a_folded_comment_is_shown(open_post: Open, answers: Answers) -> None:
    answers.comments = [comment(1, "Question?"), comment(2, "Answer.", parent=1)]
    page = open_post()
    page.locator("#commentsvc-1 summary").first.click()
    page.get_by_role("button", name="Reply to Ada Byron").click()
    form = page.locator("#commentsvc-1 form")
    fill(form)
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()


def test_a_deleted_comment_with_replies_leaves_a_word(open_post: Open, answers: Answers) -> None:
    """Its replies stay where they were."""
    answers.deleted = [{"id": 2, "parent": 1, "deleted": True}]
    answers.comments = [comment(1, "Question?"), comment(3, "Thanks.", parent=2)]
    page = open_post()
    gone = page.locator("#commentsvc-1 #commentsvc-2")
    expect(gone.locator("> p")).to_have_text("This comment was deleted.")
    expect(gone.locator("#commentsvc-3")).to_be_visible()
    expect(gone.locator("> article")).to_have_count(0)
    gone.locator("> details > summary").press("Enter")
    lefts = [each.bounding_box() for each in gone.locator("> p, > details > summary").all()]
    assert len({box and box["x"] for box in lefts}) == 1, "the word and the fold stand in one line"
    expect(page.get_by_role("heading", name="2 comments")).to_be_visible()


def test_a_slow_thread_says_in_the_shape_of_a_comment_that_it_is_loading(
    page: Page, answers: Answers
) -> None:
    held: list[Route] = []
    page.route("**/api/comments?*", lambda route: held.append(route))
    page.set_viewport_size({"width": 1280, "height": 3000})
    with page.expect_request("**/api/comments?*"):
        page.goto(POST)
    loading = page.locator("article", has_text="Loading comments…")
    words, picture = loading.locator("p"), loading.locator("span")
    expect(words).to_be_visible()
    circle, line = picture.bounding_box(), words.bounding_box()
    assert circle
    assert line
    assert circle["width"] == circle["height"] < line["x"]
    held.pop().fallback()
    expect(page.get_by_role("heading", name="No comments")).to_be_visible()
    expect(page.get_by_text("Loading comments…")).to_have_count(0)


def test_an_empty_thread_invites_and_has_no_order_to_choose(
    open_post: Open, answers: Answers
) -> None:
    page = open_post()
    expect(page.get_by_label("Be the first to comment")).to_be_visible()
    for number in (1, 2):
        answers.comments.append(comment(number, "x"))
        expect(page.get_by_label("Order")).to_be_hidden()
        expect(page.get_by_text("Atom feed")).to_be_hidden()
        page.reload()
        page.get_by_label("Write a comment").wait_for()
    expect(page.get_by_label("Order")).to_be_visible()
    expect(page.get_by_role("link", name="Atom feed")).to_be_visible()


def test_a_linked_comment_is_tinted_for_a_while(page: Page, answers: Answers) -> None:
    answers.comments = [comment(1, "One."), comment(2, "Two.")]
    page.goto(f"{POST}#commentsvc-2")
    article = page.locator("#commentsvc-2:target > article")
    article.wait_for()
    style = "(it) => [getComputedStyle(it).animationName, getComputedStyle(it).outlineStyle]"
    assert article.evaluate(style) == ["commentsvc-fade", "none"]
    ended = "(it) => Promise.all(it.getAnimations().map((each) => (each.finish(), each.finished)))"
    article.evaluate(ended)
    colour = "(it) => getComputedStyle(it).backgroundColor"
    assert article.evaluate(colour) == "rgba(0, 0, 0, 0)"


def test_an_author_without_a_site_is_no_link(open_post: Open, answers: Answers) -> None:
    answers.comments = [comment(1, "x")]
    page = open_post()
    name = page.locator("#commentsvc-1 .commentsvc-author")
    assert name.evaluate("(name) => name.localName") == "span"


def test_the_same_thread_twice_on_a_page_has_each_id_once(
    open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.comments = [comment(1, "One."), comment(2, "Two.", parent=1)]
    page = open_thread(more=f'<comment-thread id="other" url="{POST}"></comment-thread>')
    expect(page.locator(".commentsvc-comment")).to_have_count(4)
    expect(page.locator("#commentsvc-1")).to_have_count(1)
    expect(page.locator("#commentsvc-2")).to_have_count(1)
    last = page.locator("main .commentsvc-comment").first
    last.get_by_role("button", name="Reply").first.click()
    expect(last.locator("form textarea")).to_be_focused()


def test_the_page_hears_when_comments_are_shown(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    """So that the page can highlight code, whose language is kept."""
    answers.comments = [comment(1, "x", html='<pre><code class="language-js">x</code></pre>')]
    page.add_init_script(
        "window.found = []; addEventListener('comments-shown', ({ target }) => found.push("
        "target.querySelector('code.language-js').textContent))"
    )
    open_thread()
    page.locator("#commentsvc-1").wait_for()
    assert page.evaluate("found") == ["x"]


# A name as a screen reader says it.
NAMES = """buttons => buttons.map((it) => it.ariaLabel ?? it.textContent)"""


def test_no_two_buttons_of_a_thread_have_one_name(
    open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.voting = "both"
    authors = ("Ada", "Ida", "Eva", "Uwe")
    answers.comments = [comment(n, "x", author=author) for n, author in enumerate(authors, 1)]
    page = open_thread()
    page.locator("#commentsvc-4").wait_for()
    names = page.locator(".commentsvc-list button").evaluate_all(NAMES)
    assert len(names) == 16
    assert len(set(names)) == 16


def test_a_name_has_one_colour_everywhere(
    open_thread: Callable[..., Page], answers: Answers
) -> None:
    """With an address and without, here, on the moderation pages, and without scripts."""
    authors = ("Ada Byron", "Ida Noddack", "李白", "😀 Max", "שרה")
    answers.comments = [
        comment(2 * n + more, "x", author=author, avatar="0123abcd" * more)
        for n, author in enumerate(authors, 1)
        for more in (0, 1)
    ]
    page = open_thread()
    avatars = page.locator(".commentsvc-avatar")
    expect(avatars).to_have_count(2 * len(authors))
    shown = "all => all.map((it) => it.style.getPropertyValue('--commentsvc-hue'))"
    hues = avatars.evaluate_all(shown)
    assert hues == [str(30 * hue(author)) for author in authors for _ in (0, 1)]
    for file, prefix in (("admin/admin.css", ""), ("rich.css", "commentsvc-")):
        rules = (WIDGET / file).read_text()
        for number in range(12):
            assert f".{prefix}hue{number} {{ --{prefix}hue: {30 * number}; }}" in rules


def test_the_owner_is_marked_in_the_accent_colour_and_a_vote_stands_at_its_arrow(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.voting = "up"
    answers.comments = [comment(1, "x", role="owner", votes=12), comment(2, "x", role="moderator")]
    open_thread(more="<style>:root { --commentsvc-accent: rgb(0 90 0) }</style>")
    expect(page.get_by_text("Owner")).to_have_css("background-color", "rgb(0, 90, 0)")
    expect(page.get_by_text("Moderator")).not_to_have_css("background-color", "rgb(0, 90, 0)")
    first = page.locator("#commentsvc-1")
    arrow, number, reply = (
        first.locator(part).bounding_box()
        for part in ("svg >> nth=0", ".commentsvc-votes", "[name=reply]")
    )
    assert arrow
    assert number
    assert reply
    before = number["x"] - arrow["x"] - arrow["width"]
    after = reply["x"] - number["x"] - number["width"]
    assert 0 <= before < after


# Of comments that are higher than most windows: many words, many lines, code, a table.
LONG = {
    "words": "<p>" + "Sand it, and do it again. " * 300 + "</p>",
    "lines": "<p>" + "a<br>" * 200 + "</p>",
    "code": "<pre><code>" + "a\n" * 200 + "</code></pre>",
    "table": "<table>" + "<tr><td>a</td></tr>" * 100 + "</table>",
}


@pytest.mark.parametrize("kind", LONG)
def test_a_long_comment_shows_its_beginning_until_a_button_is_pressed(
    page: Page, open_thread: Callable[..., Page], answers: Answers, kind: str
) -> None:
    answers.voting = "up"
    long = f"{LONG[kind]}<p>The <a href='https://a.example/'>end</a>.</p>"
    answers.comments = [
        comment(1, "x", html=long),
        comment(2, "Short."),
        comment(3, "x", html=long),
    ]
    open_thread()
    first, third = page.locator("#commentsvc-1"), page.locator("#commentsvc-3")
    body = first.locator(".commentsvc-body")
    more = first.get_by_role("button", name="Show more")
    expect(more).to_be_visible()
    expect(page.get_by_role("button", name="Show more")).to_have_count(2)
    height = "body => body.offsetHeight"
    assert body.evaluate(height) <= 700
    more.press("Enter")
    expect(more).to_have_count(0)
    expect(first).to_be_focused()
    assert body.evaluate(height) > 1_000
    # It stays so when it is drawn again; so does another one that is still folded
    answers.comments[0] = comment(1, "x", html=long + "<p>And more.</p>")
    page.get_by_label("Order").select_option("newest")
    expect(body.get_by_text("And more.")).to_be_visible()
    assert body.evaluate(height) > 1_000
    expect(page.get_by_role("button", name="Show more")).to_have_count(1)
    third.get_by_role("link", name="end").focus()  # as the Tab key does
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    assert third.locator(".commentsvc-body").evaluate(height) > 1_000


@pytest.mark.parametrize("file", ["thread/extras.js", "thread/folding.js", "en-tools.json"])
def test_a_long_comment_is_whole_if_no_button_can_be_shown(
    page: Page, open_thread: Callable[..., Page], answers: Answers, file: str
) -> None:
    page.route(f"**/{file}", lambda route: route.abort())
    answers.comments = [comment(1, "x", html=LONG["lines"])]
    open_thread()
    body = page.locator(".commentsvc-body")
    expect(body).to_have_css("max-height", "none")


def test_the_end_of_a_comment_that_becomes_long_is_never_lost(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    """A telephone is turned, letters take more space, a picture comes late."""
    answers.comments = [
        comment(1, "Sand it, and do it again. " * 60),
        comment(2, "Apart. " * 150),
        comment(3, "x", html=f"<blockquote>Seen:</blockquote><p>{'Sand it. ' * 60}</p>"),
        comment(
            4, "x", html=f"<p>{'Read it. ' * 150}</p><p><a href='https://a.example/'>x</a></p>"
        ),
    ]
    page.set_viewport_size({"width": 1280, "height": 800})
    with page.expect_request("**/comments/stream?*"):  # from then on, changes are watched
        open_thread()
    more = page.get_by_role("button", name="Show more")
    expect(more).to_have_count(0)
    body = page.locator("#commentsvc-2 .commentsvc-body")
    body.evaluate("body => (body.style.letterSpacing = '2em')")
    page.locator("blockquote").evaluate("picture => (picture.style.height = '600px')")
    expect(more).to_have_count(2)
    page.get_by_role("link", name="x", exact=True).focus()
    page.set_viewport_size({"width": 320, "height": 800})
    expect(more).to_have_count(3)
    page.wait_for_function(
        """() => {
          const whole = [...document.querySelectorAll(".commentsvc-body:not(.commentsvc-cut)")];
          return whole.length == 1 && whole[0].scrollHeight == whole[0].clientHeight;
        }"""
    )


def test_code_is_copied_as_it_is_written(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    code = "if a &lt; b:\n    cut(a)\n"
    answers.comments = [comment(1, "x", html=f"<p>So:</p><pre><code>{code}</code></pre>")]
    open_thread()
    copy = page.get_by_role("button", name="Copy the code")
    expect(page.locator("pre")).to_have_css("border-radius", re.compile("[1-9]"))  # has its styles
    before = page.locator("pre").bounding_box()
    copy.click()
    expect(page.locator(".commentsvc-status")).to_contain_text("✓")
    assert page.evaluate("navigator.clipboard.readText()") == "if a < b:\n    cut(a)\n"
    assert page.locator("pre").bounding_box() == before


def test_the_words_of_a_line_stand_on_one_baseline(
    open_thread: Callable[..., Page], answers: Answers
) -> None:
    answers.voting = "both"
    answers.comments = [comment(1, "x", role="owner", votes=3), comment(2, "y", verified=True)]
    page = open_thread()
    page.locator("#commentsvc-2").wait_for()
    lines = page.evaluate(
        """[...document.querySelectorAll(".commentsvc-meta, .commentsvc-actions")].map((line) =>
        [...line.children].filter((it) => it.innerText && it.matches(":not(select)")).map((it) => {
          const mark = document.createElement("span");
          mark.style.display = "inline-block";
          it.append(mark);
          return mark.getBoundingClientRect().bottom;
        }))"""
    )
    assert len(lines) == 5
    assert all(max(bottoms) - min(bottoms) < 1 for bottoms in lines), lines
