"""Faults: what readers can cause is told in each language, with its numbers."""

import re

import pytest

from commentsvc import intake
from commentsvc.comments import ThreadClosed, UnknownParent
from commentsvc.config import Comments
from commentsvc.faults import told
from commentsvc.languages import Languages
from commentsvc.router import as_http
from commentsvc.submission import SubmissionError, from_form

OTHERS = ["ar", "de", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "zh"]

# What a reader can get wrong who fills in a form, and presses its button.
WRONG = {
    "nothing at all": {},
    "too much": {"author": "x" * 81, "message": "y" * 9000},
    "no address": {"email": "rosa", "site": "rosa.example"},
    "no address to mail answers to": {"notify": "yes"},
}


def causes() -> list[str]:
    """Each fault that a reader can cause, as the service says it."""
    texts = [text for _, text in intake.REFUSED.values()]
    for values in WRONG.values():
        with pytest.raises(SubmissionError) as caught:
            from_form(values, Comments(), lambda url: ("", "/p/"))
        texts += caught.value.problems.values()
    return [*texts, as_http(UnknownParent()).message, as_http(ThreadClosed()).message]


@pytest.mark.parametrize("language", OTHERS)
def test_what_readers_cause_is_told_in_their_language(language: str) -> None:
    for text in causes():
        translated = told(text, language)
        assert translated != text, text
        assert "#" not in translated
        assert re.findall("[0-9]+", translated) == re.findall("[0-9]+", text), text


def test_english_and_what_is_not_known_stay_as_they_are() -> None:
    text = "Please enter a name."
    assert told(text, "en") == text
    assert told(text, "sv") == text
    assert told("There is no such field.", "de") == "There is no such field."


def test_a_number_stands_where_the_language_wants_it() -> None:
    assert told("This has 81 characters; at most 80 are allowed.", "de") == (
        "Das sind 81 Zeichen; höchstens 80 sind möglich."
    )


def test_a_closed_page_is_called_so_in_the_widgets_words() -> None:
    known = Languages()
    for language in OTHERS:
        closed = known.find(language).words["closed"]
        assert told("This page takes no more comments.", language) == closed
