"""Run Debian's PostgreSQL for the tests, in a temporary folder, as an ordinary user."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus

from commentsvc.db.postgresql import upgrade as postgresql_upgrade
from tests.conftest import cannot_run
from tests.e2e.program import wait_for

PROGRAMS: Final = Path("/usr/lib/postgresql")  # by version; Debian does not put them on the PATH
USER: Final = "postgres"  # of Debian's package; PostgreSQL refuses to run as root
# No fsync: after a crash of the machine only test data would be lost.
OPTIONS: Final = (
    "-c listen_addresses= -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    " -c max_connections=200 -c autovacuum=off -c jit=off -c log_min_messages=warning"
)
TEMPLATE: Final = "empty_service"
SERVICE: Final = "service_"  # followed by a number


def programs() -> Path:
    """Return the folder of the newest PostgreSQL's programs; skip the test if none is installed."""
    versions = sorted(PROGRAMS.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if not versions:
        cannot_run("not installed: postgresql")
    return versions[-1].parent


# Resets a database to its initial state in a tenth of the time that creating one takes.
RESET: Final = """DO $$ DECLARE each record; BEGIN
    SET LOCAL session_replication_role = replica;
    FOR each IN SELECT c.oid::regclass AS name, c.relkind AS kind FROM pg_class AS c
        WHERE c.relnamespace = 'commentsvc'::regnamespace AND c.relkind IN ('r', 'S')
        AND c.relname <> 'schema_migration'
        AND (c.relkind = 'S' OR pg_relation_size(c.oid) > 0) LOOP
        IF each.kind = 'S' THEN PERFORM setval(each.name, 1, false);
        ELSE EXECUTE format('DELETE FROM %s', each.name); END IF;
    END LOOP;
    INSERT INTO commentsvc.search_state (id, indexed_until) VALUES (1, 0);
END $$"""


# Names a channel that is listened to; else the connection is as it was when it was opened.
AS_NEW: Final = (
    "SELECT pg_listening_channels(); SELECT pg_advisory_unlock_all(); RESET ALL;"
    " SET application_name = kept"
)


class KeptConnection(psycopg.Connection[Any]):
    """A connection of a service that, once closed, waits for the next service.

    Opening one takes PostgreSQL 6 ms of CPU time.
    """

    waiting: Final[list["KeptConnection"]] = []  # one is in use, or here, or really closed
    url = ""

    @classmethod
    def of_service(cls, url: str, **options: Any) -> psycopg.Connection[Any]:
        """Do as `psycopg.connect`; databases that are dropped or copied have other names."""
        if options.get("application_name") != "commentsvc" or f"/{SERVICE}" not in url:
            return psycopg.Connection.connect(url, **options)
        for kept in [one for one in cls.waiting if one.url == url]:
            cls.waiting.remove(kept)
            with contextlib.suppress(psycopg.Error):  # the server may have ended it
                kept.execute("SET application_name = commentsvc")
                return kept
            kept.end()
        made = cls.connect(url, **options)
        made.url = url
        return made

    def close(self) -> None:
        """Keep it, as it was when it was opened, unless it cannot be used."""
        if self in self.waiting:
            return
        with contextlib.suppress(psycopg.Error):
            if (
                self.info.transaction_status == TransactionStatus.IDLE
                and not self.execute(AS_NEW).fetchone()
            ):
                self.waiting.append(self)
                return
        self.end()

    def end(self) -> None:
        """Close it."""
        super().close()

    @classmethod
    def end_all(cls) -> None:
        """Close those that wait."""
        while cls.waiting:
            cls.waiting.pop().end()


class Server:
    """A running server, and its databases, which tests use one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._admin = psycopg.connect(self.url("postgres"), autocommit=True)
        self._used: dict[Path, str] = {}
        self._free: list[str] = []
        self._cleaners: dict[str, psycopg.Connection[Any]] = {}

    def url(self, database: str, user: str = USER) -> str:
        """Return the value of `database.url` for a database."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement as the superuser, outside the databases of the tests."""
        cursor = self._admin.execute(sql)
        return cursor.fetchall() if cursor.description else []

    def location(self, folder: Path) -> str:
        """Return the URL of the database for the service in a folder; its tables are empty."""
        if folder not in self._used:
            self._used[folder] = self._free.pop() if self._free else self._make()
        return self.url(self._used[folder])

    def _make(self) -> str:
        if not self._cleaners:
            self.run(f"CREATE DATABASE {TEMPLATE}")
            postgresql_upgrade.upgrade(self.url(TEMPLATE))
        name = f"{SERVICE}{len(self._cleaners)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        self._cleaners[name] = psycopg.connect(self.url(name), autocommit=True)
        return name

    def recycle(self) -> None:
        """Empty the databases that no service is connected to, for the next test."""
        asked = "SELECT datname FROM pg_stat_activity WHERE application_name = 'commentsvc'"
        connected = {name for (name,) in self.run(asked)}
        for folder, name in list(self._used.items()):
            if name not in connected:
                self._cleaners[name].execute(RESET)
                self._free.append(self._used.pop(folder))

    def close(self) -> None:
        """Close all connections."""
        KeptConnection.end_all()
        for connection in (self._admin, *self._cleaners.values()):
            connection.close()


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """Run a server during the block; it also ends when this process is killed."""
    commands = programs()
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the socket is for programs of other users, too
        start = ["setpriv", "--pdeathsig", "QUIT"]
        if os.geteuid() == 0:
            shutil.chown(folder, USER, USER)
            start += [f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        data, log = folder / "data", folder / "log"
        make = ["--no-sync", "--encoding=UTF8", "--no-locale", f"--username={USER}"]
        made = subprocess.run(
            [*start, str(commands / "initdb"), *make, f"--pgdata={data}"],
            cwd=folder,
            capture_output=True,
            check=False,
        )
        assert made.returncode == 0, made.stderr.decode()
        start += [str(commands / "postgres"), "-D", str(data), "-k", name, *OPTIONS.split()]
        with log.open("wb") as output:
            process = subprocess.Popen(start, cwd=folder, stdout=output, stderr=output)
        try:
            wait_for(lambda: _is_ready(process, data, log), "PostgreSQL")
            running = Server(folder)
            try:
                yield running
            finally:
                running.close()
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait()


def _is_ready(process: subprocess.Popen[bytes], data: Path, log: Path) -> bool:
    assert process.poll() is None, log.read_text()
    with contextlib.suppress(FileNotFoundError):
        return "ready" in (data / "postmaster.pid").read_text().split()
    return False
