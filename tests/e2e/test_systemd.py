"""The units of systemd, judged by its own programs, and the socket that it hands over.

No systemd has to run for that; a restart on a socket that is kept is in test_upgrade.py.
"""

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.conftest import find_program
from tests.e2e.program import PATIENCE, ROOT, UnixConnection, environment, wait_for

UNITS = ROOT / "config/systemd"
# As `systemd-analyze security` counts: 0 is shut in, 10 is open; most services of Debian's have 9.
MOST_EXPOSED = 1.5


def analyze(*words: str | Path) -> str:
    """What systemd-analyze says; it is told of a test that fails where it does not succeed."""
    program = find_program("systemd-analyze")
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
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


def test_who_asks_at_the_socket_of_systemd_starts_the_service(tmp_path: Path) -> None:
    """Nothing runs before the first request, which waits in the socket and is answered."""
    path, data = tmp_path / "http.sock", tmp_path / "data"
    words = [find_program("systemd-socket-activate"), "-l", path]
    words += [sys.executable, "-m", "commentsvc", "serve", "--data", data]
    with (tmp_path / "log").open("w+") as log:
        process = subprocess.Popen(
            list(map(str, words)), cwd=ROOT, env=environment({}), stdout=log, stderr=log
        )
        try:
            wait_for(path.exists, "the socket")
            assert not data.exists()
            with closing(UnixConnection(str(path))) as connection:
                connection.request("GET", "/api/ping")
                assert connection.getresponse().read() == b"OK"
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0, (tmp_path / "log").read_text()
