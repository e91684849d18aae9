"""Second factors: a code must be right and current, and works once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.auth import accounts, totp, two_factor
from commentsvc.auth.two_factor import RECOVERY_CODES, TwoFactor
from commentsvc.db.database import Database
from tests.unit.database_fixture import opened

KEY, OLD = b"k" * 32, b"o" * 32
NOW = 1_795_000_000_000
BROWSER = "the token of a browser's forms"
KEYED = TwoFactor([KEY])


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        database.write_now(accounts.add, "ann", "hash", 0)
        yield database


def begin(database: Database, keyed: TwoFactor = KEYED, word: bytes = b"word") -> bytes:
    database.write_now(keyed.begin, 1, word)
    secret = database.read_now(keyed.offered, 1, BROWSER)
    assert secret
    return secret


def code(secret: bytes, later: int = 0) -> str:
    return totp.code(secret, (NOW + later * 1_000) // totp.STEP_MS)


def confirm(database: Database, given: str, keyed: TwoFactor = KEYED) -> list[str]:
    return database.write_now(keyed.confirm, 1, given, BROWSER, NOW)


def accept(database: Database, given: str, later: int = 0, keyed: TwoFactor = KEYED) -> bool:
    return database.write_now(keyed.accept, 1, given, NOW + later * 1_000)


def is_on(database: Database) -> bool:
    return database.read_now(two_factor.is_on, 1)


def test_codes_are_asked_for_once_the_first_was_right(database: Database) -> None:
    secret = begin(database)
    assert not is_on(database)
    assert confirm(database, "000000") == []
    assert not is_on(database)
    codes = confirm(database, code(secret))
    assert is_on(database)
    assert len(set(codes)) == RECOVERY_CODES
    assert all(len(one) == 19 for one in codes)


def test_a_code_works_once_and_no_older_one_after_it(database: Database) -> None:
    secret = begin(database)
    confirm(database, code(secret))
    assert not accept(database, code(secret)), "it confirmed the app"
    assert accept(database, code(secret, 30), 30)
    assert not accept(database, code(secret, 30), 31)
    assert not accept(database, code(secret), 31)
    assert accept(database, f" {code(secret, 60)[:3]} {code(secret, 60)[3:]} ", 60)


def test_a_recovery_code_works_once(database: Database) -> None:
    codes = confirm(database, code(begin(database)))
    assert accept(database, codes[0].upper())
    assert not accept(database, codes[0])
    assert accept(database, codes[1].replace("-", " "))
    left = database.read_now(two_factor.codes_left, 1)
    assert left == RECOVERY_CODES - 2


def test_beginning_anew_does_not_switch_codes_off(database: Database) -> None:
    secret = begin(database)
    confirm(database, code(secret))
    database.write_now(KEYED.begin, 1, b"another")
    assert is_on(database)
    assert accept(database, code(secret, 30), 30)


def test_a_copy_of_the_database_tells_no_secret(database: Database) -> None:
    secret = begin(database)
    codes = confirm(database, code(secret))
    rows = database.read_now(
        lambda snapshot: [
            value
            for table in ("two_factor", "recovery_code")
            for row in snapshot.execute(f"SELECT * FROM {table}").fetchall()
            for value in row
        ]
    )
    assert secret not in rows
    assert not {one.replace("-", "").encode() for one in codes} & {*rows}
    assert TwoFactor([OLD]).secrets(b"word") != KEYED.secrets(b"word")


def test_codes_hold_while_the_key_is_changed(database: Database) -> None:
    secret = begin(database, TwoFactor([OLD]))
    confirm(database, code(secret), TwoFactor([OLD]))
    assert accept(database, code(secret, 30), 30, TwoFactor([KEY, OLD]))
    assert not accept(database, code(secret, 60), 60, TwoFactor([KEY]))


def test_switched_off_nothing_is_left(database: Database) -> None:
    codes = confirm(database, code(begin(database)))
    database.write_now(two_factor.switch_off, 1)
    assert not is_on(database)
    assert not accept(database, codes[0])
