"""The manual's lines for systemd, run in a booted system while readers post all the time.

A comment that a reader got an acknowledgement for is in the database at the end, or in the file
that the operator's own line has put aside.
"""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.bare.booted import PATIENCE, PAUSE, BootedSystem
from tests.bare.system import System
from tests.e2e.program import ROOT
from tests.e2e.test_manual import lines

DATA = "/var/lib/commentsvc"
SETTINGS_FILE = "var/lib/private/commentsvc/commentsvc.toml"
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
# `ask` returns the status and the body of an answer of the service at the socket $1.
CLIENT = """
import http.client, itertools, json, os, socket, sys, time
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(sys.argv[1])
def ask(method, path, body=None):
    client = Unix("localhost")
    client.request(method, path, body, {"Content-Type": "application/json"})
    answer = client.getresponse()
    return answer.status, answer.read()
"""
# Posts as the reader $2 until the file $3.end exists. The file $3 gets the words of each comment
# that is acknowledged.
READER = f"""{CLIENT}
with open(sys.argv[3], "w") as file:
    for number in itertools.count():
        if os.path.exists(f"{{sys.argv[3]}}.end"):
            break
        words = f"{{sys.argv[2]}} {{number}}"
        body = json.dumps({{"url": "/post/", "author": "Ann", "message": words}})
        try:
            if ask("POST", "/api/comments", body)[0] in (201, 202):
                print(words, file=file, flush=True)
        except (OSError, http.client.HTTPException):
            pass  # the widget keeps the text
        time.sleep(0.02)
"""
COUNT = f"""{CLIENT}
print(json.loads(ask("GET", "/api/comments/count?url=/post/")[1])["count"])
"""


@pytest.fixture(scope="module")
def installed(debian: System) -> None:
    """Install the package as the manual says, from a wheel made of these sources.

    The core is compiled already if another test has started ./run.
    """
    script = """
        sh config/bootstrap.sh
        PATH=$PWD/.venv/bin:$PATH python -m pip wheel --quiet --no-build-isolation --no-deps \\
            --config-settings=build-dir=build/cp311 --wheel-dir build/wheel .
        python3 -m venv /opt/commentsvc
        wheel=$(echo "$PWD"/build/wheel/*.whl)
        /opt/commentsvc/bin/pip install --quiet "$wheel[postgres]"
        ln -s /opt/commentsvc/bin/commentsvc /usr/local/bin/
    """
    process = debian.start("sh", "-euc", script)
    said, _ = process.communicate()
    if process.returncode:
        pytest.skip(f"the package cannot be installed: {said[-300:]}")


@pytest.fixture
def unit(installed: None, booted: BootedSystem) -> Iterator[BootedSystem]:
    """Return the system with the unit set up by the manual's lines; remove it at the end."""
    booted.shell(
        "\n".join(from_manual("installing", "install -m", "systemctl enable", "commentsvc init"))
    )
    (booted.root / SETTINGS_FILE).write_text(SETTINGS)
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


class Reader:
    """Somebody who sends one comment after the other."""

    def __init__(self, unit: BootedSystem, name: str) -> None:
        self._file = unit.root / f"root/{name}.txt"
        self._process = unit.start("python3", "-c", READER, SOCKET, name, f"/root/{name}.txt")

    def acknowledged(self) -> set[str]:
        """Return the words of all comments that were acknowledged."""
        return {*self._file.read_text().splitlines()} if self._file.exists() else set()

    def wait_for_more(self) -> None:
        """Wait until a comment is acknowledged that is sent after this call."""
        wanted = len(self.acknowledged()) + 2  # the next may be on its way
        end = time.monotonic() + PATIENCE
        while len(self.acknowledged()) < wanted:
            assert self._process.poll() is None, self._process.communicate()[0]
            assert time.monotonic() < end, f"{self._file} does not grow"
            time.sleep(PAUSE)

    def close(self) -> None:
        """Let the reader end after the answer to the last comment."""
        self._file.with_name(f"{self._file.name}.end").touch()
        self._process.communicate(timeout=PATIENCE)


@contextmanager
def reading(unit: BootedSystem, name: str) -> Iterator[Reader]:
    """Let a reader send comments from before the block to its end."""
    reader = Reader(unit, name)
    try:
        reader.wait_for_more()
        yield reader
    finally:
        reader.close()


def stored(unit: BootedSystem) -> set[str]:
    """Return the words of all comments that the service shows."""
    words = ["--status=approved", "--limit=100000", "--json"]
    said = unit.run("commentsvc", "list", "--data", DATA, *words)
    return {json.loads(line)["message"] for line in said.splitlines()}


def make_database(unit: BootedSystem, name: str) -> None:
    """Make a user and a database of that name in PostgreSQL, by the manual's lines."""
    [revoke] = from_manual("scaling", "psql ")
    role = f"CREATE ROLE {name} LOGIN PASSWORD 'PASSWORD'"
    revoke = revoke.replace("DATABASE comments", f"DATABASE {name}")
    script = f'psql --command="{role}"; createdb --owner={name} {name}; {revoke}'
    unit.wait_for("postgresql@15-main")
    unit.run("sudo", "-u", "postgres", "sh", "-euc", script)


