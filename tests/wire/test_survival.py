"""No case harms the server or another client.

Each refusal closes the connection and is counted, nothing is left behind, and no client receives a
byte that belongs to another one.
"""

import gc
import re
import socket
from collections import Counter
from pathlib import Path

from tests.bridge.application import PATIENCE, await_that, memory
from tests.wire.cases import Case, all_cases
from tests.wire.probe import Probe, running

ROUNDS = 3
LEAK = 2048  # KiB that the interpreter may need more after as many plays; a leak of one buffer
# for each refusal would be over 10,000.
REFUSAL = re.compile(
    rb"HTTP/1\.1 (\d\d\d) [^\r\n]*\r\nContent-Type: application/json\r\n"
    rb"Content-Length: (\d+)\r\nAccess-Control-Allow-Origin: \*\r\nCache-Control: no-store\r\n"
    rb"(?:[^\r\n]+\r\n)*?Connection: close\r\n\r\n"
)


def dial(probe: Probe) -> socket.socket:
    host, port = probe.server.address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), PATIENCE)


def hear_all(connection: socket.socket) -> bytes:
    heard = b""
    while piece := connection.recv(1 << 16):
        heard += piece
    return heard


class Witness:
    """Another client, whose secrets nobody else may receive."""

    def __init__(self, probe: Probe) -> None:
        self.connection = dial(probe)
        self.count = 0

    def ask(self) -> None:
        self.count += 1
        secret = b"secret-%d." % self.count
        head = b"POST / HTTP/1.1\r\nHost: witness\r\nContent-Length: %d\r\n\r\n" % len(secret)
        self.connection.sendall(head + secret)
        heard = b""
        while not heard.endswith(secret):
            piece = self.connection.recv(1 << 16)
            assert piece, f"the witness was closed after {heard!r}"
            heard += piece
        assert heard.count(b"HTTP/1.1 ") == 1, heard


def play_beside(case: Case, probe: Probe, witness: Witness) -> bytes:
    """Return all that the client of `case` receives; the witness sends a request in the middle."""
    data = b"".join(step.data for step in case.steps)
    with dial(probe) as connection:
        connection.sendall(data[: len(data) // 2])
        witness.ask()
        connection.sendall(data[len(data) // 2 :])
        connection.shutdown(socket.SHUT_WR)
        return hear_all(connection)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def refused(probe: Probe) -> Counter[str]:
    stats = probe.server.stats()
    return Counter(
        {name: count for name, count in stats.items() if name.startswith("refused_") and count}
    )


def play_all(probe: Probe) -> Counter[str]:
    """Play every case; return the number of refusals by the names of their counters."""
    heard: Counter[str] = Counter()
    witness = Witness(probe)
    for case in all_cases():
        answers = play_beside(case, probe, witness)
        assert b"secret" not in answers, case
        if refusal := REFUSAL.search(answers):
            assert len(answers) - refusal.end() in (0, int(refusal[2])), f"{case}: it is the last"
            heard[f"refused_{refusal[1].decode()}"] += 1
    witness.connection.close()
    await_that(lambda: probe.server.stats()["connections"] == 0, "the end of all connections")
    return heard


def test_no_case_hurts_the_server_or_another_client() -> None:
    with running("127.0.0.1:0") as probe:
        play_all(probe)
        gc.collect()
        before, descriptors = memory(), open_descriptors()
        counted = refused(probe)
        for _ in range(ROUNDS):
            heard = play_all(probe)
            assert refused(probe) - counted == heard, "each refusal that is heard is counted"
            counted = refused(probe)
        gc.collect()
        assert open_descriptors() == descriptors
        assert memory() - before < LEAK
    assert set(heard) >= {f"refused_{status}" for status in (400, 413, 414, 417, 431, 501, 505)}
