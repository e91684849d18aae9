"""The key of an email address: the same for all spellings of one mailbox, and for no other."""

import unicodedata

import pytest

from commentsvc.util import origin
from commentsvc.util.origin import address_key, is_spelling

SPELLINGS = [
    ("ann@home.example", "Ann@home.example", "ANN@HOME.EXAMPLE", " ann@Home.example. "),
    ("ann+blog@home.example", "Ann+Blog@home.example"),
    (
        "ann@bücher.example",
        "Ann@BÜCHER.Example",
        "ann@xn--bcher-kva.example",
        "ANN@XN--BCHER-KVA.EXAMPLE",
        unicodedata.normalize("NFD", "ann@bücher.example"),
        "ann@bücher。example",
    ),
    ("zoë@home.example", "ZOË@home.example", unicodedata.normalize("NFD", "Zoë@home.example")),
    ("иван@почта.example", "ИВАН@ПОЧТА.example", "Иван@xn--80a1acny.example"),
]
STRANGERS = [
    ("ann@home.example", "ann@home.example.org"),
    ("ann@home.example", "ann+blog@home.example"),
    ("ann@home.example", "an.n@home.example"),
    ("strasse@home.example", "straße@home.example"),
    ("ann@strasse.example", "ann@straße.example"),
    ("mike@home.example", "mıke@home.example"),
    ("mike@home.example", "m\u0130ke@home.example"),
    ("mike@home.example", "mi\u212ae@home.example"),  # the sign for kelvin
    ("sam@home.example", "\u017fam@home.example"),
    ("ann@home.example", "ａnn@home.example"),
    ("zoe@home.example", "zoë@home.example"),
]


@pytest.mark.parametrize("forms", SPELLINGS)
def test_all_spellings_of_an_address_have_one_key(forms: tuple[str, ...]) -> None:
    [key] = {address_key(each) for each in forms}
    assert address_key(key) == key
    assert all(is_spelling(each, key) for each in forms)


@pytest.mark.parametrize(("one", "other"), STRANGERS)
def test_the_addresses_of_different_people_have_different_keys(one: str, other: str) -> None:
    assert address_key(one) != address_key(other)
    assert not is_spelling(other, address_key(one))
    assert not is_spelling("", address_key(one))


def test_the_addresses_of_others_are_told_apart_without_their_domains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(origin, "host_name", None)  # it takes 0.02 ms for other letters
    assert not is_spelling("ann@bücher.example", "zoe@xn--bcher-kva.example")


@pytest.mark.parametrize("text", ["ann", "@home.example", "ann@", "ann@a b", "ann@\udcff", "@"])
def test_a_text_that_is_no_address_has_a_key_of_its_own(text: str) -> None:
    assert address_key(text)
    assert address_key("") == ""
