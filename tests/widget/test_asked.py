"""What a site asks for in its form: fields, guidelines, a box to tick, and signing in."""

from playwright.sync_api import Locator, Page, expect

from tests.widget.browser import POST, TEXT, Answers, comment, open_form, send

GUIDELINES = '<div lang="en">\n<p>Be kind. <a href="/privacy/" rel="nofollow">Privacy</a></p></div>'
FIELDS = ("author", "email", "site")


def begin(page: Page, answers: Answers, **asks: object) -> Locator:
    answers.asks = asks
    page.goto(POST)
    return open_form(page)


def test_hidden_fields_are_not_shown_and_nothing_is_sent_for_them(
    page: Page, answers: Answers
) -> None:
    answers.notify = True
    form = begin(page, answers)
    for name, text in {"author": "Rosa", "email": "rosa@home.example"}.items():
        form.locator(f"[name={name}]").fill(text)
    form.get_by_label("Remember me").check()
    form.locator("textarea").fill(TEXT)
    send(form)
    expect(page.locator("article", has_text=TEXT)).to_be_visible()
    form = begin(page, answers, author="hidden", email="hidden", site="hidden")
    expect(form.get_by_text("Commenting as")).to_be_hidden()
    for name in FIELDS:
        expect(form.locator(f"[name={name}]")).to_be_hidden()
    expect(form.get_by_label("Remember me")).to_be_hidden()
    expect(form.get_by_text("Your email address is never shown")).to_be_hidden()
    form.locator("textarea").fill("Without a name")
    send(form)
    expect(page.locator("article", has_text="Without a name")).to_contain_text("Anonymous")
    sent = answers.submissions[-1]
    assert not {"author", "email", "site"} & {name for name in sent if sent[name]}
    form = open_form(page)
    form.locator("textarea").fill("Once more")
    expect(form.get_by_text("Commenting as")).to_be_hidden()


def test_labels_and_the_browser_say_what_is_required(page: Page, answers: Answers) -> None:
    form = begin(page, answers, author="optional", email="required", site="required")
    expect(form.get_by_label("Name (optional)", exact=True)).to_be_visible()
    expect(form.get_by_label("Email", exact=True)).to_be_visible()
    expect(form.get_by_label("Website", exact=True)).to_be_visible()
    form.locator("textarea").fill(TEXT)
    send(form)
    expect(form.get_by_label("Email", exact=True)).to_be_focused()
    assert answers.submissions == []
    form.get_by_label("Email", exact=True).fill("rosa@home.example")
    send(form)
    expect(form.get_by_label("Website", exact=True)).to_be_focused()
    form.get_by_label("Website", exact=True).fill("rosa.example")
    send(form)
    expect(page.locator("article", has_text=TEXT)).to_be_visible()
    assert answers.submissions[-1]["site"] == "https://rosa.example"
    assert answers.submissions[-1]["author"] == ""


def test_guidelines_stand_above_the_form_and_the_box_is_ticked_for_each_comment(
    page: Page, answers: Answers
) -> None:
    form = begin(page, answers, guidelines=GUIDELINES, agreement="I agree to <b>this</b>")
    guidelines = form.locator(".commentsvc-guidelines")
    expect(guidelines.get_by_role("link", name="Privacy")).to_be_visible()
    above, below = guidelines.bounding_box(), form.locator("textarea").bounding_box()
    assert above
    assert below
    assert above["y"] + above["height"] <= below["y"]
    box = form.get_by_label("I agree to <b>this</b>")
    for text in ("The first", "The second"):
        expect(box).not_to_be_checked()
        form.locator("textarea").fill(text)
        if form.get_by_label("Name").is_visible():
            form.get_by_label("Name").fill("Rosa")
        number = len(answers.submissions)
        send(form)
        expect(box).to_be_focused()
        expect(box).to_have_attribute("aria-invalid", "true")
        assert len(answers.submissions) == number
        box.check()
        send(form)
        expect(page.locator("article", has_text=text)).to_be_visible()
        assert answers.submissions[-1]["agreed"] is True
        open_form(page)
    expect(form.locator(".commentsvc-guidelines")).to_have_count(1)


def test_a_text_that_was_begun_is_kept_while_the_form_learns_what_is_asked(
    page: Page, answers: Answers
) -> None:
    answers.asks = {"guidelines": GUIDELINES, "email": "hidden", "agreement": "I agree"}
    page.goto(POST)
    field = page.locator("section.commentsvc-thread > .commentsvc-input")
    field.press_sequentially("Begun")
    expect(page.get_by_label("I agree")).to_be_visible()
    expect(page.locator("form textarea")).to_be_focused()
    expect(page.locator("form textarea")).to_have_value("Begun")


def test_a_reply_asks_the_same(page: Page, answers: Answers) -> None:
    answers.comments = [comment(1, "Hello")]
    answers.asks = {"email": "hidden", "agreement": "I agree"}
    page.goto(POST)
    page.locator("#commentsvc-1").get_by_role("button", name="Reply").click()
    form = page.locator("#commentsvc-1 form")
    expect(form.get_by_label("I agree")).to_be_visible()
    expect(form.get_by_label("Email")).to_be_hidden()


def test_members_sign_in_before_they_send_and_keep_their_text(page: Page, answers: Answers) -> None:
    answers.sign_in = True
    answers.comments = [comment(1, "Hello")]
    form = begin(page, answers, members_only=True, agreement="I agree")
    expect(form.get_by_role("button", name="Sign in to comment")).to_be_visible()
    expect(form.get_by_role("button", name="Send comment")).to_be_hidden()
    for name in FIELDS:
        expect(form.locator(f"[name={name}]")).to_be_hidden()
    form.locator("textarea").fill(TEXT)
    page.evaluate(
        """() => {
          const key = Object.keys(localStorage).find((key) => key.endsWith("#"));
          const name = key.slice(0, key.indexOf(":") + 1) + "reader";
          localStorage[name] = JSON.stringify({ token: "t".repeat(43), name: "Eva" });
        }"""
    )
    page.reload()
    form = open_form(page)
    expect(form.get_by_text("Commenting as Eva ✓")).to_be_visible()
    expect(form.locator("textarea")).to_have_value(TEXT)
    form.get_by_label("I agree").check()
    answers.refuse("POST", 401)
    send(form)
    expect(form.get_by_role("button", name="Sign in to comment")).to_be_visible()
    expect(form.locator("textarea")).to_have_value(TEXT)
