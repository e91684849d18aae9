"""The store's bound is one of real memory; a purge costs the same for one answer or many."""

import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.seam.application import Application, await_that, echo, request, running

MIB = 8
ANSWERS = 10_000
PURGE = 0.05  # seconds; some microseconds are usual, but the machine may be busy


def test_a_full_store_takes_no_more_memory_than_its_bound() -> None:
    """Measured by the kernel: what the allocator loses between answers of many sizes counts."""
    program = Path(__file__).with_name("fill.py")
    words = [sys.executable, str(program), str(MIB)]
    grown = int(subprocess.run(words, check=True, capture_output=True, timeout=100).stdout)
    print(f"a store of {MIB} MiB takes {grown / 1024:.2f} MiB")
    assert grown > MIB * 1024 // 2  # else it was not filled
    assert grown <= MIB * 1024


def ask_on(app: Application, ending: threading.Event, waits: list[float]) -> None:
    """Ask for one stored answer without pause; note how long each took."""
    with app.dial() as client:
        while not ending.is_set():
            begin = time.perf_counter()
            client.send(request("/stored/other"))
            assert client.answer().status == 200
            waits.append(time.perf_counter() - begin)


def test_a_purge_of_ten_thousand_answers_is_over_at_once() -> None:
    waits: list[float] = []
    ending = threading.Event()
    with running(echo, store_bytes=64 << 20) as app:
        with app.dial() as client:
            for number in range(ANSWERS):
                client.send(request(f"/stored/{number}/all"))
                client.answer()
        app.get("/stored/other")
        assert app.server.stats()["stored"] == ANSWERS + 1
        reader = threading.Thread(target=ask_on, args=(app, ending, waits))
        reader.start()
        try:
            await_that(lambda: waits, "the reader")
            begin = time.perf_counter()
            app.server.purge(["all"])
            took = time.perf_counter() - begin
            before = app.server.stats()["misses"]
            app.get("/stored/1/all")
            assert app.server.stats()["misses"] == before + 1
        finally:
            ending.set()
            reader.join()
        assert app.server.stats()["stored"] == ANSWERS + 1  # the others wait for eviction
    assert took < PURGE
    assert max(waits) < PURGE * 10
