"""loadtest/servers/versus.py: what a run of contests makes of its measurements."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from loadtest.harness.measurement import Measurement
from loadtest.servers.contest import PLAIN, Ratio
from loadtest.servers.scan import Scan
from loadtest.servers.versus import judge, main, sum_up, with_scan
from tests.unit.loadtest.sample import QUIET

RATIO = Ratio("ours", "baseline", "cpu_ns", "most", 1.08, "")
SCAN = Scan(0.999, 0.995, 1_000_001, 30.0, 50_000.0, 40.0, 50.0, 57.0, base_gain=2.0)


def made(name: str, *cpu_ns: float) -> list[Measurement]:
    return [
        replace(QUIET, scenario=f"plain: {name}", round=number, cpu_ns=value)
        for number, value in enumerate(cpu_ns, 1)
    ]


def test_a_ratio_is_taken_in_each_round_and_its_median_counts() -> None:
    """The median of all: 1,000, 1,500 and 2,000 by 500, 1,000 and 2,000 is not one of medians."""
    verdict = judge(
        "plain", RATIO, made("ours", 1_000, 2_000, 1_500) + made("baseline", 500, 2_000, 1_000)
    )
    assert (verdict.value, verdict.spread, verdict.holds) == (1.5, (1.0, 2.0), False)
    assert verdict.name == "plain: cpu_ns of ours by baseline"


def test_a_round_in_which_a_side_was_disturbed_does_not_count() -> None:
    ours, limit = made("ours", 1_000, 1_000), made("baseline", 1_000, 100)
    limit[1] = replace(limit[1], others_share=0.5)
    verdict = judge("plain", RATIO, ours + limit)
    assert (verdict.value, verdict.holds) == (1.0, True)


def test_without_a_quiet_round_a_ratio_is_not_judged() -> None:
    limit = [replace(one, others_share=0.5) for one in made("baseline", 1_000)]
    verdict = judge("plain", RATIO, made("ours", 1_000) + limit)
    assert (verdict.value, verdict.holds) == (1.0, None)


def test_an_absent_peer_has_neither_figures_nor_a_verdict() -> None:
    result = sum_up({"absent": {}}, [PLAIN], made("ours", 1_000) + made("baseline", 1_000))
    assert [summary.name for summary in result.summaries] == ["plain: ours", "plain: baseline"]
    assert [verdict.name for verdict in result.verdicts] == ["plain: cpu_ns of ours by baseline"]
    assert len(result.rounds) == 2


@pytest.mark.parametrize(
    ("seen", "holds"),
    [
        (SCAN, [True, True]),
        (replace(SCAN, attacked_hits=0.988), [False, True]),
        (replace(SCAN, rss_end=57.1), [True, False]),
    ],
    ids=["good", "hits lost", "too large"],
)
def test_a_scan_may_cost_a_point_and_the_store(seen: Scan, holds: list[bool]) -> None:
    result = with_scan(sum_up({}, [], []), seen)
    assert [verdict.holds for verdict in result.verdicts] == holds
    assert result.about["scan"]["asked"] == 1_000_001


def test_contests_are_listed_and_unknown_ones_refused() -> None:
    told = CliRunner().invoke(main, ["--list"])
    assert {"pipelined", "scan"} <= {line.split()[0] for line in told.output.splitlines()}
    assert CliRunner().invoke(main, ["nothing"]).exit_code == 2
