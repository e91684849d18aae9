"""The command `instructions`: what two versions execute for the same requests.

The whole service runs in callgrind, which counts instructions, so other programs on the machine
change nothing. Both versions are built here, by one compiler and with the libraries of .venv, and
run on one processor. Clients send one request after the other, or one pipeline.

For hits the thread of the core's worker is counted; for misses and submissions, all threads. Those
also do something every second, so the least of several batches is the result. Whatever else happens
only adds to a batch: while head seems to cost more than it may, it gets further ones.
"""

import json
import math
import re
import socket
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

import click

from loadtest.harness import install
from loadtest.harness.browsers import ratio
from loadtest.harness.environment import Environment, prepare_empty, sum_up
from loadtest.harness.measurement import Row
from loadtest.harness.programs import MissingError
from loadtest.harness.result import Result, Verdict
from loadtest.harness.rounds import Extent
from loadtest.harness.scenario import DEPTH, Goal
from loadtest.harness.service import PATIENCE, Service, ServiceError, Visitor
from loadtest.report.command import finish, head_and_bound, short
from loadtest.report.table import align

# What costs are compared with, until a release has a tag. Set a newer one with each release, and
# after a change that is worth its cost.
REFERENCE: Final = "7d6e202b"
BOUND: Final = 1.03
BATCHES: Final = 8
MOST_BATCHES: Final = 40
BASE, HEAD = "base", "head"
COUNT: Final = "/api/comments/count?url=/page/1/"
_LIBRARY: Final = "_core"  # how the name of the extension begins

Profile = dict[str, Counter[str]]  # instructions by thread, then by program or library


class Kind(NamedTuple):
    """A kind of request: how many are a batch, and whether the core alone answers them."""

    name: str
    batch: int
    is_hit: bool


KINDS: Final = (
    Kind("hit", 400, is_hit=True),
    Kind("pipelined hit", 100 * DEPTH, is_hit=True),
    Kind("miss", 20, is_hit=False),
    Kind("submission", 20, is_hit=False),
)
NAMES: Final = tuple(kind.name for kind in KINDS)


