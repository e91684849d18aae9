"""A PostgreSQL server in a folder of its own, that a load test stops, ends and starts again."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psycopg

from loadtest.harness import process
from loadtest.harness.programs import MissingError
from loadtest.harness.service import PATIENCE, ServiceError

FOLDER: Final = Path("/usr/lib/postgresql")  # by version; Debian does not put them on the PATH
USER: Final = "postgres"  # of Debian's package; PostgreSQL refuses to run as root
SETTINGS: Final = {
    "listen_addresses": "",
    "max_connections": "60",
    "superuser_reserved_connections": "0",
    "log_min_messages": "warning",
    "jit": "off",
}
DISK: Final = "600m"  # of the small disk: room for two servers


class PostgresServer:
    """A PostgreSQL whose data and socket are in `folder`."""

    def __init__(self, folder: Path, settings: dict[str, str] | None = None) -> None:
        """Take the folder, and settings beside SETTINGS. Raise MissingError."""
        versions = sorted(FOLDER.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
        if not versions:
            raise MissingError("PostgreSQL is missing. Run: apt-get install -y postgresql")
        self.folder = folder
        self._programs = versions[-1].parent
        self._settings = SETTINGS | (settings or {})
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(mode=0o755, exist_ok=True)
        _give(folder)

    @property
    def data(self) -> Path:
        """The folder of the database cluster."""
        return self.folder / "data"

    def make(self) -> None:
        """Make an empty database cluster. Raise ServiceError."""
        self._run("initdb", "--encoding=UTF8", "--no-locale", "--no-sync", f"--username={USER}")

    def copy(self, other: "PostgresServer") -> None:
        """Become the standby of another server, which runs. Raise ServiceError."""
        shutil.rmtree(self.data, ignore_errors=True)
        words = [f"--host={other.folder}", f"--username={USER}", "--write-recovery-conf"]
        self._run("pg_basebackup", *words, "--checkpoint=fast", "--no-sync")

    def start(self) -> None:
        """Start it, and wait until it takes connections. Raise ServiceError."""
        words = [*_user(), str(self._programs / "postgres"), "-D", str(self.data)]
        words += ["-k", str(self.folder)]
        for name, value in self._settings.items():
            words += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(words, cwd=self.folder, stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            with contextlib.suppress(psycopg.Error):
                self.ask("SELECT 1")
                return
            time.sleep(0.02)
        raise ServiceError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-500:]}")

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End it, if it runs: at once and without a checkpoint, or with SIGINT in order."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            self._process = None

    def has_ended(self) -> bool:
        """Return whether it has ended by itself."""
        return self._process is not None and self._process.poll() is not None

    def cpu(self) -> int:
        """Return the nanoseconds of CPU that its processes that still run used so far."""
        assert self._process is not None
        return process.family_cpu(self._process.pid)

    def url(self, database: str = "postgres") -> str:
        """Return the value of `database.url` for a database."""
        return f"postgresql://{USER}@/{database}?host={self.folder}"

    def ask(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement on a connection of its own. Raise psycopg.Error."""
        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def _run(self, program: str, *options: str) -> None:
        words = [*_user(), str(self._programs / program), *options, f"--pgdata={self.data}"]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, check=False)
        if done.returncode:
            raise ServiceError(f"{program} failed: {done.stderr.decode().strip()[-500:]}")


@contextmanager
def running(folder: Path, settings: dict[str, str] | None = None) -> Iterator[PostgresServer]:
    """Run a server during the block, in a new folder or one that an earlier run left.

    Raise MissingError or ServiceError.
    """
    folder.parent.chmod(0o755)  # the server runs as another user
    server = PostgresServer(folder, settings)
    if not server.data.exists():
        server.make()
    server.start()
    try:
        yield server
    finally:
        server.stop(signal.SIGINT)


@contextmanager
def temporary_folder() -> Iterator[tuple[Path, bool]]:
    """Yield a temporary folder, and whether it is a small disk, which only root can make."""
    with TemporaryDirectory(prefix="pg") as name:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", name]
        is_root = os.geteuid() == 0
        small = is_root and not subprocess.run(mount, check=False, capture_output=True).returncode
        Path(name).chmod(0o755)
        try:
            yield Path(name), small
        finally:
            if small:
                subprocess.run(["umount", name], check=True)


def _user() -> list[str]:
    """Return how a program is started as a user who may run PostgreSQL, and ends with us."""
    start = ["setpriv", "--pdeathsig", "QUIT"]
    if os.geteuid() == 0:
        start += [f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    return start


def _give(folder: Path) -> None:
    """Make that user the owner of a folder."""
    if os.geteuid() == 0:
        shutil.chown(folder, USER, USER)
