"""loadtest/workloads/soak.py: what is judged; loadtest/hostile.py: who hears what."""

import socket
import threading

from loadtest.harness.measurement import Row
from loadtest.workloads import hostile, soak


def row(name: str, number: int, **figures: float) -> Row:
    return {"scenario": name, "round": number, "disturbed": False, **figures}


def test_the_worst_round_counts_and_times_are_judged_within_a_round() -> None:
    rows = [
        row("idle", 1, mib=3.0),
        row("idle", 2, mib=41.0),
        row("calm", 1, p99=10.0),
        row("slow", 1, p99=15.0),
        row("calm", 2, p99=100.0),
        row("slow", 2, p99=190.0),
    ]
    found = {one.name: one for one in soak.judge(rows)}
    assert found["idle: mib"].value == 41.0
    assert found["idle: mib"].holds is False
    [slow] = [one for name, one in found.items() if name.startswith("slow")]
    assert 1.5 <= slow.value <= 1.9
    assert slow.holds
    assert len(found) == 2, "what was not played is not judged"


def test_a_crowd_is_heard_to_its_last_client() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            for _ in range(20):
                client, _ = server.accept()
                with client:
                    assert client.recv(10) == b"hello"
                    client.sendall(b"first ")
                    client.sendall(b"and last")

        thread = threading.Thread(target=answer)
        thread.start()
        with hostile.connect_many(port, 20, b"hello") as clients:
            hostile.wait_for_text(clients, b"last")
        thread.join()
