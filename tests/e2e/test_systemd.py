"""The systemd units, checked with systemd's own programs, and socket activation.

systemd need not run for that; restarts on a socket that stays open are in test_upgrade.py.
"""

import os
import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import find_program
from tests.e2e.program import PATIENCE, ROOT, UnixConnection, environment, wait_for

pytestmark = pytest.mark.sqlite_only("it is about units")

UNITS = ROOT / "config/systemd"
# The scale of `systemd-analyze security`: 0 is best; most services of Debian have 9, 10 is worst.
MOST_EXPOSED = 1.5


def analyze(*words: str | Path) -> str:
    """Return the output of systemd-analyze; fail the test if it reports an error."""
    program = find_program("systemd-analyze")
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(params=["", "hitch.conf"])
def units(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a folder with the units as shipped, and with a drop-in for the service."""
    for unit in UNITS.glob("commentsvc*.*"):
        text = unit.read_text().replace("/opt/commentsvc/bin/commentsvc", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    if request.param:
        folder = tmp_path / "commentsvc.service.d"
        folder.mkdir()
        shutil.copy(UNITS / request.param, folder)
    return tmp_path


@pytest.mark.parametrize("name", ["commentsvc.service", "commentsvc@.service"])
def test_where_memory_is_short_a_hostile_picture_does_not_end_the_service(name: str) -> None:
    """By default, systemd stops a service if the kernel ends one of its processes."""
    assert "\nOOMPolicy=continue\n" in (UNITS / name).read_text()


def test_the_service_is_shut_in(units: Path) -> None:
    instance = (units / "commentsvc@.service").rename(units / "commentsvc@one.service")
    unit = units / "commentsvc.service"
    # For a unit that is given by its path, it does not look for drop-ins.
    for drop_in in units.glob("commentsvc.service.d/*"):
        unit.write_text(unit.read_text() + drop_in.read_text())
    for each in (unit, instance):
        report = analyze("security", "--offline=true", "--no-pager", each)
        found = re.search(r"Overall exposure level for commentsvc\S*\.service: ([0-9.]+)", report)
        assert found
        assert float(found[1]) <= MOST_EXPOSED


def test_systemd_understands_every_line(units: Path) -> None:
    assert analyze("verify", *units.glob("commentsvc.*[et]")) == ""
    for each in units.glob("commentsvc@.*"):
        each.rename(units / each.name.replace("@", "@one"))
    assert analyze("verify", *units.glob("commentsvc@one.*")) == ""


def test_the_instances_unit_differs_from_the_services_only_where_it_must() -> None:
    ours, theirs = (
        {line for line in (UNITS / name).read_text().splitlines() if not line.startswith("#")}
        for name in ("commentsvc.service", "commentsvc@.service")
    )
    changed = {"Description", "Requires", "After", "ExecStart", "StateDirectory"}
    assert {line.partition("=")[0] for line in ours - theirs} == changed
    added = {line.partition("=")[0] for line in theirs - ours}
    assert added == changed | {"LoadCredential", "Environment"}


@pytest.mark.parametrize("drop_in", [False, True])
def test_behind_hitch_the_service_may_listen_at_port_80(drop_in: bool) -> None:
    """As the user nobody, with the capabilities of the unit, in a network namespace of its own."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a process with the rights that systemd gives")
    text = (UNITS / "commentsvc.service").read_text()
    text += (UNITS / "hitch.conf").read_text() if drop_in else ""
    rights = dict(re.findall(r"^(\w*Capabilit\w+|PrivateUsers)=(.*)$", text, re.M))
    assert rights["AmbientCapabilities"] == rights["CapabilityBoundingSet"]
    named = rights["AmbientCapabilities"].split()
    sets = ",".join(["-all", *(f"+{name.lower().removeprefix('cap_')}" for name in named)])
    words = ["unshare", "--net", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    words += [f"--inh-caps={sets}", f"--ambient-caps={sets}", f"--bounding-set={sets}"]
    # The user nobody may not enter the folder of the Python that runs the tests.
    words += ["perl", "-MIO::Socket::INET", "-e", "new IO::Socket::INET(LocalPort => 80) or exit 9"]
    assert subprocess.run(words, check=False).returncode == (0 if drop_in else 9)
    assert (rights["PrivateUsers"] == "no") is drop_in


def test_the_socket_is_where_the_proxies_look_for_it() -> None:
    [path] = re.findall(r"^ListenStream=(.*)$", (UNITS / "commentsvc.socket").read_text(), re.M)
    for file in ("nginx.conf", "Caddyfile"):
        assert path in (ROOT / "config/proxy" / file).read_text()


def test_who_asks_at_the_socket_of_systemd_starts_the_service(tmp_path: Path) -> None:
    """The service starts with the first request, which waits in the socket and is answered."""
    path, data = tmp_path / "http.sock", tmp_path / "data"
    words = [find_program("systemd-socket-activate"), "-l", path]
    words += [sys.executable, "-m", "commentsvc", "serve", "--data", data]
    data.mkdir()
    with (tmp_path / "log").open("w+") as log:
        process = subprocess.Popen(
            list(map(str, words)), cwd=ROOT, env=environment({}), stdout=log, stderr=log
        )
        try:
            wait_for(path.exists, "the socket")
            assert not any(data.iterdir())
            with closing(UnixConnection(str(path))) as connection:
                connection.request("GET", "/api/ping")
                assert connection.getresponse().read() == b"OK"
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0, (tmp_path / "log").read_text()
