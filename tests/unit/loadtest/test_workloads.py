"""loadtest/workloads."""

import asyncio
import contextlib
import json
from collections import Counter
from pathlib import Path

import pytest

from commentsvc.settings import loader
from loadtest.data.blog import Page
from loadtest.harness.client import ClientError
from loadtest.harness.coherence import CoherenceChecker
from loadtest.harness.environment import sum_up
from loadtest.harness.measurement import Row
from loadtest.harness.scenario import MARK
from loadtest.harness.service import ServiceError
from loadtest.report import publish
from loadtest.workloads import (
    attack,
    compare,
    exports,
    front_page,
    imports,
    instances,
    methods,
    mixed,
    page_view,
    scaling,
)
from loadtest.workloads.front_page import turns
from loadtest.workloads.scaling import KINDS
from tests.unit.app_fixture import served

pytestmark = pytest.mark.sqlite_only("a load test makes its data in a file of SQLite")

PAGES = [Page(f"/post/{rank}/", 200 - rank) for rank in range(1, 121)]


def test_attacks_get_the_answers_that_they_expect(tmp_path: Path) -> None:
    attacks = [
        *attack.reads(PAGES),
        *attack.optional_reads(PAGES),
        *attack.refusals(PAGES),
        attack.follow("/post/1/"),
        attack.preview("x", "Hello"),
    ]
    with served(tmp_path, loader.load(None, attack.SETTINGS)) as service:
        for one in attacks:
            text = one.requests[0].text.replace(MARK.encode(), b"0" * len(MARK)).decode()
            head, _, body = text.partition("\r\n\r\n")
            line, *fields = head.split("\r\n")
            method, target, _version = line.split(" ")
            pairs = (field.split(": ", 1) for field in fields)
            headers = {name.lower().replace("-", "_"): value for name, value in pairs}
            answer = service.ask(method, target, body.encode(), "127.0.0.1", **headers)
            assert answer.status == one.requests[0].status, one.name


def compare_rows() -> list[Row]:
    """Return two rounds; the head costs a tenth more, and starts in half the time."""
    made: list[Row] = []
    for number, drift in ((1, 1.0), (2, 2.0)):
        about = {"round": number, "disturbed": False}
        for name, cost, start in (("base", 1_000.0, 400.0), ("head", 1_100.0, 200.0)):
            made.append(
                {"scenario": f"count: {name}", "cpu_ns": cost * drift, "rate": 5_000.0} | about
            )
            figures = {"start_ms": start, "rss_start_mib": 40.0, "rss_mib": 50.0}
            made.append({"scenario": f"process: {name}", **figures} | about)
    return made


def test_ratios_are_taken_within_rounds_and_judged() -> None:
    verdicts = {one.name: one for one in compare.judge(compare_rows(), 1.05)}
    count = verdicts["count: head, cpu_ns by the best of count: base"]
    assert count.spread == (1.1, 1.1)
    assert count.holds is False
    start = verdicts["process: head, start_ms by the best of process: base"]
    assert (start.value, start.holds) == (0.5, True)


def row(name: str, rate: float, per_view: int, most: float = 1_000) -> Row:
    figures = {"rate": rate, "views": rate / per_view, "errors": 0, "min": 10.0, "mean": 500.0}
    about = {"scenario": name, "round": 1, "disturbed": False, "proxy_share": 0.5, "max": most}
    return {**about, **figures}


def test_only_who_can_answer_a_batch_is_asked_for_one() -> None:
    assert [turn.name for turn in turns(["batch"], [])] == ["batch: ours", "batch: isso"]
    assert [turn.name for turn in turns(["https"], ["ours", "sanic"])] == [
        "https: ours",
        "https: sanic",
    ]


def test_only_isso_is_asked_as_its_own_client_asks() -> None:
    assert [turn.name for turn in turns(["isso"], [])] == ["isso: ours", "isso: isso"]
    verdicts = front_page.judge([row("isso: ours", 200, 1), row("isso: isso", 5, 1)])
    assert [(each.value, each.holds) for each in verdicts] == [(40, True)]


