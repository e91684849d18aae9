"""Behind a real pool of connections (PgBouncer) the service starts, or says which mode it needs."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from commentsvc.db.errors import DatabaseUnusable
from commentsvc.db.postgresql import upgrade
from loadtest.harness.running import free_port
from tests.conftest import cannot_run
from tests.e2e.program import wait_for
from tests.postgresql_server import USER, Server

CALLS = {"upgrade": upgrade.upgrade, "start": upgrade.is_current, "doctor": upgrade.examine}


@contextlib.contextmanager
def pool(folder: Path, server: Server, mode: str, size: int) -> Iterator[str]:
    """Run PgBouncer in front of the database `pooled` during the block; yield its URL."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        cannot_run("not installed: pgbouncer")
    port = free_port()
    settings, users = folder / "pool.ini", folder / "users"
    users.write_text(f'"{USER}" ""\n')
    settings.write_text(
        f"[databases]\npooled = host={server.folder} dbname=pooled\n[pgbouncer]\n"
        f"pool_mode = {mode}\ndefault_pool_size = {size}\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {users}\n"
        f"logfile = {folder / 'log'}\n"
    )
    words = ["setpriv", "--pdeathsig", "TERM"]
    if os.geteuid() == 0:
        for path in (folder, settings, users):
            shutil.chown(path, USER, USER)
        words += [f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    process = subprocess.Popen([*words, program, "-q", str(settings)], cwd=folder)

    def answers() -> bool:
        assert process.poll() is None, (folder / "log").read_text()
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        return False

    try:
        wait_for(answers, "PgBouncer")
        yield f"postgresql://{USER}@127.0.0.1:{port}/pooled"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@pytest.fixture
def database(postgresql_server: Server) -> Iterator[Server]:
    postgresql_server.run("CREATE DATABASE pooled TEMPLATE template0")
    upgrade.upgrade(postgresql_server.url("pooled"))
    yield postgresql_server
    postgresql_server.run("DROP DATABASE pooled WITH (FORCE)")


@pytest.fixture
def folder(postgresql_server: Server) -> Iterator[Path]:
    """A folder that the pool's user may reach."""
    made = postgresql_server.folder / "pool"
    made.mkdir()
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_a_pool_of_transactions_is_refused_with_a_sentence_that_names_its_mode(
    folder: Path, database: Server, mode: str, size: int
) -> None:
    with pool(folder, database, mode, size) as url:
        for _ in range(3):
            for call in CALLS.values():
                with pytest.raises(DatabaseUnusable, match="pool_mode = session") as refused:
                    call(url)
                assert "\n" not in str(refused.value)


def test_a_pool_of_transactions_is_known_while_others_use_it(
    folder: Path, database: Server
) -> None:
    with pool(folder, database, "transaction", 5) as url, contextlib.ExitStack() as stack:
        for _ in range(3):
            other = stack.enter_context(psycopg.connect(url))
            other.execute("SELECT 1")  # and stays in a transaction
        for call in CALLS.values():
            with pytest.raises(DatabaseUnusable, match="pool_mode = session"):
                call(url)


def test_a_pool_of_sessions_is_used(folder: Path, database: Server) -> None:
    with pool(folder, database, "session", 5) as url:
        assert upgrade.is_current(url)
        assert upgrade.examine(url).version
