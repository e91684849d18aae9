"""Metrics: what the service counts, for Prometheus, and the core's counters for the log.

The core returns its counters as one mapping of names to numbers (`Server.stats` in `_core.pyi`).
Those of one kind have names with the same first word: `refused_STATUS`, `closed_REASON`,
`latency_MICROSECONDS`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from prometheus_client import CONTENT_TYPE_LATEST, ProcessCollector, generate_latest
from prometheus_client.core import (
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from commentsvc.backup.scheduled import ScheduledBackup
from commentsvc.db.database import Database
from commentsvc.delivery.worker import OutboxWorker
from commentsvc.monitoring.conditions import Conditions

if TYPE_CHECKING:
    from commentsvc.cluster.membership import InstanceState

Stats = Mapping[str, int]
CONDITION_LENGTH: Final = 500  # characters of a condition's text, which may be another server's

# The help texts of gauges, and of counters, which only increase.
GAUGES: Final = {
    "connections": "Connections that are open",
    "max_connections": "Connections that may be open at most",
    "client_bytes": "Bytes of requests that are arriving or not answered, and of answers not read",
    "max_client_bytes": "Bytes that these may be at most",
    "cache_entries": "Answers in the response cache",
    "cache_bytes": "Bytes of the answers in the response cache",
    "streams": "Streams that are open",
    "requests_waiting": "Requests that wait for Python",
    "replies_waiting": "Replies of Python that wait for their worker",
}
COUNTERS: Final = {
    "requests": "Request heads that were understood",
    "hits": "Requests answered from the response cache",
    "not_modified": "Hits that were answered with 304",
    "misses": "Requests handed to Python",
    "accepted": "Connections that were accepted",
    "late_replies": "Replies that came too late for their clients",
    "out_of_fds": "Accepts for which the system had no file descriptor or memory",
    "mailbox_full": "Requests for which the mailbox to Python had no room, answered with 503",
    "evictions": "Answers that had to leave the response cache for others",
    "stale": "Answers that were dropped because of a purge",
    "streams_refused": "Streams for which all places were taken",
    "events_sent": "Events that were sent, once for each stream",
    "writes": "System calls that sent bytes",
}


class CoreCollector(Collector):
    """The core's counters as Prometheus metrics, named ``commentsvc_core_…``."""

    def __init__(self, stats: Callable[[], Stats]) -> None:
        self._stats = stats

    def collect(self) -> Iterable[Metric]:
        """Read all counters, and yield them with their help texts."""
        stats = self._stats()
        for key, text in GAUGES.items():
            yield GaugeMetricFamily(f"commentsvc_core_{key}", text, stats[key])
        for key, text in COUNTERS.items():
            yield CounterMetricFamily(f"commentsvc_core_{key}", text, stats[key])
        yield _labelled(stats, "refused", "status", "Requests that the core refused by itself")
        yield _labelled(stats, "closed", "reason", "Connections that ended")
        buckets = [(_seconds(bound), float(count)) for bound, count in _latency(stats)]
        yield HistogramMetricFamily(
            "commentsvc_core_miss_duration_seconds",
            "Time from the end of a request that Python answers to its answer being sent",
            buckets=buckets,
            sum_value=stats["latency_sum"] / 1e6,
        )


class DatabaseCollector(Collector):
    """The metrics of the writer: whether comments can be stored."""

    def __init__(self, database: Database) -> None:
        self._health = database.write_health

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics named ``commentsvc_database_…``."""
        yield GaugeMetricFamily(
            "commentsvc_database_failing",
            "1 while nothing can be stored: a full or failing disk, or another program's lock",
            bool(self._health.error),
        )
        yield CounterMetricFamily(
            "commentsvc_database_failures",
            "transactions that could not be written since the start",
            self._health.failures,
        )


class OutboxCollector(Collector):
    """The metrics of the outbox by channel; the rows are those of its last round."""

    def __init__(self, outbox: OutboxWorker) -> None:
        self._outbox = outbox

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics named ``commentsvc_outbox_…``."""
        for name, text, counts in (
            ("sent", "messages taken by the other side", self._outbox.sent),
            ("errors", "attempts that failed", self._outbox.errors),
        ):
            counter = CounterMetricFamily(f"commentsvc_outbox_{name}", text, labels=["channel"])
            for channel in self._outbox.channels:
                counter.add_metric([channel], counts[channel])
            yield counter
        for name, text in (
            ("queued", "messages that wait"),
            ("failed", "messages that were given up"),
            ("oldest_timestamp_seconds", "when the oldest waiting message was made, 0 for none"),
            ("error_timestamp_seconds", "when an attempt failed last, 0 for never"),
        ):
            gauge = GaugeMetricFamily(f"commentsvc_outbox_{name}", text, labels=["channel"])
            for channel, values in self._outbox.states().items():
                gauge.add_metric([channel], values[name])
            yield gauge


