"""The parent process of `--reload`: what it watches, and how it treats its child."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commentsvc.cli import reload
from tests.e2e.program import rewrite, wait_for

PATIENCE = 120.0  # seconds; the machine may be busy

# Writes a line into a log at each start, then sleeps; on SIGTERM it exits with 0 unless the file
# says otherwise.
CHILD = """
import pathlib, signal, sys, time
log, mode = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text()
if mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
with log.open("a") as file:
    file.write(mode + "\\n")
if mode == "broken":
    sys.exit(3)
if mode == "short":
    sys.exit(0)
time.sleep(60)
"""
PARENT = """
import pathlib, sys
from commentsvc.cli import reload
log, mode = sys.argv[2:4]
child = [sys.executable, "-c", sys.argv[1], log, mode]
sys.exit(reload.run(child, [pathlib.Path(mode)], grace=float(sys.argv[4])))
"""


class Parent:
    """A parent that watches one file, which tells its child what to do."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.log, self.mode = folder / "log", folder / "mode"
        self.mode.write_text(mode)
        grace = "0.5" if mode == "stubborn" else str(PATIENCE)
        self.process = subprocess.Popen(
            [sys.executable, "-c", PARENT, CHILD, str(self.log), str(self.mode), grace],
            cwd=Path(__file__).parents[3],
            stderr=subprocess.PIPE,
            text=True,
        )

    def starts(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []

    def end(self) -> tuple[int, str]:
        _, said = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Parent]]:
    parents: list[Parent] = []

    def start(mode: str) -> Parent:
        parent = Parent(tmp_path, mode)
        parents.append(parent)
        wait_for(lambda: parent.starts() == [mode], "the first start", PATIENCE)
        return parent

    yield start
    for parent in parents:
        if parent.process.poll() is None:
            parent.process.kill()
        parent.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_parent_stops_both(
    start: Callable[[str], Parent], number: signal.Signals
) -> None:
    parent = start("steady")
    parent.process.send_signal(number)
    assert parent.end() == (0, "")


def test_a_change_starts_the_child_anew(start: Callable[[str], Parent]) -> None:
    parent = start("steady")
    rewrite(parent.mode, "again")
    wait_for(lambda: parent.starts() == ["steady", "again"], "the second start", PATIENCE)
    parent.process.terminate()
    code, said = parent.end()
    assert code == 0
    assert said == f"commentsvc: {parent.mode} changed; starting anew\n"


def test_a_broken_child_is_started_after_the_next_change_only(
    start: Callable[[str], Parent],
) -> None:
    parent = start("broken")
    time.sleep(3 * reload.INTERVAL)  # the only test that waits for something that must not happen
    assert parent.starts() == ["broken"]
    rewrite(parent.mode, "repaired")
    wait_for(lambda: parent.starts() == ["broken", "repaired"], "the second start", PATIENCE)
    parent.process.terminate()
    code, said = parent.end()
    assert code == 0
    assert said.count("ended with exit code 3; waiting for a change") == 1


def test_a_child_that_ends_well_ends_the_parent(start: Callable[[str], Parent]) -> None:
    assert start("short").end() == (0, "")


def test_a_child_that_does_not_stop_is_killed(start: Callable[[str], Parent]) -> None:
    parent = start("stubborn")
    parent.process.terminate()
    assert parent.end()[0] != 0


def test_a_look_sees_new_changed_and_removed_files(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "x.py"
    file.parent.mkdir()
    empty = reload.scan([tmp_path])
    file.write_text("1")
    new = reload.scan([tmp_path])
    file.write_text("22")
    changed = reload.scan([tmp_path])
    file.unlink()
    assert empty == {}
    assert new.keys() == changed.keys() == {str(file)}
    assert new != changed
    assert reload.scan([tmp_path]) == {}


def test_a_look_leaves_out_what_the_server_is_not_made_of(tmp_path: Path) -> None:
    for name in ("x.py~", ".#x.py", "x.pyc", "__pycache__/y.py", ".git/z.py", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert reload.scan([tmp_path]) == {}


def test_a_file_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    assert reload.scan([tmp_path / "none.toml"]) == {}


def test_the_core_and_the_widget_are_watched_in_a_checkout_only(tmp_path: Path) -> None:
    package = tmp_path / "commentsvc"
    settings = tmp_path / "commentsvc.toml"
    assert reload.sources(package, None) == [package]
    (tmp_path / "meson.build").write_text("")
    assert reload.sources(package, settings) == [
        package,
        tmp_path / "core",
        tmp_path / "static",
        settings,
    ]


def test_an_unreadable_folder_is_no_error() -> None:
    assert reload.scan([Path(f"/proc/{os.getpid()}/none")]) == {}
