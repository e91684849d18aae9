"""loadtest/proxies: the files of config/proxy with what is changed for a measurement."""

import pytest

from loadtest.proxies import configs
from loadtest.proxies.command import SETUPS, Setup

FILES = {
    "nginx": "nginx.conf",
    "caddy": "Caddyfile",
    "haproxy": "haproxy.cfg",
    "haproxy-tcp": "haproxy-tcp.cfg",
    "hitch": "hitch.conf",
}


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_what_is_changed_is_in_the_file(setup: Setup) -> None:
    shipped = configs.changed(FILES[setup.front], {})
    assert (configs.changed(FILES[setup.front], setup.more) != shipped) == bool(setup.more)
    assert all(mark in shipped for mark in setup.marks)


def test_what_a_file_has_no_more_is_told() -> None:
    with pytest.raises(ValueError, match="no 'keepalive 7;' any more"):
        configs.changed("nginx.conf", {"keepalive 7;": ""})
