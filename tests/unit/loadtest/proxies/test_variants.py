"""loadtest/setups.py: every change that is measured finds its place in the file that we ship."""

import pytest

from loadtest.proxies import configs
from loadtest.proxies.variants import (
    CHANGES,
    FIXED,
    MICROCACHE,
    PLAIN_HTTP,
    RSA,
    SHIPPED,
    STREAM,
    WORKERS,
    Setup,
)

FILES = {
    "nginx": "nginx.conf",
    "caddy": "Caddyfile",
    "haproxy": "haproxy.cfg",
    "haproxy-tcp": "haproxy-tcp.cfg",
    "hitch": "hitch.conf",
}
ALL = (*SHIPPED, *PLAIN_HTTP, MICROCACHE, *CHANGES, *RSA, *WORKERS, *FIXED)


@pytest.mark.parametrize("setup", ALL, ids=lambda setup: setup.name)
def test_a_change_is_one(setup: Setup) -> None:
    shipped = configs.changed(FILES[setup.front], {})
    assert (configs.changed(FILES[setup.front], setup.more) != shipped) == bool(setup.more)
    assert all(mark in shipped for mark in setup.marks)


def test_each_has_a_name_of_its_own() -> None:
    every = (*ALL, *STREAM)
    assert len({setup.name for setup in every}) == len(every)


def test_what_a_file_has_no_more_is_told() -> None:
    with pytest.raises(ValueError, match="no 'keepalive 7;' any more"):
        configs.changed("nginx.conf", {"keepalive 7;": ""})
