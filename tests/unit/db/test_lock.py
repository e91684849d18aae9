"""One process at a time writes in a data folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commentsvc.db.errors import DatabaseBusy
from commentsvc.db.lock import Lock

HOLDER = """
import sys, pathlib
from commentsvc.db.lock import Lock
with Lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_and_told_who_holds_the_lock(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(DatabaseBusy, match=rf"{tmp_path} .*process {holder.pid}"),
            Lock(tmp_path),
        ):
            pass
        holder.kill()
        holder.wait()
        with Lock(tmp_path):  # the kernel has released the lock
            assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_the_lock_can_be_taken_again_after_it_was_given_back(tmp_path: Path) -> None:
    for _ in range(2):
        with Lock(tmp_path), pytest.raises(DatabaseBusy), Lock(tmp_path):
            pass


def test_only_its_owner_may_read_the_lock_file(tmp_path: Path) -> None:
    with Lock(tmp_path):
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def test_a_missing_folder_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), Lock(tmp_path / "missing"):
        pass


def test_a_copy_of_the_descriptor_is_the_lock(tmp_path: Path) -> None:
    with Lock(tmp_path) as old:
        copy = os.dup(old.fileno())
    with pytest.raises(DatabaseBusy), Lock(tmp_path):
        pass
    with Lock(tmp_path, copy), pytest.raises(DatabaseBusy), Lock(tmp_path):
        pass
    with Lock(tmp_path):
        pass
