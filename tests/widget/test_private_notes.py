"""Private notes: the box in the form, and corrections of words of the page."""

from playwright.sync_api import Locator, Page, expect

from tests.widget.browser import POST, TEXT, Answers, comment, fill, open_form, send

PRIVATE = "Only for the author of this page"
THANK = "You may thank me by name in public"
SENT = "Only the author of this page can read it."


def begin(page: Page, answers: Answers) -> Locator:
    answers.notes = []
    page.goto(POST)
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
