"""Whether the data folder can be used, and the error if it cannot."""

import os
from pathlib import Path

import pytest

from commentsvc.settings import data_dir
from commentsvc.settings.data_dir import DataUnusable


def test_a_missing_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    data = tmp_path / "deep" / "data"
    data_dir.prepare(data)
    assert data.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    data_dir.prepare(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o750


def test_a_file_in_its_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(DataUnusable, match=r"/data is not a folder\. Give another path"):
        data_dir.prepare(tmp_path / "data")


def test_a_file_above_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataUnusable, match=r"/file/data cannot be created: Not a directory"):
        data_dir.prepare(tmp_path / "file" / "data")


@pytest.mark.parametrize("folder", ["/proc/x", "/sys/x"])
def test_a_folder_that_no_user_can_create_is_refused_with_the_next_step(folder: str) -> None:
    with pytest.raises(DataUnusable, match=f"{folder} cannot be created") as caught:
        data_dir.prepare(Path(folder))
    if os.geteuid() == 0:
        assert str(caught.value).endswith(" Name another folder with --data.")


def refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend to be a user who may not enter the folder, since tests often run as root."""
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    monkeypatch.setattr(os, "geteuid", lambda: 10001)
    monkeypatch.setattr(os, "getegid", lambda: 10002)


def test_a_folder_of_somebody_else_is_named_with_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    uid = tmp_path.stat().st_uid
    refuse(monkeypatch)
    with pytest.raises(DataUnusable) as caught:
        data_dir.prepare(tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path} cannot be written: {tmp_path} belongs to ")
    assert f"(uid {uid}, mode 0755), and this runs as uid 10001. " in message
    assert f"Run: chown -R 10001:10002 {tmp_path} (in a container, " in message


def test_a_folder_that_may_not_be_made_is_named_with_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch)

    def mkdir(self: Path, mode: int, parents: bool, exist_ok: bool) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    data = tmp_path / "a" / "b"
    with pytest.raises(DataUnusable) as caught:
        data_dir.prepare(data)
    assert f"{tmp_path} belongs to " in str(caught.value)
    assert str(caught.value).endswith(f"Run: install -d -m 0700 -o 10001 -g 10002 {data}")


def test_a_file_system_that_is_read_only_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.statvfs(tmp_path)
    read_only = os.statvfs_result((*real[:8], real.f_flag | os.ST_RDONLY, *real[9:]))
    monkeypatch.setattr(os, "statvfs", lambda _path: read_only)
    with pytest.raises(DataUnusable, match="its file system is mounted read-only"):
        data_dir.prepare(tmp_path)


def test_an_owner_without_a_name_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch)

    def getpwuid(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", getpwuid)
    with pytest.raises(DataUnusable, match="belongs to an unknown user"):
        data_dir.prepare(tmp_path)
