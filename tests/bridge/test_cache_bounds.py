"""The cache's bound holds for real memory; a purge costs the same for one answer or many."""

import subprocess
import sys
import time
from pathlib import Path

from tests.bridge.application import await_that, echo, request, running

MIB = 8
ANSWERS = 10_000
ROUNDS = 3
PURGE = 0.001  # seconds of CPU time for a purge and two requests; 0.00005 are usual


def test_a_full_store_takes_no_more_memory_than_its_bound() -> None:
    """Measured as resident memory, so that fragmentation of the allocator counts too."""
    program = Path(__file__).with_name("fill.py")
    words = [sys.executable, str(program), str(MIB)]
    grown = int(subprocess.run(words, check=True, capture_output=True, timeout=100).stdout)
    print(f"a store of {MIB} MiB takes {grown / 1024:.2f} MiB")
    assert grown > MIB * 1024 // 2  # otherwise the cache was not filled
    assert grown <= MIB * 1024


def test_a_purge_of_ten_thousand_answers_is_over_at_once() -> None:
    """The bound is on CPU time of the whole process, so threads count and a busy machine does not.

    tests/core/cache/test_cache.c shows that no lookup waits for a purge.
    """
    took = []
    with running(echo, cache_bytes=64 << 20) as app, app.dial() as client:

        def ask(target: str) -> None:
            client.send(request(target))
            assert client.answer().status == 200

        ask("/stored/other")
        for _ in range(ROUNDS):
            for number in range(ANSWERS):
                ask(f"/stored/{number}/all")
            await_that(
                lambda: app.server.stats()["cache_entries"] == ANSWERS + 1, "the last answer"
            )
            before = app.server.stats()
            begin = time.process_time()
            app.server.purge(["all"])
            ask("/stored/other")
            ask("/stored/1/all")
            took.append(time.process_time() - begin)
            after = app.server.stats()
            assert after["hits"] == before["hits"] + 1
            assert after["misses"] == before["misses"] + 1
            assert after["cache_entries"] == ANSWERS + 1, "the others wait for eviction"
    print(f"a purge and two requests took {[round(one * 1e6) for one in took]} µs of CPU")
    assert min(took) < PURGE
