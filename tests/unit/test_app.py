"""The composition root: everything that it starts is stopped again. See also tests/e2e."""

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from commentsvc import app
from commentsvc.db.lock import Lock
from commentsvc.runtime.control import Control, Request
from commentsvc.runtime.control_commands import CommandResult
from commentsvc.runtime.systemd import Notifier
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.schema import ServerSettings, Settings
from tests.e2e.program import wait_for
from tests.postgresql_server import Server
from tests.unit.database_fixture import location

SETTINGS = Settings(server=ServerSettings(listen="127.0.0.1:0", workers=2))

# Each takes up to 3 MiB and 20 ms, for features that most services never or seldom use.
LATE = (
    "aiosmtplib",
    "altcha",
    "commentsvc.monitoring.metrics",
    "commentsvc.cli.doctor",
    "commentsvc.cli.imports",
    "commentsvc.inbox.decoding",
    "commentsvc.inbox.receiver",
    "commentsvc.compat.isso",
    "fido2",
    "h11",
    "idna",
    "jinja2",
    "nacl",
    "playhouse",
    "prometheus_client",
)


@pytest.fixture
def _process_as_before() -> Iterator[None]:
    """Restore logging and signal handlers, whatever the program did with them."""
    handlers, level = logging.root.handlers[:], logging.root.level
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    for number, handler in signals.items():
        signal.signal(number, handler)


def stop(_address: str) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def start(data: Path) -> app.Start:
    """Return the options of a plain start, which ends at once."""
    return app.Start(data, None, stop, Notifier({}, 0), takes_over=False)


class Held:
    """How many descriptors and threads this process has, without those of unreferenced objects."""

    def __init__(self) -> None:
        gc.collect()
        self.descriptors = len(list(Path("/proc/self/fd").iterdir()))
        self.threads = len(list(Path("/proc/self/task").iterdir()))

    def assert_as_before(self) -> None:
        """Check that nothing was added; a joined thread may be in /proc for a moment longer.

        Of an earlier test, something may end meanwhile.
        """
        assert Held().descriptors <= self.descriptors
        wait_for(lambda: Held().threads <= self.threads, "the OS threads to end")


@pytest.mark.usefixtures("_process_as_before")
def test_starting_and_stopping_leaves_descriptors_and_threads_as_they_were(
    tmp_path: Path,
) -> None:
    app.run(LoadedSettings(SETTINGS), start(tmp_path))  # some objects are created once and kept
    before = Held()
    for _ in range(5):
        app.run(LoadedSettings(SETTINGS), start(tmp_path))
    before.assert_as_before()
    assert not (tmp_path / "control.sock").exists()


@pytest.mark.usefixtures("_process_as_before")
def test_a_taken_port_leaves_nothing_held(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        settings = Settings(server=ServerSettings(listen=address))
        before = Held()
        with pytest.raises(OSError, match=rf"Address already in use: '{address}'"):
            app.run(LoadedSettings(settings), start(tmp_path))
        before.assert_as_before()
    with Lock(tmp_path):
        pass


@pytest.mark.usefixtures("_process_as_before")
def test_a_failure_of_the_last_step_undoes_all_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_control: Control) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Control, "start", fail)
    before = Held()
    with pytest.raises(OSError, match="No space"):
        app.run(LoadedSettings(SETTINGS), start(tmp_path))
    before.assert_as_before()
    with Lock(tmp_path):
        pass


@pytest.mark.usefixtures("_process_as_before")
def test_a_start_loads_no_library_that_may_never_be_needed(tmp_path: Path) -> None:
    app.run(LoadedSettings(SETTINGS), start(tmp_path))
    program = (
        "import sys; from pathlib import Path; "
        "from commentsvc import app; from commentsvc.cli import main;"
        "from tests.unit.test_app import SETTINGS, LoadedSettings, start;"
        "app.run(LoadedSettings(SETTINGS), start(Path(sys.argv[1]))); print(*sys.modules)"
    )
    words = [sys.executable, "-c", program, str(tmp_path)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert "commentsvc.delivery.channels" in said
    assert not {*said} & {*LATE}


def test_a_folder_that_cannot_hold_sockets_is_told_and_is_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    async def execute(_: Request) -> CommandResult:
        return CommandResult()

    async def listen() -> None:
        control = Control(
            tmp_path / "control.sock",
            execute=execute,
            ready=CommandResult(),
            accept=lambda _: False,
        )
        await app._listen(control, tmp_path)
        await control.stop(1.0)

    monkeypatch.setattr(Control, "start", fails)
    asyncio.run(listen())
    assert f"{tmp_path} cannot hold a socket (Function not implemented)" in caplog.text


@pytest.mark.postgresql_only("a file has no other users")
def test_a_start_warns_of_other_users_who_may_connect(
    tmp_path: Path, postgresql_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    url = str(location(tmp_path))
    name = conninfo_to_dict(url)["dbname"]
    postgresql_server.run("CREATE ROLE a_stranger LOGIN")
    try:
        with app._leader(url, LoadedSettings(SETTINGS), (b"key",)):
            assert "other users may connect to the database (a_stranger" in caplog.text
            assert f'run REVOKE CONNECT ON DATABASE "{name}" FROM PUBLIC' in caplog.text
        postgresql_server.run(f"REVOKE CONNECT ON DATABASE {name} FROM PUBLIC")
        caplog.clear()
        with app._leader(url, LoadedSettings(SETTINGS), (b"key",)):
            assert not caplog.records
    finally:
        postgresql_server.run(f"GRANT CONNECT ON DATABASE {name} TO PUBLIC")
        postgresql_server.run("DROP ROLE a_stranger")
