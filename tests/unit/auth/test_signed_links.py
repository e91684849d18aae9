"""Signed links are valid for their purpose until they expire; some of them only once."""

from pathlib import Path

import pytest

from commentsvc.auth import signed_links
from commentsvc.auth.signed_links import LinkError, LinkExpired, SignedLinks
from tests.unit.database_fixture import HOUR, NOW, opened

OLD, NEW = b"o" * 40, b"n" * 40
LINKS = SignedLinks([NEW])
CONTENT: list[int | str] = ["approved", 7, 3, "mo@blog.example"]
TOKEN = LINKS.make("comment", *CONTENT, expires=NOW + HOUR)


def test_a_link_carries_what_was_put_into_it() -> None:
    assert LINKS.read("comment", TOKEN, NOW) == CONTENT


def test_a_token_can_stand_in_an_address_as_it_is() -> None:
    assert all(letter.isalnum() or letter in "-_." for letter in TOKEN)


def test_a_link_of_one_purpose_is_none_of_another() -> None:
    with pytest.raises(LinkError, match="not one of ours"):
        LINKS.read("stop", TOKEN, NOW)


def test_a_link_expires() -> None:
    assert LINKS.read("comment", TOKEN, NOW + HOUR - 1_000)
    with pytest.raises(LinkExpired, match="expired"):
        LINKS.read("comment", TOKEN, NOW + HOUR)


@pytest.mark.parametrize("purpose", signed_links.CONTENT)
def test_a_link_with_other_content_than_today_has_expired(purpose: str) -> None:
    """Another version may have made it."""
    content = [kind(1) for kind in signed_links.CONTENT[purpose]]
    assert LINKS.read(purpose, LINKS.make(purpose, *content, expires=NOW + HOUR), NOW) == content
    others = [content[:-1], [*content, 1], [*content[:-1], "1" if content[-1] == 1 else 1]]
    for other in others:
        with pytest.raises(LinkExpired, match="expired"):
            LINKS.read(purpose, LINKS.make(purpose, *other, expires=NOW + HOUR), NOW)


def test_no_altered_link_says_anything_else() -> None:
    """In base64 the last letter can be written in several ways that mean the same bytes."""
    for index in range(len(TOKEN)):
        for letter in "Ab0.":
            altered = TOKEN[:index] + letter + TOKEN[index + 1 :]
            try:
                content = LINKS.read("comment", altered, NOW)
            except LinkError:
                continue
            assert content == CONTENT


@pytest.mark.parametrize("text", ["", ".", "x", "x.y", "é.é", "A" * 10_000, TOKEN + "x", "\x00.a"])
def test_what_is_no_link_of_ours_is_refused(text: str) -> None:
    with pytest.raises(LinkError, match="incomplete, or not one of ours"):
        LINKS.read("comment", text, NOW)


def test_a_link_of_another_service_is_refused() -> None:
    with pytest.raises(LinkError):
        SignedLinks([OLD]).read("comment", TOKEN, NOW)


def test_after_a_change_of_the_key_old_links_are_believed_and_new_ones_made() -> None:
    both = SignedLinks([NEW, OLD])
    old = SignedLinks([OLD]).make("stop", 1, expires=NOW + HOUR)
    assert both.read("stop", old, NOW) == [1]
    assert LINKS.read("stop", both.make("stop", 2, expires=NOW + HOUR), NOW) == [2]


def test_what_a_link_does_is_done_once(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        database.write_now(signed_links.mark_used, "approved 7 3", NOW, HOUR)
        with pytest.raises(LinkExpired, match="already been used"):
            database.write_now(signed_links.mark_used, "approved 7 3", NOW + 1, HOUR)
        database.write_now(signed_links.mark_used, "spam 7 3", NOW + 1, HOUR)


def test_spent_links_are_forgotten_when_they_have_expired(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        database.write_now(signed_links.mark_used, "a", NOW, HOUR)
        database.write_now(signed_links.mark_used, "b", NOW + HOUR + 1, HOUR)
        rows = database.read_now(lambda r: r.execute("SELECT count(*) FROM used_link").fetchone())
        assert rows == (1,)
