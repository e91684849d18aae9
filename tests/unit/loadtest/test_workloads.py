"""loadtest/workloads."""

import asyncio
import contextlib
import json
import socket
import sqlite3
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from commentsvc.settings import data_dir, loader
from commentsvc.settings.schema import CommentsSettings
from loadtest.data import blog, bulk
from loadtest.data.blog import Page
from loadtest.data.seed import seed
from loadtest.harness.browsers import Seen
from loadtest.harness.client import ClientError, Outcome, Request
from loadtest.harness.coherence import CoherenceChecker
from loadtest.harness.environment import sum_up
from loadtest.harness.measurement import Row
from loadtest.harness.result import summarise
from loadtest.harness.scenario import MARK
from loadtest.harness.service import ENVIRONMENT, ServiceError
from loadtest.report import publish
from loadtest.servers import locust
from loadtest.workloads import (
    attack,
    compare,
    exports,
    front_page,
    hostile,
    imports,
    instances,
    methods,
    mixed,
    page_view,
    processes,
    scaling,
    soak,
)
from loadtest.workloads.front_page import turns
from loadtest.workloads.mixed import WHOLE
from loadtest.workloads.scaling import KINDS
from tests.unit.app_fixture import served

pytestmark = pytest.mark.sqlite_only("a load test makes its data in a file of SQLite")

PAGES = [Page(f"/post/{rank}/", 200 - rank) for rank in range(1, 121)]


def body_of(one: attack.Attack) -> dict[str, str]:
    head, _, body = one.requests[0].text.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    found: dict[str, str] = json.loads(body)
    return found


@pytest.mark.parametrize("name", attack.BOMBS)
def test_a_bomb_is_no_longer_than_a_message_may_be(name: str) -> None:
    most = CommentsSettings().message_length
    message = body_of(attack.preview(name, attack.BOMBS[name]))["message"]
    assert most * 0.9 < len(message) <= most


def test_a_submission_is_new_each_time() -> None:
    assert MARK in body_of(attack.submit("x", "/post/1/", "Hello"))["key"]


def test_requests_that_are_limited_come_from_many_networks() -> None:
    one = attack.preview("x", "Hello")
    assert len({request.text for request in one.requests}) == attack.NETWORKS


def test_misses_ask_for_what_was_never_asked() -> None:
    reads = [*attack.reads(PAGES), *attack.optional_reads(PAGES)]
    misses = [one for one in reads if one.name.endswith("a miss")]
    assert len(misses) == 10
    assert all(MARK.encode() in one.requests[0].text for one in misses)


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


def test_the_table_begins_with_the_dearest_attack() -> None:
    seen = {"readers_p50": 40.0, "readers_p99": 900.0, "queue_ms": 5.0, "queue_max_ms": 7.0}
    about = {"round": 1, "disturbed": False, **seen}
    costs = {"rate": 100.0, "errors": 0}
    rows: list[Row] = [
        {"scenario": attack.CALM, **about},
        {"scenario": "cheap", "cpu_ns": 10_000.0, **costs, **about},
        {"scenario": "dear", "cpu_ns": 2_000_000.0, **costs, **about},
    ]
    lines = attack.table(sum_up({}, {}, rows, lambda _: [])).splitlines()
    assert [line.split()[0] for line in lines] == ["attack", "dear", "cheap", "no"]
    assert "2,000" in lines[1]
    assert "0.90" in lines[1]


def test_each_status_of_success_is_an_answer_and_no_refusal_is() -> None:
    outcome = Outcome(3, 1.0, 9, 1, 0, 0, 0, 0, 0.5)
    seen = Seen(outcome, 0, 0, 0, 0, {"201": 3, "202": 5, "429": 4})
    found = attack.accepted(seen, 201)
    assert (found.answered, found.wrong, found.failed) == (8, 4, 1)
    assert attack.accepted(seen, 429).wrong == 0


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


def test_the_table_shows_medians_spread_and_ratios() -> None:
    result = sum_up({}, {}, compare_rows(), lambda every: compare.judge(every, 1.05))
    lines = compare.table(result).splitlines()
    assert lines[1].split("  ")[0] == "count, CPU-ns"
    assert "1,500 (1,000–2,000)" in lines[1]
    assert "1.100 (1.100–1.100)" in lines[1]
    assert "0.500 (0.500–0.500)" in lines[2]


