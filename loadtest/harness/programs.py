"""Our C programs, compiled if they are older than their sources."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "loadtest" / "native"
BUILD = ROOT / "build" / "loadtest"
FLAGS = ("-O2", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror")


class ProgramError(Exception):
    """One of our own programs cannot be built; the message says what to do."""


class MissingError(Exception):
    """A program of others is not installed; the message says what to do."""


def generator() -> Path:
    """Return the load generator. Raise ProgramError."""
    return build("generator", sorted((NATIVE / "generator").glob("*.c")), FLAGS)


def browsers() -> Path:
    """Return the patient clients, which share the generator's questions. Raise ProgramError."""
    shared = [NATIVE / "generator" / f"{name}.c" for name in ("plan", "answer", "histogram", "die")]
    sources = sorted((NATIVE / "browsers").glob("*.c")) + shared
    return build("browsers", sources, FLAGS, ("-lssl", "-lcrypto"))


def baseline() -> Path:
    """Return the baseline, with AVX2 where the processor has it. Raise ProgramError."""
    has_avx2 = re.search(r"^flags\b.*\bavx2\b", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    kind, flags = ("avx2", ("-mavx2",)) if has_avx2 else ("plain", ())
    sources = [NATIVE / "baseline" / name for name in ("baseline.c", f"ends_{kind}.c")]
    return build(f"baseline-{kind}", sources, (*FLAGS, *flags))


def build(
    name: str, sources: list[Path], flags: tuple[str, ...], libraries: tuple[str, ...] = ()
) -> Path:
    """Compile `sources` to build/loadtest/`name`. Raise ProgramError."""
    program = BUILD / name
    headers = [path for source in sources for path in source.parent.glob("*.h")]
    newest = max(path.stat().st_mtime for path in (*sources, *headers))
    if program.exists() and program.stat().st_mtime >= newest:
        return program
    BUILD.mkdir(parents=True, exist_ok=True)
    compiler = os.environ.get("CC", "cc")
    try:
        subprocess.run([compiler, *flags, *sources, "-o", program, *libraries], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ProgramError(
            f"{name} cannot be built ({error}). Run: apt-get install -y gcc libc6-dev libssl-dev"
        ) from error
    return program
