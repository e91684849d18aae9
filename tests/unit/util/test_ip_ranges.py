"""Networks with addresses of this machine are known, whatever they look like."""

from ipaddress import ip_network

import pytest

from commentsvc.util.ip_ranges import has_local, is_local, is_public

LOCAL = """
    0.0.0.0/0 127.0.0.0/8 127.0.0.1/32 126.0.0.0/7 169.254.0.0/16 169.254.169.254/32 224.0.0.0/4
    ::/0 ::1/128 fe80::/10 fe80::1/128 ff00::/8 ::ffff:127.0.0.0/104 ::ffff:10.0.0.0/104
    64:ff9b::/96 64:ff9b:1::/48 2002::/16 2001::/32
"""


@pytest.mark.parametrize("network", LOCAL.split())
def test_a_network_with_addresses_of_this_machine_is_known(network: str) -> None:
    assert has_local(ip_network(network))


@pytest.mark.parametrize("network", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fd12::/16"])
def test_a_network_without_such_addresses_is_known(network: str) -> None:
    assert not has_local(ip_network(network))


# Where clouds give out secrets; that of Azure, 168.63.129.16, is in no special range.
METADATA = """
    169.254.169.254 169.254.170.2 169.254.42.42 100.100.100.200 192.0.0.192 168.63.129.16
    fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:42::42 fd00:c1::a9fe:a9fe fe80::a9fe:a9fe
    ::ffff:168.63.129.16 64:ff9b::a83f:8110 2002:a83f:8110::1 2001:db9::5efe:a83f:8110
    2001:db9::200:5efe:a9fe:a9fe
"""


@pytest.mark.parametrize("address", METADATA.split())
def test_no_metadata_of_a_cloud_is_reached_whatever_it_looks_like(address: str) -> None:
    assert is_local(address)
    assert not is_public(address)


@pytest.mark.parametrize("address", ["168.63.129.15", "168.63.129.17", "2606:4700::1111"])
def test_their_neighbours_are_public(address: str) -> None:
    assert is_public(address)
    assert not is_local(address)
