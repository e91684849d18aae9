"""loadtest/harness/machine.py: what a result says of where it was measured."""

from pathlib import Path

import pytest

from loadtest.harness import machine
from loadtest.harness.machine import parse_filesystem, parse_processor

MOUNTS = """/dev/vda / ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
/dev/vdb /tmp/disk xfs rw 0 0
proc /proc proc rw 0 0
none /tmp tmpfs2 rw 0 0
"""


def test_the_nearest_mount_above_a_folder_tells_its_file_system() -> None:
    assert parse_filesystem(MOUNTS, Path("/home/x")) == "ext4"
    assert parse_filesystem(MOUNTS, Path("/tmp/disk/x/y")) == "xfs"
    assert parse_filesystem(MOUNTS, Path("/tmpx")) == "ext4"


def test_the_last_mount_on_a_place_hides_the_others() -> None:
    assert parse_filesystem(MOUNTS, Path("/tmp/x")) == "tmpfs2"


def test_the_processor_has_its_name() -> None:
    assert parse_processor("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n") == "Some CPU @ 3 GHz"
    assert parse_processor("Hardware : x\n") != ""


def test_a_machine_is_described_without_paths() -> None:
    told = machine.describe()
    assert {"processor", "cores", "kernel", "python", "sqlite"} <= set(told)
    assert not any("/" in str(value) for value in told.values())


def test_an_fsync_takes_time(tmp_path: Path) -> None:
    assert machine.fsync_us(tmp_path) > 0
    assert not [*tmp_path.iterdir()]


def test_where_git_is_missing_the_commit_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert machine.commit() == {"commit": "", "dirty": False}
