"""The limit of open files."""

import resource

import pytest

from commentsvc.runtime import file_limit

Limits = tuple[int, int]


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[Limits]:
    """The limits now, and before; the test writes the first."""
    history: list[Limits] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: history[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: history.append(new))
    return history


def test_the_soft_limit_is_raised_to_what_is_needed(limits: list[Limits]) -> None:
    limits.append((1024, 524_288))
    file_limit.provide(20_000)
    assert limits[-1] == (20_000 + file_limit.RESERVE, 524_288)


def test_a_soft_limit_that_suffices_stays(limits: list[Limits]) -> None:
    limits.append((65_536, 524_288))
    file_limit.provide(20_000)
    assert len(limits) == 1


def test_without_a_hard_limit_everything_is_allowed(limits: list[Limits]) -> None:
    limits.append((1024, resource.RLIM_INFINITY))
    file_limit.provide(1_000_000)
    limits.append((resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    file_limit.provide(1_000_000)
    assert limits[-1][0] == resource.RLIM_INFINITY


def test_a_hard_limit_that_is_too_low_is_all_we_get(limits: list[Limits]) -> None:
    limits.append((1024, 4096))
    file_limit.provide(20_000)
    assert limits[-1] == (4096, 4096)
