"""loadtest/workloads/scaling.py: which pages are asked for, and what is judged."""

import sqlite3
from contextlib import closing
from pathlib import Path

from commentsvc.settings import data_dir
from loadtest.data import bulk
from loadtest.harness.measurement import Row
from loadtest.workloads import scaling
from loadtest.workloads.scaling import KINDS


def row(name: str, size: int, **figures: float) -> Row:
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
        row(kind.name, size, cpu_ns=cost, rate=1e6 / cost)
        for kind in KINDS
        for size, cost in ((10, 1_000.0), (1_000, 1_500.0))
    ]
    rows += [row("start", 10, start_ms=300), row("start", 1_000, start_ms=1_200)]
    holding = {verdict.name.partition(" ")[0]: verdict.holds for verdict in scaling.judge(rows)}
    assert holding == {
        **dict.fromkeys(("count", "list", "start"), False),
        **dict.fromkeys(("count-miss", "list-miss", "queue", "submit"), True),
    }
