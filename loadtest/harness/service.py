"""The server under test: the real program, on a core of its own."""

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Collection, Iterable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Self

from commentsvc.settings import data_dir
from loadtest.harness import process
from loadtest.harness.install import PROGRAM

PATIENCE = 120.0  # seconds for a start, an answer or a stop; the machine may be busy
# The first line of every version, which ends with its address.
START = re.compile(r"commentsvc .*?(?:unix:.+|\S*:(\d+))/?$")
JSON = "application/json"

# Comments are published at once and without limits, since the program is measured, not its rules.
ENVIRONMENT = {
    "COMMENTSVC_MODERATION_POLICY": "none",
    "COMMENTSVC_SPAM_RATE_LIMIT": "off",
    "COMMENTSVC_SERVER_MAX_NETWORK_STREAMS": "0",
    "COMMENTSVC_SERVER_MISS_LIMIT": "off",
}


class ServiceError(Exception):
    """The server did not start, or gave a wrong answer."""


class Service:
    """A running server on a data folder; `start_ms` is from its exec to its announcement."""

    def __init__(
        self,
        data: Path,
        cores: Collection[int],
        workers: int = 1,
        settings: Mapping[str, str | None] | None = None,
        listen: str = "127.0.0.1:0",
        program: Path = PROGRAM,
    ) -> None:
        """Start it on `cores` and wait until it listens. Raise ServiceError.

        `settings` are further ones, named as in the environment; None removes one of ours. `port`
        is 0 for a Unix socket.
        """
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._log = data.with_suffix(".log")
        options = ["--data", str(data), "--listen", listen]
        options += ["--workers", str(workers)]
        ours = {name: v for name, v in os.environ.items() if not name.startswith("COMMENTSVC_")}
        given: dict[str, str | None] = {**ours, **ENVIRONMENT, **(settings or {})}
        begin = time.monotonic()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["taskset", "-c", ",".join(map(str, cores)), str(program), "serve", *options],
                env={name: value for name, value in given.items() if value is not None},
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.port = self._wait_for_port()
        self.start_ms = (time.monotonic() - begin) * 1_000

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        """Stop it gracefully. Raise ServiceError if it does not end well."""
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        if code and kind is None:
            raise ServiceError(f"the server ended with code {code}: {self._said()}")

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def cpu(self) -> int:
        """Return the nanoseconds of CPU that it used so far."""
        return process.cpu(self._process.pid)

    def rss(self) -> float:
        """Return its resident memory in MiB."""
        return process.rss(self._process.pid)

    def _wait_for_port(self) -> int:
        stdout = self._process.stdout
        assert stdout is not None
        ready, _, _ = select.select([stdout], [], [], PATIENCE)
        match = START.match(stdout.readline().decode().strip()) if ready else None
        if match is None:
            self._process.kill()
            self._process.wait()
            raise ServiceError(f"the server did not start: {self._said()}")
        return int(match[1] or 0)

    def _said(self) -> str:
        return self._log.read_text(errors="replace").strip()[-500:] or "it said nothing"


def copy(data: Path, url: str) -> None:
    """Copy the comments of a data folder into an empty PostgreSQL database. Raise ServiceError.

    The folder can still be used.
    """
    for words in (["--to", url], ["--undo"]):
        words = [str(PROGRAM), "copy", "--from", str(data / data_dir.DATABASE), *words]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ServiceError(f"the comments cannot be copied: {done.stderr.strip()}")


class Visitor:
    """A keep-alive connection for requests one after the other, to check the answers."""

    def __init__(self, port: int) -> None:
        """Take the port; the first request connects."""
        self._connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def get(self, target: str) -> bytes:
        """Return the body of a 200 answer. Raise ServiceError for any other."""
        return self._ask("GET", target, None, 200)

    def post(self, target: str, body: bytes) -> bytes:
        """Return the body of a 201 answer to JSON. Raise ServiceError for any other."""
        return self._ask("POST", target, body, 201)

    def counters(self, names: Iterable[str]) -> dict[str, int]:
        """Return the core's counters of these names, from /metrics. Raise ServiceError."""
        return parse_counters(self.get("/metrics").decode(), names)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _ask(self, method: str, target: str, body: bytes | None, status: int) -> bytes:
        headers = {"Content-Type": JSON} if body else {}
        self._connection.request(method, target, body, headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != status:
            raise ServiceError(f"{method} {target} answers {response.status}: {answer[:200]!r}")
        return answer


def parse_counters(text: str, names: Iterable[str]) -> dict[str, int]:
    """Return whole numbers from Prometheus' text format, each by the end of its metric's name.

    So a metric is found with the prefix of any version. Raise ServiceError unless there is exactly
    one metric for each name.
    """
    values = re.findall(r"^(\w+) ([0-9.e+]+)$", text, re.MULTILINE)
    found = {}
    for name in names:
        matches = [float(v) for metric, v in values if f"_{metric}".endswith(f"_{name}")]
        if len(matches) != 1:
            raise ServiceError(f"/metrics has {len(matches)} metrics named {name}")
        found[name] = int(matches[0])
    return found
