"""Every command uses the database and settings of the server that runs, or says what differs."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.cli import main, running
from commentsvc.cli.doctor import local
from tests.e2e.program import ForkedService, Service
from tests.e2e.test_manual import NOBODY, as_user
from tests.postgresql_server import Server
from tests.unit.cli.test_mail import beside
from tests.unit.cli.test_main import TABLE
from tests.unit.database_fixture import add, opened
from tests.unit.imports.import_samples import DISQUS
from tests.unit.mail_server import MailServer

pytestmark = pytest.mark.sqlite_only("each test has a database of both engines")

OLD, NEW = "A word of the old file", "A word of PostgreSQL"
PASSWORD = "s3cret"  # nobody asks for it
SETTINGS = '[[site]]\norigins = ["https://blog.example"]\n[moderation]\npolicy = "all"\n'


class Scene:
    """A data folder with an old file, and a PostgreSQL whose address is in a file elsewhere."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.data = folder / "data"
        self.data.mkdir(mode=0o700)
        (self.data / "commentsvc.toml").write_text(SETTINGS)
        with opened(self.data) as database:
            add(database, source=OLD, status="pending")
        self.file = self.data / "comments.sqlite3"
        self.shown = server.location(self.data)
        self.url = self.shown.replace("@", f":{PASSWORD}@", 1)
        self.url_file = folder / "database.url"
        self.url_file.write_text(self.url)
        self.environ = {"COMMENTSVC_DATABASE_URL_FILE": str(self.url_file)}
        self.files = folder / "files"
        self.files.mkdir()
        (self.files / "disqus.xml").write_text(DISQUS)
        self._before = self.file.read_bytes()

    @property
    def is_file_unchanged(self) -> bool:
        return self.file.read_bytes() == self._before

    def run(self, text: str, given: str = "", data: Path | None = None) -> Result:
        """Run a command of TABLE in this process."""
        verb, *words = text.replace("DIR", str(self.files)).split()
        group = main.main.get_command(None, verb)  # type: ignore[arg-type]  # it uses no context
        index = (1 if hasattr(group, "commands") else 0) + (words[:1] == ["token"])
        words[index:index] = ["--data", str(data or self.data)]
        return CliRunner().invoke(main.main, [verb, *words], input=given)

    @contextmanager
    def served(self, *options: str, environ: dict[str, str] | None = None) -> Iterator[Service]:
        """Run a server, by default on PostgreSQL, with four comments that wait."""
        kind = Service if options else ForkedService
        service = kind(self.data, *options, environ=self.environ if environ is None else environ)
        try:
            service._is_new = False
            service.wait_until_ready()
            for number, url in enumerate(("/post/", "/post/", "/post/", "/other/")):
                email = "ann@mail.example"
                assert service.submit(url, f"{NEW}, {number}", email=email).status == 202
            yield service
        finally:
            service.close()


@pytest.fixture
def scene(tmp_path: Path, postgresql_server: Server) -> Scene:
    return Scene(tmp_path, postgresql_server)


WITH_DATABASE = [(text, given) for text, given, _ in TABLE if not text.startswith("restore")]
NAMES = ["comments.sqlite3", "postgresql://"]


def test_no_other_command_reads_settings_by_itself() -> None:
    """`serve` is the server, and `check` is for settings that the server does not have yet.

    For `check` and `doctor`, client.py compares stored values with the settings of the file.
    """
    folder = Path(main.__file__).parent
    readers = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if re.search(r"loader\.(load|database_url|given)\w*\(", path.read_text())
    }
    assert readers == {"client.py", "main.py", "running.py"}
    assert (folder / "client.py").read_text().count("loader.") == 1


def test_every_command_uses_the_database_that_only_the_server_was_told_of(scene: Scene) -> None:
    with scene.served():
        assert NEW in scene.run("list").output
        assert OLD not in scene.run("list --status all").output
        for text, given in WITH_DATABASE:
            done = scene.run(text, given)
            assert done.exit_code == 0, (text, done.output)
        assert NEW in (scene.files / "comments.ndjson").read_text()
        assert (scene.files / "backup").read_bytes().startswith(b"PGDMP")
        assert f"copy of {scene.shown} (" in (scene.run("backup DIR/backup").output)
    assert scene.is_file_unchanged


def test_several_processes_and_a_relative_path_are_asked_likewise(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scene.data.parent)
    with scene.served("--processes", "2"):
        for text in ("list", "approve --all", "backup DIR/backup"):
            assert scene.run(text, data=Path("data")).exit_code == 0
    assert scene.is_file_unchanged


def test_a_setting_in_the_file_is_the_same_for_the_server_and_all_commands(scene: Scene) -> None:
    settings = scene.data / "commentsvc.toml"
    settings.write_text(f'{SETTINGS}[database]\nurl = "{scene.url}"\n')
    with scene.served(environ={}):
        assert NEW in scene.run("list").output
        assert scene.run("approve 1").exit_code == 0
    assert NEW in scene.run("list --status approved").output
    assert scene.is_file_unchanged


