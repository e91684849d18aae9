"""Run the whole program from outside: a server in its own process, commands, and HTTP requests."""

import atexit
import contextlib
import functools
import http.client
import json
import os
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from urllib.parse import quote

from tests.e2e import fork_server

if TYPE_CHECKING:
    from tests.postgresql_server import Server

PATIENCE = 120.0  # seconds; the machine may be busy
ROOT = Path(__file__).parents[2]
# A connection beside a service leaves the checkpoints to it. Otherwise it makes one as soon as the
# log has 1,000 pages, and from then on the service stores nothing: another has written to its file.
BESIDE_SERVICE = "PRAGMA wal_autocheckpoint = 0"


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return our environment variables without those of settings, together with `more`."""
    ours = {name: v for name, v in os.environ.items() if not name.startswith("COMMENTSVC_")}
    return {**ours, **more}


# The PostgreSQL with the databases of all data folders, if they are not files: see conftest.py.
in_use: "list[Server]" = []


def database(data: Path) -> dict[str, str]:
    """Return the setting of the database of a data folder; none if that is a file in it."""
    return {"COMMENTSVC_DATABASE_URL": in_use[0].location(data)} if in_use else {}


def rows(data: Path) -> Any:  # Any: sqlite3's connection, or one with its methods
    """Open a connection that reads the database of a data folder, whichever engine it has."""
    return _connected(data, database(data).get("COMMENTSVC_DATABASE_URL", ""), read_only=True)


def change(data: Path, sql: str, *params: object) -> None:
    """Run a statement on the database of a data folder without the service's knowledge."""
    url = database(data).get("COMMENTSVC_DATABASE_URL", "")
    with contextlib.closing(_connected(data, url, read_only=False)) as connection:
        connection.execute(sql, params)


@contextlib.contextmanager
def locked(data: Path) -> Iterator[None]:
    """Hold the lock of whoever changes the database, so that a submission waits."""
    url = database(data).get("COMMENTSVC_DATABASE_URL", "")
    with contextlib.closing(_connected(data, url, read_only=False)) as other, holding_lock(other):
        yield


@contextlib.contextmanager
def holding_lock(other: Any) -> Iterator[None]:  # Any: as above
    """Do as `locked` by a connection that no service uses."""
    if isinstance(other, sqlite3.Connection):
        other.execute("BEGIN IMMEDIATE")
    else:
        from commentsvc.db.peers import LOCK  # peewee is slow, and most tests need neither

        other.execute("BEGIN")
        other.execute("SELECT pg_advisory_xact_lock(?)", (LOCK,))
    yield
    other.rollback()


def _connected(data: Path, url: str, *, read_only: bool) -> Any:  # Any: as above
    if url:
        from commentsvc.db.postgresql.connection import PostgresqlConnection  # it needs psycopg

        return PostgresqlConnection(url, read_only=read_only)
    path = (data / "comments.sqlite3").as_uri()
    mode = "ro" if read_only else "rw"
    made = sqlite3.connect(f"{path}?mode={mode}", uri=True, timeout=PATIENCE, isolation_level=None)
    made.execute(BESIDE_SERVICE)
    return made


def wait_for(condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Wait until `condition` holds; fail with `what` if it does not in time."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.01)


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def run(
    words: Sequence[object], environ: Mapping[str, str], given: str, patience: float = PATIENCE
) -> Outcome:
    """Run a program until it ends; `given` is its standard input."""
    done = subprocess.run(
        [*map(str, words)],
        cwd=ROOT,
        env=environ,
        input=given,
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@functools.cache
def _commands() -> str:
    """Start the process that is forked for each command; return the path of its socket."""
    folder = Path(tempfile.mkdtemp())
    path = folder / "socket"
    words = [sys.executable, fork_server.__file__, "serve", path, os.geteuid()]
    server = subprocess.Popen([*map(str, words)], cwd=ROOT, env=environment({}))

    def end() -> None:
        server.kill()
        server.wait()
        shutil.rmtree(folder)

    atexit.register(end)
    wait_for(path.exists, "the process of commands")
    return str(path)


def command(*words: object, environ: Mapping[str, str] | None = None, given: str = "") -> Outcome:
    """Run `commentsvc` with `words` until it ends; `given` is its standard input."""
    folders = [Path(str(after)) for word, after in pairwise(words) if word == "--data"]
    ours = environment({**(database(folders[0]) if folders else {}), **(environ or {})})
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3)]
        streams[0].write(given)
        streams[0].seek(0)
        numbers = [stream.fileno() for stream in streams]
        code = fork_server.run(_commands(), ROOT, [*map(str, words)], ours, numbers)
        for stream in streams[1:]:
            stream.seek(0)
        return Outcome(code, streams[1].read(), streams[2].read())


def rewrite(path: Path, text: str) -> None:
    """Replace a file in one step, so that a process watching it never sees it half written."""
    other = path.with_name("rewritten")
    other.write_text(text)
    other.replace(path)


