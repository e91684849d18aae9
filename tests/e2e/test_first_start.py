"""Problems at the first start are reported in one line that says what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import PATIENCE, ROOT, environment

pytestmark = pytest.mark.sqlite_only("it is about files")

SOMEBODY = 10_001
# Both run after commentsvc was imported, since that import rebuilds a core whose sources changed.
SMALL_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"
# Drop CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH with capset(2), so that permissions bind root too.
NO_POWER = """
import ctypes
head, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert ctypes.CDLL(None).capset(head, sets) == 0
"""


def start(data: Path, before: str = "", **environ: str) -> tuple[int, str]:
    """Start a server that fails, with `before` run in its process; return exit code and stderr."""
    words = ["serve", "--data", str(data), "--listen", "127.0.0.1:0"]
    data.mkdir(mode=0o700, exist_ok=True)
    code = f"import commentsvc.app\n{before}\nfrom commentsvc.cli.main import main\nmain({words})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(environ),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_folder_of_somebody_else_is_told_with_the_command_that_helps(data: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder of somebody else's")
    data.mkdir(mode=0o700)
    os.chown(data, SOMEBODY, SOMEBODY)
    code, said = start(data, NO_POWER)
    assert code == 1
    assert said.count("\n") == 1
    assert f"{data} cannot be written: {data} belongs to an unknown user (uid {SOMEBODY}" in said
    assert f"Run: chown -R 0:0 {data} (in a container, " in said


@pytest.mark.parametrize("room", [0, 1_000, 20_000, 60_000])
def test_a_limit_of_file_sizes_is_told(data: Path, room: int) -> None:
    code, said = start(data, SMALL_FILES.format(room))
    assert code == 1
    assert said.count("\n") == 1, said
    advice = ("ulimit -f", "make room on its disk", "look at its disk", "Check the disk")
    assert any(each in said for each in advice)


def test_a_missing_secret_is_told(data: Path) -> None:
    secret = "/run/secrets/none"
    code, said = start(data, COMMENTSVC_MAIL_PASSWORD_FILE=secret)
    assert code == 1
    assert said == (
        f"commentsvc: COMMENTSVC_MAIL_PASSWORD_FILE is {secret}, which cannot be read: No such file"
        " or directory. Name another file or unset it.\n"
    )
