"""Edit tokens and the key that signs them."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.auth.edit_tokens import EditTokens, KeyUnusable, load_keys

OLD, NEW = b"o" * 32, b"n" * 32


def test_a_token_fits_its_hash_only() -> None:
    tokens = EditTokens([NEW])
    token, stored = tokens.new_token()
    other, other_stored = tokens.new_token()
    assert tokens.check(token, stored)
    assert not tokens.check(other, stored)
    assert not tokens.check(token, other_stored)


def test_a_token_has_128_random_bits_and_suits_a_header() -> None:
    asked: list[int] = []

    def random(size: int) -> bytes:
        asked.append(size)
        return b"\xff" * size

    token, stored = EditTokens([NEW], random).new_token()
    assert asked == [64 * 16]
    assert token == "ff" * 16
    assert len(stored) == 32


def test_no_random_bits_are_used_twice() -> None:
    drawn: list[bytes] = []

    def random(size: int) -> bytes:
        drawn.append(os.urandom(size))
        return drawn[-1]

    tokens = EditTokens([NEW], random)
    made = {tokens.new_token()[0] for _ in range(3 * 64)}
    bits = b"".join(drawn)
    assert len(bits) == 3 * 64 * 16
    assert made == {bits[n : n + 16].hex() for n in range(0, len(bits), 16)}


def test_a_hash_made_without_the_key_opens_nothing() -> None:
    token, stored = EditTokens([OLD]).new_token()
    assert not EditTokens([NEW]).check(token, stored)


def test_a_token_of_a_past_key_is_accepted_but_no_longer_made() -> None:
    token, stored = EditTokens([OLD]).new_token()
    both = EditTokens([NEW, OLD])
    assert both.check(token, stored)
    assert EditTokens([NEW]).check(*both.new_token())


@given(st.text(st.characters(codec=None)), st.binary())
def test_any_text_is_checked_without_an_error(token: str, stored: bytes) -> None:
    assert not EditTokens([NEW]).check(token, stored)


def test_the_first_start_makes_a_key_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    keys = load_keys(path, "")
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(keys[0]) >= 32
    assert load_keys(path, "") == keys
    assert [file.name for file in tmp_path.iterdir()] == ["secret.key"]


def test_an_interrupted_first_start_is_made_good(tmp_path: Path) -> None:
    (tmp_path / "secret.key.new").write_text("half")
    assert len(load_keys(tmp_path / "secret.key", "")) == 1


def test_a_given_key_leaves_no_file(tmp_path: Path) -> None:
    given = f"{NEW.decode()} {OLD.decode()}"
    assert load_keys(tmp_path / "secret.key", given) == (NEW, OLD)
    assert list(tmp_path.iterdir()) == []


def test_a_key_file_may_hold_past_keys_below(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    path.write_bytes(NEW + b"\n" + OLD + b"\n")
    assert load_keys(path, "") == (NEW, OLD)


@pytest.mark.parametrize("content", [b"", b"short\n", NEW + b"\nshort\n", b"\xff" * 40])
def test_a_file_without_a_key_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "secret.key"
    path.write_bytes(content)
    with pytest.raises(KeyUnusable, match="contains no valid key"):
        load_keys(path, "")
    assert path.read_bytes() == content


def test_a_key_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeyUnusable, match=r"none/secret\.key can neither be .*: No such file"):
        load_keys(tmp_path / "none" / "secret.key", "", os.urandom)
