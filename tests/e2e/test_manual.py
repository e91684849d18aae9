"""Every command of README.md and docs/ is run in the order of its page, or listed here.

When the tests run as root, the pages are run as an ordinary user with SQLite, whose database is a
file of that user, and as root with PostgreSQL. What a page only says in words (a password, a text
to type, an account that exists) is in BEFORE and TYPED.
"""

import gzip
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import program
from tests.e2e.program import ROOT, environment, wait_for
from tests.unit import database_fixture
from tests.unit.database_fixture import add, opened
from tests.unit.imports import import_samples as samples
from tests.unit.imports.test_detect import SCHNACK, STACOSYS, database

NOBODY = 65_534
FORK_SERVER = ROOT / "tests/e2e/fork_server.py"
PATIENCE = 120.0

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# The beginnings of commands that are not run here, and why.
NOT_RUN = {
    "./run": "tests/e2e/test_run.py and tests/bare run it",
    "./test": "it would run itself",
    "python3 -m venv /opt/commentsvc": "tests/e2e/test_installed.py runs it",
    "/opt/commentsvc/bin/pip ": "tests/e2e/test_installed.py and tests/bare run it",
    "ln -s /opt/commentsvc/": "it changes the machine; tests/e2e/test_installed.py does the same",
    "install -D -m 0644 -t /etc/": "tests/image/test_quadlet.py reads the files",
    "podman ": "it is not on every machine; tests/image/test_quadlet.py has Podman read the files",
    "helm ": "it needs a cluster; tests/image/test_chart.py has it read the chart",
    "kubectl ": "likewise",
    "install -m 0644 /opt/": "tests/bare/test_units.py runs it",
    "tar -C /var/lib/private ": "it needs systemd; tests/bare/test_units.py runs it",
    "mkdir -p -m 700 /var/lib/private": "likewise",
    "apt-get install nginx certbot": "tests/bare/test_web_server.py runs it",
    "install -d -m 700 /mnt/disk/comments": "it needs systemd; tests/bare/test_units.py runs it",
    "install -D -m 600 /dev/stdin ": "likewise",
    "mkdir -p /etc/systemd/system/": "likewise",
    "printf '[Service]": "likewise",
    "printf 'Environment=": "likewise",
    "certbot ": "it needs an ACME server; tests/bare/test_web_server.py runs it",
    "nginx -t": "it changes the machine; tests/bare/test_web_server.py runs it",
    "chown 10001 ": "it needs containers; tests/image runs it",
    "systemctl ": "it needs systemd as process 1; tests/bare/test_units.py runs it",
    "cp /opt/commentsvc/": "it changes the machine; tests/proxy runs the file",
    "cp -r /opt/commentsvc/": "it needs the package; tests/widget/test_hugo.py does the same",
    "sed -i ": "it changes the machine; tests/proxy runs the file",
    "rm ": "it removes the package from the machine",
    "ssh -L ": "it needs another machine; e2e/test_first_owner.py opens the link at localhost",
    "docker build ": "tests/image builds the image",
    "docker run ": "tests/image runs it",
    "docker compose ": "tests/image runs it",
    "docker cp ": "likewise",
    "commentsvc serve ": "it does not end; tests/e2e/test_installed.py, test_upgrade.py run it",
    "commentsvc doctor ": "it needs a public name; tests/proxy/test_doctor.py runs it",
    "litestream ": "tests/e2e/test_litestream.py runs it",
    "commentsvc restore --data /srv/comments /tmp/": "likewise: the file is Litestream's",
    "make setup": "it is part of ./test",
    ".venv/bin/python po/": "it changes the sources",
    "curl https://comments.example/api/moderation/": "unit/admin/api/test_token_access.py asks it",
    "curl -s https://blog.example/": "it needs a blog; tests/widget/test_hugo.py runs it",
    "curl -i https://comments.example/webmention": "tests/unit/mentions/test_verifier.py asks this",
    "curl -H ": "tests/unit/inbox/test_receiver.py asks this",
    "commentsvc import auto export.xml --data DIR --dry-run --pages ": "it asks a public name",
    "psql ": "another vendor's server",
    "commentsvc copy ": "tests/unit/backup/test_engine_copy.py copies to a server of its own",
    "npm install ./commentsvc": "tests/widget/test_generators.py installs the package",
    "createuser ": "tests/e2e/test_postgresql.py uses a server of its own",
    "gh api ": "another vendor's server",
    "for number in $(gh api ": "another vendor's server",
}
# What must exist before a command, as the page says in words or takes for granted.
BEFORE = {
    "commentsvc site rename": ["printf '[[site]]\\nname = \"diary\"\\n' | tee DIR/commentsvc.toml"],
    "commentsvc init --data DIR": ["rm DIR/commentsvc.toml"],
    "commentsvc init --data /var": ["rm DIR/commentsvc.toml"],
    "commentsvc init --data /srv": ["rm DIR/commentsvc.toml"],
    "commentsvc moderator profile ": [
        "for who in kim rosa mo; do echo 'some good words' | commentsvc moderator add $who"
        " --data DIR; done"
    ],
    "commentsvc moderator passwd me ": [
        "echo 'some good words' | commentsvc moderator add me --data DIR"
    ],
    "commentsvc ban remove 3": [
        "for word in pills casino; do commentsvc ban add word $word --data DIR; done"
    ],
    "commentsvc import remark42 backup.gz": [
        "echo 'some good words' | commentsvc moderator add bob --data DIR"
    ],
    "commentsvc import schnack": ["mv schnack.db comments.db"],
    "commentsvc import commentsvc": ["commentsvc export --data DIR comments.ndjson"],
}
# What the user types at the prompt of a command.
TYPED = {
    "commentsvc moderator add ": "some good words",
    "commentsvc moderator passwd ": "some better words",
    "commentsvc edit ": "A new text.",
    "commentsvc answer ": "An answer.",
    "commentsvc forget ": "y",
}