def test_every_command_that_was_given_another_database_names_both_and_does_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has the file, and only the commands have the address of a PostgreSQL."""
    with scene.served(environ={}):
        monkeypatch.setenv(*next(iter(scene.environ.items())))
        for text, given, _ in TABLE:
            done = scene.run(text, given)
            assert done.exit_code == 1, (text, done.output)
            assert all(name in done.output for name in NAMES), (text, done.output)
        monkeypatch.delenv("COMMENTSVC_DATABASE_URL_FILE")
        listed = scene.run("list --status all").output
    assert len(listed.splitlines()) == 5


def test_every_command_beside_a_stopped_server_names_the_database_that_was_served(
    scene: Scene,
) -> None:
    with scene.served():
        pass
    for text, given, _ in TABLE:
        done = scene.run(text, given)
        assert done.exit_code == 1, (text, done.output)
        assert all(name in done.output for name in NAMES), (text, done.output)
        assert PASSWORD not in done.output
    assert scene.is_file_unchanged


def test_mail_is_tested_by_the_server_that_alone_has_the_settings_for_it(scene: Scene) -> None:
    """A password in a credential of the unit is nowhere else."""

    def test(mails: MailServer) -> Result:
        given = {
            "SERVER_PUBLIC_URL": "https://c.example",
            "MAIL_HOST": "localhost",
            "MAIL_PORT": str(mails.port),
            "MAIL_SECURITY": "none",
            "MAIL_SENDER": "c@blog.example",
        }
        with scene.served(environ={f"COMMENTSVC_{name}": text for name, text in given.items()}):
            for answers in ([], ["550 5.1.1 Nobody here"]):
                mails.answers = [*answers]
                done = scene.run("mail test --to mo@blog.example")
                assert f"localhost:{mails.port}" in done.output
                assert done.exit_code == len(answers), done.output
            server = running.server_settings(scene.data)
            assert server is not None
            assert local.mail(scene.data, server).good
        return done

    refused, mails = beside(test)
    assert "the mail was not sent: 550 5.1.1 Nobody here" in refused.output
    assert [mail["To"] for mail in mails.mails] == ["mo@blog.example"]


def test_another_data_folder_is_not_concerned(scene: Scene, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    with opened(other) as database:
        add(database, source="Elsewhere", status="pending")
    with scene.served():
        assert "Elsewhere" in scene.run("list", data=other).output


def test_settings_that_the_server_does_not_have_are_named_before_they_are_used(
    scene: Scene,
) -> None:
    settings = scene.data / "commentsvc.toml"
    with scene.served():
        settings.write_text(f"{SETTINGS}[comments]\nmessage_length = 50\n")
        assert "comments.message_length" in scene.run("edit 1", "Other words").output
        said = scene.run("check").output
        assert f"{settings}:" in said
        assert "comments.message_length is 50, but the server " in said
        assert "is newer than the server, so restart it" in said
        assert scene.run("list").exit_code == 0, "it uses no such setting"
        settings.write_text(SETTINGS.replace("[[site]]", '[[site]]\nname = "diary"'))
        closed = scene.run("thread close /post/")
        assert closed.exit_code == 1
        assert "diary" in closed.output
        assert "blog" in closed.output


def test_check_names_the_settings_of_a_site_that_differ_without_their_values(scene: Scene) -> None:
    file = scene.data / "commentsvc.toml"
    with scene.served() as server:
        same = scene.run("check").output
        assert "note:" not in same
        assert f"listens on {server.address}" in same  # not server.listen, which --listen replaces
        file.write_text(SETTINGS.replace("blog.example", "new.example"))
        assert (
            "note: The site blog has other origins than in the server" in scene.run("check").output
        )
        file.write_text(f'{SETTINGS}[[site]]\nname = "diary"\n')
        assert (
            "note: The sites are blog, diary, but blog in the server" in scene.run("check").output
        )


def test_a_stopped_server_that_is_started_with_the_file_is_remembered_too(scene: Scene) -> None:
    for environ in (scene.environ, {}):
        with scene.served(environ=environ):
            pass
    assert OLD in scene.run("list").output


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_nobody_but_root_and_the_user_of_the_server_is_answered(scene: Scene) -> None:
    """Also where somebody has opened the folder and the socket to all users."""
    ask = (
        "import socket, sys; client = socket.socket(socket.AF_UNIX);"
        "client.connect(sys.argv[1]);"
        'client.sendall(b\'{"do": "show_settings"}\\n\'); print(client.makefile().read())'
    )
    with scene.served():
        scene.data.chmod(0o777)
        control = scene.data / "control.sock"
        control.chmod(0o777)
        words = [sys.executable, "-c", ask, str(control)]
        outputs = [
            subprocess.run(as_user(user, words), capture_output=True, text=True, check=True).stdout
            for user in (0, NOBODY)
        ]
    assert scene.url in outputs[0]
    assert "only root" in outputs[1]
    assert "postgresql" not in outputs[1]
