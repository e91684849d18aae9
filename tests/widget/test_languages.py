"""The languages: complete, used, each loaded alone, and chosen by the nearest `lang`."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from commentsvc.util.languages import Languages, plural
from commentsvc.util.messages import sentence
from tests.widget.browser import POST, SERVICE, WIDGET, Answers, comment, open_form
from tests.widget.test_counts import show

CODES = ["ar", "de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "zh"]
FILES = {file.stem: file for file in sorted((WIDGET / "lang").glob("*.js"))}

OpenThread = Callable[..., Page]
Words = dict[str, dict[str, object]]


@pytest.fixture
def words(page: Page, answers: Answers) -> Words:
    """All words, as a browser reads them."""
    page.route("**/empty/", lambda route: route.fulfill(content_type="text/html", body=""))
    page.goto("/empty/")
    found: Words = page.evaluate(
        """async ([folder, codes]) => Object.fromEntries(await Promise.all(codes.map(
             async (code) => [code, (await import(folder + code + ".js")).default])))""",
        [f"{SERVICE}/static/lang/", CODES],
    )
    return found


def test_twelve_languages_have_the_same_texts_with_the_same_gaps(words: Words) -> None:
    assert sorted(FILES) == CODES
    for code in CODES:
        assert words[code].keys() == words["en"].keys(), code
        for key, text in words["en"].items():
            if key != "counts":
                assert isinstance(words[code][key], str)
                assert ("#" in str(words[code][key])) == ("#" in str(text)), (code, key)


def test_every_text_is_used_and_every_text_used_is_there(words: Words) -> None:
    code = "".join(file.read_text() for file in WIDGET.glob("*.js"))
    direct = set(re.findall(r"\bmessages\.(\w+)", code)) - {"tag"}
    by_name = set(re.findall(r'"(\w+)"', code)) | set(
        re.findall(r"^  (\w+): {", code, re.MULTILINE)
    )
    by_status = {key for key in words["en"] if key.isdigit()} | {"approved", "pending"}
    assert direct <= words["en"].keys()
    assert words["en"].keys() - direct - by_status - {"tag", "counts"} <= by_name


def test_each_language_has_a_form_for_every_number(page: Page, words: Words) -> None:
    for code in CODES:
        categories = page.evaluate(
            "(tag) => new Intl.PluralRules(tag).resolvedOptions().pluralCategories", code
        )
        counts = words[code]["counts"]
        assert isinstance(counts, dict)
        assert counts.keys() == {*categories, "zero"}, code
        assert "#" in counts["other"]


def test_the_service_reads_the_same_words(page: Page, words: Words) -> None:
    known = Languages()
    numbers = [*range(1, 130), 1_000_000, 1_000_001, 2_000_000]
    for code in CODES:
        found = known.find(code)
        assert {"counts": found.counts, **found.words} == words[code]
        categories = page.evaluate(
            "([tag, all]) => all.map((n) => new Intl.PluralRules(tag).select(n))", [code, numbers]
        )
        assert [plural(code, number) for number in numbers] == categories, code


def test_a_list_page_in_another_language_counts_in_it(page: Page, answers: Answers) -> None:
    counts = {"pl": ["Brak komentarzy", "1 komentarz", "3 komentarze", "5 komentarzy"]}
    counts["en-GB"] = ["No comments", "1 comment", "3 comments", "5 comments"]
    for lang, texts in counts.items():
        for number, text in zip((0, 1, 3, 5), texts, strict=True):
            answers.comments = [comment(n, "x") for n in range(number)]
            show(page, POST, lang=lang)
            expect(page.locator("comment-count")).to_have_text(text)


def test_a_thread_speaks_the_nearest_language_and_loads_no_other(
    open_thread: OpenThread, answers: Answers, words: Words
) -> None:
    answers.comments = [comment(1, "x")]
    for code in CODES:
        answers.requests.clear()
        page = open_thread(lang=code)
        expect(page.get_by_label(str(words[code]["write"]), exact=True)).to_be_visible()
        yesterday = page.evaluate(
            "(tag) => new Intl.RelativeTimeFormat(tag, { numeric: 'auto' }).format(-1, 'day')", code
        )
        expect(page.locator("time")).to_have_text(yesterday)
        assert [target for _, target in answers.requests if "/lang/" in target] == [
            f"/static/lang/{code}.js"
        ]
    form = open_form(open_thread(lang='tlh"><body lang="de-AT'))
    expect(form.get_by_role("button", name="Kommentar abschicken")).to_be_visible()


def test_the_service_is_asked_to_tell_faults_in_the_language_of_the_page(
    open_thread: OpenThread, answers: Answers
) -> None:
    form = open_form(open_thread(lang="de-AT"))
    form.locator("[name=message]").fill("x")
    form.locator("[name=author]").fill("Rosa")
    answers.refuse("POST", 400, {"email": sentence("bad_email", "de")})
    form.locator(".commentsvc-button").click()
    expect(form.get_by_role("alert")).to_contain_text("Das ist keine E-Mail-Adresse.")
    assert ("POST", "/api/comments?lang=de") in answers.requests


def test_two_languages_on_one_page_have_each_their_own_words(
    open_thread: OpenThread, answers: Answers
) -> None:
    """Also in what is drawn later, when both have come."""
    answers.comments = [comment(1, "x")]
    other = f'<div lang="de"><comment-thread id="other" url="{POST}"></comment-thread></div>'
    page = open_thread(more=other)
    page.set_viewport_size({"width": 1280, "height": 4000})
    buttons = {"#other": "Antworten", "main": "Reply"}
    for place in buttons:
        page.locator(f"{place} section").wait_for()
    for place, text in buttons.items():
        page.locator(place).get_by_text(text, exact=True).click()
        send = {"#other": "Kommentar abschicken", "main": "Send comment"}[place]
        expect(page.locator(f"{place} li form .commentsvc-button")).to_have_text(send)


@pytest.mark.parametrize("lang", ["", "sv", "no such", "deutsch"])
def test_an_unknown_language_is_english(
    open_thread: OpenThread, answers: Answers, lang: str
) -> None:
    answers.comments = [comment(1, "x")]
    page = open_thread(lang=lang, more=f'<comment-count url="{POST}"></comment-count>')
    expect(page.get_by_role("heading", name="1 comment")).to_be_visible()
    expect(page.locator("comment-count")).to_have_text("1 comment")
