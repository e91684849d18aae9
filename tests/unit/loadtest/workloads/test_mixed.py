"""loadtest/workloads/mixed.py and loadtest/locust.py: what is asked, and when a rate holds."""

import json
from collections import Counter
from pathlib import Path

import pytest

from loadtest.data import blog
from loadtest.data.seed import seed
from loadtest.harness.client import ClientError, Request
from loadtest.harness.measurement import Row
from loadtest.harness.service import ServiceError
from loadtest.servers import locust
from loadtest.workloads import mixed
from loadtest.workloads.mixed import WHOLE

PAGES = blog.pages(100)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("talk") / "data"
    seed(folder, [blog.Page(page.url, 1) for page in PAGES], lambda _: None)
    return folder


def row(wanted: float, rate: float, errors: int = 0, p95: float = 1_000) -> Row:
    about = {"scenario": "whole: highest", "round": 1, "disturbed": False}
    return {**about, "wanted": wanted, "rate": rate, "errors": errors, "p95": p95}


def test_nothing_is_signed_out_approved_or_written_twice(data: Path) -> None:
    before = mixed.tally(data)
    script = mixed.write(data, PAGES, WHOLE, 2_000)
    counts, asked = Counter(script.kinds), Counter(script.order)
    assert len(script.order) == 2_000
    once = [index for index, times in asked.items() if times == 1]
    texts = [script.requests[index].text for index in once]
    for kind, page in (
        ("approve", b"/decide"),
        ("sign out", b"/sign-out"),
        ("sign in", b"/sign-in"),
    ):
        assert sum(page + b" HTTP" in text for text in texts) == counts[kind] > 0
    after = mixed.tally(data)
    assert after["waiting"] - before["waiting"] == counts["approve"]
    assert after["sessions"] - before["sessions"] == counts["sign out"] + 1


def test_kinds_are_drawn_by_their_weights(data: Path) -> None:
    counts = Counter(mixed.write(data, PAGES, WHOLE, 5_000).kinds)
    assert counts["list"] / 5_000 == pytest.approx(200 / 234, abs=0.03)
    assert counts["write"] / 5_000 == pytest.approx(20 / 234, abs=0.02)


def test_a_rate_holds_without_errors_reached_and_quick_enough() -> None:
    assert mixed.holds(row(1_000, 990))
    assert not mixed.holds(row(1_000, 970))
    assert not mixed.holds(row(1_000, 1_000, errors=1))
    assert not mixed.holds(row(1_000, 1_000, p95=2_100_000))


def test_the_highest_rate_and_its_percentile_are_judged() -> None:
    holds = [verdict.holds for verdict in mixed.judge([row(21_000, 21_000, p95=60_000)])]
    assert holds == [True, False]


def test_what_was_acknowledged_has_to_be_stored() -> None:
    before = Counter(comments=10, waiting=5, sessions=1)
    asked = Counter({"write": 2, "register": 1, "approve": 3, "sign in": 1, "list": 9})
    mixed.demand_stored(before, Counter(comments=13, waiting=2, sessions=2), asked)
    with pytest.raises(ServiceError, match="the database has"):
        mixed.demand_stored(before, Counter(comments=12, waiting=2, sessions=2), asked)


def test_locust_gets_each_request_with_a_serial_of_its_own() -> None:
    body = b'{"key": "load-##########"}'
    text = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 26\r\n\r\n" + body
    lines = locust.script([Request(text, 201, None)], [0, 0]).splitlines()
    first, second = map(json.loads, lines)
    assert first == {
        "method": "POST",
        "target": "/x",
        "headers": {"Host": "h"},
        "status": 201,
        "body": '{"key": "load-0000000000"}',
    }
    assert second["body"].endswith('1"}')


def test_locusts_statistics_are_read() -> None:
    told = {
        "name": "all",
        "num_requests": 10,
        "num_failures": 1,
        "response_times": {"2": 9, "30": 1},
        "max_response_time": 31.5,
        "min_response_time": 1.5,
        "total_response_time": 48,
        "start_time": 100.0,
        "last_request_timestamp": 105.0,
    }
    posted = {
        "num_requests": 2,
        "num_failures": 0,
        "response_times": {"2": 1, "40": 1},
        "max_response_time": 41.5,
        "total_response_time": 42,
        "last_request_timestamp": 106.0,
    }
    seen = locust.parse(json.dumps([{**told, "name": "other"}, told, {**told, **posted}]), 0.5)
    assert (seen.outcome.answered, seen.outcome.wrong, seen.errors) == (11, 1, 1)
    assert (seen.min, seen.outcome.p50, seen.p95, seen.outcome.max) == (
        1_500,
        2_000,
        40_000,
        41_500,
    )
    assert seen.mean == pytest.approx(7_500)
    assert seen.outcome.seconds == 6
    with pytest.raises(ClientError, match="asked nothing"):
        locust.parse("[]", 0.5)
