"""What is signed inside a mail is read, and what is encrypted is not."""

import pytest

from commentsvc.inbox import openpgp, reply_text
from tests.unit.processor_time import assert_quick


@pytest.mark.parametrize("words", ["ok", "Come in.\n\nWe are open.\n\n- always"])
def test_a_signed_text_is_read_without_its_signature(words: str) -> None:
    escaped = words.replace("\n- ", "\n- - ")
    signed = (
        f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n{escaped}\n\n- -- \nMo\n"
        "-----BEGIN PGP SIGNATURE-----\n\niQEz\n=abcd\n-----END PGP SIGNATURE-----\n"
    )
    text = openpgp.signed_text(signed)
    assert text == f"{words}\n\n-- \nMo\n\n"
    assert openpgp.signed_text(signed.replace("\n", "\r\n")) == text
    assert reply_text.read(text, [], []).words == words


@pytest.mark.parametrize("text", ["ok", "-----BEGIN CERTIFICATE-----", "> -----BEGIN PGP MESSAGE"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert openpgp.signed_text(text) == text


@pytest.mark.parametrize("kind", ["MESSAGE", "PUBLIC KEY BLOCK", "SIGNED MESSAGE"])
def test_what_is_not_a_signed_text_is_told(kind: str) -> None:
    assert openpgp.signed_text(f"Hi\n-----BEGIN PGP {kind}-----\n\nhQEMA0xyz\n") is None


@pytest.mark.parametrize("more", ["", "-----BEGIN PGP SIGNATURE-----\n"])
def test_many_beginnings_of_signed_texts_cost_no_more_than_reading_them(more: str) -> None:
    """Regression: each was searched to the end of the text, 5 s for a mail of 256 KiB."""
    text = "-----BEGIN PGP SIGNED MESSAGE-----\n\n" * 5_000 + more + "a" * 60_000
    assert assert_quick(lambda: openpgp.signed_text(text), 100) is None


def test_a_second_signed_text_is_told() -> None:
    signed = "-----BEGIN PGP SIGNED MESSAGE-----\n\nok\n-----BEGIN PGP SIGNATURE-----\n\nx\n"
    signed += "-----END PGP SIGNATURE-----\n"
    assert openpgp.signed_text(signed) == "ok\n\n"
    assert openpgp.signed_text(signed * 2) is None
