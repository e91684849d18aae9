"""The limit of sign-in attempts: few guesses are possible, and nobody can lock out others."""

import asyncio
import contextlib

import pytest

from commentsvc.admin import login_limit
from commentsvc.admin.login_limit import LoginLimiter
from commentsvc.auth import passwords
from commentsvc.http.messages import HttpError
from tests.unit.admin_client import HASH, PASSWORD


def attempts(
    guard: LoginLimiter, address: str, name: str, now_ms: int = 0, known: bool = False
) -> int:
    """Return how many attempts may be made at once."""
    made = 0
    with contextlib.suppress(HttpError):
        while made < 1_000:
            guard.count(address, name, now_ms, known=known)
            made += 1
    return made


def test_one_network_may_guess_a_few_times_whatever_names_it_tries() -> None:
    guard = LoginLimiter()
    for number in range(20):
        guard.count(f"192.0.2.{number}", f"name {number}", 0, known=False)
    assert attempts(guard, "192.0.2.77", "another") == 0
    assert attempts(guard, "192.0.3.77", "another") == 20


def test_one_name_is_guessed_a_few_times_from_however_many_networks() -> None:
    guard = LoginLimiter()
    for number in range(30):
        guard.count(f"192.0.{number}.1", "Ann" if number % 2 else "ann", 0, known=False)
    assert attempts(guard, "198.51.100.1", "ann") == 0
    assert attempts(guard, "203.0.113.1", "bob") == 20


def test_a_known_browser_gets_in_while_strangers_guess() -> None:
    guard = LoginLimiter()
    for number in range(200):
        attempts(guard, f"192.0.{number}.1", "ann")
    assert attempts(guard, "192.0.1.1", "ann", known=True) == 30
    assert attempts(guard, "192.0.1.1", "ann", known=True) == 0


def test_who_is_stopped_hears_for_how_long() -> None:
    guard = LoginLimiter()
    attempts(guard, "192.0.2.1", "ann")
    with pytest.raises(HttpError, match=r"Try again in 3 min\.") as caught:
        guard.count("192.0.2.1", "ann", 0, known=False)
    assert caught.value.status == 429
    assert caught.value.headers == (("Retry-After", "180"),)


def test_after_a_while_more_may_be_tried() -> None:
    guard = LoginLimiter()
    assert attempts(guard, "192.0.2.1", "ann", now_ms=0) == 20
    assert attempts(guard, "192.0.2.1", "ann", now_ms=180_000) == 1
    assert attempts(guard, "192.0.2.1", "bob", now_ms=7_200_000) == 20


def test_a_name_of_any_length_is_counted() -> None:
    guard = LoginLimiter()
    guard.count("192.0.2.1", "x" * 100_000 + "\ud800", 0, known=False)


def test_guesses_are_checked_one_at_a_time_and_few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
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
        guard = LoginLimiter()
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


def test_a_guess_gives_its_place_back() -> None:
    async def scene() -> None:
        guard = LoginLimiter()
        for _ in range(login_limit.WAITING + 1):
            assert not await guard.verify("wrong", "no hash", known=False)
        with pytest.raises(passwords.PasswordRefused):
            await guard.hash_password("short")
        assert passwords.verify(PASSWORD, await guard.hash_password(PASSWORD))

    asyncio.run(scene())
