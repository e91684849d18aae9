"""What is kept of an IP address, and for how long it can be recognised."""

import pytest

from commentsvc.util.client_network import NetworkHashes, network_of
from commentsvc.util.timestamps import DAY_MS

NOW = 1_795_000_000_000
HERE, THERE = network_of("192.0.2.1"), network_of("198.51.100.1")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.254", True),
        ("192.0.2.1", "192.0.3.1", False),
        ("2001:db8:1:201::1", "2001:db8:1:2ff::9", True),
        ("2001:db8:1:200::1", "2001:db8:1:300::1", False),
        ("::ffff:192.0.2.1", "192.0.2.9", True),
        ("fe80::1%eth0", "fe80::2", True),
        ("", "no address", True),
        ("", "127.0.0.1", False),
        ("\x00", "", True),
    ],
)
def test_addresses_are_counted_by_network(one: str, other: str, same: bool) -> None:
    assert (network_of(one) == network_of(other)) is same


def test_a_hash_tells_networks_apart_and_not_addresses() -> None:
    hashes = NetworkHashes(b"key", 30)
    assert hashes.hash(HERE, NOW) == hashes.hash(network_of("192.0.2.200"), NOW + 1)
    assert hashes.hash(HERE, NOW) != hashes.hash(THERE, NOW)
    assert HERE not in (hashes.hash(HERE, NOW) or b"")


def test_without_the_key_no_hash_can_be_made() -> None:
    assert NetworkHashes(b"key", 30).hash(HERE, NOW) != NetworkHashes(b"yek", 30).hash(HERE, NOW)


def test_the_key_changes_with_each_period() -> None:
    hashes = NetworkHashes(b"key", 30)
    begin = NOW // (30 * DAY_MS) * 30 * DAY_MS
    last, first = hashes.hash(HERE, begin - 1), hashes.hash(HERE, begin)
    assert last != first
    assert hashes.hash(HERE, begin + 30 * DAY_MS - 1) == first
    assert hashes.hash(HERE, begin - 1) == last


def test_all_hashes_that_may_still_be_stored_are_known() -> None:
    hashes = NetworkHashes(b"key", 7)
    stored = {hashes.hash(HERE, NOW - days * DAY_MS) for days in range(8)}
    assert set(hashes.hashes(HERE, NOW)) == stored
    assert len(stored) == 2


def test_a_clock_that_jumps_keeps_only_a_few_keys() -> None:
    hashes = NetworkHashes(b"key", 1)
    made = {day: hashes.hash(HERE, day * DAY_MS) for day in range(50)}
    assert {day: hashes.hash(HERE, day * DAY_MS) for day in range(50)} == made
    assert len(set(made.values())) == 50


@pytest.mark.parametrize(("network", "days"), [(HERE, 0), (b"", 30)])
def test_where_nothing_is_kept_there_is_no_hash(network: bytes, days: int) -> None:
    hashes = NetworkHashes(b"key", days)
    assert hashes.hash(network, NOW) is None
    assert hashes.hashes(network, NOW) == ()
