"""loadtest/proxies: variants of the proxies' configuration, and the load on them."""

import pytest

from loadtest.harness.client import ClientError
from loadtest.proxies import configs
from loadtest.proxies.command import judge, line, summarise
from loadtest.proxies.load import Row, parse_h2load, placed
from loadtest.proxies.variants import (
    CHANGES,
    COMPRESSION,
    FIXED,
    MICROCACHE,
    PLAIN_HTTP,
    RSA,
    SHIPPED,
    STREAM,
    WORKERS,
    Setup,
)


def row(setup: str, rate: float, proxy: float, service: float, part: str = "apart") -> Row:
    figures = {"p50": 1.0, "p99": 2_000.0, "client_us": 9.0, "others_share": 0.0}
    return {
        **figures,
        "setup": setup,
        "part": part,
        "rate": rate,
        "proxy_us": proxy,
        "service_us": service,
    }


def test_the_medians_of_the_rounds_count() -> None:
    rows = [row("nginx", rate, 20.0, 4.0) for rate in (1.0, 9.0, 2.0)]
    rows.append(row("nginx", 5.0, 20.0, 4.0, "changes"))
    medians = summarise(rows)
    assert [(one["part"], one["rate"]) for one in medians] == [("apart", 2.0), ("changes", 5.0)]


def test_resumed_connections_are_told_from_others() -> None:
    rows = [row("nginx", 1.0, 2.0, 3.0) | {"resumed": resumed} for resumed in (False, True)]
    medians = summarise(rows)
    assert len(medians) == 2
    assert "resumed=True" in line(medians[1])
    assert line(row("nginx", 1.0, 2.0, 3.0) | {"bytes": 4_663}).endswith("bytes 4663")


def test_https_is_compared_with_plain_http_and_the_best() -> None:
    rows = [
        row("nginx", 30_000, 24.0, 4.0),
        row("nginx, plain HTTP", 60_000, 12.0, 4.0),
        row("hitch", 60_000, 16.0, 2.0),
    ]
    values = {name: value for name, value, _ in judge(rows)}
    assert values == {
        "nginx: requests by HTTPS over plain HTTP": 0.5,
        "nginx: the proxy's CPU, plain HTTP over HTTPS": 0.5,
        "nginx: the service's CPU over the proxy's": pytest.approx(1 / 6),
        "nginx: requests over those of hitch": 0.5,
        "hitch: the service's CPU over the proxy's": 0.125,
        "hitch: requests over those of hitch": 1.0,
    }
    rows = [
        row("hitch", 48.0, 16.0, 4.0, "changes"),
        row("hitch: a fixed answer", 50.0, 16.0, 3.2, "changes"),
    ]
    assert list(judge(rows)) == [
        ("hitch: requests by HTTPS over those of a fixed answer", 0.96, "≥ 0.95"),
        ("hitch: a fixed answer: its CPU over the proxy's", 0.2, ""),
    ]
    assert list(judge([row("nginx", 1.0, 2.0, 3.0, "together")])) == []


SAID = """
finished in 1.52s, 39421.21 req/s, 8.21MB/s
requests: 60000 total, 60000 started, 60000 done, 59998 succeeded, 2 failed, 0 errored, 1 timeout
status codes: 59990 2xx, 0 3xx, 8 4xx, 0 5xx
"""


def test_what_h2load_says_is_read() -> None:
    outcome = parse_h2load(SAID, 0.5)
    assert (outcome.answered, outcome.wrong, outcome.failed) == (59_990, 8, 3)
    assert (outcome.seconds, outcome.client_share) == (1.52, 0.5)
    assert parse_h2load(SAID.replace("1.52s", "152.00ms"), 0).seconds == 0.152


def test_an_h2load_that_failed_is_told() -> None:
    with pytest.raises(ClientError, match="could not connect"):
        parse_h2load("could not connect", 0)


def test_the_proxy_has_a_core_for_itself_or_shares_both() -> None:
    assert placed((2, 5), "apart") == ([2], [5])
    assert placed((2, 5), "together") == ([2, 5], [2, 5])


FILES = {
    "nginx": "nginx.conf",
    "caddy": "Caddyfile",
    "haproxy": "haproxy.cfg",
    "haproxy-tcp": "haproxy-tcp.cfg",
    "hitch": "hitch.conf",
}
ALL = (
    *(*SHIPPED, *PLAIN_HTTP, MICROCACHE, *CHANGES, *RSA, *WORKERS, *FIXED),
    *COMPRESSION["gzip"],
    *COMPRESSION["br"][1:],
)


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
