"""The manual's lines for systemd, run in a booted system while readers post all the time.

A comment that a reader got an acknowledgement for is in the database at the end, or in the file
that the operator's own line has put aside.
"""

import json
import re

from tests.bare.booted import BootedSystem
from tests.bare.units import (
    COUNT,
    DATA,
    SETTINGS,
    SETTINGS_FILE,
    SOCKET,
    from_manual,
    reading,
    stored,
)
from tests.e2e.program import ROOT
from tests.e2e.test_manual import lines


def make_database(unit: BootedSystem, name: str) -> None:
    """Make a user and a database of that name in PostgreSQL, by the manual's lines."""
    [revoke] = from_manual("scaling", "psql ")
    role = f"CREATE ROLE {name} LOGIN PASSWORD 'PASSWORD'"
    revoke = revoke.replace("DATABASE comments", f"DATABASE {name}")
    script = f'psql --command="{role}"; createdb --owner={name} {name}; {revoke}'
    version = unit.shell("ls /etc/postgresql").strip()
    unit.wait_for(f"postgresql@{version}-main")
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


def test_the_units_lines_let_it_make_backups_elsewhere_and_read_a_password(
    unit: BootedSystem,
) -> None:
    (unit.root / SETTINGS_FILE).write_text(
        f'{SETTINGS}[backup]\ndirectory = "/mnt/disk/comments"\n'
        '[server]\npublic_url = "https://comments.example"\n'
        '[mail]\nhost = "localhost"\nuser = "me"\nsender = "me@blog.example"\n'
        'moderators = ["me@blog.example"]\n'
    )
    for page, begin in (("operating", "install -d -m 700"), ("mail", "install -D -m 600")):
        script = (ROOT / f"docs/{page}.md").read_text()
        script = script[script.index(begin) :].partition("```")[0]
        (unit.root / "root/password").write_text("s3cret\n")
        unit.shell(script.replace("/dev/stdin", "/root/password"))
    unit.shell("until ls /mnt/disk/comments/comments-*.sqlite3; do sleep 0.1; done")
    stat = "stat --format='%u %a' /mnt/disk/comments /mnt/disk/comments/comments-*"
    folder, file = (line.split() for line in unit.shell(stat).splitlines())
    assert folder[0] == file[0] != "0", "they are of the service's user"
    assert (folder[1], file[1]) == ("700", "600")
    said = unit.run("commentsvc", "mail", "test", "--data", DATA, code=1)
    assert "localhost" in said
    assert "password" not in said
    unit.shell("rm -r /etc/systemd/system/commentsvc.service.d /mnt/disk")


def test_moving_to_another_machine_takes_everything_along(unit: BootedSystem) -> None:
    """The other machine is this one after the data, the units and the service are gone."""
    page = lines(ROOT / "docs/operating.md")
    begin = page.index("systemctl disable --now commentsvc.socket commentsvc.service")
    leave, arrive = page[begin : begin + 2], page[begin + 2 : begin + 6]
    assert arrive[-1].startswith("commentsvc check ")
    key = unit.shell(f"cat {DATA}/secret.key")
    with reading(unit, "traveller") as reader:
        unit.shell("\n".join(leave), folder="/root")
        before = reader.acknowledged()
        unit.shell("rm -r /var/lib/commentsvc /var/lib/private /etc/systemd/system/commentsvc.*")
        unit.shell("\n".join([*from_manual("installing", "install -m"), *arrive]), folder="/root")
        reader.wait_for_more()
    assert before < reader.acknowledged() <= stored(unit)
    assert unit.shell(f"cat {DATA}/secret.key") == key


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
    removal = [line.replace("/mnt/disk", "/root") for line in page[begin : begin + 7]]
    assert removal[-1].startswith("rm -rf /etc/systemd/system/commentsvc.service.d ")
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
    ours = "-not -path '/root/*' -not -path '/opt/*' -not -path '/usr/local/bin/*'"
    folders = "/dev /etc /home /opt /run /srv /tmp /usr /var"
    left = unit.shell(
        f"find {folders} -iname '*commentsvc*' {ours} -not -path '*/commentsvc-setup*'"
    )
    assert left == ""