class Client:
    """One client, whose requests are the same for both versions."""

    def __init__(self, port: int) -> None:
        """Connect, and let an answer be cached."""
        self._port = port
        self._visitor = Visitor(port)
        self._serial = count()
        self._visitor.get(COUNT)

    def close(self) -> None:
        """Close the connection."""
        self._visitor.close()

    def send(self, kind: Kind) -> None:
        """Send a batch, and read its answers. Raise ServiceError for a wrong one."""
        if kind.name == "pipelined hit":
            self._pipelines(kind.batch // DEPTH)
            return
        ask = {"hit": self._hit, "miss": self._miss, "submission": self._submit}[kind.name]
        for _ in range(kind.batch):
            ask()

    def _pipelines(self, number: int) -> None:
        pipeline = f"GET {COUNT} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n".encode() * DEPTH
        with socket.create_connection(("127.0.0.1", self._port), PATIENCE) as connection:
            for _ in range(number):
                connection.sendall(pipeline)
                got = b""
                while got.count(b"\r\n\r\n") < DEPTH or not got.endswith(b"}"):
                    part = connection.recv(65536)
                    got += part
                    if not part or not got.startswith(b"HTTP/1.1 200 "):
                        raise ServiceError(f"a pipeline is answered by {got[:200]!r}")

    def _hit(self) -> None:
        self._visitor.get(COUNT)

    def _miss(self) -> None:
        self._visitor.get(f"/api/comments/count?url=/new/{next(self._serial)}/")

    def _submit(self) -> None:
        serial = next(self._serial)
        fields = {"url": f"/page/{serial % 10}/", "author": "Ann", "key": f"count-{serial:08}"}
        words = f"A comment of some words, number {serial}."
        self._visitor.post("/api/comments", json.dumps({**fields, "message": words}).encode())


def measure(
    environment: Environment, name: str, revision: str, allowed: Mapping[str, float]
) -> dict[str, Row]:
    """Return the least instructions of each kind of request.

    A kind that takes more than is `allowed` gets more batches. Raise MissingError, ProgramError or
    ServiceError.
    """
    folder = environment.folder / name
    folder.mkdir()
    program = _program(folder, install.package(revision))
    best = {kind.name: math.inf for kind in KINDS}
    with Service(folder / "data", environment.cores[:1], program=program) as service:
        client = Client(service.port)
        _control(folder, "--instr=on")
        for kind in KINDS:
            client.send(kind)  # what happens once
        for number in range(MOST_BATCHES):
            for kind in KINDS:
                if number < environment.extent.rounds or best[kind.name] > allowed[kind.name]:
                    best[kind.name] = min(best[kind.name], _batch(folder, client, kind))
        client.close()
    about = {"round": 1, "disturbed": False}
    return {
        kind: {"scenario": f"{kind}: {name}", **about, "instructions": least}
        for kind, least in best.items()
    }


def _batch(folder: Path, client: Client, kind: Kind) -> float:
    """Return the instructions of a request, in the mean of a batch."""
    _profile(folder)  # begins a new one
    client.send(kind)
    profile = _profile(folder)
    return (_of_worker(profile) if kind.is_hit else _of_all(profile)) / kind.batch


def _program(folder: Path, package: Path) -> Path:
    """Write the program that runs the service of a package in callgrind, not counting yet."""
    paths = f"{package}:{sysconfig.get_path('purelib')}"
    words = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes"]
    words += [f"--callgrind-out-file={folder}/profile", f"--vgdb-prefix={folder}/vgdb"]
    # Else Python would find the sources of this checkout first.
    words += [sys.executable, "-SP", "-m", "commentsvc"]
    path = folder / "commentsvc"
    path.write_text(f'#!/bin/sh\nPYTHONHASHSEED=0 PYTHONPATH={paths} exec {" ".join(words)} "$@"\n')
    path.chmod(0o755)
    return path


def _control(folder: Path, word: str) -> None:
    """Tell callgrind something. Raise MissingError or ServiceError."""
    words = ["callgrind_control", f"--vgdb-prefix={folder}/vgdb", word]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except FileNotFoundError as error:
        raise MissingError("valgrind is missing. Run: apt-get install -y valgrind") from error
    if done.returncode or "OK" not in done.stdout:
        raise ServiceError(f"{' '.join(words)}: {done.stdout}{done.stderr}")


def _profile(folder: Path) -> Profile:
    """Return what was executed since the last call."""
    _control(folder, "--dump")
    found: Profile = {}
    for path in folder.glob("profile.*"):
        found.setdefault(path.name.rpartition("-")[2], Counter()).update(parse(path.read_text()))
        path.unlink()
    return found


def parse(text: str) -> Counter[str]:
    """Return the instructions by program or library, from a profile of callgrind.

    Costs of called functions are lines, too, but those of the callee have them already. See the
    chapter "Callgrind Format Specification" of valgrind's manual.
    """
    names: dict[str, str] = {}
    found: Counter[str] = Counter()
    current, called = "", False
    for line in text.splitlines():
        if named := re.match(r"(c?ob)=(\(\d+\))(?: (.*))?", line):
            if named[3]:
                names[named[2]] = Path(named[3]).name
            if named[1] == "ob":
                current = names[named[2]]
        elif line.startswith("calls="):
            called = True
        elif re.match(r"[+*-]?\d|\*", line):
            if not called:
                found[current] += int(line.split()[-1])
            called = False
    return found


def _of_all(profile: Profile) -> int:
    return sum(each.total() for each in profile.values())


def _of_worker(profile: Profile) -> int:
    """Return what the thread executes that executes most of the core."""

    def core(thread: Counter[str]) -> int:
        return sum(cost for name, cost in thread.items() if name.startswith(_LIBRARY))

    return max(profile.values(), key=core).total()


def judge(rows: Sequence[Row], bound: float) -> list[Verdict]:
    """Return the ratio of head to base for each kind of request."""
    goal = Goal("times", "most", bound, "head costs no more than base")
    return [
        ratio(rows, f"{kind.name}: {HEAD}", [f"{kind.name}: {BASE}"], goal, "instructions")
        for kind in KINDS
    ]


def table(result: Result) -> str:
    """Return the instructions of both versions, and their ratio."""
    costs = {one.name: one.medians["instructions"] for one in result.summaries}
    rows: list[tuple[str, ...]] = [("instructions of a", BASE, HEAD, "head / base")]
    for kind, verdict in zip(KINDS, result.verdicts, strict=True):
        cells = (f"{costs[f'{kind.name}: {name}']:.0f}" for name in (BASE, HEAD))
        rows.append((kind.name, *cells, f"{verdict.value:.3f}"))
    return align(rows)


@click.command
@click.option("--base", default=REFERENCE, show_default=True, help="A git revision.")
@head_and_bound(BOUND)
@short
def main(base: str, head: str, bound: float, short: bool) -> None:
    """Two commits: the instructions of hits, misses and submissions, by callgrind.

    A revision is built once, in build/loadtest/packages.
    """
    with prepare_empty(Extent(1 if short else BATCHES)) as environment:
        click.echo(f"{BASE}: {base}")
        before = measure(environment, BASE, base, dict.fromkeys(NAMES, math.inf))
        click.echo(f"{HEAD}: {head or 'the working tree'}")
        allowed = {kind: row["instructions"] * bound for kind, row in before.items()}
        after = measure(environment, HEAD, head, allowed)
        rows = [*before.values(), *after.values()]
        result = sum_up(environment.about, {}, rows, lambda every: judge(every, bound))
    finish(result, "instructions", table(result), short=short)
    if any(not one.holds for one in result.verdicts):
        raise click.ClickException(f"head executes more than {bound} times what base executes")
