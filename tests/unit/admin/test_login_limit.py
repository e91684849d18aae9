"""The limit of sign-in attempts: few guesses are possible, and nobody can lock out others."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.admin import login_limit
from commentsvc.admin.login_limit import LoginLimiter
from commentsvc.auth import passwords
from commentsvc.db.connection import Row, Snapshot
from commentsvc.db.database import Database
from commentsvc.db.schema.comments import SignInAttemptTable
from commentsvc.http.messages import HttpError
from tests.unit.admin_client import HASH, PASSWORD
from tests.unit.database_fixture import NOW, opened


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


@pytest.fixture
def guard(database: Database) -> LoginLimiter:
    return LoginLimiter(database, b"key" * 16)


def count(
    guard: LoginLimiter, address: str, name: str, now_ms: int = 0, known: bool = False
) -> None:
    asyncio.run(guard.count(address, name, NOW + now_ms, known=known))


def attempts(
    guard: LoginLimiter, address: str, name: str, now_ms: int = 0, known: bool = False
) -> int:
    """Return how many attempts may be made at once."""
    made = 0
    with contextlib.suppress(HttpError):
        while made < 1_000:
            count(guard, address, name, now_ms, known)
            made += 1
    return made


def test_one_network_may_guess_a_few_times_whatever_names_it_tries(guard: LoginLimiter) -> None:
    for number in range(20):
        count(guard, f"192.0.2.{number}", f"name {number}")
    assert attempts(guard, "192.0.2.77", "another") == 0
    assert attempts(guard, "192.0.3.77", "another") == 20


def test_an_ipv6_48_may_guess_as_often_as_three_networks(guard: LoginLimiter) -> None:
    made = [attempts(guard, f"2001:db8:1:{number:x}00::1", f"name {number}") for number in range(8)]
    assert made == [20, 20, 20, 0, 0, 0, 0, 0]
    assert attempts(guard, "2001:db8:2::1", "another") == 20


def test_one_name_is_guessed_a_few_times_from_however_many_networks(guard: LoginLimiter) -> None:
    for number in range(30):
        count(guard, f"192.0.{number}.1", "Ann" if number % 2 else "ann")
    assert attempts(guard, "198.51.100.1", "ann") == 0
    assert attempts(guard, "203.0.113.1", "bob") == 20


def test_a_known_browser_gets_in_while_strangers_guess(guard: LoginLimiter) -> None:
    for number in range(35):
        attempts(guard, f"192.0.{number}.1", "ann")
    assert attempts(guard, "192.0.1.1", "ann", known=True) == 30
    assert attempts(guard, "192.0.1.1", "ann", known=True) == 0


def test_who_is_stopped_hears_for_how_long(guard: LoginLimiter) -> None:
    attempts(guard, "192.0.2.1", "ann")
    with pytest.raises(HttpError, match=r"Try again in 3 min\.") as caught:
        count(guard, "192.0.2.1", "ann")
    assert caught.value.status == 429
    assert caught.value.headers == (("Retry-After", "180"),)


def test_after_a_while_more_may_be_tried(guard: LoginLimiter) -> None:
    assert attempts(guard, "192.0.2.1", "ann", now_ms=0) == 20
    assert attempts(guard, "192.0.2.1", "ann", now_ms=180_000) == 1
    assert attempts(guard, "192.0.2.1", "bob", now_ms=7_200_000) == 20


def test_attempts_at_one_instance_count_at_another_and_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        for number in range(20):
            count(LoginLimiter(database, b"key" * 16), "192.0.2.1", f"name {number}")
    with opened(tmp_path) as database:
        assert attempts(LoginLimiter(database, b"key" * 16), "192.0.2.1", "another") == 0


def test_what_does_not_count_any_more_is_deleted_and_no_name_is_stored(
    database: Database, guard: LoginLimiter
) -> None:
    count(guard, "192.0.2.1", "ann")
    rows = database.read_now(_rows)
    assert len(rows) == 2
    assert not any(b"ann" in bytes(key) for key, _ in rows)
    count(guard, "192.0.2.1", "ann", now_ms=10 * 3_600_000, known=True)
    assert len(database.read_now(_rows)) == 1


def _rows(snapshot: Snapshot) -> list[Row]:
    return snapshot.query(
        SignInAttemptTable.select(SignInAttemptTable.key, SignInAttemptTable.full_at)
    )


def test_a_name_of_any_length_is_counted(guard: LoginLimiter) -> None:
    count(guard, "192.0.2.1", "x" * 100_000 + "\ud800")


def test_guesses_are_checked_one_at_a_time_and_few_wait(
    guard: LoginLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0
    real = passwords.verify

    def slow(password: str, stored: str) -> bool:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return real(password, stored)
        finally:
            running -= 1

    monkeypatch.setattr(passwords, "verify", slow)

    async def scene() -> list[bool | BaseException]:
        guesses = [
            guard.verify(PASSWORD, HASH, known=False) for _ in range(login_limit.WAITING + 3)
        ]
        mine = guard.verify(PASSWORD, HASH, known=True)
        return await asyncio.gather(*guesses, mine, return_exceptions=True)

    *strangers, mine = asyncio.run(scene())
    assert most == 1
    refused = [error for error in strangers if isinstance(error, HttpError)]
    assert [error.status for error in refused] == [503] * 3
    assert strangers.count(True) == login_limit.WAITING
    assert mine is True


def test_a_guess_gives_its_slot_back(guard: LoginLimiter) -> None:
    async def scene() -> None:
        for _ in range(login_limit.WAITING + 1):
            assert not await guard.verify("wrong", "no hash", known=False)
        with pytest.raises(passwords.PasswordRefused):
            await guard.hash_password("short")
        assert passwords.verify(PASSWORD, await guard.hash_password(PASSWORD))

    asyncio.run(scene())
