"""What is signed inside a mail is read, and what is encrypted is not."""

import pytest

from commentsvc.inbox import openpgp, reply_text


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
