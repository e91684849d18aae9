"""Networks with addresses of this machine are known, whatever they look like."""

from ipaddress import ip_network

import pytest

from commentsvc.util.ip_ranges import has_local

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