def test_moving_to_postgresql_loses_no_acknowledged_comment(unit: BootedSystem) -> None:
    """Nor if at first only the service is stopped, or the address is set too late."""
    stop, copy, start = from_manual(
        "scaling", "systemctl stop", "commentsvc copy", "systemctl start"
    )
    make_database(unit, "comments")
    copy = f"PGPASSWORD=PASSWORD {copy.replace('@db.example/', '@localhost/')}"
    address = "postgresql://comments:PASSWORD@localhost/comments"
    with reading(unit, "mover") as reader:
        unit.run("systemctl", "stop", "commentsvc.service")
        reader.wait_for_more()  # has started it again
        refused = unit.shell(copy, code=1)
        assert "systemctl stop commentsvc.socket commentsvc.service" in refused
        unit.shell(f"{stop}\n{copy}")
        before = reader.acknowledged()
        unit.run("systemctl", "start", "commentsvc.socket")
        unit.wait_for_entry("commentsvc", "copied to postgresql://comments@localhost/comments")
        unit.shell(stop)
        assert reader.acknowledged() == before
        (unit.root / SETTINGS_FILE).write_text(f'{SETTINGS}[database]\nurl = "{address}"\n')
        unit.shell(start)
        reader.wait_for_more()
    shown = stored(unit)
    assert reader.acknowledged() <= shown
    assert int(unit.run("python3", "-c", COUNT, SOCKET)) == len(shown)
    assert "PostgreSQL" in unit.run("commentsvc", "check", "--data", DATA)


def test_commands_of_root_use_the_database_that_only_the_unit_is_given(unit: BootedSystem) -> None:
    """A credential of the unit names the database; root's commands have no such variable."""
    make_database(unit, "given")
    secret = unit.root / "root/database-url"
    secret.write_text("postgresql://given:PASSWORD@localhost/given")
    secret.chmod(0o600)
    with reading(unit, "former"):
        pass
    folder = unit.root / "etc/systemd/system/commentsvc.service.d"
    folder.mkdir()
    (folder / "secret.conf").write_text(
        "[Service]\nLoadCredential=database-url:/root/database-url\n"
        "Environment=COMMENTSVC_DATABASE_URL_FILE=%d/database-url\n"
    )
    unit.shell("systemctl daemon-reload; systemctl restart commentsvc")
    with reading(unit, "given") as reader:
        pass
    shown = stored(unit)
    assert reader.acknowledged() <= shown
    assert not [words for words in shown if words.startswith("former")]
    assert "given" in unit.run("commentsvc", "backup", "--data", DATA, "/root/given.dump")
    unit.run("systemctl", "stop", "commentsvc.socket", "commentsvc.service")
    refused = unit.run("commentsvc", "list", "--data", DATA, code=1)
    assert "postgresql://given@localhost/given" in refused


def test_restoring_a_backup_works_on_a_busy_blog(unit: BootedSystem) -> None:
    """What was acknowledged between the backup and the restoring is in the file that is kept."""
    stop, restore, start = from_manual(
        "operating", "systemctl stop", f"commentsvc restore --data {DATA}", "systemctl start"
    )
    restore = restore.replace("/mnt/disk", "/root")
    with reading(unit, "reader") as reader:
        unit.run("commentsvc", "backup", "--data", DATA, "/root/comments.sqlite3")
        reader.wait_for_more()
        unit.shell(stop)
        said = unit.shell(restore)
        unit.shell(start)
        reader.wait_for_more()
    [kept] = re.findall(r"the previous database is kept as (\S+)", said)
    now = stored(unit)
    assert reader.acknowledged() - now  # those after the backup
    unit.shell(f"{stop}; {restore.replace('/root/comments.sqlite3', kept)}; {start}")
    assert reader.acknowledged() <= now | stored(unit)


def test_an_upgrade_and_a_reboot_lose_nothing_and_removing_makes_a_backup_with_all(
    unit: BootedSystem,
) -> None:
    [restart] = from_manual("installing", "systemctl restart")
    with reading(unit, "early") as early:
        for _ in range(2):
            unit.shell(restart)
            early.wait_for_more()
    assert early.acknowledged() <= stored(unit)
    unit.reboot()
    assert early.acknowledged() <= stored(unit)
    page = lines(ROOT / "docs/installing.md")
    begin = page.index("systemctl disable --now commentsvc.socket commentsvc.service")
    removal = [line.replace("/mnt/disk", "/root") for line in page[begin : begin + 6]]
    assert removal[-1].startswith("rm -r /var/lib/commentsvc ")
    with reading(unit, "late") as late:
        unit.shell(removal[0])
        unit.shell(removal[1])
    words = unit.shell(
        "mkdir -m 700 -p /root/restored\n"
        "commentsvc restore --data /root/restored /root/comments.backup >/dev/null\n"
        "commentsvc list --data /root/restored --status=approved --limit=100000 --json"
    )
    kept = {json.loads(line)["message"] for line in words.splitlines()}
    assert early.acknowledged() | late.acknowledged() <= kept
    for line in removal[2:]:
        # The next tests need the program.
        line = line.replace(" /usr/local/bin/commentsvc", "")
        unit.shell(line.replace("rm -r /opt/commentsvc", "true"))
    unit.run("systemctl", "cat", "commentsvc.service", code=1)
