"""Each condition that an operator has to mend is told in the same words, everywhere."""

import asyncio
import html
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commentsvc.cli.doctor import local
from commentsvc.db.errors import DatabaseFull, DatabaseUnusable
from commentsvc.monitoring import conditions
from commentsvc.monitoring.conditions import Machine
from commentsvc.runtime import control
from commentsvc.settings.schema import BackupSettings, ServerSettings
from tests.unit.admin_client import seated, text
from tests.unit.app_fixture import SETTINGS, Served, served
from tests.unit.mail_server import mail_settings
from tests.unit.settable_clock import SettableClock

Begin = Callable[[Served, pytest.MonkeyPatch], None]


def full(service: Served, _: pytest.MonkeyPatch) -> None:
    service.database.write_health.failed(DatabaseFull("the disk is full"))


def replaced(service: Served, _: pytest.MonkeyPatch) -> None:
    service.database.write_health.failed(DatabaseUnusable("the file was replaced: restart"))


def nearly_full(_: Served, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        os, "statvfs", lambda _: os.statvfs_result((4096, 4096, 9, 9, 9, 9, 9, 9, 0, 255))
    )


def without_inodes(_: Served, patch: pytest.MonkeyPatch) -> None:
    many = 1 << 40
    found = (4096, 4096, many, many, many, 9, 0, 0, 0, 255)
    patch.setattr(os, "statvfs", lambda _: os.statvfs_result(found))


def unreachable(service: Served, _: pytest.MonkeyPatch) -> None:
    service.submit()
    asyncio.run(service.outbox.deliver("mail"))


def no_backup(service: Served, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(service.backups, "_make", lambda _: (_ for _ in ()).throw(OSError("no room")))
    service.backups.round()


def jump(seconds: int) -> Begin:
    def begin(service: Served, _: pytest.MonkeyPatch) -> None:
        service.clock.now += seconds

    return begin


def newer(service: Served, _: pytest.MonkeyPatch) -> None:
    os.utime(settings_file(service), (1, 1))


def settings_file(service: Served) -> Path:
    file = service.machine._file
    assert file
    return file


BEGINNINGS: dict[str, tuple[str, Begin, str]] = {
    "a full disk": ("database", full, "nothing can be stored: the disk is full"),
    "a replaced file": ("database", replaced, "the file was replaced: restart"),
    "a disk that is nearly full": ("disk", nearly_full, "make room there"),
    "a disk without inodes": ("disk", without_inodes, "make room there"),
    "a mail server that is away": ("mail", unreachable, "Connection refused"),
    "a backup that fails": ("backup", no_backup, "no backup is made: no room"),
    "a clock that goes back": ("clock", jump(-3_600), "jumped 3600 seconds back"),
    "a clock that goes ahead": ("clock", jump(90_000), "jumped 90000 seconds ahead"),
    "a newer settings file": ("settings", newer, "newer than the running service: restart it"),
}


@pytest.mark.parametrize(("name", "begin", "words"), BEGINNINGS.values(), ids=BEGINNINGS)
def test_a_condition_is_told_in_the_same_words_everywhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    begin: Begin,
    words: str,
) -> None:
    settings = replace(
        SETTINGS,
        server=ServerSettings(public_url="https://c.example"),
        mail=mail_settings(1),
        backup=BackupSettings(directory=str(tmp_path / "kept")),
    )
    (tmp_path / "commentsvc.toml").write_text("")
    with served(tmp_path, settings) as service:
        service.machine._file = tmp_path / "commentsvc.toml"
        service.machine._started = conditions._changed(service.machine._file)
        service.machine.check()
        seat = seated(service)
        assert everywhere(service, seat, monkeypatch) == {}
        begin(service, monkeypatch)
        service.machine.check()
        found = everywhere(service, seat, monkeypatch)
    assert [*found] == [name]
    assert words in found[name]
    assert found[name] in caplog.text


def everywhere(service: Served, seat: Any, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return what is said of the service, by name: the same in each place."""
    page = html.unescape(text(seat.get("dashboard")))
    metrics = service.ask("GET", "/metrics", b"", "127.0.0.1").body.decode()
    error = service.database.write_health.error
    with patch.context() as during:
        if error:
            during.setattr(service.database, "write", failing(DatabaseFull(error)))
        ready = service.ask("GET", "/readyz", b"", "127.0.0.1")
        during.setattr(local, "_asked", lambda *_: ready.body)
        during.setattr(control, "ask", lambda *_: None)
        found = local.reported(Path())  # by `doctor`
    assert ready.status == (503 if error else 200)
    for name, said in found.items():
        assert said in page
        assert f'commentsvc_condition{{condition="{name}",text={json.dumps(said)}}} 1.0' in metrics
    assert metrics.count("commentsvc_condition{") == len(found)
    return found


def failing(error: Exception) -> Callable[..., Any]:
    async def fail(*_: object) -> None:
        raise error

    return fail


def test_the_clock_is_told_of_for_an_hour_and_no_adjustment_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = SettableClock(1_000_000, 0)
    machine = Machine(None, None, clock)
    for seconds in (20, 25, 12):  # NTP slews, and rounds are late
        clock.now += seconds
        clock.elapsed += 20_000
        machine.check()
    assert machine.conditions() == {}
    clock.now += 7_200
    machine.check()
    machine.check()
    assert [*machine.conditions()] == ["clock"]
    assert caplog.text.count("jumped") == 1
    clock.now += 3_601
    clock.elapsed += 3_601_000
    machine.check()
    assert machine.conditions() == {}


def test_the_beginning_and_the_end_of_a_condition_are_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    file = tmp_path / "commentsvc.toml"
    file.write_text("")
    machine = Machine(tmp_path, file, SettableClock(0, 0))
    before = file.stat().st_mtime_ns
    os.utime(file, ns=(1, 1))
    for _ in range(3):
        machine.check()
    os.utime(file, ns=(before, before))
    for _ in range(3):
        machine.check()
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        f"{file} is newer than the running service: restart it",
        "settings: the condition is over",
    ]