def version_that_refuses(name: str, monkeypatch: pytest.MonkeyPatch) -> compare.Version:
    @contextlib.contextmanager
    def start(self: compare.Version, data: Path, cores: Sequence[int]) -> Iterator[None]:
        if name not in self.settings:
            raise ServiceError(f"the server did not start: {name} is not a setting.")
        yield

    monkeypatch.setattr(compare.Version, "start", start)
    return compare.Version("base", "", Path("commentsvc"), Path("data"), Path("plans"))


def test_settings_that_a_version_does_not_know_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = next(iter(ENVIRONMENT))
    version = version_that_refuses(name, monkeypatch)
    assert compare.adapted(version, [0]).settings == {name: None}


def test_any_other_refusal_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    version = version_that_refuses("COMMENTSVC_OTHER", monkeypatch)
    with pytest.raises(ServiceError, match="COMMENTSVC_OTHER"):
        compare.adapted(version, [0])


def row(name: str, rate: float, per_view: int, most: float = 1_000) -> Row:
    figures = {"rate": rate, "views": rate / per_view, "errors": 0, "min": 10.0, "mean": 500.0}
    about = {"scenario": name, "round": 1, "disturbed": False, "proxy_share": 0.5, "max": most}
    return {**about, **figures}


def test_only_who_can_answer_a_batch_is_asked_for_one() -> None:
    assert [turn.name for turn in turns(["batch"], [])] == ["batch: ours", "batch: isso"]
    assert [turn.name for turn in turns(["https"], ["ours", "flask"])] == [
        "https: ours",
        "https: flask",
    ]


def test_only_isso_is_asked_as_its_own_client_asks() -> None:
    assert [turn.name for turn in turns(["isso"], [])] == ["isso: ours", "isso: isso"]
    verdicts = front_page.judge([row("isso: ours", 200, 1), row("isso: isso", 5, 1)])
    assert [(each.value, each.holds) for each in verdicts] == [(40, True)]


def test_page_views_are_compared_with_those_of_ten_requests() -> None:
    rows = [row("batch: ours", 200, 1), row("https: sanic-cache-1", 100, 10)]
    verdicts = {verdict.name: verdict for verdict in front_page.judge(rows)}
    views = verdicts["batch: ours, views by the best of https: sanic-cache-1, https: sanic-cache-4"]
    assert (views.value, views.holds) == (20, True)


def test_without_the_articles_best_errors_and_the_maximum_are_judged_alone() -> None:
    verdicts = front_page.judge([row("https: ours", 200, 10, most=300_000)])
    assert [(verdict.value, verdict.holds) for verdict in verdicts] == [(0, True), (300, False)]


def test_the_table_has_the_articles_columns() -> None:
    rows = [row("https: ours", 200, 10)]
    lines = front_page.table(rows, [summarise("https: ours", "text", rows)]).splitlines()
    assert lines[1].split() == [
        "https:",
        "ours",
        "12,000",
        "0",
        ">",
        "0",
        ">",
        "1",
        *["0", "20", "50%"],
    ]


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


def test_each_method_is_asked_for_by_its_option() -> None:
    body = Path("/body")
    assert methods.asking("GET", body) == []
    assert methods.asking("POST", body)[:2] == ["-p", "/body"]
    assert methods.asking("PUT", body)[:2] == ["-u", "/body"]
    assert methods.asking("DELETE", body) == ["-m", "DELETE"]


MIXED_PAGES = blog.pages(100)


@pytest.fixture(scope="module")
def mixed_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("talk") / "data"
    seed(folder, [blog.Page(page.url, 1) for page in MIXED_PAGES], lambda _: None)
    return folder


def mixed_row(wanted: float, rate: float, errors: int = 0, p95: float = 1_000) -> Row:
    about = {"scenario": "whole: highest", "round": 1, "disturbed": False}
    return {**about, "wanted": wanted, "rate": rate, "errors": errors, "p95": p95}


def test_nothing_is_signed_out_approved_or_written_twice(mixed_data: Path) -> None:
    before = mixed.tally(mixed_data)
    script = mixed.write(mixed_data, MIXED_PAGES, WHOLE, 2_000)
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
    after = mixed.tally(mixed_data)
    assert after["waiting"] - before["waiting"] == counts["approve"]
    assert after["sessions"] - before["sessions"] == counts["sign out"] + 1


def test_kinds_are_drawn_by_their_weights(mixed_data: Path) -> None:
    counts = Counter(mixed.write(mixed_data, MIXED_PAGES, WHOLE, 5_000).kinds)
    assert counts["list"] / 5_000 == pytest.approx(200 / 234, abs=0.03)
    assert counts["write"] / 5_000 == pytest.approx(20 / 234, abs=0.02)


