"""Moderators' accounts in the database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.auth import accounts, sessions
from commentsvc.auth.accounts import NameRefused, NameTaken, UnknownModerator
from commentsvc.auth.sessions import Lifetime
from commentsvc.db.database import Database
from commentsvc.moderation import profiles
from tests.unit.database_fixture import NOW, opened

LIFETIME = Lifetime(most=1_000, idle=1_000)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def employ(database: Database, name: str) -> None:
    database.write_now(accounts.add, name, f"hash of {name}", NOW)


def test_an_account_is_found_by_its_name_in_capitals_or_not(database: Database) -> None:
    employ(database, "Ann")
    for name in ("Ann", "ann", "ANN"):
        found = database.read_now(accounts.find, name=name)
        assert found
        assert (found.name, found.password_hash, found.created_at) == ("Ann", "hash of Ann", NOW)
    assert database.read_now(accounts.find, "Bob") is None


def test_a_name_is_given_once(database: Database) -> None:
    employ(database, "Ann")
    with pytest.raises(NameTaken, match="a moderator called ann already"):
        employ(database, "ann")


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "<b>", "a\n", "\u202ea", "x" * 41, "command line"]
)
def test_a_name_that_could_mislead_is_refused(database: Database, name: str) -> None:
    with pytest.raises(NameRefused, match="1 to 40 letters"):
        employ(database, name)


def test_everyone_is_told_by_name(database: Database) -> None:
    for name in ("bob", "Ann", "carla@blog.example"):
        employ(database, name)
    found = database.read_now(accounts.everyone)
    assert [one.name for one in found] == ["Ann", "bob", "carla@blog.example"]


def test_no_password_stands_in_what_is_logged_of_an_account(database: Database) -> None:
    employ(database, "Ann")
    assert "hash" not in repr(database.read_now(accounts.everyone))


def begin(database: Database, name: str) -> None:
    account = database.read_now(accounts.find, name)
    assert account
    database.write_now(sessions.begin, f"token of {name}", account, "", NOW)


def has_session(database: Database, name: str) -> bool:
    token = f"token of {name}"
    return database.read_now(sessions.find, token, LIFETIME, NOW) is not None


def test_who_is_removed_is_signed_out_and_nobody_else_is(database: Database) -> None:
    for name in ("Ann", "Bob"):
        employ(database, name)
        begin(database, name)
    database.write_now(profiles.remove, "bob")
    assert database.read_now(accounts.find, "Bob") is None
    assert not has_session(database, "Bob")
    assert has_session(database, "Ann")


def test_a_new_password_ends_the_sessions_of_the_old_one(database: Database) -> None:
    for name in ("Ann", "Bob"):
        employ(database, name)
        begin(database, name)
    database.write_now(accounts.set_password, "ANN", "another")
    found = database.read_now(accounts.find, "Ann")
    assert found
    assert found.password_hash == "another"
    assert not has_session(database, "Ann")
    assert has_session(database, "Bob")


def test_who_does_not_exist_cannot_be_changed(database: Database) -> None:
    with pytest.raises(UnknownModerator, match="no moderator is called Ann"):
        database.write_now(accounts.set_password, "Ann", "x")
