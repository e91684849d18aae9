"""loadtest/harness: rounds, measurements, the machine, results."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from commentsvc.settings import data_dir
from loadtest.data.blog import Page, pages
from loadtest.data.seed import seed
from loadtest.harness import machine
from loadtest.harness.bench import HITS, MISSES, judge, submissions
from loadtest.harness.client import ClientError, Outcome
from loadtest.harness.machine import parse_filesystem, parse_processor
from loadtest.harness.measurement import Measurement, Reading
from loadtest.harness.result import Result, summarise
from loadtest.harness.rounds import Round, verify
from loadtest.harness.scenario import LIST, MARK, SCENARIOS, Goal, Question, Scenario, named, order
from loadtest.harness.service import ServiceError
from tests.unit.loadtest.sample import QUIET

COUNT, MISS = named(["count", "count-miss"])
GOOD = Outcome(1_000, 1.0, 0, 0, 1, 2, 3, 4, 0.5)


def test_submissions_are_whole_requests_with_one_mark() -> None:
    for request in submissions(pages(), 8080)[:100]:
        head, _, body = request.text.partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}".encode() in head.split(b"\r\n")
        assert request.text.count(MARK.encode()) == 1
        assert request.status == 201
        assert json.loads(body)["url"].startswith("/post/")


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


def test_the_last_mount_on_a_place_hides_the_others() -> None:
    assert parse_filesystem(MOUNTS, Path("/tmp/x")) == "tmpfs2"


def test_the_processor_has_its_name() -> None:
    assert parse_processor("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n") == "Some CPU @ 3 GHz"
    assert parse_processor("Hardware : x\n") != ""


def test_a_machine_is_described_without_paths() -> None:
    told = machine.describe()
    assert {"processor", "cores", "kernel", "python", "sqlite"} <= set(told)
    assert not any("/" in str(value) for value in told.values())


def test_an_fsync_takes_time(tmp_path: Path) -> None:
    assert machine.fsync_us(tmp_path) > 0
    assert not [*tmp_path.iterdir()]


def test_where_git_is_missing_the_commit_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert machine.commit() == {"commit": "", "dirty": False}


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


def test_a_client_on_the_servers_cores_is_none_of_the_others() -> None:
    used = Reading(clock=1_000, server=500, busy=900, stolen=0, kernel=100, client_busy=0)
    outcome = Outcome(10, 1e-6, 0, 0, 0, 0, 0, 0, client_share=0.25)
    made = Measurement.of("count", 1, outcome, used, rss=0)
    assert made.others_share == pytest.approx(0.05)
    assert made.client_others_share == 0


def test_a_kernel_that_counts_late_makes_nobody_negative() -> None:
    used = Reading(clock=1_000, server=900, busy=800, stolen=0, kernel=0, client_busy=1)
    outcome = Outcome(10, 1e-6, 0, 0, 0, 0, 0, 0, client_share=0.5)
    assert Measurement.of("count", 1, outcome, used, rss=0).others_share == 0


RESULT_COUNT: Scenario = named(["count"])[0]


def of(*measurements: Measurement, end: float = 50.0) -> Result:
    rounds = [
        Round(number, 300.0, 40.0, end, 0, (one,)) for number, one in enumerate(measurements, 1)
    ]
    about = {"commit": "0" * 40, "dirty": False, "date": "2026-11-21T10:00:00Z", "machine": {}}
    return Result.of(about, [RESULT_COUNT], rounds)


def test_the_median_of_the_quiet_rounds_counts() -> None:
    loud = replace(QUIET, cpu_ns=20_000.0, others_share=0.04, stolen_share=0.02)
    fast = replace(QUIET, cpu_ns=6_000.0)
    made = (loud, QUIET, fast, replace(fast, scenario="x"))
    summary = summarise("count", "", [one.row() for one in made])
    assert summary.medians["cpu_ns"] == 6_250.0
    assert summary.spread["cpu_ns"] == (6_000.0, 6_500.0)
    assert not summary.disturbed


def test_without_a_quiet_round_nothing_is_said_of_the_goal() -> None:
    result = of(replace(QUIET, others_share=0.5))
    assert result.summaries[0].disturbed
    assert result.verdicts[0].holds is None


def test_goals_are_judged_and_memory_with_them() -> None:
    assert [(verdict.name, verdict.holds) for verdict in of(QUIET).verdicts] == [
        ("count", True),
        ("memory", True),
    ]
    missed = of(replace(QUIET, cpu_ns=7_001.0), end=60.5).verdicts
    assert [verdict.holds for verdict in missed] == [False, False]


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "results" / "one.json"
    result = of(QUIET, replace(QUIET, round=2))
    result.write(path)
    again = Result.read(path)
    assert again.summaries == result.summaries
    assert again.verdicts == result.verdicts
    assert again.rounds[1]["measurements"][0]["round"] == 2


def test_figures_are_stored_without_false_digits(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    of(replace(QUIET, cpu_ns=6_543.219)).write(path)
    assert Result.read(path).summaries[0].medians["cpu_ns"] == 6_543


@pytest.mark.parametrize("text", ["[]", '{"format": 0}', "nothing"])
def test_a_foreign_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "foreign.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"not a result|Expecting"):
        Result.read(path)


def test_a_published_summary_has_a_line_for_each_entry_and_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "count.json"
    result = of(QUIET, replace(QUIET, cpu_ns=6_600.0))
    result.publish(path)
    lines = path.read_text().splitlines()
    assert len([line for line in lines if line.startswith(' "count": {"rate"')]) == 1
    [again] = Result.read(path).summaries
    assert (again.name, again.medians["cpu_ns"]) == ("count", 6_550.0)
    assert again.spread["cpu_ns"] == (6_500.0, 6_600.0)


def test_a_summary_has_forty_lines_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    result = of(QUIET)
    many = tuple(replace(result.summaries[0], name=f"entry {n}") for n in range(50))
    replace(result, summaries=many).publish(path)
    assert len(path.read_text().splitlines()) == 40
    again = Result.read(path)
    assert again.about["entries_left_out"] == 50 - len(again.summaries)


PAGES = (Page("/a/", 3), Page("/b/", 1))


def test_a_seeded_database_is_whole_and_has_all_comments(tmp_path: Path) -> None:
    told: list[int] = []
    seed(tmp_path / "data", PAGES, told.append)
    assert told == [4]
    verify(tmp_path / "data" / data_dir.DATABASE, 4)


def test_a_lost_comment_is_found(tmp_path: Path) -> None:
    seed(tmp_path / "data", PAGES, lambda done: None)
    with pytest.raises(ServiceError, match="5 comments were acknowledged, 4 are stored"):
        verify(tmp_path / "data" / data_dir.DATABASE, 5)


SCENARIO_PAGES = pages()


def questions(name: str) -> list[Question]:
    return named([name])[0].ask(SCENARIO_PAGES)


def test_scenarios_are_found_by_name_and_keep_our_order() -> None:
    assert [scenario.name for scenario in named(["submit", "count"])] == ["count", "submit"]
    assert named([]) == SCENARIOS
    with pytest.raises(KeyError, match="nothing"):
        named(["count", "nothing"])


def test_a_goal_holds_at_its_bound() -> None:
    most, least = Goal("cpu_ns", "most", 500, ""), Goal("rate", "least", 500, "")
    assert most.holds(500)
    assert not most.holds(501)
    assert least.holds(500)
    assert not least.holds(499)


def test_a_count_is_right_only_with_the_seeded_number() -> None:
    first = questions("count")[0]
    right = json.dumps({"count": SCENARIO_PAGES[0].count}).encode()
    assert first.is_right(right)
    assert not first.is_right(b'{"count":0}')


def test_a_batch_asks_for_ten_pages() -> None:
    batch = questions("batch")[3]
    assert batch.target.count("url=") == 10
    counts = {page.url: page.count for page in SCENARIO_PAGES[30:40]}
    assert batch.is_right(json.dumps({"counts": counts}).encode())
    assert not batch.is_right(json.dumps({"counts": counts | {"/more/": 1}}).encode())


def test_a_list_is_right_when_whole_and_in_order() -> None:
    asked = questions("list")
    assert asked, "some page must have so many comments"
    item = {"content": "x", "html": "<p>x</p>"}
    data = [{**item, "published": f"2026-01-{day:02}T00:00:00Z"} for day in range(1, LIST + 1)]
    assert asked[0].is_right(json.dumps({"data": data, "count": LIST}).encode())
    assert not asked[0].is_right(json.dumps({"data": data[::-1], "count": LIST}).encode())
    assert not asked[0].is_right(json.dumps({"data": data[1:], "count": LIST}).encode())


def test_targets_of_misses_have_a_mark_and_others_none() -> None:
    for scenario in SCENARIOS:
        marked = {MARK in question.target for question in scenario.ask(SCENARIO_PAGES)}
        assert marked <= {scenario.answered_by == "python"}, scenario.name


def test_popular_questions_are_asked_more_often() -> None:
    asked = order(1_000)
    assert all(len(asked) % scenario.depth == 0 for scenario in SCENARIOS)
    assert asked.count(0) > asked.count(100)
    assert len(set(asked)) > 500


def test_wrk_plays_what_is_compared_with_other_peoples_figures() -> None:
    assert {s.name for s in SCENARIOS if s.client == "wrk"} == {"count", "count-pipelined"}
    assert not any(MARK in asked.target for asked in questions("count"))
