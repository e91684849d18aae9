"""`serve --reload`: runs the server as a child and restarts it when a file changes.

Modules cannot be unloaded, an extension least of all. So a small parent process checks the files
twice a second and replaces the whole child. (In an editable checkout, importing the package
recompiles the core.) The child has a process group of its own: Ctrl-C reaches only the parent,
which passes it on once. A child that fails is not restarted until a file changes.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

# Seconds between two checks: fast enough for a person, and hardly any work.
INTERVAL: Final = 0.5
# Seconds between two looks whether a child has stopped.
PAUSE: Final = 0.05
# The suffixes of source files; editors' temporary files have others.
SUFFIXES: Final = frozenset(
    ".py .c .h .build .html .xml .js .css .svg .toml".split()  # noqa: SIM905 - easier to read
)

State = dict[str, tuple[int, int]]


def sources(package: Path, settings_file: Path | None) -> list[Path]:
    """Return what to watch: the package, the settings, and in a checkout the sources beside it."""
    checkout = package.parent
    beside = [checkout / "core", checkout / "static"] if (checkout / "meson.build").exists() else []
    return [package, *beside, *([settings_file] if settings_file else [])]


def scan(paths: Sequence[Path]) -> State:
    """Return the modification time and size of every file in and below `paths`."""
    state: State = {}
    for path in paths:
        for file in _walk(path):
            with contextlib.suppress(OSError):  # it was just removed
                status = file.stat()
                state[str(file)] = (status.st_mtime_ns, status.st_size)
    return state


def _walk(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        for name in files:
            if Path(name).suffix in SUFFIXES and not name.startswith("."):
                yield Path(folder, name)


def run(command: Sequence[str], paths: Sequence[Path], *, grace: float) -> int:
    """Keep `command` running, and restart it whenever a file in `paths` changes.

    This ends at SIGINT or SIGTERM, or when the command ends successfully; return its exit code. A
    child that does not stop within `grace` seconds, or before a second signal, is killed.
    """
    # The handler raises nothing: an exception while a child is started would lose that child.
    signals: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _frame: signals.append(received))
    state = scan(paths)
    child = _start(command)
    failed = False
    while not signals:
        if (code := child.poll()) == 0:
            return 0
        if code is not None and not failed:
            _say(f"the server ended with exit code {code}; waiting for a change")
        failed = code is not None
        time.sleep(INTERVAL)
        if not signals and (now := scan(paths)) != state:
            changed = min(path for path, _ in state.items() ^ now.items())
            _say(f"{changed} changed; starting anew")
            state = now
            _stop(child, grace, signals)
            if not signals:
                child = _start(command)
    return _stop(child, grace, signals)


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, process_group=0)


def _stop(child: subprocess.Popen[bytes], grace: float, signals: Sequence[int]) -> int:
    """Stop the child, unless it has ended; return its exit code. Kill it at a second signal."""
    child.terminate()
    end = time.monotonic() + grace
    while child.poll() is None:
        if len(signals) > 1 or time.monotonic() >= end:
            child.kill()
            return child.wait()
        time.sleep(PAUSE)
    return child.returncode


def _say(text: str) -> None:
    print(f"commentsvc: {text}", file=sys.stderr, flush=True)
