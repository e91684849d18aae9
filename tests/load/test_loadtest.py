"""Run each command of the load tests for a second, on our server alone: it must keep working."""

import os
import re
import subprocess
import sys

import pytest

from loadtest.harness.install import PROGRAM
from loadtest.harness.programs import ROOT
from tests.conftest import find_program

TWO_CORES = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="server and clients need a core each"
)


def load(*words: str) -> str:
    """Return the output of a load test that must succeed."""
    words = (sys.executable, "-m", "loadtest", *words)
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
