"""The other servers: how each is built or found, and started.

A peer is a function from a port and an answer to a command line. What it needs is built in
build/loadtest, from public registries. An unavailable peer raises MissingError with the reason; the
table shows it, and the run goes on.

All peers give the same answer as we do: our header fields, except those they write themselves, and
our body.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loadtest.harness import programs
from loadtest.harness.programs import BUILD, MissingError

PEERS = Path(__file__).parent / "implementations"
OWN_FIELDS = ("content-length", "date")  # every server writes them itself
PYTHON36 = ("python3.6", str(Path.home() / ".pyenv/versions/3.6.15/bin/python"))
JAPRONTO = ("uvloop==0.14.0", "japronto==0.1.2")

Command = list[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """The bytes of an answer, and two files with it for peers."""

    text: bytes
    raw: Path
    json: Path

    @classmethod
    def write(cls, answer: bytes, folder: Path) -> "Answer":
        """Write it unchanged, and as JSON without the fields that servers write themselves."""
        made = cls(answer, folder / "answer", folder / "answer.json")
        made.raw.write_bytes(answer)
        made.json.write_text(json.dumps({"fields": made.fields, "body": made.body}))
        return made

    @property
    def body(self) -> str:
        """Return the body."""
        return self.text.partition(b"\r\n\r\n")[2].decode()

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Return the fields that a peer has to add."""
        head = self.text.partition(b"\r\n\r\n")[0].decode()
        pairs = (line.partition(": ") for line in head.split("\r\n")[1:])
        return [(name, value) for name, _, value in pairs if name.lower() not in OWN_FIELDS]


def baseline(port: int, answer: Answer) -> Command:
    """Return our minimal C server, the lower bound of all costs."""
    return [str(programs.baseline()), str(port), str(answer.raw)]


def bridge(port: int, answer: Answer) -> Command:
    """Return our core with a trivial handler in Python."""
    return [
        sys.executable,
        "-m",
        "loadtest.servers.implementations.on_bridge",
        str(port),
        str(answer.json),
    ]


def japronto(port: int, answer: Answer) -> Command:
    """Return Japronto from PyPI. Its wheel is for Python 3.6, and needs an old uvloop."""
    python = next(filter(_runs, PYTHON36), None)
    if python is None:
        raise MissingError("Japronto needs Python 3.6. Run: pyenv install 3.6.15")
    interpreter = environment("japronto", python, JAPRONTO)
    return [str(interpreter), str(PEERS / "on_japronto.py"), str(port), str(answer.json)]


def hyper(port: int, answer: Answer) -> Command:
    """Return Rust's usual HTTP library, from crates.io."""
    if shutil.which("cargo") is None:
        raise MissingError("hyper needs Rust. Run: apt-get install -y cargo, or https://rustup.rs")
    words = ["cargo", "build", "--release", "--locked", "--quiet"]
    target = [
        "--manifest-path",
        str(PEERS / "hyper/Cargo.toml"),
        "--target-dir",
        str(BUILD / "hyper"),
    ]
    run("hyper", [*words, *target])
    return [str(BUILD / "hyper/release/hyper-peer"), str(port), str(answer.raw)]


def fasthttp(port: int, answer: Answer) -> Command:
    """Return a fast HTTP library for Go, from the Go proxy."""
    if shutil.which("go") is None:
        raise MissingError("fasthttp needs Go. Run: apt-get install -y golang-go")
    program = (BUILD / "go-peer").resolve()
    run("fasthttp", ["go", "build", "-C", str(PEERS / "go"), "-o", str(program)])
    return [str(program), str(port), str(answer.json)]


def robyn(port: int, answer: Answer) -> Command:
    """Return a Python framework whose server is in Rust, from PyPI."""
    interpreter = environment("robyn", sys.executable, ("robyn==0.88.0",), alone=False)
    return [str(interpreter), str(PEERS / "on_robyn.py"), str(port), str(answer.json)]


PEER: dict[str, Callable[[int, Answer], Command]] = {
    peer.__name__: peer for peer in (baseline, japronto, hyper, fasthttp, robyn)
}


def environment(name: str, python: str, wanted: tuple[str, ...], *, alone: bool = True) -> Path:
    """Return the interpreter of a virtual environment with `wanted`. Raise MissingError.

    `alone`: without their dependencies, if all of these are pinned and the old pins would not
    build.
    """
    folder = BUILD / name
    stamp, interpreter = folder / "stamp", folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != " ".join(wanted):
        run(name, [python, "-m", "venv", "--clear", str(folder)])
        pip = [str(interpreter), "-m", "pip", "install", "-q"]
        run(name, [*pip, *["--no-deps"] * alone, *wanted])
        stamp.write_text(" ".join(wanted))
    return interpreter


def _runs(python: str) -> bool:
    """Return whether there is such an interpreter; a pyenv shim alone does not count."""
    try:
        subprocess.run([python, "-c", ""], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def run(name: str, words: Command) -> None:
    """Run a command that builds or gets a server. Raise MissingError with what it said."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingError(f"{name} cannot be built: {(done.stderr or done.stdout).strip()[-500:]}")
