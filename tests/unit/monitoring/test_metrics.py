"""All of the core's counters are in the metrics for Prometheus and in the log."""

import re

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from commentsvc.cluster.membership import InstanceState
from commentsvc.monitoring.metrics import CoreCollector, InstanceCollector, statistics
from tests.core_server import core_server

STATUS = "Name:\tpython\nVmHWM:\t   61440 kB\nVmRSS:\t   45056 kB\nThreads:\t3\n"


@pytest.fixture
def stats() -> dict[str, int]:
    """Return all counters of the core, each with a different number."""
    names = core_server().stats()
    return {name: 1000 + index for index, name in enumerate(names)}


@pytest.fixture
def samples(stats: dict[str, int]) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(CoreCollector(lambda: stats))
    text = generate_latest(registry).decode()
    return {
        sample.name + "".join(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_figure_of_the_core_is_shown_once(
    stats: dict[str, int], samples: dict[str, float]
) -> None:
    single = {n: v for n, v in stats.items() if not n.startswith("latency_") and n != "refusals"}
    shown = [value for name, value in samples.items() if "miss_duration_seconds" not in name]
    assert sorted(shown) == sorted(single.values()), "refusals is the sum of those with a status"


def test_refusals_and_closed_connections_have_their_reason_as_a_label(
    stats: dict[str, int], samples: dict[str, float]
) -> None:
    assert samples["commentsvc_core_refused_total503"] == stats["refused_503"]
    assert samples["commentsvc_core_closed_totalidle"] == stats["closed_idle"]


def test_the_histogram_of_misses_adds_up(stats: dict[str, int], samples: dict[str, float]) -> None:
    name = "commentsvc_core_miss_duration_seconds"
    assert samples[f"{name}_bucket0.000032"] == stats["latency_32"]
    assert samples[f"{name}_bucket0.000064"] == stats["latency_32"] + stats["latency_64"]
    assert samples[f"{name}_bucket16.777216"] == samples[f"{name}_count"] - stats["latency_inf"]
    assert samples[f"{name}_bucket+Inf"] == samples[f"{name}_count"]
    assert samples[f"{name}_sum"] == stats["latency_sum"] / 1e6


def test_the_statistics_tell_every_figure(stats: dict[str, int]) -> None:
    numbers = set(re.findall(r"\d+", " ".join(statistics(stats, STATUS))))
    left_out = {"cache_bytes", "writes"}  # the first is reported in KiB
    wanted = {n: str(v) for n, v in stats.items() if not n.startswith("latency_")}
    assert {n for n, value in wanted.items() if value not in numbers} == left_out


def test_the_statistics_are_a_line_for_each_subject(stats: dict[str, int]) -> None:
    nothing = dict.fromkeys(stats, 0)
    latencies = {"latency_64": 98, "latency_1024": 1, "latency_inf": 1, "latency_sum": 30_000}
    some = {"hits": 7, "refusals": 3, "refused_400": 1, "refused_503": 2, "cache_bytes": 2048}
    assert statistics(nothing | latencies | some, STATUS) == [
        "requests: 0, of them 7 hits (0 with 304) and 0 misses; 3 refused (400 1, 503 2)",
        "misses: 0.300 ms on average, 50 % within 0.064 ms, 90 % within 0.064 ms, "
        "99 % within 1.024 ms",
        "connections: 0 open of 0; 0 accepted, 0 times no descriptor; closed: none",
        "clients: 0 bytes held for them of 0",
        "cache: 0 answers, 2.0 KiB; 0 evictions, 0 stale",
        "streams: 0 open, 0 refused, 0 events sent",
        "mailboxes: 0 requests wait for Python, 0 replies for workers; "
        "0 requests found no room, 0 replies came too late",
        "memory: 44.0 MiB resident, 60.0 MiB at the most",
    ]


def test_misses_longer_than_every_bound_and_no_misses_are_told(stats: dict[str, int]) -> None:
    nothing = dict.fromkeys(stats, 0)
    assert statistics(nothing, STATUS)[1] == "misses: none timed"
    slow = statistics(nothing | {"latency_inf": 2, "latency_sum": 60_000_000}, STATUS)[1]
    assert slow.endswith("99 % within more")


def test_a_system_that_does_not_tell_the_memory_is_no_failure(stats: dict[str, int]) -> None:
    assert statistics(stats, "")[-1] == "memory: ? MiB resident, ? MiB at the most"


def test_the_state_of_an_instance_is_shown_where_there_may_be_several() -> None:
    state = InstanceState(
        instances=3, lease_ms=900, lag_ms=2, waiting=1, remote_purges=70, losses=4
    )
    registry = CollectorRegistry()
    registry.register(InstanceCollector(lambda: state))
    lines = generate_latest(registry).decode().splitlines()
    shown = dict(line.split() for line in lines if not line.startswith("#"))
    assert {name: float(value) for name, value in shown.items() if "_created" not in name} == {
        "commentsvc_instances": 3.0,
        "commentsvc_instance_lease_seconds": 0.9,
        "commentsvc_instance_lag_seconds": 0.002,
        "commentsvc_instance_unseen": 1.0,
        "commentsvc_instance_remote_purges_total": 70.0,
        "commentsvc_instance_losses_total": 4.0,
    }
    assert list(InstanceCollector(lambda: None).collect()) == []
