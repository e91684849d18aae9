"""The units of systemd, judged by its own programs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.journey.program import ROOT

UNITS = ROOT / "config/systemd"
ANALYZE = shutil.which("systemd-analyze")
# As `systemd-analyze security` counts: 0 is shut in, 10 is open; most services of Debian's have 9.
MOST_EXPOSED = 1.5


def analyze(*words: str | Path) -> str:
    """What systemd-analyze says; it is told of a test that fails where it does not succeed."""
    if ANALYZE is None:
        pytest.skip("not installed: systemd-analyze")
    done = subprocess.run([ANALYZE, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_service_is_shut_in() -> None:
    told = analyze("security", "--offline=true", "--no-pager", UNITS / "commentsvc.service")
    found = re.search(r"Overall exposure level for commentsvc\.service: ([0-9.]+)", told)
    assert found
    assert float(found[1]) <= MOST_EXPOSED


def test_systemd_understands_every_line(tmp_path: Path) -> None:
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("/opt/commentsvc/bin/commentsvc", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    assert analyze("verify", *tmp_path.glob("commentsvc.*")) == ""


def test_the_socket_is_where_the_proxies_look_for_it() -> None:
    [path] = re.findall(r"^ListenStream=(.*)$", (UNITS / "commentsvc.socket").read_text(), re.M)
    for file in ("nginx.conf", "Caddyfile"):
        assert path in (ROOT / "config/proxy" / file).read_text()
