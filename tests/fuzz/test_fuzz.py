"""Run every fuzz target on its corpus with sanitizers, and let libFuzzer search for new inputs."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen

import pytest

from tests.conftest import cannot_run, find_program
from tests.fuzz.seed_corpus import BUILD, TARGETS, unpack

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
# Seconds for all targets, which run at once; on two cores each gets two thirds of it.
SECONDS = int(os.environ.get("FUZZ_SECONDS", "60"))
# Largest input in bytes: a head over its limit and a long pipeline are both smaller.
LONGEST = 20_000


def build(name: str, compiler: str) -> Path:
    """Return the folder with the fuzz targets, built with `compiler`."""
    folder = BUILD / name
    if not (folder / "build.ninja").exists():
        sanitizers = ("-Db_sanitize=address,undefined", "-Db_lundef=false")
        options = ("-Dfuzz=true", "-Doptimization=1", *sanitizers)
        environment = {**os.environ, "CC": compiler}
        run(["meson", "setup", str(folder), str(ROOT), *options], environment)
    run(["meson", "compile", "-C", str(folder), *TARGETS])
    return folder / "tests/fuzz"


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment, stdout=PIPE, stderr=STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.fixture(scope="module")
def replaying() -> Path:
    return build("replay", os.environ.get("CC", "cc"))


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_brings_out_nothing_that_is_not_allowed(target: str, replaying: Path) -> None:
    run([str(replaying / target), "-runs=0", str(unpack(target))])


@pytest.fixture(scope="module")
def fuzzing() -> Iterator[dict[str, Popen[str]]]:
    """Start all targets at the same time."""
    clang = find_program("clang")
    probe = [clang, "-fsanitize=fuzzer", "-x", "c", "-", "-o", "/dev/null"]
    source = "int LLVMFuzzerTestOneInput(void) { return 0; }"
    if subprocess.run(probe, input=source, text=True, stderr=PIPE).returncode != 0:
        cannot_run("clang has no libFuzzer; its package is libclang-rt-dev")
    folder = build("fuzz", clang)
    running = {target: start(folder, target) for target in TARGETS}
    yield running
    for process in running.values():
        process.kill()
        process.wait()


def start(folder: Path, target: str) -> Popen[str]:
    """Start libFuzzer, which reads both corpora and writes new inputs into the first."""
    found = BUILD / "found" / target
    found.mkdir(parents=True, exist_ok=True)
    command = [
        str(folder / target),
        f"-max_total_time={SECONDS}",
        f"-max_len={LONGEST}",
        "-timeout=60",  # seconds for an input; the machine may be busy
        f"-seed={1 if os.environ.get('CI') == 'true' else 0}",  # 0: another one in each run
        f"-dict={HERE / 'http.dict'}",
        f"-artifact_prefix={BUILD / 'found'}/{target}-",
        str(found),
        str(unpack(target)),
    ]
    return Popen(command, stdout=PIPE, stderr=STDOUT, text=True, errors="replace")


@pytest.mark.parametrize("target", TARGETS)
def test_fuzzing_brings_out_nothing_that_is_not_allowed(
    target: str, fuzzing: dict[str, Popen[str]]
) -> None:
    output, _ = fuzzing[target].communicate()
    assert fuzzing[target].returncode == 0, output[-5000:]
    done = re.search(r"^#(\d+)\tDONE +cov: (\d+)", output, re.MULTILINE)
    assert done, output[-5000:]
    print(f"\n{target}: {done[1]} executions, {done[2]} edges reached")
    assert int(done[1]) > 20 * SECONDS, "the target has become too slow to find anything"
