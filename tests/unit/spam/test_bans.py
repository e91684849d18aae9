"""Bans: what can be banned, what is then found, and for how long."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from commentsvc.comments.submission import Submission
from commentsvc.db.database import Database
from commentsvc.db.schema.moderation import BanTable
from commentsvc.errors import BanRefused, UnknownBan
from commentsvc.markup.markdown import render
from commentsvc.spam import bans
from commentsvc.spam.bans import Bans
from tests.unit.database_fixture import NOW, add, opened
from tests.unit.processor_time import assert_quick

PLAIN = Submission(("blog", "/p/"), "Ann", "Hello.", "", "", "", None, "", "", "")
HASH = bytes.fromhex("0123456789abcdef")


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    with opened(tmp_path, purged.extend) as database:
        yield database


def ban(database: Database, kind: str, value: str, expires: int | None = None) -> int:
    return database.write_now(bans.add, kind, value, "Mo", NOW, expires)


def found(
    database: Database,
    message: str = "Hello.",
    network: tuple[bytes, ...] = (),
    now: int = NOW,
    **fields: Any,  # Any: a field of Submission
) -> list[str]:
    submission = msgspec.structs.replace(PLAIN, message=message, **fields)
    known = Bans()
    database.read_now(known.load, now)
    return [each.reason for each in known.check(submission, render(message), lambda: network)]


def test_an_address_that_an_older_version_banned_stays_banned(database: Database) -> None:
    """It was stored in lower case, with the domain as it was typed."""
    row = {"kind": "author", "value": "eve@bücher.example", "created_at": NOW, "actor": "Mo"}
    database.write_now(lambda tx: tx.change(BanTable.insert(row)))
    for typed in ("Eve@Bücher.example", "eve@XN--bcher-kva.example"):
        assert found(database, email=typed) == ["author-banned"]
    assert not found(database, email="eva@bücher.example")


@pytest.mark.parametrize(
    ("kind", "value", "fields"),
    [
        ("author", "  eve  ", {"author": "EVE"}),
        ("author", "Eve@Bad.example", {"email": "eve@bad.example"}),
        ("word", "Cheap Pills", {"message": "so CHEAP PILLS here"}),
        ("word", "casino", {"author": "\uff23\uff21\uff33\uff29\uff2e\uff2f"}),
        ("domain", "bad.example", {"message": "see https://shop.bad.example/x"}),
        ("domain", "faß.example", {"message": "[a](https://faß.example/)"}),
        ("domain", "bad.example", {"message": "[a](https://b%61d.example/)"}),
        ("domain", "faß.example", {"site": "https://faß.example/"}),
        ("domain", "xn--fa-hia.example", {"site": "https://FAß。example/"}),
        ("domain", "www.Bad.example.", {"message": "[a](http://BAD.example:80)"}),
        ("domain", "bad.example", {"site": "https://bad.example/"}),
        ("network", "0123456789ABCDEF", {"network": (b"else", HASH)}),
    ],
)
def test_what_is_banned_is_found_and_nothing_else(
    database: Database, kind: str, value: str, fields: dict[str, Any]
) -> None:
    assert found(database, **fields) == []
    ban(database, kind, value)
    [reason] = found(database, **fields)
    assert reason == f"{kind}-banned"
    assert found(database, "A casinos https://notbad.example/ Evelyn", network=(b"x",)) == []


@pytest.mark.sqlite_only("nothing is stored")
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("author", " "), ("author", "x" * 255), ("author", "a\nb"),
        ("word", "!!"), ("word", "x" * 101), ("word", ""),
        ("domain", "example"), ("domain", "http://a.example"), ("domain", "a b.example"),
        ("domain", "a@b.example"), ("domain", "." * 9), ("domain", "x." * 200 + "example"),
        ("network", "192.0.2.1"), ("network", "0123"),
    ],
)  # fmt: skip
def test_what_cannot_be_banned_is_told(
    database: Database, purged: list[str], kind: str, value: str
) -> None:
    with pytest.raises(BanRefused, match=" is not "):
        ban(database, kind, value)
    assert database.read_now(bans.listing) == []
    assert purged == []


def test_a_ban_ends_by_itself_or_is_lifted(database: Database, purged: list[str]) -> None:
    word, author = ban(database, "word", "tea", NOW + 5), ban(database, "author", "Ann")
    assert found(database, "tea", now=NOW + 4) == ["author-banned", "word-banned"]
    assert found(database, "tea", now=NOW + 5) == ["author-banned"]
    purged.clear()
    database.write_now(bans.remove, author)
    assert purged == [bans.TAG]
    assert found(database, "tea", now=NOW + 5) == []
    assert [each.id for each in database.read_now(bans.listing)] == [word]
    with pytest.raises(UnknownBan, match=str(author)):
        database.write_now(bans.remove, author)


def test_the_same_ban_again_gets_the_new_end(database: Database) -> None:
    first = ban(database, "word", "Tea", NOW + 5)
    assert ban(database, "word", "tea") == first
    [again] = database.read_now(bans.listing)
    assert (again.expires_at, again.value, again.actor, again.created_at) == (
        None,
        "tea",
        "Mo",
        NOW,
    )


def test_there_is_a_bound_for_all_of_them(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bans, "MOST", 2)
    ban(database, "word", "a")
    ban(database, "word", "b")
    with pytest.raises(BanRefused, match="2 bans already"):
        ban(database, "word", "c")


@pytest.mark.sqlite_only("the time of Python")
def test_a_mail_is_compared_with_all_banned_authors_in_no_time(database: Database) -> None:
    ban(database, "author", "eve@xn--bcher-kva.example")
    rows = [
        {"kind": "author", "value": f"a{n}@b{n}.example", "created_at": NOW, "actor": "Mo"}
        for n in range(bans.MOST)
    ]
    database.write_now(
        lambda tx: [
            tx.change(BanTable.insert_many(rows[at : at + 1_000]))
            for at in range(0, bans.MOST, 1_000)
        ]
    )
    for email, banned in (("eva@bücher.example", False), ("Eve@Bücher.example", True)):
        found = partial(database.read_now, bans.is_author_banned, email, NOW)
        assert assert_quick(found, 100) == banned


def test_the_list_is_current_until_one_changes_or_ends(database: Database) -> None:
    known = Bans()
    assert not known.are_current(NOW)
    database.read_now(known.load, NOW)
    assert known.are_current(10**15)
    ban(database, "word", "tea", NOW + 5)
    known.forget(["thread:blog:/p/"])
    assert known.are_current(NOW)
    known.forget(["site:blog", bans.TAG])
    assert not known.are_current(NOW)
    database.read_now(known.load, NOW)
    assert known.are_current(NOW + 4)
    assert not known.are_current(NOW + 5)


def test_a_comments_network_can_be_banned_while_its_hash_is_kept(database: Database) -> None:
    for network in (HASH, None):
        add(database, network=network)
    networks = [database.read_now(bans.network_of, id_) for id_ in (1, 2, 3)]
    assert networks == [HASH.hex(), "", ""]
