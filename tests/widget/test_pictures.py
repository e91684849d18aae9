"""Pictures in a comment: chosen, pasted, dropped, described, refused, and never lost."""

from base64 import b64decode
from collections.abc import Callable

from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.widget.browser import SERVICE, Answers, open_form, send

NAME = f"{1:032x}-40x30"
PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
FILE: FilePayload = {"name": "x.png", "mimeType": "image/png", "buffer": PNG}
# Makes a picture that is larger than the service keeps, and puts it on the clipboard.
PASTE = """async (field) => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 3200, height: 20 });
  canvas.getContext("2d").fillRect(0, 0, 3200, 20);
  const blob = await new Promise((done) => canvas.toBlob(done));
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([blob], "x.png", { type: "image/png" }));
  field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
}"""


def choose(form: Locator, file: FilePayload = FILE) -> Locator:
    """Choose a file; return the field for its description."""
    expect(form.get_by_role("button", name="Add a picture")).to_be_visible()
    form.locator("input[type=file]").set_input_files(file)
    alt = form.get_by_label("Description of the picture")
    expect(alt).to_be_focused()
    return alt


def test_a_picture_is_uploaded_and_named_in_the_text(
    open_post: Callable[[], Page], answers: Answers
) -> None:
    answers.images = 1 << 16
    page = open_post()
    form = open_form(page)
    message = form.get_by_label("Comment")
    message.fill("Look: ")
    alt = choose(form)
    alt.press("Enter")
    assert not answers.uploads, "it has no description yet"
    alt.fill("A [red] field")
    alt.press("Enter")
    first = f"Look: ![A \\[red\\] field](image:{NAME})"
    expect(message).to_have_value(first)
    expect(message).to_be_focused()
    assert answers.uploads == [PNG]
    too_large: FilePayload = {**FILE, "buffer": PNG + bytes(answers.images)}
    choose(form, too_large).fill("A field")
    form.get_by_role("button", name="Insert the picture").click()
    alert = form.get_by_role("alert").filter(has_text="This picture is too large.")
    expect(alert).to_be_visible()
    assert answers.uploads == [PNG], "a proxy would refuse it without saying why"
    expect(message).to_have_value(first)
    answers.refuse("POST", 413)
    form.locator("input[type=file]").set_input_files(FILE)
    expect(alert).to_have_count(0)
    form.get_by_label("Description of the picture").fill("A field")
    form.get_by_role("button", name="Insert the picture").click()
    expect(alert).to_be_visible()
    answers.recover()
    choose(form).press("Escape")
    expect(form.get_by_role("group", name="Add a picture")).to_have_count(0)
    answers.refuse("POST", 400, {"image": "This is no picture."})
    alt = choose(form)
    alt.fill("A field")
    form.get_by_role("button", name="Insert the picture").click()
    expect(form.get_by_role("alert").filter(has_text="no picture")).to_be_visible()
    expect(alt).to_have_value("A field")
    expect(message).to_have_value(first)
    answers.recover()
    form.get_by_label("Name").fill("Rosa Weber")
    send(form)  # inserts it first
    expect(page.locator("#commentsvc-101")).to_be_visible()
    [sent] = answers.submissions
    assert sent["message"] == f"{first}![A field](image:{2:032x}-40x30)"


def test_a_pasted_picture_is_made_smaller_and_previewed(
    open_post: Callable[[], Page], answers: Answers
) -> None:
    answers.images = 1 << 16
    page = open_post()
    form = open_form(page)
    expect(form.get_by_role("button", name="Add a picture")).to_be_visible()
    message = form.get_by_label("Comment")
    message.evaluate(PASTE)
    alt = form.get_by_label("Description of the picture")
    alt.fill("Black")
    alt.press("Enter")
    expect(message).to_have_value(f"![Black](image:{NAME})")
    [upload] = answers.uploads
    assert upload[8:12] == b"WEBP"
    html = f'<img src="{SERVICE}/images/{NAME}.webp" alt="Black" loading="lazy">'
    cors = {"Access-Control-Allow-Origin": "*"}
    page.route("**/api/preview?*", lambda route: route.fulfill(json={"html": html}, headers=cors))
    form.get_by_role("button", name="Preview").click()
    shown = form.get_by_role("img", name="Black")
    expect(shown).to_be_visible()
    assert shown.evaluate("(it) => [it.localName, it.width, it.height]") == ["canvas", 1600, 10]


def test_without_images_there_is_no_button(form: Locator) -> None:
    form.get_by_label("Comment").fill("Text")
    form.page.wait_for_load_state("networkidle")
    expect(form.get_by_role("button", name="Add a picture")).to_have_count(0)
