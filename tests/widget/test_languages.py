"""The languages are complete and used, loaded one at a time, and chosen by the nearest `lang`."""

import re
from collections.abc import Callable

import msgspec
import pytest
from playwright.sync_api import Page, expect

from commentsvc.util.i18n import find_language, gettext, languages, translate
from tests.widget.browser import POST, SCRIPTS, Answers, comment, open_form
from tests.widget.test_counts import show

CODES = sorted(languages())

BAD_EMAIL = "This is not an email address. Please correct it, or leave it empty."

OpenThread = Callable[..., Page]


def test_every_text_is_used_and_every_text_used_is_there() -> None:
    code = "".join(file.read_text() for file in SCRIPTS)
    texts = find_language("en").widget.keys()
    direct = set(re.findall(r"\bmessages\.(\w+)", code)) - {"tag"}
    unpacked = re.findall(r"\{ tag, ([\w, ]+) \}", code)
    by_name = {*re.findall(r'"(\w+)"', code), *re.findall(r"^  (\w+): {", code, re.MULTILINE)}
    by_name |= {*re.findall(r"\btexts\.(\w+)", code)}  # in files that load a part
    by_name |= {name for names in unpacked for name in names.split(", ")}
    by_status = {key for key in texts if key.isdigit()} | {"approved", "pending"}
    by_role = {"owner", "moderator"}
    assert direct <= texts
    assert texts - direct - by_status - by_role <= by_name


def test_service_and_browser_agree_on_plural_forms(page: Page) -> None:
    numbers = [*range(1, 130), 1_000_000, 1_000_001, 2_000_000]
    selected = page.evaluate(
        """([tags, numbers]) => tags.map((tag) => {
             const rules = new Intl.PluralRules(tag);
             return numbers.map((number) => rules.select(number));
           })""",
        [CODES, numbers],
    )
    for code, categories in zip(CODES, selected, strict=True):
        language = find_language(code)
        counts = msgspec.json.decode(language.widget_json)["counts"]
        for number, category in zip(numbers, categories, strict=True):
            said = counts.get(category, counts["other"])
            assert language.count(number) == said.replace("#", language.shown(number)), code


def test_service_and_browser_write_numbers_in_the_same_digits(page: Page) -> None:
    shown = page.evaluate(
        "(tags) => tags.map((tag) => (9876543210).toLocaleString(tag, { useGrouping: false }))",
        CODES,
    )
    assert [find_language(code).shown(9876543210) for code in CODES] == shown


def test_a_time_to_wait_is_said_in_the_language_of_the_page(
    open_thread: OpenThread, answers: Answers
) -> None:
    """Also where the browser does not know the language: Chromium lacks Belarusian and nynorsk."""
    answers.refuse("POST", 429, headers={"Retry-After": "300"})
    waits = {"be": "Пачакайце 5 хвілін.", "bn": "৫ মিনিট", "nn": "Vent 5 minutt."}
    for code, text in waits.items():
        form = open_form(open_thread(lang=code))
        form.locator("[name=message]").fill("x")
        form.locator("[name=author]").fill("Rosa")
        form.locator("> .commentsvc-actions > .commentsvc-button").click()
        expect(form).to_contain_text(text)


def test_a_list_page_in_another_language_counts_in_it(page: Page, answers: Answers) -> None:
    counts = {"pl": ["Brak komentarzy", "1 komentarz", "3 komentarze", "5 komentarzy"]}
    counts["en-GB"] = ["No comments", "1 comment", "3 comments", "5 comments"]
    for lang, texts in counts.items():
        for number, text in zip((0, 1, 3, 5), texts, strict=True):
            answers.comments = [comment(n, "x") for n in range(number)]
            show(page, POST, lang=lang)
            expect(page.locator("comment-count")).to_have_text(text)


def test_a_thread_speaks_the_nearest_language_and_loads_no_other(
    open_thread: OpenThread, answers: Answers
) -> None:
    answers.comments = [comment(1, "x")]
    for code in ("de", "ja", "ar"):
        answers.requests.clear()
        page = open_thread(lang=code)
        expect(page.get_by_label(find_language(code).widget["write"], exact=True)).to_be_visible()
        day = page.evaluate("(tag) => new Intl.RelativeTimeFormat(tag).format(-1, 'day')", code)
        expect(page.locator("time")).to_have_text(day)
        assert [target for _, target in answers.requests if "/locales/" in target] == [
            f"/static/locales/{code}.json"
        ]
    form = open_form(open_thread(lang='tlh"><body lang="de-AT'))
    expect(form.get_by_role("button", name="Kommentar abschicken")).to_be_visible()


def test_the_service_is_asked_to_tell_faults_in_the_language_of_the_page(
    open_thread: OpenThread, answers: Answers
) -> None:
    form = open_form(open_thread(lang="de-AT"))
    form.locator("[name=message]").fill("x")
    form.locator("[name=author]").fill("Rosa")
    answers.refuse("POST", 400, {"email": translate(gettext(BAD_EMAIL), "de")})
    form.locator(".commentsvc-button").click()
    expect(form).to_contain_text("Das ist keine E-Mail-Adresse.")
    assert ("POST", "/api/comments?lang=de") in answers.requests


def test_two_languages_on_one_page_have_each_their_own_words(
    open_thread: OpenThread, answers: Answers
) -> None:
    """Also in parts that are drawn later, after both languages were loaded."""
    answers.comments = [comment(1, "x")]
    other = f'<div lang="de"><comment-thread id="other" url="{POST}"></comment-thread></div>'
    page = open_thread(more=other)
    page.set_viewport_size({"width": 1280, "height": 4000})
    buttons = {"#other": "Antworten", "main": "Reply"}
    for where in buttons:
        page.locator(f"{where} section").wait_for()
    for where, text in buttons.items():
        page.locator(f"{where} [name=reply]").get_by_text(text, exact=True).click()
        expect(page.locator(f"{where} li form .commentsvc-button")).to_have_text(text)


@pytest.mark.parametrize("lang", ["", "sw", "no such", "deutsch"])
def test_an_unknown_language_is_english(
    open_thread: OpenThread, answers: Answers, lang: str
) -> None:
    answers.comments = [comment(1, "x")]
    page = open_thread(lang=lang, more=f'<comment-count url="{POST}"></comment-count>')
    expect(page.get_by_role("heading", name="1 comment")).to_be_visible()
    expect(page.locator("comment-count")).to_have_text("1 comment")
