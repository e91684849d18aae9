"""`serve --reload` as a developer uses it."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.program import Service, rewrite, wait_for

NO_DATABASE = "it is about processes"


def is_gone(process: int) -> bool:
    return not Path(f"/proc/{process}").exists()


def test_changed_settings_are_served_after_a_restart(
    data: Path, tmp_path: Path, start: Callable[..., Service]
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("")
    service = start(data, "--config", file, "--reload")
    assert service.submit("/post/", "Hello").status == 202
    rewrite(file, '[moderation]\npolicy = "none"\n')
    service.wait_until_ready()
    assert service.submit("/post/", "Hello again").status == 201


@pytest.mark.sqlite_only(NO_DATABASE)
def test_ctrl_c_stops_the_server_too(data: Path, start: Callable[..., Service]) -> None:
    service = start(data, "--reload")
    server = int((data / "lock").read_text())
    assert server != service.process.pid
    assert service.stop(signal.SIGINT) == 0
    wait_for(lambda: is_gone(server), "the server to end")
    assert not (data / "control.sock").exists()


@pytest.mark.sqlite_only(NO_DATABASE)
def test_a_mistake_in_the_settings_is_told_and_mended(
    data: Path, tmp_path: Path, start: Callable[..., Service]
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("")
    service = start(data, "--config", file, "--reload")
    rewrite(file, "[server]\nworkers = 0\n")
    wait_for(lambda: "waiting for a change" in service.log.read_text(), "the failure to be told")
    assert "Write for example workers = 1" in service.log.read_text()
    rewrite(file, "[server]\nworkers = 2\n")
    service.wait_until_ready()
    assert service.request("GET", "/api/ping").status == 200