class Answer(NamedTuple):
    """An HTTP response of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:  # Any: it is JSON
        """Return the body, decoded from JSON."""
        return json.loads(self.body)


class UnixConnection(http.client.HTTPConnection):
    """An HTTP connection over a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self) -> None:
        """Connect to the path instead of the host."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self._path)


class Service:
    """`commentsvc serve` on the folder `data`; its stderr goes to the file `log`."""

    _patience = PATIENCE

    def __init__(
        self,
        data: Path,
        *options: object,
        listen: str = "127.0.0.1:0",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data
        environ = {**database(data), **(environ or {})}
        self._url = environ.get("COMMENTSVC_DATABASE_URL", "")
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._is_new = not self._url and not (data / "comments.sqlite3").exists()
        self.log = data.with_name(data.name + ".log")
        # The first of several processes starts alone, after the one that supervises them.
        if "--processes" in options:
            self._patience *= 3
        words = ("serve", "--data", data, "--listen", listen, *options)
        with self.log.open("ab") as log:
            self.process = self._started([*map(str, words)], environment(environ), log)
        self.address = ""

    def _started(
        self, words: Sequence[str], environ: Mapping[str, str], log: BinaryIO
    ) -> "subprocess.Popen[bytes] | Forked":
        """Start `commentsvc` with `words`."""
        return subprocess.Popen(
            [sys.executable, "-m", "commentsvc", *words],
            cwd=ROOT,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=log,
            bufsize=0,  # unbuffered: `read_line` sees each line as soon as it is printed
        )

    def wait_until_ready(self) -> "Service":
        """Wait for the line that tells the address."""
        self.address = self.read_address()
        if self._is_new:
            self._is_new = False
            line = self.read_line()
            assert line == f"{self.data} had no database, so a new one was created\n"
        return self

    def read_address(self) -> str:
        """Return the address that it says it listens on, in one of the next lines of stdout."""
        start = "commentsvc listens on "
        while not (line := self.read_line()).startswith(start):
            assert line, f"its output ended; the log says {self.log.read_text()!r}"
        return line.removeprefix(start).rstrip("\n")

    def read_line(self) -> str:
        """Return the next line of stdout, "" at its end."""
        stdout = self.process.stdout
        assert stdout is not None
        ready, _, _ = select.select([stdout], [], [], self._patience)
        assert ready, f"waited for a line; the log says {self.log.read_text()!r}"
        return stdout.readline().decode()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, wait for the end of the process, and return its exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end of the process and return its exit code."""
        return self.process.wait(self._patience)

    def close(self) -> None:
        """End the process if it still runs, and the server it may supervise; close its output."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(self._patience)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    @property
    def port(self) -> int:
        """Return the TCP port."""
        return int(self.address.rpartition(":")[2])

    def connected(self) -> socket.socket:
        """Open a TCP connection to the port."""
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def connection(self) -> http.client.HTTPConnection:
        """Open an HTTP connection to the server, over TCP or its unix socket."""
        if self.address.startswith("unix:"):
            return UnixConnection(self.address.removeprefix("unix:"))
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def request(self, method: str, target: str, body: bytes = b"", **headers: str) -> Answer:
        """Send one request on a new connection and return the answer."""
        connection = self.connection()
        try:
            fields = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, target, body or None, fields)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def submit(self, url: str, message: str, **more: object) -> Answer:
        """Submit a comment as the widget does."""
        body = json.dumps({"url": url, "author": "Ann", "message": message, **more}).encode()
        return self.request("POST", "/api/comments", body, Content_Type="application/json")

    def count(self, url: str) -> int:
        """Return the number of approved comments of the page `url`."""
        answer = self.request("GET", f"/api/comments/count?url={quote(url)}")
        assert answer.status == 200, answer
        return int(answer.json()["count"])

    def rows(self) -> Any:  # Any: as of the function
        """Open a connection that reads the database, whichever engine it has."""
        return _connected(self.data, self._url, read_only=True)

    def figure(self, name: str) -> int:
        """Return one counter of the core, as its metrics show it."""
        text = self.request("GET", "/metrics").body.decode()
        [line] = [line for line in text.splitlines() if line.startswith(f"commentsvc_core_{name} ")]
        return int(float(line.split()[1]))


class Forked:
    """A child process that was forked from a program started before, with a Popen's methods."""

    def __init__(self, words: Sequence[str], environ: Mapping[str, str], log: BinaryIO) -> None:
        read, write = os.pipe()
        try:
            streams = (0, write, log.fileno())
            self.pid = fork_server.start(_commands(), ROOT, words, environ, streams)
        finally:
            os.close(write)
        self.args = words
        self.stdout = os.fdopen(read, "rb", buffering=0)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, -N if signal N ended it; None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait for its end, and return the exit code; raise TimeoutExpired after `timeout` s."""
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


class ForkedService(Service):
    """A server for tests of something else than its start and its process: it starts at once."""

    def _started(self, words: Sequence[str], environ: Mapping[str, str], log: BinaryIO) -> Forked:
        return Forked(words, environ, log)


@contextlib.contextmanager
def serving(
    data: Path,
    environ: Mapping[str, str],
    listen: str = "127.0.0.1:0",
    *,
    kind: type[Service] = ForkedService,
) -> Iterator[Service]:
    """Start a service and wait until it is ready; stop it at the end of the block."""
    running = kind(data, environ=environ, listen=listen)
    try:
        yield running.wait_until_ready()
    finally:
        running.close()
