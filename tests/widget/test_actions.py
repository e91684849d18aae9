"""What readers do with existing comments: vote, and change or delete their own."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.widget.browser import SERVICE, Answers, comment, fill, open_form, pause_clock, send

OpenThread = Callable[..., Page]


@pytest.fixture
def mine(open_thread: OpenThread) -> Locator:
    """Return a comment that this browser has just sent."""
    page = open_thread()
    form = open_form(page)
    fill(form)
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    return page.locator("#commentsvc-101")


def test_a_vote_can_be_cast_and_taken_back(open_thread: OpenThread, answers: Answers) -> None:
    answers.voting = "up"
    answers.comments = [comment(1, "x", votes=3), comment(2, "y")]
    page = open_thread()
    up = page.locator("#commentsvc-1").get_by_role("button", name="I agree")
    number = page.locator("#commentsvc-1 .commentsvc-votes")
    expect(number).to_have_text("3")
    expect(page.locator("#commentsvc-2 .commentsvc-votes")).to_have_text("")  # no "0"
    expect(up).to_have_attribute("title", "I agree: Ada Byron")
    box = up.bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 24
    expect(up).to_have_attribute("aria-pressed", "false")
    up.click()
    expect(number).to_have_text("4")
    expect(up).to_have_attribute("aria-pressed", "true")
    expect(up).to_be_focused()
    page.reload()
    expect(up).to_have_attribute("aria-pressed", "true")
    up.click()
    expect(number).to_have_text("3")
    expect(up).to_have_attribute("aria-pressed", "false")
    assert [(number, sent["vote"]) for _, number, sent, _ in answers.acts] == [(1, 1), (1, 0)]
    voters = {sent["voter"] for _, _, sent, _ in answers.acts}
    assert len(voters) == 1
    assert 8 <= len(voters.pop()) <= 64


def test_a_vote_taken_back_stays_so_in_lists_that_come_anew(
    open_thread: OpenThread, answers: Answers
) -> None:
    """Regression: a comment was shown as first drawn, then as changed since."""
    answers.voting = "up"
    answers.comments = [comment(1, "x", votes=3), comment(2, "y")]
    page = open_thread()
    up = page.locator("#commentsvc-1").get_by_role("button", name="I agree")
    first = page.locator(".commentsvc-list > li").first
    up.click()
    expect(up).to_have_attribute("aria-pressed", "true")
    answers.comments[0] = comment(1, "x", votes=4)
    page.get_by_label("Order").select_option("newest")
    expect(first).to_have_attribute("id", "commentsvc-2")
    up.click()
    expect(up).to_have_attribute("aria-pressed", "false")
    answers.comments[0] = comment(1, "x", votes=3)
    page.get_by_label("Order").select_option("oldest")
    expect(first).to_have_attribute("id", "commentsvc-1")
    expect(up).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#commentsvc-1 .commentsvc-votes")).to_have_text("3")


def test_a_vote_can_be_turned_around_where_the_site_has_both(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.voting = "both"
    answers.comments = [comment(1, "x", votes=3)]
    page = open_thread()
    page.get_by_role("button", name="I agree").click()
    expect(page.locator(".commentsvc-votes")).to_have_text("4")
    down = page.get_by_role("button", name="I disagree")
    down.click()
    expect(page.locator(".commentsvc-votes")).to_have_text("2")
    expect(down).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="I agree")).to_have_attribute("aria-pressed", "false")


def test_a_refused_vote_is_said_and_not_shown(open_thread: OpenThread, answers: Answers) -> None:
    answers.voting = "up"
    answers.comments = [comment(1, "x", votes=3)]
    page = open_thread()
    up = page.get_by_role("button", name="I agree")
    said = page.locator("#commentsvc-1").get_by_role("alert")
    for status, why in [(409, "The service says why."), (429, "wait"), (0, "cannot be reached")]:
        answers.refuse("POST", status)
        up.click()
        expect(said).to_contain_text(why)
        expect(up).to_be_focused()
    expect(up).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".commentsvc-votes")).to_have_text("3")
    answers.recover()
    up.click()
    expect(up).to_have_attribute("aria-pressed", "true")
    expect(said).to_have_text("")


def test_a_thread_without_votes_has_no_buttons_for_them(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "x")]
    page = open_thread()
    expect(page.get_by_role("button", name="Reply")).to_be_visible()
    expect(page.locator("[aria-pressed]")).to_have_count(0)
    expect(page.get_by_label("Order").locator("option")).to_have_count(2)


def test_authors_change_their_comment_by_the_token_that_came_with_it(
    page: Page, mine: Locator, answers: Answers
) -> None:
    page.reload()
    mine.get_by_role("button", name="Edit").click()
    text = mine.get_by_label("Comment")
    expect(text).to_be_focused()
    expect(text).to_have_value("Two coats, and do it the same day.")
    text.fill("Three coats.")
    mine.get_by_role("button", name="Save").click()
    expect(mine.locator(".commentsvc-body")).to_have_text("Three coats.")
    expect(mine).to_be_focused()
    expect(mine.locator(".commentsvc-date")).to_contain_text("edited")
    assert answers.acts == [("PATCH", 101, {"message": "Three coats."}, "Bearer t")]
    page.reload()
    mine.get_by_role("button", name="Edit").click()
    expect(text).to_have_value("Three coats.")


def test_a_change_that_fails_keeps_the_text_even_when_it_is_cancelled(
    page: Page, mine: Locator, answers: Answers
) -> None:
    mine.get_by_role("button", name="Edit").click()
    text = mine.get_by_label("Comment")
    text.fill("Three coats.")
    answers.refuse("PATCH", 403)
    mine.get_by_role("button", name="Save").click()
    expect(mine.get_by_role("alert")).to_have_text("The service says why. Your text is kept.")
    mine.get_by_role("button", name="Cancel").click()
    expect(mine.get_by_role("button", name="Edit")).to_be_focused()
    expect(mine.locator(".commentsvc-body")).to_have_text("Two coats, and do it the same day.")
    mine.get_by_role("button", name="Edit").click()
    expect(text).to_have_value("Three coats.")


def test_a_change_that_waits_for_approval_says_so(
    page: Page, mine: Locator, answers: Answers
) -> None:
    answers.status = "pending"
    answers.comments = []
    mine.get_by_role("button", name="Edit").click()
    mine.get_by_label("Comment").fill("Three coats.")
    mine.get_by_role("button", name="Save").click()
    expect(mine.locator(".commentsvc-note")).to_contain_text("is waiting for approval")
    expect(mine.locator(".commentsvc-body")).to_have_text("Three coats.")


def test_authors_delete_their_comment_and_can_undo_it_for_a_while(
    page: Page, mine: Locator, answers: Answers
) -> None:
    pause_clock(page)
    page.reload()
    delete = mine.get_by_role("button", name="Delete")
    delete.click()
    undo = mine.get_by_role("button", name="Undo")
    expect(undo).to_be_focused()
    expect(mine.locator(".commentsvc-body")).to_be_hidden()
    expect(undo).to_have_css("text-decoration-line", "underline")
    undo.click()
    expect(delete).to_be_focused()
    page.clock.fast_forward(10_000)
    assert answers.acts == []
    delete.click()
    expect(undo).to_be_focused()
    page.clock.fast_forward(10_000)
    expect(page.get_by_role("heading", name="No comments")).to_be_focused()
    expect(mine).to_have_count(0)
    expect(page.locator(".commentsvc-status")).to_have_text("Your comment is deleted.")
    assert answers.acts == [("DELETE", 101, {}, "Bearer t")]
    page.reload()
    page.get_by_role("heading", name="No comments").wait_for()
    expect(mine).to_have_count(0)


def test_a_refused_deletion_is_said_below_the_comment(
    page: Page, mine: Locator, answers: Answers
) -> None:
    answers.refuse("DELETE", 403)
    pause_clock(page)
    page.reload()
    delete = mine.get_by_role("button", name="Delete")
    delete.click()
    expect(mine.get_by_role("button", name="Undo")).to_be_focused()
    page.clock.fast_forward(10_000)
    expect(mine.get_by_role("alert")).to_have_text("The service says why.")
    expect(delete).to_be_focused()
    expect(mine.locator(".commentsvc-body")).to_be_visible()


def test_only_ones_own_comments_can_be_changed_and_only_for_a_while(
    page: Page, mine: Locator, answers: Answers
) -> None:
    answers.comments.append(comment(1, "Not mine."))
    page.reload()
    expect(page.get_by_role("button", name="Edit")).to_have_count(1)
    page.clock.set_fixed_time("2026-11-21T12:16:00Z")
    page.reload()
    expect(mine).to_be_visible()
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)


def test_a_comment_is_reported_out_of_its_menu(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "x")]
    open_thread()
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Report").click()
    form = page.locator("#commentsvc-1 > form")
    expect(form).to_have_accessible_name("Report: Ada Byron")
    expect(page.get_by_role("button", name="Copy link")).to_have_count(0)
    report = page.get_by_role("button", name="Send report")
    report.click()
    assert answers.acts == [], "it needs a reason"
    form.get_by_label("Spam or advertising").check()
    form.get_by_label("Details (optional)").fill("It sells things")
    answers.refuse("POST", 429)
    report.click()
    expect(form.get_by_role("alert")).to_contain_text("a little fast")
    answers.recover()
    report.click()
    expect(page.locator(".commentsvc-status")).to_contain_text("A moderator will look")
    expect(page.locator("#commentsvc-1 > article")).to_contain_text("A moderator will look")
    expect(form).to_have_count(0)
    [(method, number, sent, _)] = answers.acts
    assert (method, number) == ("POST", 1)
    assert 8 <= len(sent["reporter"]) <= 64
    assert (sent["reason"], sent["explanation"]) == ("spam", "It sells things")


def test_a_report_takes_a_contact_only_where_decisions_are_mailed(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "x")]
    answers.notices = True
    open_thread()
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Report").click()
    form = page.locator("#commentsvc-1 > form")
    form.get_by_label("Illegal content").check()
    form.get_by_label("Name").fill("Rita")
    form.get_by_label("Email (optional)").fill("rita@home.example")
    form.get_by_label("I believe in good faith").check()
    page.get_by_role("button", name="Send report").click()
    expect(form).to_have_count(0)
    [(_, _, sent, _)] = answers.acts
    assert (sent["name"], sent["email"]) == ("Rita", "rita@home.example")
    assert sent["in_good_faith"] is True


def test_a_report_and_a_reply_take_turns_and_keep_what_was_written(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    """The reply that closes gives the focus back, which closes the menu with its button."""
    answers.comments = [comment(1, "x")]
    open_thread()
    reply = page.get_by_role("button", name="Reply to Ada Byron")
    for _ in range(2):
        reply.click()
        page.locator("#commentsvc-1 [name=message]").fill("A reply")
        page.get_by_role("button", name="More").click()
        page.get_by_role("button", name="Report").click()
        page.get_by_label("Details (optional)").fill("It sells things")
    reply.click()
    expect(page.locator("#commentsvc-1 [name=message]")).to_have_value("A reply")
    page.reload()
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Report").click()
    expect(page.get_by_label("Details (optional)")).to_have_value("It sells things")
    page.get_by_label("Something else").check()
    page.get_by_role("button", name="Send report").click()
    expect(page.locator(".commentsvc-status")).to_contain_text("A moderator will look")
    assert "commentsvc:report 1" not in page.evaluate("Object.keys(localStorage)")


def test_a_link_to_a_comment_is_copied_out_of_its_menu(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    answers.comments = [comment(1, "x")]
    open_thread()
    more = page.get_by_role("button", name="More")
    more.click()
    copy = page.get_by_role("button", name="Copy link")
    expect(copy).to_be_focused()
    copy.click()
    expect(page.locator(".commentsvc-status")).to_have_text("Link copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.url + "#commentsvc-1"
    more.click()
    expect(copy).to_have_count(0)


def test_a_reply_begins_with_what_was_selected_in_the_comment(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "One."), comment(2, "Two.", author="Ida")]
    open_thread()
    page.locator("#commentsvc-1 .commentsvc-body").select_text()
    page.get_by_role("button", name="Reply to Ada Byron").click()
    expect(page.locator("#commentsvc-1 textarea")).to_have_value("> One.\n\n")
    page.get_by_role("button", name="Reply to Ida").click()
    expect(page.locator("#commentsvc-2 textarea")).to_have_value("")


@pytest.mark.parametrize("reloaded", [False, True])
def test_the_page_follows_the_approval_of_ones_own_comment(
    page: Page,
    open_thread: OpenThread,
    answers: Answers,
    announce: Callable[[], None],
    *,
    reloaded: bool,
) -> None:
    """It is announced, and is no news for its author."""
    answers.status = "pending"
    open_thread()
    form = open_form(page)
    fill(form)
    send(form)
    mine = page.locator("#commentsvc-101")
    expect(mine.locator(".commentsvc-badge")).to_have_text("Awaiting approval")
    if reloaded:
        page.reload()
        expect(mine.locator(".commentsvc-badge")).to_have_text("Awaiting approval")
    answers.comments.append(comment(101, "Approved."))
    announce()
    expect(page.locator(".commentsvc-status")).to_have_text("Thank you! Your comment is published.")
    expect(mine.locator(".commentsvc-badge")).to_have_count(0)
    expect(mine.get_by_role("button", name="Reply")).to_be_visible()
    expect(page.get_by_role("heading", name="1 comment")).to_be_visible()
    expect(page.get_by_role("button", name="Show 1 new comment")).to_be_hidden()
    if not reloaded:
        expect(mine.locator(".commentsvc-note")).to_have_text(
            "Thank you! Your comment is published."
        )


def test_a_comment_that_is_refused_goes_on_waiting_for_its_author(
    page: Page, open_thread: OpenThread, answers: Answers, announce: Callable[[], None]
) -> None:
    """Who writes spam does not learn that it was found."""
    answers.status = "pending"
    open_thread()
    form = open_form(page)
    fill(form)
    send(form)
    answers.comments.append(comment(1, "Another's."))
    announce()
    expect(page.get_by_role("button", name="Show 1 new comment")).to_be_visible()
    badge = page.locator("#commentsvc-101 .commentsvc-badge")
    expect(badge).to_have_text("Awaiting approval")


@pytest.mark.parametrize("status", ["approved", "pending"])
def test_who_asks_for_mails_is_told_of_the_mail_that_confirms_the_address(
    open_thread: OpenThread, answers: Answers, status: str
) -> None:
    answers.notify = True
    answers.status = status
    page = open_thread()
    confirm = "we email you a link to confirm your address"
    for number, choice in ((101, "Email me about replies"), (102, "No emails")):
        form = open_form(page)
        fill(form)
        if form.get_by_label("Email (optional)").is_visible():
            form.get_by_label("Email (optional)").fill("rosa@example.org")
        form.get_by_label("Emails").select_option(choice)
        send(form)
        note = page.locator(f"#commentsvc-{number} .commentsvc-note")
        expect(note).to_contain_text("Thank you!")
        said = page.locator(".commentsvc-status")
        if number == 101:
            expect(note).to_contain_text(confirm)
            expect(said).to_contain_text(confirm)
        else:
            expect(note).not_to_contain_text(confirm)
            expect(said).not_to_contain_text(confirm)


@pytest.mark.parametrize("redrawn", ["vote", "sorting", "own"])
def test_a_reply_stays_open_while_its_comment_is_drawn_again(
    page: Page, open_thread: OpenThread, answers: Answers, redrawn: str
) -> None:
    answers.voting = "up"
    answers.comments = [comment(1, "One.", votes=3), comment(2, "Two.")]
    open_thread()
    opener = page.locator("#commentsvc-1").get_by_role("button", name="Reply to Ada Byron")
    opener.click()
    text = page.locator("#commentsvc-1 textarea")
    text.fill("Half a reply")
    page.evaluate("document.querySelector('#commentsvc-1 article').dataset.old = 'yes'")
    answers.comments[0] = comment(1, "One, changed.", votes=4)
    if redrawn == "vote":
        page.locator("#commentsvc-1").get_by_role("button", name="I agree").click()
    if redrawn == "sorting":
        page.get_by_label("Order").select_option("newest")
    else:
        own = open_form(page)
        fill(own)
        send(own)
    expect(page.locator("#commentsvc-1 .commentsvc-body")).to_have_text("One, changed.")
    expect(page.locator("[data-old]")).to_have_count(0)
    expect(text).to_have_value("Half a reply")
    expect(opener).to_have_attribute("aria-expanded", "true")
    page.get_by_role("button", name="Cancel").click()
    expect(text).to_have_count(0)
    expect(opener).to_be_focused()
    expect(opener).to_have_attribute("aria-expanded", "false")


@pytest.mark.parametrize("gone", ["deleted", "on a later page"])
def test_a_reply_stays_open_when_its_comment_leaves_the_list(
    page: Page, open_thread: OpenThread, answers: Answers, announce: Callable[[], None], gone: str
) -> None:
    answers.comments = [comment(number, f"Number {number}.") for number in range(1, 5)]
    answers.part = 2 if gone == "on a later page" else 9
    open_thread()
    if gone == "on a later page":
        page.get_by_role("button", name="Show more comments").click()
    page.locator("#commentsvc-4").get_by_role("button", name="Reply to Ada Byron").click()
    text = page.get_by_placeholder("Reply to Ada Byron")
    text.fill("Half a reply")
    if gone == "deleted":
        del answers.comments[3]
    answers.comments += [comment(number, f"Number {number}.") for number in (5, 6)]
    announce()
    page.get_by_role("button", name=re.compile("new comment")).click()
    expect(page.locator("#commentsvc-4")).to_have_count(0)
    expect(text).to_have_value("Half a reply")
    if gone == "on a later page":
        page.get_by_role("button", name="Show more comments").click()
        expect(page.locator("#commentsvc-4 textarea")).to_have_value("Half a reply")
    page.get_by_role("button", name="Cancel").click()
    expect(text).to_have_count(0)
    expect(page.locator(".commentsvc-list > li:empty")).to_have_count(0)


# What a browser does that has no clipboard, or refuses to use it.
CLIPBOARDS = {
    "none": "Object.defineProperty(navigator, 'clipboard', { value: undefined })",
    "refused": "navigator.clipboard.writeText = async () => { throw new Error('Denied.') }",
}


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize("clipboard", list(CLIPBOARDS))
def test_a_link_is_copied_without_the_clipboard_or_left_to_be_copied(
    page: Page, open_thread: OpenThread, answers: Answers, clipboard: str, *, works: bool
) -> None:
    page.add_init_script(CLIPBOARDS[clipboard])
    page.add_init_script(f"document.execCommand = () => {str(works).lower()}")
    answers.comments = [comment(1, "x")]
    open_thread()
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Copy link").click()
    field = page.get_by_role("textbox", name="Copy link")
    if works:
        expect(page.locator(".commentsvc-status")).to_have_text("Link copied.")
    else:
        expect(field).to_have_value(page.url + "#commentsvc-1")
        expect(field).to_be_focused()
    expect(field).to_have_count(0 if works else 1)
    expect(page.locator(".commentsvc-error")).to_have_text([""] * 1)


def test_no_text_of_an_exception_is_shown(page: Page, open_thread: OpenThread) -> None:
    """Whatever a browser throws is in English, and for programmers."""
    open_thread()
    texts = page.evaluate(
        f"""async () => {{
          const {{ errorText }} = await import("{SERVICE}/static/send.js");
          const thrown = [new TypeError("x"), new DOMException("y"), new Error("z"), {{}}];
          return thrown.map((failure) => errorText({{ unreached: "Said." }}, failure));
        }}"""
    )
    assert texts == ["Said."] * 4


def test_the_menu_has_words_moves_nothing_and_closes(
    page: Page, open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "x"), comment(2, "y", author="Ida")]
    open_thread()
    more = page.get_by_role("button", name="More: Ada Byron")
    others = page.locator(".commentsvc-body, [name=reply], [name=menu]")
    boxes = "all => all.map((it) => JSON.stringify(it.getBoundingClientRect()))"
    expect(others).to_have_count(6)
    before = others.evaluate_all(boxes)
    more.click()
    menu = page.locator("#commentsvc-1 .commentsvc-menu")
    expect(menu.get_by_text("Copy link")).to_be_focused()
    expect(menu.get_by_text("Report")).to_be_visible()
    assert others.evaluate_all(boxes) == before
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(more).to_be_focused()
    expect(more).to_have_attribute("aria-expanded", "false")
    more.click()
    expect(menu.get_by_text("Copy link")).to_be_focused()
    page.get_by_role("button", name="Reply to Ida").focus()
    expect(menu).to_have_count(0)
    expect(more).to_have_attribute("aria-expanded", "false")


@pytest.mark.parametrize("lang", ["en", "ar"])
@pytest.mark.parametrize("width", [320, 1280])
def test_the_menu_is_at_its_button_and_within_the_window(
    page: Page, open_thread: OpenThread, answers: Answers, lang: str, width: int
) -> None:
    answers.voting = "both"
    answers.comments = [comment(1, "x"), comment(2, "y", parent=1), comment(3, "z", parent=2)]
    page.set_viewport_size({"width": width, "height": 500})
    open_thread(lang=lang)
    if lang == "ar":
        page.evaluate("document.documentElement.dir = 'rtl'")
    for number in (1, 2, 3):
        button = page.locator(f"#commentsvc-{number} > article [name=menu]")
        for block in ("start", "end"):
            button.evaluate("(it, block) => it.scrollIntoView({ block })", block)
            button.click()
            menu = page.locator(".commentsvc-menu").bounding_box()
            at = button.bounding_box()
            assert menu
            assert at
            assert menu["x"] >= 8
            assert menu["x"] + menu["width"] <= width - 8
            assert menu["y"] >= 0
            assert menu["y"] + menu["height"] <= 500
            above = abs(menu["y"] + menu["height"] - at["y"])
            assert min(above, abs(menu["y"] - at["y"] - at["height"])) <= 2
            end = menu["width"] - at["width"] if lang == "ar" else 0
            if 8 <= at["x"] - end <= width - 8 - menu["width"]:
                assert abs(menu["x"] - at["x"] + end) <= 1, "it begins where its button does"
            else:
                assert menu["x"] < at["x"] + at["width"] <= menu["x"] + menu["width"]
            page.keyboard.press("Escape")


def test_a_time_to_wait_is_said_in_the_unit_that_people_use(
    page: Page, open_thread: OpenThread
) -> None:
    open_thread()
    said = page.evaluate(
        f"""async () => {{
          const {{ errorText }} = await import("{SERVICE}/static/send.js");
          const times = ["1", "90", "91", "1793", "5400", "7200", null, "Fri, 21 Nov 2026"];
          const {{ units }} = await (await fetch("{SERVICE}/static/locales/en-form.json")).json();
          const say = (retryAfter) =>
            errorText({{ units, tag: "en", 429: "Wait #." }}, {{ status: 429, retryAfter }});
          return times.map(say);
        }}"""
    )
    times = ("1 second", "90 seconds", "2 minutes", "30 minutes", "90 minutes", "2 hours")
    assert said == [f"Wait {time}." for time in (*times, "60 seconds", "60 seconds")]


def test_a_menu_goes_when_anything_else_is_pressed(
    page: Page, open_thread: Callable[..., Page], answers: Answers
) -> None:
    """Also what takes no focus, as text in each browser and buttons in Safari."""
    answers.comments = [comment(number, "x") for number in (1, 2, 3)]
    open_thread()
    button, menu = page.locator("#commentsvc-1 [name=menu]"), page.locator(".commentsvc-menu")
    page.evaluate("addEventListener('focusout', (it) => it.stopImmediatePropagation(), true)")
    for other in (page.locator("h1"), page.locator("#commentsvc-3 [name=menu]")):
        button.click()
        expect(menu).to_have_count(1)
        other.click()
        expect(button).to_have_attribute("aria-expanded", "false")
        expect(page.locator("#commentsvc-1 .commentsvc-menu")).to_have_count(0)
    expect(menu).to_have_count(1)  # of the other comment
    button.click()
    menu.get_by_role("button", name="Report").click()
    expect(page.get_by_text("Why do you report this comment?")).to_be_visible()
