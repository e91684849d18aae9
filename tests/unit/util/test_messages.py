"""Faults: what readers can cause is told in each language, with its numbers."""

import pytest

from commentsvc.api import submit
from commentsvc.api.errors import as_http
from commentsvc.comments.errors import ThreadClosed, UnknownParent
from commentsvc.comments.submission import SubmissionError, from_form
from commentsvc.settings.schema import CommentsSettings
from commentsvc.util import messages
from commentsvc.util.languages import Languages
from commentsvc.util.messages import Fault, sentence, told

ALL = ["ar", "de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "zh"]

# What a reader can get wrong who fills in a form, and presses its button.
WRONG = {
    "nothing at all": {},
    "too much": {"author": "x" * 81, "message": "y" * 9000},
    "no address": {"email": "rosa", "site": "rosa.example"},
    "no address to mail answers to": {"notify": "yes"},
}


def causes() -> list[str]:
    """Each fault that a reader can cause, as the service says it."""
    texts: list[str] = [*submit.REFUSED.values()]
    for values in WRONG.values():
        with pytest.raises(SubmissionError) as caught:
            from_form(values, CommentsSettings(), lambda url: ("", "/p/"))
        texts += caught.value.problems.values()
    for failure in (UnknownParent(), ThreadClosed()):
        error = as_http(failure)
        assert error is not None
        texts.append(error.message)
    return texts


def test_what_readers_cause_has_a_code_and_nothing_else_has_one() -> None:
    found = causes()
    assert all(isinstance(fault, Fault) for fault in found), found
    assert {fault.code for fault in found if isinstance(fault, Fault)} == {*messages._TEXTS} - {
        "own"
    }


@pytest.mark.parametrize("code", messages._TEXTS)
def test_each_is_told_in_every_language_with_the_same_numbers(code: str) -> None:
    texts = messages._TEXTS[code]
    assert sorted(texts) == ALL
    assert len({text.count("{}") for text in texts.values()}) == 1
    assert len(set(texts.values())) == len(ALL)


def test_english_and_what_is_no_fault_stay_as_they_are() -> None:
    fault = Fault("no_author")
    assert fault == told(fault, "en") == told(fault, "sv") == "Please enter a name."
    assert told("There is no such field.", "de") == "There is no such field."


def test_a_number_stands_where_the_language_wants_it() -> None:
    assert told(Fault("too_long", 81, 80), "de") == (
        "Das sind 81 Zeichen; höchstens 80 sind möglich."
    )


def test_a_closed_page_is_called_so_in_the_widgets_words() -> None:
    known = Languages()
    for language in ALL:
        assert sentence("closed", language) == known.find(language).words["closed"]
