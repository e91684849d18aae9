"""loadtest/harness/measurement.py: what a measurement cost, and when it is of no use."""

from dataclasses import replace

import pytest

from loadtest.harness.client import Outcome
from loadtest.harness.measurement import Measurement, Reading
from tests.unit.loadtest.sample import QUIET


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