def test_page_views_are_compared_with_those_of_ten_requests() -> None:
    rows = [row("batch: ours", 200, 1), row("https: sanic", 100, 10)]
    verdicts = {verdict.name: verdict for verdict in front_page.judge(rows)}
    views = verdicts["batch: ours, views by the best of https: sanic"]
    assert (views.value, views.holds) == (20, True)


SAID = """Concurrency Level:      5
Time taken for tests:   0.500 seconds
Complete requests:      10000
Failed requests:        2
Non-2xx responses:      3
Percentage of the requests served within a certain time (ms)
  50%      1
  66%      1
  90%      2
  99%     16
 100%     30 (longest request)
"""


def test_what_ab_says_is_read() -> None:
    outcome = methods.parse(SAID, 0.5)
    assert (outcome.answered, outcome.failed, outcome.wrong) == (9_995, 2, 3)
    assert (outcome.p50, outcome.p99, outcome.max) == (1_000, 16_000, 30_000)
    assert outcome.seconds == 0.5
    assert methods.parse(SAID.replace("Non-2xx responses:      3\n", ""), 0.5).wrong == 0
    with pytest.raises(ClientError, match="Complete"):
        methods.parse("apr_socket_recv: Connection refused", 0.5)


def test_what_was_acknowledged_has_to_be_stored() -> None:
    before = Counter(comments=10, waiting=5, sessions=1)
    asked = Counter({"write": 2, "register": 1, "approve": 3, "sign in": 1, "list": 9})
    mixed.demand_stored(before, Counter(comments=13, waiting=2, sessions=2), asked)
    with pytest.raises(ServiceError, match="the database has"):
        mixed.demand_stored(before, Counter(comments=12, waiting=2, sessions=2), asked)


def scaling_row(name: str, size: int, **figures: float) -> Row:
    about = {"scenario": f"{name} at {size}", "round": 1, "disturbed": False, "comments": size}
    return {**about, **figures}


def test_curves_are_judged_by_the_smallest_size_and_the_start_by_the_clock() -> None:
    rows = [
        scaling_row(kind.name, size, cpu_ns=cost, rate=1e6 / cost)
        for kind in KINDS
        for size, cost in ((10, 1_000.0), (1_000, 1_500.0))
    ]
    rows += [scaling_row("start", 10, start_ms=300), scaling_row("start", 1_000, start_ms=1_200)]
    holding = {verdict.name.partition(" ")[0]: verdict.holds for verdict in scaling.judge(rows)}
    assert holding == {
        **dict.fromkeys(("count", "list", "start"), False),
        **dict.fromkeys(("count-miss", "list-miss", "queue", "submit"), True),
    }


def test_an_instance_that_counts_too_few_is_noticed() -> None:
    """Every submission is acknowledged; one instance counts what it has acknowledged, one none."""
    stored: set[str] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                status, number = "200 OK", len(stored)
                if head.startswith(b"POST"):
                    length = int(head.partition(b"Content-Length: ")[2].split()[0])
                    stored.add(json.loads(await reader.readexactly(length))["key"])
                    status = "201 Created"
                elif writer.get_extra_info("sockname")[1] == ports[1]:
                    number = 0
                body = b'{"count":%d}' % number
                start = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(start.encode() + body)
                if b"Connection: close" in head:
                    break
        writer.close()

    ports: list[int] = []

    async def main() -> CoherenceChecker:
        servers = [await asyncio.start_server(answer, "127.0.0.1", 0) for _ in range(2)]
        ports.extend(server.sockets[0].getsockname()[1] for server in servers)
        checker = CoherenceChecker(ports, batch=3)
        async with checker.running(writers=2):
            await checker.more(10)
            await checker.all_answer()
        for server in servers:
            server.close()
        return checker

    checker = asyncio.run(main())
    assert {stale.port for stale in checker.stale} == {ports[1]}
    assert {message.removeprefix("Comment ") for message in checker.messages} == stored
    assert {*checker.statuses} == {200, 201}