class BackupCollector(Collector):
    """The metrics of scheduled backups; there are none if the server makes none."""

    def __init__(self, backups: ScheduledBackup) -> None:
        self._backups = backups

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics named ``commentsvc_backup_…``."""
        state = self._backups.state()
        if state is None:
            return
        for name, text, value in (
            (
                "timestamp_seconds",
                "when the newest backup was made, 0 for never",
                state.newest_at / 1_000,
            ),
            ("bytes", "its size", state.size),
            ("failing", "1 while the last attempt failed", bool(state.error)),
        ):
            yield GaugeMetricFamily(f"commentsvc_backup_{name}", text, value)
        yield CounterMetricFamily(
            "commentsvc_backup_failures", "attempts that failed since the start", state.failures
        )


class InstanceCollector(Collector):
    """The metrics of the instances that share a PostgreSQL; there are none with a file."""

    def __init__(self, state: "Callable[[], InstanceState | None]") -> None:
        self._state = state

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics named ``commentsvc_instance_…``."""
        state = self._state()
        if state is None:
            return
        yield GaugeMetricFamily(
            "commentsvc_instances", "instances of the service, this one included", state.instances
        )
        for name, text, value in (
            ("lease_seconds", "how long cached answers may be used yet", state.lease_ms / 1_000),
            ("lag_seconds", "from sending a notification to its return", state.lag_ms / 1_000),
            ("unseen", "transactions that other instances have not seen yet", state.waiting),
        ):
            yield GaugeMetricFamily(f"commentsvc_instance_{name}", text, value)
        for name, text, value in (
            ("remote_purges", "changes by other instances that were purged", state.remote_purges),
            ("losses", "how often the connection for notifications was lost", state.losses),
        ):
            yield CounterMetricFamily(f"commentsvc_instance_{name}", text, value)


class ConditionCollector(Collector):
    """The conditions that an operator has to mend, in the words of the log."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions

    def collect(self) -> Iterable[Metric]:
        """Yield the metric ``commentsvc_condition``."""
        gauge = GaugeMetricFamily(
            "commentsvc_condition",
            "1 for each condition that an operator has to mend",
            labels=["condition", "text"],
        )
        for each in self._conditions.now():
            gauge.add_metric([each.name, each.text[:CONDITION_LENGTH]], 1)
        yield gauge


class Metrics:
    """All metrics of the service and its process."""

    def __init__(
        self,
        stats: Callable[[], Stats],
        database: Database,
        instance: "Callable[[], InstanceState | None]",
        conditions: Conditions,
    ) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(CoreCollector(stats))
        self._registry.register(DatabaseCollector(database))
        self._registry.register(OutboxCollector(conditions.outbox))
        self._registry.register(BackupCollector(conditions.backups))
        self._registry.register(InstanceCollector(instance))
        self._registry.register(ConditionCollector(conditions))
        ProcessCollector(registry=self._registry)

    def exposition(self) -> tuple[str, bytes]:
        """Return the media type of Prometheus' text format, and the text."""
        return CONTENT_TYPE_LATEST, generate_latest(self._registry)


def _seconds(microseconds: int | None) -> str:
    """Return the upper bound of a bucket in Prometheus' format."""
    return "+Inf" if microseconds is None else f"{microseconds / 1e6:.6f}".rstrip("0")


def _group(stats: Stats, first: str) -> dict[str, int]:
    """Return the counters whose names begin with the word `first`, by the rest of their names."""
    return {k.removeprefix(f"{first}_"): n for k, n in stats.items() if k.startswith(f"{first}_")}


def _labelled(stats: Stats, first: str, label: str, text: str) -> Metric:
    family = CounterMetricFamily(f"commentsvc_core_{first}", text, labels=[label])
    for key, number in _group(stats, first).items():
        family.add_metric([key], number)
    return family


def _latency(stats: Stats) -> list[tuple[int | None, int]]:
    """Return how many misses took at most so many microseconds; None means any number."""
    counts = {k: n for k, n in _group(stats, "latency").items() if k != "sum"}
    bounds = [None if key == "inf" else int(key) for key in counts]
    return list(zip(bounds, accumulate(counts.values()), strict=True))


def statistics(stats: Stats, status: str) -> list[str]:
    """Return the core's counters and the memory for the log, one line for each subject.

    `status` is the text of ``/proc/self/status``.
    """
    refused = _listed(_group(stats, "refused"))
    return [
        f"requests: {stats['requests']}, of them {stats['hits']} hits "
        f"({stats['not_modified']} with 304) and {stats['misses']} misses; "
        f"{stats['refusals']} refused ({refused})",
        f"misses: {_times(stats)}",
        f"connections: {stats['connections']} open of {stats['max_connections']}; "
        f"{stats['accepted']} accepted, {stats['out_of_fds']} times no descriptor; "
        f"closed: {_listed(_group(stats, 'closed'))}",
        f"clients: {stats['client_bytes']} bytes held for them of {stats['max_client_bytes']}",
        f"cache: {stats['cache_entries']} answers, {stats['cache_bytes'] / 1024:.1f} KiB; "
        f"{stats['evictions']} evictions, {stats['stale']} stale",
        f"streams: {stats['streams']} open, {stats['streams_refused']} refused, "
        f"{stats['events_sent']} events sent",
        f"mailboxes: {stats['requests_waiting']} requests wait for Python, "
        f"{stats['replies_waiting']} replies for workers; {stats['mailbox_full']} requests found "
        f"no room, {stats['late_replies']} replies came too late",
        f"memory: {_mebibytes(status, 'VmRSS')} MiB resident, "
        f"{_mebibytes(status, 'VmHWM')} MiB at the most",
    ]


def _listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items() if number) or "none"


def _times(stats: Stats) -> str:
    latency = _latency(stats)
    _, total = latency[-1]
    if not total:
        return "none timed"
    parts = [f"{stats['latency_sum'] / total / 1000:.3f} ms on average"]
    for percent in (50, 90, 99):
        bound = next(bound for bound, count in latency if count * 100 >= total * percent)
        parts.append(f"{percent} % within {'more' if bound is None else f'{bound / 1000} ms'}")
    return ", ".join(parts)


def _mebibytes(status: str, key: str) -> str:
    found = re.search(rf"^{key}:\s*(\d+) kB$", status, re.MULTILINE)
    return f"{int(found[1]) / 1024:.1f}" if found else "?"
