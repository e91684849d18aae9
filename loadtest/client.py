"""The clients: wrk for questions, our generator for submissions, on a core of their own.

Both are started, waited for, and read; what they report becomes an Outcome.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
BUILD = FOLDER.parent / "build" / "loadtest"
PATIENCE = "10s"  # after which wrk counts an answer as missing


class ClientError(Exception):
    """A client is missing, or did not run to its end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a client saw. Latencies are µs, 0 where it cannot tell them.

    `wrong` counts statuses that are no success,
    `failed` connections that broke and answers that never came; `client_share` is the part of its
    core that the client used: near 1 the client is the bound, not the server.
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


def find_wrk() -> str:
    """The path of wrk. Raises ClientError with the line that installs it."""
    path = shutil.which("wrk")
    if path is None:
        raise ClientError("wrk is missing. Run: apt-get install -y wrk")
    return path


def build_generator() -> Path:
    """Compile the generator where it is older than its source. Raises ClientError."""
    source, program = FOLDER / "generator.c", BUILD / "generator"
    if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
        return program
    BUILD.mkdir(parents=True, exist_ok=True)
    flags = ["-O2", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]
    compiler = os.environ.get("CC", "cc")
    try:
        subprocess.run([compiler, *flags, source, "-o", program], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ClientError(f"the generator cannot be built: {error}") from error
    return program


def ask(
    port: int, targets: Path, clients: int, depth: int, seconds: float, first: int, core: int
) -> Outcome:
    """Have wrk ask the `targets` (one per line) for whole `seconds`. Raises ClientError."""
    words = [find_wrk(), "-t1", f"-c{clients}", f"-d{seconds:.0f}s", "--timeout", PATIENCE]
    words += ["-s", str(FOLDER / "ask.lua"), f"http://127.0.0.1:{port}/", "--"]
    said, share = _run([*words, str(targets), str(depth), str(first)], core)
    return parse_wrk(said, depth, share)


def submit(
    port: int, requests: Path, clients: int, seconds: float, first: int, core: int
) -> Outcome:
    """Have the generator send the `requests` (see `pack`) for `seconds`. Raises ClientError."""
    program = str(build_generator())
    numbers = [str(port), str(clients), str(seconds), str(first)]
    said, share = _run([program, *numbers, str(requests)], core)
    return parse_generator(said, share, good="201")


def pack(requests: Sequence[bytes]) -> bytes:
    """Write requests as the generator reads them: each after a line with its length."""
    return b"".join(b"%d\n%b" % (len(request), request) for request in requests)


def parse_wrk(said: str, depth: int, share: float) -> Outcome:
    """Read what ask.lua printed at the end of wrk's own words.

    wrk adds samples for requests that waited unsent behind slow ones, and takes the time between
    two answers for the time between two writes: in a pipeline its percentiles are wrong.
    """
    told = json.loads(said.splitlines()[-1])
    answered = told["answered"] - told["wrong"]
    counts = (answered, told["seconds"], told["wrong"], told["failed"])
    latency = told["latency"]
    if depth > 1:
        latency = {"p50": 0, "p90": 0, "p99": 0, "max": latency["max"]}
    return Outcome(*counts, **latency, client_share=share)


def parse_generator(said: str, share: float, good: str) -> Outcome:
    """Read the generator's line; every status but `good` is wrong."""
    told = json.loads(said)
    right = told["statuses"].get(good, 0)
    counts = (right, told["seconds"], told["answered"] - right, 0)
    return Outcome(*counts, **told["latency"], client_share=share)


def _run(words: Sequence[str], core: int) -> tuple[str, float]:
    """Run a client on `core`; what it said, and the share of the core that it used."""
    before = os.times()
    done = subprocess.run(
        ["taskset", "-c", str(core), *words], capture_output=True, text=True, check=False
    )
    after = os.times()
    if done.returncode:
        raise ClientError(f"{Path(words[0]).name} failed: {(done.stderr or done.stdout).strip()}")
    used = after.children_user - before.children_user
    used += after.children_system - before.children_system
    return done.stdout, used / (after.elapsed - before.elapsed)