def test_instances_are_judged_by_submissions_memory_and_instructions() -> None:
    def row(number: int, clients: int, rate: float, mib: float) -> Row:
        name = instances.name_of(number, clients, "strict")
        figures = {"rate": rate, "refused": 0, "cpu_us": 90.0, "p50": 1e3, "p99": 9e3}
        return {"scenario": name, "round": 1, "disturbed": False, **figures, "rss_mib": mib}

    hits: list[Row] = [
        {"scenario": name, "round": 1, "disturbed": False, "instructions": number}
        for name, number in (("hit, without", 2_000.0), ("hit, with a lease", 2_050.0))
    ]
    rows = [row(3, 1, 130.0, 60.0), row(1, 64, 3_000.0, 70.0), row(1, 64, 4_000.0, 81.0), *hits]
    judged = {verdict.name: verdict.holds for verdict in instances.judge(rows)}
    assert judged == {
        "1 instances, 64 clients, strict": True,
        "3 instances, 1 clients, strict": True,
        "memory": False,
        "hit, with a lease, instructions by the best of hit, without": False,
    }


def test_exports_and_imports_are_judged_by_their_limits() -> None:
    cost = {"seconds": 31.0, "cpu_seconds": 20.0, "rss_mib": 250.0, "disturbed": False}
    exported: Row = {"scenario": "commentsvc", **cost}
    assert exports.too_much([exported]) == [
        "commentsvc: 31.0 s, over 30 s",
        "commentsvc: 250 MiB, over 200 MiB",
    ]
    assert exports.too_much([exported | {"disturbed": True, "rss_mib": 99.0}]) == []
    slow = exported | {"seconds": 181.0}
    assert imports.too_much([slow, slow | {"scenario": "isso"}]) == [
        "commentsvc: 181.0 s, over 180 s",
        "commentsvc: 250 MiB, over 200 MiB",
    ]
    seen: list[Row] = [{"scenario": name, "p99": 1.0} for name in (imports.BEFORE, imports.BESIDE)]
    assert imports.too_slow(seen) == []
    assert imports.too_slow([*seen[:1], seen[1] | {"p99": 2.5}]) == [
        "readers' p99 is 2.5 times that before"
    ]
    assert exports.Cost(10.0, 7.9, 50.0).disturbed
    assert not exports.Cost(10.0, 8.1, 50.0).disturbed


def test_page_views_are_compared_by_their_distance_from_plain_html() -> None:
    figures = {"floor": (500, 300, 900), "isso": (1_500, 1_600, 900), "ours": (1_300, 1_400, 400)}
    rows: list[Row] = [
        {"scenario": name, "visible": value} for name in figures for value in figures[name]
    ]
    measured = page_view.with_distances(rows)
    assert [row["distance"] for row in measured][::3] == [0, 1, 0.8]
    assert [row["distance"] for row in measured][-1] == -0.1


def test_a_page_view_is_written_into_its_table() -> None:
    rows: list[Row] = [
        {"scenario": "ours", "disturbed": False, **dict.fromkeys(page_view.HEADS, 2_000.0)},
        {"scenario": "floor", "disturbed": False, "visible": 500.0},
    ]
    result = sum_up({}, {"ours": "commentsvc", "floor": "plain HTML"}, rows)
    document = publish.PAGE.read_text()
    shown = publish.with_table(document, page_view.HEADS, result.summaries)
    assert f"| commentsvc |{' 2,000 |' * 7}\n| plain HTML | 500 |{' – |' * 6}\n" in shown
    assert shown.partition("| page | visible")[0] == document.partition("| page | visible")[0]
    assert publish.with_table(shown, page_view.HEADS, result.summaries) == shown
    with pytest.raises(ValueError, match="no table has the head"):
        publish.with_table("", page_view.HEADS, result.summaries)
