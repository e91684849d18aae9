"""loadtest/workloads/compare.py: what is judged, and the table."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from loadtest.harness.environment import sum_up
from loadtest.harness.measurement import Row
from loadtest.harness.service import ENVIRONMENT, ServiceError
from loadtest.workloads import compare


def rows() -> list[Row]:
    """Two rounds; head costs a tenth more, and starts in half the time."""
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
    verdicts = {one.name: one for one in compare.judge(rows(), 1.05)}
    count = verdicts["count: head, cpu_ns by the best of count: base"]
    assert count.spread == (1.1, 1.1)
    assert count.holds is False
    start = verdicts["process: head, start_ms by the best of process: base"]
    assert (start.value, start.holds) == (0.5, True)


def test_the_table_shows_medians_spread_and_ratios() -> None:
    result = sum_up({}, {}, rows(), lambda every: compare.judge(every, 1.05))
    lines = compare.table(result).splitlines()
    assert lines[1].split("  ")[0] == "count, CPU-ns"
    assert "1,500 (1,000–2,000)" in lines[1]
    assert "1.100 (1.100–1.100)" in lines[1]
    assert "0.500 (0.500–0.500)" in lines[2]


def version_that_refuses(name: str, monkeypatch: pytest.MonkeyPatch) -> compare.Version:
    @contextlib.contextmanager
    def start(self: compare.Version, data: Path, cores: Sequence[int]) -> Iterator[None]:
        if name not in self.settings:
            raise ServiceError(f"the server did not start: {name} is no setting.")
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
