"""loadtest/harness/process.py: figures out of /proc."""

import os
import signal
import subprocess
import sys
import time

import pytest

from loadtest.harness import process
from loadtest.harness.process import (
    TICK,
    Core,
    is_dead,
    is_kernel_thread,
    parse_core,
    parse_cpu,
    parse_rss,
)

STAT = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 50 6 7 8 0 0\ncpu10 0 0 0 0 0 0 0 0 0 0\nintr 5 0\n"
SERVER = "42 (a (strange) name) S 1 42 42 0 -1 4194560 9 0 0 0 700 35 2 1 20 0 5 0 99 1 1\n"
WORKER = "7 (kworker/0:1-events) I 2 0 0 0 -1 69238880 0 0 0 0 0 12 0 0 20 0 1 0 99 0 0\n"


def test_a_core_is_busy_with_all_but_waiting_and_what_was_stolen() -> None:
    assert parse_core(STAT, 0) == Core(busy=(1 + 2 + 3 + 6 + 7) * TICK, stolen=8 * TICK)


def test_a_core_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="no core 1"):
        parse_core(STAT, 1)


def test_a_name_with_brackets_does_not_disturb_the_cpu_time() -> None:
    assert parse_cpu(SERVER) == 735 * TICK


def test_the_kernels_threads_are_told_from_processes() -> None:
    assert is_kernel_thread(WORKER)
    assert not is_kernel_thread(SERVER)


def test_a_process_that_only_waits_to_be_missed_is_dead() -> None:
    assert is_dead(SERVER.replace(") S 1", ") Z 1"))
    assert not is_dead(SERVER)


def test_resident_memory_is_read_in_mib() -> None:
    assert parse_rss("Name:\tx\nVmHWM:\t 9999 kB\nVmRSS:\t   52224 kB\n") == 51.0
    with pytest.raises(ValueError, match="VmRSS"):
        parse_rss("Name:\tx\n")


def test_a_busy_process_uses_time_and_memory() -> None:
    before, end = process.cpu(os.getpid()), time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert process.cpu(os.getpid()) - before >= 0.03 * 1e9
    assert process.rss(os.getpid()) > 5
    assert process.core(min(os.sched_getaffinity(0))).busy > 0
    assert process.kernel_cpu() >= 0


def test_work_that_is_shorter_than_a_tick_is_seen() -> None:
    """Report: a peer that answered for a moment was told to have taken no time."""
    for _ in range(10):
        before, end = process.cpu(os.getpid()), time.process_time_ns() + TICK // 20
        while time.process_time_ns() < end:
            pass
        assert process.cpu(os.getpid()) - before >= TICK // 20


def test_a_process_that_is_not_there_is_an_error() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        process.cpu(1 << 25)


def test_all_processes_of_a_session_count() -> None:
    """A shell that waits, and its child that works."""
    work = f"{sys.executable} -c 'while True: pass' & wait"
    with subprocess.Popen(["sh", "-c", work], start_new_session=True) as shell:
        try:
            end = time.monotonic() + 30
            while process.session_cpu(shell.pid) < 0.05 * 1e9:
                assert time.monotonic() < end, "the child must be seen at work"
                time.sleep(0.01)
            assert process.cpu(shell.pid) < 0.05 * 1e9
            assert process.session_lives(shell.pid)
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
