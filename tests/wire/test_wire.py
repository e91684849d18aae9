"""Play every case of cases/*.md in three ways against the probe, which uses the core alone."""

from collections.abc import Iterator

import pytest

from tests.wire import probe
from tests.wire.cases import Case, all_cases
from tests.wire.player import byte_by_byte, play, whole

CASES = all_cases()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with probe.running("127.0.0.1:0") as running:
        yield running.server.address


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_that_comes_whole_is_answered_as_written(case: Case, address: str) -> None:
    play(case, address, whole, followed=False)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_that_comes_byte_by_byte_is_answered_alike(case: Case, address: str) -> None:
    play(case, address, byte_by_byte, followed=False)


@pytest.mark.parametrize("case", [case for case in CASES if not case.alone], ids=str)
def test_a_case_with_a_follower_keeps_its_frame(case: Case, address: str) -> None:
    """If the server reads the frame of the first request wrongly, it misreads the follower too."""
    play(case, address, whole, followed=True)


def test_the_cases_are_many_and_each_has_its_own_title() -> None:
    assert len(CASES) >= 500
    assert len({str(case) for case in CASES}) == len(CASES)
