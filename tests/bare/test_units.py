"""The manual's lines for systemd, run in a booted system while readers post all the time.

A comment that a reader got an acknowledgement for is in the database at the end, or in the file
that the operator's own line has put aside.
"""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bare.booted import BootedSystem
from tests.bare.system import SOURCES, System
from tests.e2e.program import ROOT
from tests.e2e.test_manual import lines

DATA = "/var/lib/commentsvc"
SOCKET = "/run/commentsvc/commentsvc.sock"
SETTINGS = """
[[site]]
origins = ["https://blog.example"]
[moderation]
policy = "none"
[spam]
rate_limit = "100000/minute"
site_rate_limit = "100000/minute"
pending_limit = "100000/day"
proof_of_work = 0
form_token = "off"
duplicates = false
bayes = false
"""
# Posts without a pause, as $1 readers do; writes the words of each acknowledged comment to stdout.
READER = """
import http.client, json, socket, sys, time
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(sys.argv[1])
for number in range(10**6):
    words = f"{sys.argv[2]} {number}"
    body = json.dumps({"url": "/post/", "author": "Ann", "message": words})
    client = Unix("localhost")
    try:
        client.request("POST", "/api/comments", body, {"Content-Type": "application/json"})
        if client.getresponse().status in (201, 202):
            print(words, flush=True)
    except (OSError, http.client.HTTPException):
        pass  # the widget keeps the text
    client.close()
    time.sleep(0.02)
"""


@pytest.fixture(scope="module")
def installed(debian: System) -> None:
    """Install the package as the manual says, from a file made of these sources."""
    script = f'''
        apt-get install -qq -y --no-install-recommends gcc libc6-dev python3-dev python3-venv
        python3 -m venv /opt/commentsvc
        /opt/commentsvc/bin/pip install --quiet "{SOURCES}"
        ln -sf /opt/commentsvc/bin/commentsvc /usr/local/bin/
        groupadd --force www-data
    '''
    process = debian.start("sh", "-euc", script)
    said, _ = process.communicate()
    if process.returncode:
        pytest.skip(f"the package cannot be installed: {said[-300:]}")


@pytest.fixture
def unit(installed: None, booted: BootedSystem) -> Iterator[BootedSystem]:
    """Return the system with the unit set up by the manual's lines, and remove it by them."""
    for line in from_manual("installing", "install -m 0644", "systemctl enable", "commentsvc init"):
        booted.shell(line)
    (booted.root / "var/lib/private/commentsvc/commentsvc.toml").write_text(SETTINGS)
    booted.run("systemctl", "restart", "commentsvc")
    yield booted
    booted.shell(
        "systemctl disable --quiet --now commentsvc.socket commentsvc.service || true\n"
        "rm -rf /etc/systemd/system/commentsvc* /var/lib/commentsvc /var/lib/private/commentsvc\n"
        "systemctl daemon-reload"
    )


def from_manual(page: str, *begins: str) -> list[str]:
    """Return the commands of a page with these beginnings, in this order."""
    found = lines(ROOT / f"docs/{page}.md")
    return [next(line for line in found if line.startswith(begin)) for begin in begins]


@contextmanager
def readers(unit: BootedSystem, name: str) -> Iterator[list[str]]:
    """Let a reader post during the block; afterwards the list has what was acknowledged."""
    acknowledged: list[str] = []
    process = unit.start("python3", "-c", READER, SOCKET, name)
    assert process.stdout is not None
    acknowledged.append(process.stdout.readline().strip())
    try:
        yield acknowledged
        time.sleep(0.5)
    finally:
        process.kill()
        acknowledged += process.communicate()[0].splitlines()


def stored(unit: BootedSystem) -> set[str]:
    """Return the words of all comments that the service shows."""
    words = ["--status=approved", "--limit=100000", "--json"]
    said = unit.run("commentsvc", "list", "--data", DATA, *words)
    return {json.loads(line)["message"] for line in said.splitlines()}


def test_restoring_a_backup_works_on_a_busy_blog(unit: BootedSystem, tmp_path: Path) -> None:
    """What was acknowledged between the backup and the restoring is in the file that is kept."""
    stop, restore, start = from_manual(
        "operating", "systemctl stop", f"commentsvc restore --data {DATA}", "systemctl start"
    )
    restore = restore.replace("/mnt/disk", "/root")
    with readers(unit, "reader") as acknowledged:
        unit.shell(f"sleep 1; commentsvc backup --data {DATA} /root/comments.sqlite3; sleep 1")
        unit.shell(stop)
        said = unit.shell(restore)
        unit.shell(start)
        unit.wait_for("commentsvc")
        unit.shell("sleep 1")
    [kept] = re.findall(r"the previous database is kept as (\S+)", said)
    now = stored(unit)
    unit.shell(f"{stop}; {restore.replace('/root/comments.sqlite3', kept)}; {start}")
    missing = set(acknowledged) - now - stored(unit)
    assert not missing
    assert len(acknowledged) > 20


def test_an_upgrade_and_a_reboot_lose_nothing_and_removing_makes_a_backup_with_all(
    unit: BootedSystem,
) -> None:
    [restart] = from_manual("installing", "systemctl restart")
    with readers(unit, "reader") as acknowledged:
        for _ in range(2):
            unit.shell(f"sleep 0.5; {restart}; sleep 0.5")
    assert set(acknowledged) <= stored(unit)
    unit.reboot()
    assert set(acknowledged) <= stored(unit)
    page = lines(ROOT / "docs/installing.md")
    begin = page.index("systemctl disable --now commentsvc.socket commentsvc.service")
    removal = [line.replace("/mnt/disk", "/root") for line in page[begin : begin + 6]]
    assert removal[-1].startswith("rm -r /var/lib/commentsvc ")
    with readers(unit, "late") as late:
        unit.shell(removal[0])
        unit.shell(removal[1])
    words = unit.shell(
        "mkdir -m 700 -p /root/restored\n"
        "commentsvc restore --data /root/restored /root/comments.backup >/dev/null\n"
        "commentsvc list --data /root/restored --status=approved --limit=100000 --json"
    )
    kept = {json.loads(line)["message"] for line in words.splitlines()}
    assert {*acknowledged, *late} <= kept
    for line in removal[2:]:
        # The next tests need the program.
        line = line.replace(" /usr/local/bin/commentsvc", "")
        unit.shell(line.replace("rm -r /opt/commentsvc", "true"))
    unit.run("systemctl", "cat", "commentsvc.service", code=1)
