"""The machine and the commit of a result, without paths or host names."""

import datetime
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import time
from pathlib import Path

from loadtest.harness.programs import ROOT
from loadtest.harness.service import ServiceError

FSYNCS = 50  # measured, for the speed of the disk
MEMORY_ONLY = ("tmpfs", "ramfs")  # where an fsync does nothing
BUILD_OPTIONS = ("buildtype", "optimization", "c_args", "b_ndebug", "b_lto")


def describe() -> dict[str, str | int]:
    """Return the processor, kernel, compiler, Python and flags."""
    return {
        "processor": parse_processor(Path("/proc/cpuinfo").read_text()),
        "cores": os.cpu_count() or 0,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        **_build(ROOT / "build" / f"cp{''.join(platform.python_version_tuple()[:2])}"),
    }


def choose_cores() -> tuple[int, int]:
    """Return the server's core and the clients', and move there. Raise ServiceError."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise ServiceError("there is one core only: server and clients need one each")
    os.sched_setaffinity(0, {cores[1]})
    return cores[0], cores[1]


def commit() -> dict[str, str | bool]:
    """Return the commit that is checked out, and whether files differ from it, results apart."""
    changed = _git("status", "--porcelain", "--", ".", ":!loadtest/results")
    return {"commit": _git("rev-parse", "HEAD"), "dirty": bool(changed)}


def now() -> str:
    """Return the date and time, UTC."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def filesystem(folder: Path) -> str:
    """Return the type of the file system that holds `folder`."""
    return parse_filesystem(Path("/proc/self/mounts").read_text(), folder.resolve())


def parse_filesystem(mounts: str, path: Path) -> str:
    """Find the type of the mount that holds `path`; the last one on a place hides the others."""
    kinds = {fields[1]: fields[2] for fields in map(str.split, mounts.splitlines())}
    return next(kinds[str(folder)] for folder in (path, *path.parents) if str(folder) in kinds)


def parse_processor(cpuinfo: str) -> str:
    """Return the processor's name in /proc/cpuinfo, the architecture where it says none."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def fsync_us(folder: Path) -> float:
    """Return the median time, in µs, to append 4 KiB to a file and have it on the disk."""
    path, times = folder / "fsync", []
    with path.open("wb", buffering=0) as file:
        for _ in range(FSYNCS):
            begin = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            times.append((time.perf_counter() - begin) * 1e6)
    path.unlink()
    return statistics.median(times)


def _build(folder: Path) -> dict[str, str]:
    """Return meson's settings of the core's build; nothing if it was built elsewhere."""
    about = folder / "meson-info"
    try:
        compilers = json.loads((about / "intro-compilers.json").read_text())
        options = json.loads((about / "intro-buildoptions.json").read_text())
    except FileNotFoundError:
        return {}
    values = {option["name"]: option["value"] for option in options}
    flags = " ".join(f"{name}={_plain(values[name])}" for name in BUILD_OPTIONS if name in values)
    return {"compiler": compilers["host"]["c"]["full_version"], "flags": flags}


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _git(*words: str) -> str:
    """Return the output of git; "" if it is not installed."""
    words = ("git", *words)
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
