"""loadtest/proxies/command.py: medians, and what they are compared with."""

import pytest

from loadtest.proxies.command import judge, line, summarise
from loadtest.proxies.load import Row


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
