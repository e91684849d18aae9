"""The kernel's counters of processes and cores.

The CPU time of a process is its CPU clock: user and system time of all its threads, in nanoseconds.
/proc counts cores and kernel threads in ticks of 10 ms, which is 0.2 % of a run of 5 s. The kernel
charges the handling of a loopback packet to the sender, so it counts for that side.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")  # nanoseconds
KIB_IN_MIB = 1024

_SCHEDULED: Final = 2  # CPUCLOCK_SCHED of Linux: what the scheduler gave to a process

# The fields of a process's stat line behind the name, which may hold spaces and brackets.
_STATE, _PARENT, _SESSION, _FLAGS, _USER, _SYSTEM = 0, 1, 3, 6, 11, 12
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD


@dataclass(frozen=True, slots=True)
class Core:
    """Nanoseconds that a core spent since the machine started."""

    busy: int  # in processes, the kernel and interrupts
    stolen: int  # for other virtual machines, while this one had work


def parse_core(stat: str, core: int) -> Core:
    """Read the line of `core` in /proc/stat: user nice system idle iowait irq softirq steal."""
    for line in stat.splitlines():
        name, *fields = line.split()
        if name == f"cpu{core}":
            user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
            return Core((user + nice + system + irq + softirq) * TICK, steal * TICK)
    raise ValueError(f"/proc/stat has no core {core}")


def parse_cpu(stat: str) -> int:
    """Read the user and system time, in nanoseconds, of a line of /proc/PID/stat."""
    fields = stat.rpartition(")")[2].split()
    return (int(fields[_USER]) + int(fields[_SYSTEM])) * TICK


def is_kernel_thread(stat: str) -> bool:
    """Return whether a line of /proc/PID/stat is one of the kernel's own."""
    return bool(int(stat.rpartition(")")[2].split()[_FLAGS]) & _KERNEL_THREAD)


def is_dead(stat: str) -> bool:
    """Return whether a line of /proc/PID/stat is that of a dead process."""
    return stat.rpartition(")")[2].split()[_STATE] in ("Z", "X")


def pid_of(stat: str) -> int:
    """Read the number of the process of a line of /proc/PID/stat."""
    return int(stat.partition(" ")[0])


def session_of(stat: str) -> int:
    """Read the session of a line of /proc/PID/stat."""
    return int(stat.rpartition(")")[2].split()[_SESSION])


def parent_of(stat: str) -> int:
    """Read the parent of the process of a line of /proc/PID/stat."""
    return int(stat.rpartition(")")[2].split()[_PARENT])


def parse_rss(status: str) -> float:
    """Read the resident memory, in MiB, of /proc/PID/status."""
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "VmRSS":
            return int(value.split()[0]) / KIB_IN_MIB
    raise ValueError("there is no VmRSS")


def core(number: int) -> Core:
    """Return the counters of a core now."""
    return parse_core(Path("/proc/stat").read_text(), number)


def cpu(pid: int) -> int:
    """Return the nanoseconds of CPU that a process used so far. Raise OSError without one."""
    return time.clock_gettime_ns(~pid << 3 | _SCHEDULED)  # as clock_getcpuclockid(3) makes it


def session_cpu(session: int) -> int:
    """Return the nanoseconds of CPU that all living processes of a session used so far."""
    used = 0
    for stat in _stats():
        if session_of(stat) == session:
            with contextlib.suppress(OSError):  # it ended meanwhile
                used += cpu(pid_of(stat))
    return used


def family_cpu(parent: int) -> int:
    """Return the nanoseconds of CPU that a process and its living children used so far."""
    used = 0
    for stat in _stats():
        if parent in (pid_of(stat), parent_of(stat)):
            with contextlib.suppress(OSError):  # it ended meanwhile
                used += cpu(pid_of(stat))
    return used


def session_lives(session: int) -> bool:
    """Return whether some process of a session is not dead."""
    return any(session_of(stat) == session and not is_dead(stat) for stat in _stats())


def rss(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    return parse_rss(Path(f"/proc/{pid}/status").read_text())


def kernel_cpu() -> int:
    """Return the nanoseconds of CPU that the kernel's threads used so far, on all cores."""
    return sum(parse_cpu(stat) for stat in _stats() if is_kernel_thread(stat))


def _stats() -> Iterator[str]:
    """Return the stat lines of all processes."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            yield path.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