def lines(page: Path) -> list[str]:
    """Return the commands of a page's examples, each in one piece, without comments.

    A loop is one command, from its first line to `done`.
    """
    found = []
    for example in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        command = ""
        for line in example.splitlines():
            command += f"\n{line}" if command else re.sub(r"\s+#.*", "", line)
            if command.startswith("for ") and not line.startswith("done"):
                continue
            if command.count("'") % 2 == command.count('"') % 2 == 0:
                found.append(command)
                command = ""
    return found


def is_run(line: str) -> bool:
    return not line.startswith(tuple(NOT_RUN))


def has_commands(page: Path) -> bool:
    return any(map(is_run, lines(page)))


def script(page: Path) -> str:
    """Return a shell script that does what a page says."""
    steps: list[str] = []
    done = set()
    for line in filter(is_run, lines(page)):
        for start, more in BEFORE.items():
            if line.startswith(start) and start not in done:
                done.add(start)
                steps += more
        typed = [text for start, text in TYPED.items() if line.startswith(start)]
        steps += [f"echo '{typed[0]}' | {line}" if typed else line]
    text = "\n".join(steps).replace(".venv/bin/", "")
    return re.sub(r"(?<= )(DIR|/srv/comments|/var/lib/commentsvc|var/data)\b", "data", text)


@pytest.fixture(scope="module")
def folder(engine: str) -> Iterator[Path]:
    """Return a folder of the user, with the program `commentsvc` and the files the pages use."""
    with tempfile.TemporaryDirectory() as name:  # other users cannot enter the folders of pytest
        folder = Path(name)
        fill(folder)
        user = os.geteuid()
        if engine == "sqlite":
            add_comments(folder / "home/data")  # a copy of the folder has them, too
            user = user or NOBODY
            subprocess.run(["chown", "-R", f"{user}:{user}", folder], check=True)
        words = [sys.executable, str(FORK_SERVER), "serve", str(folder / "socket"), str(user)]
        with subprocess.Popen(words, cwd=folder, env=environment({})) as server:
            try:
                wait_for((folder / "socket").exists, "the server of commands")
                yield folder
            finally:
                server.kill()