def test_a_rate_holds_without_errors_reached_and_quick_enough() -> None:
    assert mixed.holds(mixed_row(1_000, 990))
    assert not mixed.holds(mixed_row(1_000, 970))
    assert not mixed.holds(mixed_row(1_000, 1_000, errors=1))
    assert not mixed.holds(mixed_row(1_000, 1_000, p95=2_100_000))


def test_the_highest_rate_and_its_percentile_are_judged() -> None:
    holds = [verdict.holds for verdict in mixed.judge([mixed_row(21_000, 21_000, p95=60_000)])]
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


def scaling_row(name: str, size: int, **figures: float) -> Row:
    about = {"scenario": f"{name} at {size}", "round": 1, "disturbed": False, "comments": size}
    return {**about, **figures}


def test_pages_are_spread_over_all_and_of_one_site(tmp_path: Path) -> None:
    size = 10_000
    bulk.make(tmp_path / data_dir.DATABASE, size, words=2)
    pages = scaling.pages_of(tmp_path, size)
    with closing(sqlite3.connect(tmp_path / data_dir.DATABASE)) as connection:
        ids = dict(connection.execute("SELECT url, id FROM thread WHERE site_id = 1"))
    assert len(pages) == len({page.url for page in pages}) > 190
    assert {ids[page.url] * 10 // 201 for page in pages} == set(range(10))


def test_making_a_crowd_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[int] = []
    bulk.make(tmp_path / "x", 5_000, words=2, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 10_000


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


def soak_row(name: str, number: int, **figures: float) -> Row:
    return {"scenario": name, "round": number, "disturbed": False, **figures}


def test_the_worst_round_counts_and_times_are_judged_within_a_round() -> None:
    rows = [
        soak_row("idle", 1, mib=3.0),
        soak_row("idle", 2, mib=41.0),
        soak_row("calm", 1, p99=10.0),
        soak_row("slow", 1, p99=15.0),
        soak_row("calm", 2, p99=100.0),
        soak_row("slow", 2, p99=190.0),
    ]
    found = {one.name: one for one in soak.judge(rows)}
    assert found["idle: mib"].value == 41.0
    assert found["idle: mib"].holds is False
    [slow] = [one for name, one in found.items() if name.startswith("slow")]
    assert 1.5 <= slow.value <= 1.9
    assert slow.holds
    assert len(found) == 2, "what was not played is not judged"


def test_a_crowd_is_heard_to_its_last_client() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            for _ in range(20):
                client, _ = server.accept()
                with client:
                    assert client.recv(10) == b"hello"
                    client.sendall(b"first ")
                    client.sendall(b"and last")

        thread = threading.Thread(target=answer)
        thread.start()
        with hostile.connect_many(port, 20, b"hello") as clients:
            hostile.wait_for_text(clients, b"last")
        thread.join()


def test_exports_are_measured_and_judged(tmp_path: Path) -> None:
    rows = exports.measure(tmp_path, 5_000, 100, rounds=1)
    assert [row["scenario"] for row in rows] == [*exports.FORMATS, "hugo", "hugo, unchanged"]
    assert 50 < len(list((tmp_path / "files 1").iterdir())) < 100
    # Memory that it shares with the services of other tests counts only in part.
    assert all(5 < row["rss_mib"] < 200 and row["cpu_seconds"] > 0 for row in rows)
    assert exports.too_much(rows) == []
    assert exports.Cost(10.0, 7.9, 50.0).disturbed
    assert not exports.Cost(10.0, 8.1, 50.0).disturbed
    slow = rows[0] | {"seconds": 31.0, "rss_mib": 250.0, "disturbed": False}
    assert exports.too_much([slow | {"disturbed": True, "rss_mib": 99.0}]) == []
    assert exports.too_much([slow]) == [
        "commentsvc: 31.0 s, over 30 s",
        "commentsvc: 250 MiB, over 200 MiB",
    ]


def test_imports_are_measured_and_judged(tmp_path: Path) -> None:
    rows = imports.measure(tmp_path, 5_000, rounds=1, beside_isso=False)
    assert [row["scenario"] for row in rows] == [*imports.OURS]
    assert all(20 < row["rss_mib"] < 200 and row["cpu_seconds"] > 0 for row in rows)
    assert imports.too_much(rows) == []
    slow = rows[0] | {"seconds": 61.0, "rss_mib": 250.0, "disturbed": False}
    seen = [{"scenario": name, "p99": 1.0} for name in (imports.BEFORE, imports.BESIDE)]
    assert imports.too_slow(seen) == []
    assert imports.too_slow([*seen[:1], seen[1] | {"p99": 2.5}]) == [
        "readers' p99 is 2.5 times that before"
    ]
    assert imports.too_much([slow | {"disturbed": True, "rss_mib": 99.0}]) == []
    assert imports.too_much([slow, slow | {"scenario": "isso"}]) == [
        "commentsvc: 61.0 s, over 60 s",
        "commentsvc: 250 MiB, over 200 MiB",
    ]


def test_a_page_view_embeds_each_widget_and_shows_its_medians() -> None:
    for widget in page_view.WIDGETS:
        thread = widget.thread.format("http://127.0.0.1:1")
        assert "http://127.0.0.1:1/" in thread
        document = page_view.DOCUMENT.format(
            element=widget.element, shown=widget.shown, thread=thread
        )
        assert thread in document
        assert f"{widget.element}:not(:has({widget.shown})) {{ display: block;" in document
    figures = dict.fromkeys(page_view.HEADS, 0.0)
    rows: list[Row] = [
        {"round": number, "scenario": "ours", "disturbed": False, **figures, "visible": visible}
        for number, visible in enumerate((3_000.0, 1_000.0, 2_000.0), 1)
    ]
    result = sum_up({}, {"ours": "commentsvc"}, rows, lambda _: [])
    assert page_view.table(result.summaries).splitlines()[1].split()[:2] == ["commentsvc", "2,000"]
    document = publish.PAGE.read_text()
    shown = publish.with_table(document, page_view.HEADS, result.summaries)
    assert "| commentsvc | 2,000 | 0 | 0 | 0 | 0 | 0 |\n" in shown
    assert shown.partition("| | visible")[0] == document.partition("| | visible")[0]
    assert publish.with_table(shown, page_view.HEADS, result.summaries) == shown
    with pytest.raises(ValueError, match="no table has the head"):
        publish.with_table("", page_view.HEADS, result.summaries)


def test_the_blog_of_a_page_view_answers_each_path_with_the_document() -> None:
    document = {"text": "first"}
    with page_view.serving(document) as origin:
        for text in ("first", "second"):
            document["text"] = text
            with urllib.request.urlopen(f"{origin}/post/", timeout=10) as answer:
                assert answer.read().decode() == text


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
                told = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(told.encode() + body)
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
    def row(clients: int, rate: float, mib: float) -> Row:
        name = instances.name_of(3, clients, "strict")
        figures = {"rate": rate, "refused": 0, "cpu_us": 90.0, "p50": 1e3, "p99": 9e3}
        return {"scenario": name, "round": 1, "disturbed": False, **figures, "rss_mib": mib}

    hits: list[Row] = [
        {"scenario": name, "round": 1, "disturbed": False, "instructions": number}
        for name, number in (("hit, without", 2_000.0), ("hit, with a lease", 2_050.0))
    ]
    rows = [row(1, 130.0, 60.0), row(256, 9_000.0, 70.0), row(256, 11_000.0, 81.0), *hits]
    judged = {verdict.name: verdict.holds for verdict in instances.judge(rows)}
    assert judged == {
        "3 instances, 256 clients, strict": True,
        "3 instances, 1 clients, strict": True,
        "memory": False,
        "hit, with a lease, instructions by the best of hit, without": False,
    }
    shown = instances.table(sum_up({}, {}, rows, instances.judge))
    assert "hit, with a lease: 2050 instructions" in shown


def test_processes_are_judged_by_misses_and_by_the_mix() -> None:
    figures = {"server_share": 1.5, "p50": 1e3, "p99": 9e3, "postgresql_us": 70.0, "client_us": 9.0}
    rates = {
        processes.misses(1): 1_000.0,
        processes.misses(2): 1_900.0,
        processes.mix(1): 1_000.0,
        processes.mix(2): 1_500.0,
    }
    rows: list[Row] = [
        {"scenario": name, "round": 1, "disturbed": False, "rate": rate, "cpu_us": cpu, **figures}
        for (name, rate), cpu in zip(rates.items(), (90.0, 98.0, 90.0, 100.0), strict=True)
    ]
    assert [verdict.holds for verdict in processes.judge(rows)] == [True, True, False, False]
    shown = processes.table(sum_up({}, {}, rows, processes.judge))
    assert [line.split("  ")[0] for line in shown.splitlines()[1:]] == [*rates]
