"""A form's form token and proof of work: what the browser does while its reader writes."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from commentsvc.spam.proof_of_work import ProofOfWork
from tests.widget.browser import (
    COUNTING,
    READING,
    SERVICE,
    WRITING,
    Answers,
    fill,
    open_form,
    send,
    wait_in,
)

KEYS = [b"k" * 32]


@pytest.fixture
def work(answers: Answers) -> ProofOfWork:
    """Return the service's own proof of work, with fifty numbers to try."""
    asking = ProofOfWork(KEYS, 100, lambda _: 50)
    answers.work = asking.challenge("a form token", 0)
    return asking


def loaded(answers: Answers) -> list[str]:
    return [target.partition("?")[0] for _, target in answers.requests]


def assert_loaded(page: Page, answers: Answers, wanted: list[str]) -> None:
    """Check what was loaded since the last call."""
    wait_in(page, lambda: len(answers.requests) >= len(wanted), "the requests")
    assert sorted(loaded(answers)) == sorted(wanted)
    answers.requests.clear()


@pytest.mark.usefixtures("paused_clock")
def test_a_reader_who_does_not_write_loads_nothing_for_it(
    open_post: Callable[[], Page], answers: Answers
) -> None:
    page = open_post()
    expect(page.locator("comment-count")).to_have_text("No comments")
    page.wait_for_load_state("networkidle")
    reading = [f"/static/{name}" for name in (*READING, *COUNTING)]
    reading += ["/api/comments", "/api/comments/counts", "/static/locales/en-GB.json"]
    assert_loaded(page, answers, reading)
    open_form(page)
    writing = [f"/static/{name}" for name in (*WRITING, "thread/accent.js")]
    writing += ["/api/form-token", "/static/locales/en-GB-form.json"]
    assert_loaded(page, answers, writing)


@pytest.mark.usefixtures("paused_clock")
def test_who_begins_to_write_gets_one_form_token_for_each_comment(
    page: Page, form: Locator, answers: Answers
) -> None:
    for number in (1, 2):
        fill(form, f"Comment {number}")
        form.locator("textarea").blur()
        send(form)
        expect(page.locator(f"#commentsvc-{100 + number}")).to_be_visible()
        assert loaded(answers).count("/api/form-token") == number
    assert "/api/form-token?url=%2Fposts%2Fwet-wood%2F" in [
        target for _, target in answers.requests
    ]
    assert [sent["form_token"] for sent in answers.submissions] == ["a form token", "a form token"]


@pytest.mark.usefixtures("paused_clock")
def test_the_browser_does_the_work_that_the_service_asks_for(
    page: Page, answers: Answers, work: ProofOfWork, form: Locator
) -> None:
    fill(form)
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()
    [sent] = answers.submissions
    assert work.is_solved(sent["proof_of_work"], "a form token")


@pytest.mark.usefixtures("paused_clock")
def test_work_that_takes_too_long_holds_nobody_up(
    page: Page, open_post: Callable[[], Page], answers: Answers
) -> None:
    answers.work = ProofOfWork(KEYS, 1, lambda _: 10**8).challenge("a form token", 0)
    form = open_form(open_post())
    fill(form)
    send(form)
    expect(form.get_by_role("button", name="Sending")).to_be_visible()
    page.evaluate(f"import('{SERVICE}/static/form/sending.js')")  # it starts the timer
    page.clock.run_for(1_499)
    assert not answers.submissions
    page.clock.run_for(2)
    expect(page.locator("#commentsvc-101")).to_be_visible()
    [sent] = answers.submissions
    assert not sent.get("proof_of_work")
    assert sent["form_token"] == "a form token"


def test_without_a_form_token_a_comment_is_sent_all_the_same(
    page: Page, open_post: Callable[[], Page], answers: Answers
) -> None:
    open_post()
    answers.refuse("GET", 503)
    form = open_form(page)
    fill(form)
    answers.recover()
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()


def test_after_a_refused_form_token_the_next_try_has_another_one(
    page: Page, form: Locator, answers: Answers
) -> None:
    fill(form)
    answers.refuse("POST", 400, body='{"error": {"code": "form_token", "message": "Once more."}}')
    send(form)
    expect(form.get_by_role("alert")).to_have_text("Once more. Your text is kept.")
    answers.recover()
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_visible()
    assert loaded(answers).count("/api/form-token") == 2
