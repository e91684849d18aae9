"""loadtest/harness: rounds, measurements, the machine, results."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from commentsvc.settings import data_dir
from loadtest.data.blog import Page
from loadtest.data.seed import seed
from loadtest.harness.bench import HITS, MISSES, judge
from loadtest.harness.client import ClientError, Outcome
from loadtest.harness.environment import sum_up
from loadtest.harness.machine import parse_filesystem, parse_processor
from loadtest.harness.measurement import Measurement, Reading
from loadtest.harness.result import Result, Verdict, summarise
from loadtest.harness.rounds import Extent, quiet
from loadtest.harness.scenario import Goal, named
from loadtest.harness.service import ServiceError
from loadtest.report import table
from loadtest.workloads import scenarios
from loadtest.workloads.scenarios import verify

QUIET = Measurement(
    scenario="count",
    round=1,
    answered=600_000,
    seconds=6.0,
    rate=100_000.0,
    cpu_ns=6_500.0,
    p50=900.0,
    p90=1_000.0,
    p99=1_200.0,
    max=2_000.0,
    rss_mib=45.0,
    server_share=0.9,
    client_share=0.8,
    others_share=0.01,
    stolen_share=0.0,
    client_others_share=0.02,
)  # as a quiet machine would produce it
COUNT, MISS = named(["count", "count-miss"])
GOOD = Outcome(1_000, 1.0, 0, 0, 1, 2, 3, 4, 0.5)


@pytest.mark.parametrize(
    "outcome",
    [replace(GOOD, wrong=1), replace(GOOD, failed=1), replace(GOOD, answered=0)],
    ids=["wrong status", "broken connection", "no answer"],
)
def test_anything_but_right_answers_fails_the_run(outcome: Outcome) -> None:
    counters = {HITS: 0, MISSES: 0}
    with pytest.raises(ClientError, match="count: "):
        judge(COUNT, outcome, counters, counters)


def test_the_side_that_must_answer_is_held_to_it() -> None:
    before, after = {HITS: 10, MISSES: 10}, {HITS: 1_010, MISSES: 12}
    judge(COUNT, GOOD, before, after)
    with pytest.raises(ServiceError, match="not answered by the python"):
        judge(MISS, GOOD, before, after)


MOUNTS = """/dev/vda / ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
/dev/vdb /tmp/disk xfs rw 0 0
proc /proc proc rw 0 0
none /tmp tmpfs2 rw 0 0
"""


def test_the_nearest_mount_above_a_folder_tells_its_file_system() -> None:
    assert parse_filesystem(MOUNTS, Path("/home/x")) == "ext4"
    assert parse_filesystem(MOUNTS, Path("/tmp/disk/x/y")) == "xfs"
    assert parse_filesystem(MOUNTS, Path("/tmpx")) == "ext4"


def test_the_processor_has_its_name() -> None:
    assert parse_processor("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n") == "Some CPU @ 3 GHz"
    assert parse_processor("Hardware : x\n") != ""


def test_a_measurement_is_disturbed_above_five_percent() -> None:
    assert not replace(QUIET, others_share=0.03, stolen_share=0.02).disturbed
    assert replace(QUIET, others_share=0.04, stolen_share=0.02).disturbed
    assert replace(QUIET, client_others_share=0.06).disturbed


def test_what_the_core_did_beyond_server_and_kernel_was_done_by_others() -> None:
    second = 1_000_000_000
    begin = Reading(clock=0, server=5, busy=7, stolen=9, kernel=11, client_busy=13)
    end = Reading(
        clock=2 * second,
        server=second + 5,
        busy=second * 3 // 2 + 7,
        stolen=second // 10 + 9,
        kernel=second // 5 + 11,
        client_busy=second * 7 // 5 + 13,
    )
    outcome = Outcome(1_000_000, 2.0, 0, 0, 1, 2, 3, 4, client_share=0.5)
    made = Measurement.of("count", 1, outcome, end.since(begin), rss=40.0)
    assert (made.rate, made.cpu_ns, made.client_ns) == (500_000, 1_000, 1_000)
    assert (made.server_share, made.stolen_share) == (0.5, 0.05)
    assert made.others_share == pytest.approx(0.15)
    assert made.client_others_share == pytest.approx(0.1)


def test_a_client_that_waits_awake_is_none_of_the_others() -> None:
    used = Reading(clock=1_000, server=500, busy=500, stolen=0, kernel=0, client_busy=1_000)
    outcome = Outcome(10, 1e-6, 0, 0, 0, 0, 0, 0, client_share=0.25, waiting_share=0.75)
    made = Measurement.of("count", 1, outcome, used, rss=0)
    assert (made.client_share, made.client_others_share) == (0.25, 0)


def test_the_median_of_the_quiet_rounds_counts() -> None:
    loud = replace(QUIET, cpu_ns=20_000.0, others_share=0.04, stolen_share=0.02)
    fast = replace(QUIET, cpu_ns=6_000.0)
    made = (loud, QUIET, fast, replace(fast, scenario="x"))
    summary = summarise("count", "", [one.row() for one in made])
    assert summary.medians["cpu_ns"] == 6_250.0
    assert summary.spread["cpu_ns"] == (6_000.0, 6_500.0)
    assert not summary.disturbed


PAGES = (Page("/a/", 3), Page("/b/", 1))


def test_a_lost_comment_is_found(tmp_path: Path) -> None:
    seed(tmp_path / "data", PAGES, lambda done: None)
    with pytest.raises(ServiceError, match="5 comments were acknowledged, 4 are stored"):
        verify(tmp_path / "data" / data_dir.DATABASE, 5)


def played(*costs: float, memory: float = 50.0) -> Result:
    rows = [replace(QUIET, round=n, cpu_ns=cost).row() for n, cost in enumerate(costs, 1)]
    process = {"scenario": "process", "round": 1, "disturbed": False, "start_ms": 300.0}
    rows.append({**process, "rss_start_mib": 40.9, "rss_mib": memory})
    about = {"commit": "0" * 40, "dirty": False, "date": "2026-11-21T10:00:00Z", "machine": {}}
    return sum_up(about, {}, rows, partial(scenarios.judge, [COUNT]))


def test_goals_are_judged_and_memory_with_them() -> None:
    assert [(one.name, one.holds) for one in played(6_500.0).verdicts] == [
        ("count", True),
        ("process", True),
    ]
    assert [one.holds for one in played(7_001.0, memory=60.5).verdicts] == [False, False]
    loud = replace(QUIET, others_share=0.5).row()
    assert scenarios.judge([COUNT], [loud, *played(1.0).rounds[1:]])[0].holds is None
    assert "memory 40.9 MiB, at the end 50 MiB" in scenarios.show(played(6_500.0))


def test_what_was_written_is_read_again_without_false_digits(tmp_path: Path) -> None:
    path = tmp_path / "results" / "one.json"
    result = played(6_543.219, 6_543.219)
    result.write(path)
    again = Result.read(path)
    assert again.summaries[0].medians["cpu_ns"] == 6_543
    assert again.verdicts[1] == result.verdicts[1]
    assert again.rounds[1]["round"] == 2
    path.write_text('{"format": 0}')
    with pytest.raises(ValueError, match="does not have the rounds"):
        Result.read(path)


def test_a_summary_has_at_most_forty_lines_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    path, result = tmp_path / "many.json", played(6_500.0, 6_600.0)
    result.publish(path)
    assert '"cpu_ns": [6550.0, 6500.0, 6600.0]' in path.read_text()
    many = tuple(replace(result.summaries[0], name=f"entry {n}") for n in range(50))
    replace(result, summaries=many).publish(path)
    stored = json.loads(path.read_text())
    assert len(path.read_text().splitlines()) == 40
    assert stored["about"]["entries_left_out"] == 50 - len(stored["entries"])


def test_a_disturbed_measurement_is_repeated_and_the_least_disturbed_one_kept() -> None:
    shares = iter((0.5, 0.2, 0.9, 0.0))
    extent = Extent(tries=3)
    assert quiet(extent, lambda: replace(QUIET, others_share=next(shares)).row()) == (
        replace(QUIET, others_share=0.2).row()
    )
    assert not quiet(extent, lambda: replace(QUIET, others_share=next(shares)).row())["disturbed"]


def test_goals_say_whether_they_hold() -> None:
    goal = Goal("rate", "least", 15_000, "")
    lines = table.goals(
        [Verdict("a", goal, 1.0, True), Verdict("b", goal, 2.0, False), Verdict("c", goal, 3, None)]
    )
    ends = [line.split("  ")[-1].strip() for line in lines.splitlines()[1:]]
    assert ends == ["holds", "MISSED", "no quiet round"]
