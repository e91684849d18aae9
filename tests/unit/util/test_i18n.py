"""i18n: the catalogues are complete, and a message is said in each language."""

import re

import msgspec
import pytest

from commentsvc import submissions
from commentsvc.api.errors import as_http
from commentsvc.comments.errors import ThreadClosed, UnknownParent
from commentsvc.comments.submission import SubmissionError, from_form
from commentsvc.settings.schema import CommentsSettings
from commentsvc.util.i18n import (
    Message,
    Text,
    catalogue,
    catalogues,
    requested_language,
    translate,
    widget_catalogue,
)

ALL = ["ar", "de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "zh"]

# What a reader can get wrong who fills in a form, and presses its button.
WRONG = {
    "nothing at all": {},
    "too much": {"author": "x" * 81, "message": "y" * 9000},
    "no address": {"email": "rosa", "site": "rosa at home"},
    "no address to mail answers to": {"notify": "yes"},
}


def refusals() -> list[Text]:
    """Everything that a reader can be told who sends a form."""
    texts: list[Text] = [*submissions.REFUSED.values()]
    for values in WRONG.values():
        with pytest.raises(SubmissionError) as caught:
            from_form(values, CommentsSettings(), lambda url: ("", "/p/"))
        texts += caught.value.problems.values()
    for failure in (UnknownParent(), ThreadClosed()):
        error = as_http(failure)
        assert error is not None
        texts.append(error.message)
    return texts


def test_every_refusal_of_a_form_is_a_message_and_every_message_is_used() -> None:
    found = refusals()
    assert all(isinstance(text, Message) for text in found), found
    keys = {text.key for text in found if isinstance(text, Message)}
    assert keys == {*catalogue("en").service} - {"own"} | {"closed"}


@pytest.mark.parametrize("tag", ALL)
def test_every_language_has_every_text_with_the_same_parameters(tag: str) -> None:
    assert sorted(catalogues()) == ALL
    texts, english = catalogue(tag), catalogue("en")
    for section in ("widget", "service", "hugo"):
        found, known = getattr(texts, section), getattr(english, section)
        assert list(found) == list(known), section
        for key in known:
            names = re.findall(r"#|{\w+}", known[key])
            assert sorted(re.findall(r"#|{\w*}", found[key])) == sorted(names), key
    assert tag == "en" or all(texts.service[key] != english.service[key] for key in english.service)


@pytest.mark.parametrize("tag", ALL)
def test_the_name_of_a_reply_button_contains_what_is_seen_of_it(tag: str) -> None:
    """WCAG 2.5.3: who says what they see reaches the button."""
    words = catalogue(tag).widget
    assert words["reply"].lower() in words["replyTo"].lower().replace("#", "x")


@pytest.mark.parametrize("text", refusals(), ids=str)
def test_a_message_can_be_said_in_every_language(text: Text) -> None:
    assert len({translate(text, tag) for tag in ALL}) == len(ALL)


def test_a_parameter_stands_where_the_language_wants_it() -> None:
    message = Message("too_long", {"length": 81, "limit": 80})
    assert translate(message, "de") == "Das sind 81 Zeichen; höchstens 80 sind möglich."
    assert translate(message) == "This has 81 characters; at most 80 are allowed."


def test_an_unknown_language_is_english_and_a_plain_text_stays_as_it_is() -> None:
    assert translate(Message("no_author"), "sv") == "Please enter a name."
    assert translate("There is no such field.", "de") == "There is no such field."


def test_the_widget_gets_its_texts_and_no_others() -> None:
    sent = msgspec.json.decode(widget_catalogue("de"))
    texts = catalogue("de")
    assert sent == {"tag": "de", "counts": texts.counts, **texts.widget}


@pytest.mark.parametrize(
    ("query", "tag", "direction"),
    [
        ("lang=de", "de", "ltr"),
        ("url=/p/&lang=pt-BR&site=a", "pt", "ltr"),
        ("lang=ar-EG", "ar", "rtl"),
        ("lang=zh-Hant", "zh", "ltr"),
        ("", "en", "ltr"),
        ("lang=", "en", "ltr"),
        ("lang=sv", "en", "ltr"),
        ("lang=deutsch", "en", "ltr"),
        ("slang=de", "en", "ltr"),
        ("lang=%ff", "en", "ltr"),
    ],
)
def test_a_query_names_its_language_by_a_tag(query: str, tag: str, direction: str) -> None:
    found = catalogue(requested_language(query))
    assert (found.tag, found.direction) == (tag, direction)


@pytest.mark.parametrize(
    ("tag", "texts"),
    [
        ("en", ["No comments", "1 comment", "2 comments"]),
        ("fr", ["Aucun commentaire", "1 commentaire", "2 commentaires"]),
        ("ja", ["コメントはありません", "コメント 1件", "コメント 2件"]),
    ],
)
def test_the_number_of_comments_is_said_in_words(tag: str, texts: list[str]) -> None:
    assert [catalogue(tag).count(number) for number in range(3)] == texts
