"""Another server: starts it on its cores, waits for it, and ends all of its processes."""

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from loadtest.harness import process
from loadtest.harness.programs import ROOT
from loadtest.harness.service import PATIENCE, ServiceError


class Running:
    """A server of others; all processes of its session are counted."""

    def __init__(
        self,
        words: list[str],
        port: int,
        log: Path,
        cores: Collection[int],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it and wait until it accepts connections on its port.

        `environment` is added to our own. Raise ServiceError.
        """
        self.port = port
        self._log = log
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                ["taskset", "-c", ",".join(map(str, cores)), *words],
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        try:
            self._wait()
        except ServiceError:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        """Kill it with all its processes."""
        self._end()

    def cpu(self) -> int:
        """Return the nanoseconds of CPU that its processes used so far."""
        return process.session_cpu(self._process.pid)

    def rss(self) -> float:
        """Return the resident memory of its first process in MiB."""
        return process.rss(self._process.pid)

    def _wait(self) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        said = self._log.read_text(errors="replace").strip()[-500:]
        raise ServiceError(f"{self._log.stem} did not start: {said or 'it said nothing'}")

    def _end(self) -> None:
        with suppress(ProcessLookupError):  # it ended by itself
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        end = time.monotonic() + PATIENCE
        while process.session_lives(self._process.pid) and time.monotonic() < end:
            time.sleep(0.01)  # its children, whom only the kernel waits for


def free_port() -> int:
    """Return a port that nobody listens on now."""
    return free_ports()[0]


def free_ports() -> tuple[int, int]:
    """Return two ports that nobody listens on now.

    The system gives neither to other programs that ask for any port, so none gets it before it is
    used.
    """
    with ExitStack() as stack:
        first, second = (stack.enter_context(_listening()).getsockname()[1] for _ in range(2))
        return first, second


def _listening() -> socket.socket:
    """Listen on some port below those that the system chooses (net.ipv4.ip_local_port_range)."""
    while True:
        with suppress(OSError):  # it is taken
            return socket.create_server(("127.0.0.1", random.randrange(10_000, 32_768)))
