"""Passwords: which are allowed, and whether one matches its hash."""

import pytest

from commentsvc.auth import passwords
from commentsvc.auth.passwords import LONGEST, NOBODY, SHORTEST, PasswordRefused

PASSES, MEMORY = passwords.PASSES, passwords.MEMORY


@pytest.fixture(autouse=True)
def the_real_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash as a service does."""
    monkeypatch.setattr(passwords, "PASSES", PASSES)
    monkeypatch.setattr(passwords, "MEMORY", MEMORY)


def test_a_password_fits_its_hash_and_no_other_does() -> None:
    stored = passwords.hash_password("correct horse battery")
    assert stored.startswith("$argon2id$")
    assert passwords.verify("correct horse battery", stored)
    assert not passwords.verify("correct horse batterY", stored)
    assert not passwords.verify("", stored)


def test_two_hashes_of_one_password_differ() -> None:
    assert passwords.hash_password("x" * SHORTEST) != passwords.hash_password("x" * SHORTEST)


def test_letters_fit_however_they_were_composed() -> None:
    stored = passwords.hash_password("Grüße aus Köln")
    assert passwords.verify("Gru\u0308ße aus Ko\u0308ln", stored)


@pytest.mark.parametrize("length", [0, SHORTEST - 1, LONGEST + 1, 100_000])
def test_a_password_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(PasswordRefused, match="12 to 200 characters"):
        passwords.hash_password("x" * length)


@pytest.mark.parametrize("length", [SHORTEST, LONGEST])
def test_a_password_at_the_bounds_is_taken(length: int) -> None:
    assert passwords.verify("x" * length, passwords.hash_password("x" * length))


def test_a_guess_that_is_too_long_is_not_computed() -> None:
    stored = passwords.hash_password("x" * SHORTEST)
    assert not passwords.verify("x" * 10_000_000, stored)


@pytest.mark.parametrize("stored", ["", "plain", "$argon2id$v=19$m=1,t=1,p=1$x$y", "ü" * 500])
def test_nothing_fits_what_is_no_hash(stored: str) -> None:
    assert not passwords.verify("correct horse battery", stored)


def test_a_surrogate_is_a_letter_like_others() -> None:
    stored = passwords.hash_password("\ud800" * SHORTEST)
    assert passwords.verify("\ud800" * SHORTEST, stored)


def test_a_hash_of_other_parameters_and_another_library_fits() -> None:
    """The hash was made by argon2-cffi."""
    stored = (
        "$argon2id$v=19$m=19456,t=2,p=1$hEi7YWWpv5gfrWO1KDQiRQ"
        "$8aLRMsHhDtgaYZLShQjr4ZmPHA0sKXLVOJC0cBRyvZw"
    )
    assert passwords.verify("correct horse battery", stored)
    assert not passwords.verify("correct horse batterY", stored)


def test_a_password_takes_the_work_that_owasp_recommends() -> None:
    """The Password Storage Cheat Sheet lists 7 MiB and five passes among its minimum settings."""
    assert passwords.hash_password("x" * SHORTEST).startswith("$argon2id$v=19$m=7168,t=5,p=1$")


def test_nobody_takes_as_long_as_somebody() -> None:
    """Whoever tries unknown names must not learn from the time which ones exist."""
    [mine, theirs] = (
        one.split("$")[:4] for one in (NOBODY, passwords.hash_password("x" * SHORTEST))
    )
    assert mine == theirs
    assert not passwords.verify("", NOBODY)