def as_user(user: int, words: list[str]) -> list[str]:
    """Return the command that runs `words` as a user who may read all that root may read.

    Otherwise that user might not read the folder of the Python that runs the tests.
    """
    if user == os.geteuid():
        return words
    who = [f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    rights = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    return ["setpriv", *who, *rights, *words]


def fill(folder: Path) -> None:
    """Put the program, settings and files of other systems into a folder."""
    program = folder / "bin/commentsvc"
    program.parent.mkdir()
    client = shlex.join([sys.executable, "-ISE", str(FORK_SERVER), "run", f"{folder}/socket"])
    program.write_text(f'#!/bin/sh\nexec {client} "$@"\n')
    program.chmod(0o755)
    home = folder / "home"
    home.mkdir()
    for text, names in {
        samples.DISQUS: ["export.xml", "blog.xml"],
        samples.WORDPRESS: ["wordpress.xml"],
        samples.ISSO_JSON: ["comments.db"],
        samples.ARTALK: ["artrans.json"],
        samples.WALINE: ["waline.json"],
        samples.CUSDIS: ["cusdis.json"],
        samples.VALINE: ["Comment.0.jsonl"],
        samples.TWIKOO: ["twikoo-comment.json"],
        samples.GISCUS: ["giscus.json"],
        samples.GITHUB: ["issues.json"],
        samples.TAKEOUT: ["feed.atom"],
        samples.MOVABLETYPE: ["export.txt"],
        samples.STANZA.format(parent="''", date="1367402400"): ["blog/data/comments/a/1.yml"],
        '{"pages": [{"url": "/a/", "aliases": ["/b/"]}]}': ["commentsvc.json"],
    }.items():
        for name in names:
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
    for text, names in {
        samples.DISQUS: ["blog-2024-05-01T10_00_00-all.xml.gz"],
        samples.REMARK42: ["backup.gz", "backup-blog-20240501.gz"],
        samples.COMMENTO: ["blog.example.json.gz"],
    }.items():
        for name in names:
            (home / name).write_bytes(gzip.compress(text.encode()))
    database(home / "db.sqlite", STACOSYS.format(more="", value=""))
    database(home / "schnack.db", SCHNACK)
    data = home / "data"
    data.mkdir(mode=0o700)
    (data / "commentsvc.toml").write_text(
        '[[site]]\norigins = ["https://blog.example"]\ncontact = "Ann, ann@blog.example"\n'
    )


def add_comments(data: Path) -> None:
    """Put comments into the database of a data folder."""
    with opened(data) as service:
        for url in ("/post/a-walk/", "/old/", "/draft/", "/post/", *["/post/"] * 10):
            add(service, url=url, status="pending", email="ann@mail.example")


@pytest.mark.parametrize("page", [*filter(has_commands, PAGES)], ids=lambda page: page.stem)
def test_the_commands_of_a_page_do_what_it_says(
    page: Path, folder: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = folder / page.stem
    text = script(page).replace("/mnt/disk", str(home))
    environ = {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
    prepared = f"umask 022; cp -R home {home}; cd {home}"
    if engine == "postgresql":
        monkeypatch.setattr(database_fixture, "in_use", program.in_use)
        add_comments(home / "data")
        environ["COMMENTSVC_DATABASE_URL"] = str(database_fixture.location(home / "data"))
    words = as_user(folder.stat().st_uid, ["sh", "-euxc", f"{prepared}\n{text}"])
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment(environ),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (home / "data/comments.sqlite3").exists() == (engine == "sqlite")


def test_every_command_is_run_or_named() -> None:
    everything = [line for page in PAGES for line in lines(page)]
    unused = [
        s for s in (*NOT_RUN, *BEFORE, *TYPED) if not any(e.startswith(s) for e in everything)
    ]
    assert unused == []
    programs = {line.split()[0] for line in everything if is_run(line)}
    assert programs == {"commentsvc", ".venv/bin/commentsvc", "echo", "jq"}
