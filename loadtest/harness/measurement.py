"""A measurement: the server's CPU time, and that of other processes on its cores.

The time of others on the server's cores is their busy time without the server and the kernel's
threads (which write the server's files to the disk). Others on the client's core do not slow the
server, but spoil rates and latencies. If either is above DISTURBED, the measurement is not used.
"""

import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from loadtest.harness import process
from loadtest.harness.client import Outcome

Row = dict[str, Any]  # Any: figures, and the names that they belong to
DISTURBED = 0.05  # share of a core that others may use


@dataclass(frozen=True, slots=True)
class Reading:
    """Nanoseconds of the clock, the server, its cores, and of others.

    `stolen` is the time stolen from its cores, `kernel` that of the kernel's threads; `client_busy`
    is 0 if the client's core is one of the server's.
    """

    clock: int
    server: int
    busy: int
    stolen: int
    kernel: int
    client_busy: int

    @classmethod
    def take(cls, server: int, cores: Collection[int], client_core: int) -> "Reading":
        """Return the current times; `server` is the CPU time of the server so far, in ns."""
        now = [process.core(core) for core in cores]
        busy, stolen = sum(core.busy for core in now), sum(core.stolen for core in now)
        clock = time.perf_counter_ns()
        client_busy = 0 if client_core in cores else process.core(client_core).busy
        return cls(clock, server, busy, stolen, process.kernel_cpu(), client_busy)

    def since(self, begin: "Reading") -> "Reading":
        """Return what was used from `begin` to this reading."""
        return Reading(
            self.clock - begin.clock,
            self.server - begin.server,
            self.busy - begin.busy,
            self.stolen - begin.stolen,
            self.kernel - begin.kernel,
            self.client_busy - begin.client_busy,
        )


@dataclass(frozen=True, slots=True)
class Measurement:
    """The figures of one measurement; latencies are as in Outcome, shares are of one core."""

    scenario: str
    round: int
    answered: int
    seconds: float
    rate: float
    cpu_ns: float
    p50: float
    p90: float
    p99: float
    max: float
    rss_mib: float
    server_share: float
    client_share: float
    others_share: float
    stolen_share: float
    client_others_share: float

    @classmethod
    def of(
        cls, name: str, round_number: int, outcome: Outcome, used: Reading, rss: float
    ) -> "Measurement":
        """Return the figures from the client's result and the kernel's counters."""
        client = int((outcome.client_share + outcome.waiting_share) * outcome.seconds * 1e9)
        shared = not used.client_busy
        others = max(0, used.busy - used.server - used.kernel - client * shared)
        client_others = max(0, used.client_busy - client - used.kernel)
        return cls(
            scenario=name,
            round=round_number,
            answered=outcome.answered,
            seconds=outcome.seconds,
            rate=outcome.answered / outcome.seconds,
            cpu_ns=used.server / outcome.answered,
            p50=outcome.p50,
            p90=outcome.p90,
            p99=outcome.p99,
            max=outcome.max,
            rss_mib=rss,
            server_share=used.server / used.clock,
            client_share=outcome.client_share,
            others_share=others / used.clock,
            stolen_share=used.stolen / used.clock,
            client_others_share=client_others / used.clock,
        )

    @property
    def client_ns(self) -> float:
        """Return the client's own CPU time for a request and its answer, in ns."""
        return self.client_share * 1e9 / self.rate

    @property
    def disturbance(self) -> float:
        """Return the share of a core that others used, on the core where it is greater."""
        return max(self.others_share + self.stolen_share, self.client_others_share)

    @property
    def disturbed(self) -> bool:
        """Return whether that was too much."""
        return self.disturbance > DISTURBED

    def row(self) -> Row:
        """Return all figures, also the derived ones."""
        names = ("client_ns", "disturbance", "disturbed")
        return asdict(self) | {name: getattr(self, name) for name in names}
