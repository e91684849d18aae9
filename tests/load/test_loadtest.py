"""Run each command of the load tests for a second, on our server alone: it must keep working."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from loadtest.data import blog
from loadtest.data.seed import seed
from loadtest.harness.install import PROGRAM
from loadtest.harness.programs import ROOT
from tests.conftest import find_program

TWO_CORES = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="server and clients need a core each"
)


# `python -m loadtest`, with a copy of the database that each command would make alike.
COMMAND = """
import shutil, sys
from loadtest.__main__ import main
from loadtest.harness import environment
data, makes = sys.argv.pop(1), environment.seed
def copies(folder, ranked, progress):
    if len(ranked) == environment.blog.PAGES:
        shutil.copytree(data, folder)
    else:
        makes(folder, ranked, progress)
environment.seed = copies
main()
"""
_seeded: list[Path] = []


@pytest.fixture(autouse=True, scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make the database at the beginning of most commands once."""
    _seeded[:] = [tmp_path_factory.mktemp("seeded") / "data"]
    seed(_seeded[0], blog.pages(blog.PAGES), lambda _: None)


def load(*words: str) -> str:
    """Return the output of a load test that must succeed."""
    words = (sys.executable, "-c", COMMAND, str(_seeded[0]), *words)
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@TWO_CORES
def test_the_articles_test_is_played() -> None:
    find_program("nginx", "/usr/sbin/nginx")
    options = ("--way", "https", "--way", "direct-batch")
    said = load("front-page", "--short", "--only", "ours", *options)
    assert "https: ours, errors" in said
    assert "direct-batch: ours, max" in said


@TWO_CORES
def test_growth_is_measured() -> None:
    said = load("scaling", "--short")
    assert "submit at 10000" in said
    assert "start at 10,000 comments" in said


@TWO_CORES
def test_the_talks_protocol_is_played() -> None:
    said = load("mixed", "--short", "--part", "whole")
    assert "whole: 100 " in said


@TWO_CORES
def test_the_small_servers_test_is_played() -> None:
    find_program("ab")
    said = load("methods", "--short")
    assert "DELETE, keep-alive: rate" in said


@TWO_CORES
def test_japrontos_test_is_played() -> None:
    said = load("frameworks", "--short", "--only", "ours", "--only", "baseline")
    assert "ours, cpu_ns by the best of baseline" in said


@TWO_CORES
@pytest.mark.parametrize(
    ("words", "shown"), [(("scenarios", "submit"), "submit"), (("import",), "commentsvc, again")]
)
def test_what_the_goals_are_for_is_measured(words: tuple[str, ...], shown: str) -> None:
    find_program("wrk")
    assert shown in load(*words, "--short")


@TWO_CORES
def test_two_versions_are_compared() -> None:
    find_program("wrk")
    said = load("compare", "--base", str(PROGRAM), "--short", "count", "submit")
    assert "count, CPU-ns" in said
    assert "submit, CPU-ns" in said
    assert "start, ms" in said


def test_several_instances_stay_coherent_while_everything_fails() -> None:
    said = load("cluster")
    assert "failover: " in said
    assert "database ended at once: " in said
    for figure in ("stale", "lost", "doubled"):
        assert re.search(rf"^{figure} +at most 0 times +0 +holds$", said, re.MULTILINE), said


@TWO_CORES
def test_attacks_are_measured() -> None:
    said = load("attack", "--short")
    table = said[said.index("attack  ") :]
    for name in ("count, a miss", "submit: an ordinary text", "sign-in, a wrong password"):
        assert name in table
    assert "200 clients that never read" in table
