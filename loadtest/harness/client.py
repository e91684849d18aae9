"""The clients: wrk, a well-known tool, and our own generator, on a core of their own.

Both run as programs; their reports become an Outcome.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest.harness import programs

WRK_SCRIPT = programs.NATIVE / "wrk.lua"
PATIENCE = "10s"  # after which wrk counts an answer as missing


class ClientError(Exception):
    """A client is missing, or did not run to its end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a client. Latencies are in µs, 0 if unknown.

    `wrong` counts answers with a wrong body (for wrk: with a status of failure), `failed` broken
    connections and missing answers. `client_share` is the share of its core that the client used:
    near 1, the client is the limit, not the server. `waiting_share` is the share that it spent
    waiting awake.
    """

    answered: int
    seconds: float
    wrong: int
    failed: int
    p50: float
    p90: float
    p99: float
    max: float
    client_share: float
    waiting_share: float = 0


@dataclass(frozen=True, slots=True)
class Request:
    """The bytes of a request, and the status and body of the right answer; None: any body."""

    text: bytes
    status: int
    body: bytes | None


def find_wrk() -> str:
    """Return the path of wrk. Raise ClientError with the line that installs it."""
    path = shutil.which("wrk")
    if path is None:
        raise ClientError("wrk is missing. Run: apt-get install -y wrk")
    return path


def ask(port: int, targets: Path, clients: int, depth: int, seconds: float, core: str) -> Outcome:
    """Let wrk request the `targets` (one per line) for whole `seconds` (1 at least).

    Raise ClientError.
    """
    duration = f"-d{max(1, round(seconds))}s"
    words = [find_wrk(), "-t1", f"-c{clients}", duration, "--timeout", PATIENCE]
    words += ["-s", str(WRK_SCRIPT), f"http://127.0.0.1:{port}/", "--"]
    said, share = run([*words, str(targets), str(depth)], core)
    return parse_wrk(said, depth, share)


def generate(
    port: int,
    plan: Path,
    clients: int,
    depth: int,
    seconds: float,
    first: int,
    core: str,
    *,
    awake: bool = False,
) -> Outcome:
    """Let the generator play the `plan` (see `pack`) for `seconds`; `awake`, it never sleeps.

    Raise ClientError or ProgramError.
    """
    numbers = [str(port), str(clients), str(depth), str(seconds), str(first)]
    words = [str(programs.generator()), *numbers, str(plan), *["awake"] * awake]
    said, _ = run(words, core)
    return parse_generator(said)


def demand(name: str, outcome: Outcome) -> None:
    """Raise ClientError unless there are right answers, and no others."""
    if outcome.wrong or outcome.failed or not outcome.answered:
        raise ClientError(
            f"{name}: {outcome.answered} right answers, {outcome.wrong} wrong ones,"
            f" {outcome.failed} broken connections or missing answers"
        )


def pack(requests: Sequence[Request], order: Sequence[int]) -> bytes:
    """Return the generator's input: distinct requests, and their order."""
    parts = [b"%d %d\n" % (len(requests), len(order))]
    for request in requests:
        body = -1 if request.body is None else len(request.body)
        parts.append(b"%d %d %d\n" % (len(request.text), request.status, body))
        parts.append(request.text + (request.body or b"") + b"\n")
    return b"".join(parts) + " ".join(map(str, order)).encode() + b"\n"


def parse_wrk(said: str, depth: int, share: float) -> Outcome:
    """Return the result in the output of wrk.lua, the last line.

    wrk adds samples for requests that waited unsent behind slow ones, and takes the time between
    two answers for the time between two writes: in a pipeline its percentiles are wrong.
    """
    figures = json.loads(said.splitlines()[-1])
    answered = figures["answered"] - figures["wrong"]
    counts = (answered, figures["seconds"], figures["wrong"], figures["failed"])
    latency = figures["latency"]
    if depth > 1:
        latency = {"p50": 0, "p90": 0, "p99": 0, "max": latency["max"]}
    return Outcome(*counts, **latency, client_share=share)


def parse_generator(said: str) -> Outcome:
    """Return the result in the generator's output."""
    figures = json.loads(said)
    right, seconds = figures["answered"] - figures["wrong"], figures["seconds"]
    waited = figures["waited"] / seconds
    counts = (right, seconds, figures["wrong"], 0)
    worked = figures["cpu"] / seconds - waited
    return Outcome(*counts, **figures["latency"], client_share=worked, waiting_share=waited)


def run(words: Sequence[str], core: str) -> tuple[str, float]:
    """Run a client on `core`; return its output, and the share of the core that it used."""
    before, begin = os.times(), time.perf_counter()  # os.times() has whole ticks of 10 ms
    done = subprocess.run(
        ["taskset", "-c", core, *words], capture_output=True, text=True, check=False
    )
    after, end = os.times(), time.perf_counter()
    if done.returncode:
        raise ClientError(f"{Path(words[0]).name} failed: {(done.stderr or done.stdout).strip()}")
    sys.stderr.write(done.stderr)
    used = after.children_user - before.children_user
    used += after.children_system - before.children_system
    return done.stdout, used / (end - begin)
