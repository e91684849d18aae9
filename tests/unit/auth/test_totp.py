"""The one-time codes of RFC 4226 and RFC 6238, and no others, are accepted."""

import pytest

from commentsvc.auth import totp

SECRET = b"12345678901234567890"  # RFC 4226, appendix D


def test_codes_are_those_of_rfc_4226() -> None:
    codes = [totp.code(SECRET, step) for step in range(6)]
    assert codes == ["755224", "287082", "359152", "969429", "338314", "254676"]


@pytest.mark.parametrize(
    ("now", "expected"),
    [(59, "287082"), (1111111109, "081804"), (2000000000, "279037"), (20000000000, "353130")],
)
def test_codes_are_those_of_rfc_6238(now: int, expected: str) -> None:
    assert totp.matching_step(SECRET, expected, now * 1_000) == now // 30


def test_a_clock_may_be_off_by_one_step() -> None:
    now_ms = 1_000 * 30_000 + 15_000
    found = [
        totp.matching_step(SECRET, totp.code(SECRET, step), now_ms) for step in range(997, 1004)
    ]
    assert found == [None, None, 999, 1000, 1001, None, None]


@pytest.mark.parametrize("given", ["", "28708", "2870820", "\ud800", "２８７０８２"])
def test_nothing_else_is_a_code(given: str) -> None:
    assert totp.matching_step(SECRET, given, 59_000) is None


def test_an_app_is_told_all_that_it_needs() -> None:
    address = totp.address(SECRET, "c.example", "ann@b")
    assert address == (
        "otpauth://totp/c.example:ann%40b?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=c.example"
    )
