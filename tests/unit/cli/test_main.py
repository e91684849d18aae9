"""The command line: which arguments it takes, and how it reports errors in them."""

import contextlib
import errno
import os
import pkgutil
import sqlite3
import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from commentsvc import app, cli
from commentsvc.auth import accounts
from commentsvc.cli import client, main, reload
from commentsvc.comments import queries, site_rows
from commentsvc.db.postgresql import upgrade as postgresql_upgrade
from commentsvc.moderation import profiles
from commentsvc.settings import data_dir, loader
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.schema import Settings
from tests.unit.database_fixture import NOW, add, location, opened
from tests.unit.db.test_writer import small_disk
from tests.unit.imports.import_samples import DISQUS

SHIPPED = Path(__file__).parents[3] / "config" / "commentsvc.toml"
Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process, with no settings in the environment."""
    for variable in (*loader.LOCATIONS, "COMMENTSVC_SERVER_WORKERS"):
        monkeypatch.delenv(variable, raising=False)

    def run(*words: object, **environ: str) -> Result:
        return CliRunner().invoke(main.main, [*map(str, words)], env=environ)

    return run


class Served:
    """The arguments with which `serve` called `app.run`."""

    settings: Settings
    data: Path
    blog: Path | None
    takes_over: bool
    traced: bool

    def run(self, loaded: LoadedSettings, start: app.Start) -> None:
        self.settings, self.data, self.blog = loaded.settings, start.data, start.blog
        self.takes_over, self.traced = start.takes_over, start.traced
        start.announce("http://127.0.0.1:1")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    served = Served()
    monkeypatch.setattr(app, "run", served.run)
    return served


def test_serve_says_where_it_listens(run: Run, served: Served, tmp_path: Path) -> None:
    result = run("serve", "--data", tmp_path)
    said = f"commentsvc listens on http://127.0.0.1:1\n{tmp_path} had no database, so a new one"
    said += " was created\nModeration: http://localhost:1/moderation\n"
    assert (result.exit_code, result.output) == (0, said)
    assert served.settings == Settings()
    assert (served.data, served.blog, served.traced) == (tmp_path, None, False)


def test_requests_may_be_traced(run: Run, served: Served, tmp_path: Path) -> None:
    assert run("serve", "--data", tmp_path, "--trace").exit_code == 0
    assert served.traced


def test_a_server_takes_over_when_it_is_told_to(run: Run, served: Served, tmp_path: Path) -> None:
    run("serve", "--data", tmp_path)
    assert not served.takes_over
    run("serve", "--data", tmp_path, "--take-over")
    assert served.takes_over


def test_a_server_that_reloads_takes_over_from_nobody(run: Run, tmp_path: Path) -> None:
    result = run("serve", "--data", tmp_path, "--take-over", "--reload")
    assert result.exit_code == 2
    assert "cannot be used with --take-over" in result.stderr


def test_the_data_folder_may_come_from_the_environment(
    run: Run, served: Served, tmp_path: Path
) -> None:
    assert run("serve", COMMENTSVC_DATA=str(tmp_path)).exit_code == 0
    assert served.data == tmp_path


def test_the_settings_file_may_come_from_the_environment(
    run: Run, served: Served, tmp_path: Path
) -> None:
    file = tmp_path / "x.toml"
    file.write_text("[server]\nworkers = 2\n")
    assert run("serve", "--data", tmp_path, COMMENTSVC_CONFIG=str(file)).exit_code == 0
    assert served.settings.server.workers == 2


def test_the_data_folder_is_asked_for(run: Run) -> None:
    result = run("serve")
    assert result.exit_code == 2
    assert "Missing option '--data'" in result.stderr


def test_options_win_over_the_file(run: Run, served: Served, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text('[server]\nworkers = 2\nlisten = "127.0.0.1:1"\n')
    run("serve", "--data", tmp_path, "--config", file, "--workers", 3, "--blog", tmp_path)
    assert served.settings.server.workers == 3
    assert served.settings.server.listen == "127.0.0.1:1"
    assert served.blog == tmp_path


def test_the_file_in_the_data_folder_is_read_by_itself(
    run: Run, served: Served, tmp_path: Path
) -> None:
    (tmp_path / "commentsvc.toml").write_text("[server]\nworkers = 2\n")
    run("serve", "--data", tmp_path)
    assert served.settings.server.workers == 2


def test_every_fault_of_the_settings_is_a_line(run: Run, served: Served, tmp_path: Path) -> None:
    result = run("serve", "--data", tmp_path, "--workers", "0", "--listen", "here")
    assert result.exit_code == 1
    assert [line.split(" is ")[0] for line in result.stderr.splitlines()] == [
        "commentsvc: --listen",
        "commentsvc: --workers",
    ]


def test_reloading_starts_the_same_command_without_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[list[str], list[Path]]] = []

    def watch(command: list[str], paths: list[Path], *, grace: float) -> int:
        calls.append((command, paths))
        return 5

    monkeypatch.setattr(reload, "run", watch)
    file = tmp_path / "x.toml"
    file.write_text("")
    words = [
        f"--data={tmp_path}",
        f"--config={file}",
        "--workers=2",
        f"--blog={tmp_path}",
        "--trace",
    ]
    assert run("serve", *words, "--reload").exit_code == 5
    ((command, paths),) = calls
    assert command[1:] == ["-m", "commentsvc", "serve", *words]
    assert file in paths


@pytest.mark.parametrize(
    ("faults", "code", "said"),
    [([], 0, "is intact, and its counts are right"), (["site blog counts 7, has 2"], 1, "has 2")],
)
def test_check_exits_with_1_when_something_is_wrong(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    faults: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.setattr(client, "check", lambda *_: faults)
    monkeypatch.setattr(client, "hidden_sites", lambda *_: [])
    result = run("check", "--data", tmp_path)
    assert result.exit_code == code
    assert said in result.output


@pytest.mark.sqlite_only("the file is no database")
def test_check_goes_on_after_wrong_settings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "commentsvc.toml").write_text("[spam]\nlinks = -1\n")
    (tmp_path / "comments.sqlite3").write_text("no database")
    result = run("check", "--data", tmp_path)
    lines = result.stderr.splitlines()
    assert result.exit_code == 1
    assert lines[0].endswith(":2: spam.links is no setting. Did you mean spam.max_links?")
    assert lines[1].startswith(f"commentsvc: {tmp_path}/comments.sqlite3")


def fill(disk: Path) -> None:
    with (disk / "ballast").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4_096):
            pass


def make_read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)


@pytest.mark.sqlite_only("PostgreSQL's files are elsewhere")
@pytest.mark.parametrize("spoil", [fill, make_read_only])
def test_commands_say_of_a_disk_what_the_server_says(
    run: Run, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    with small_disk(tmp_path) as disk:
        with opened(disk):
            pass
        spoil(disk)
        with pytest.raises(data_dir.DataUnusable) as refused:  # as the server does first
            data_dir.prepare(disk)
        changed, checked = (run(*words, "--data", disk) for words in (["approve", "1"], ["check"]))
    assert (changed.exit_code, changed.stderr) == (1, f"commentsvc: {refused.value}\n")
    assert str(refused.value) in checked.output
    assert checked.exit_code == (spoil is fill)


@pytest.mark.sqlite_only("PostgreSQL's files are elsewhere")
def test_a_database_that_cannot_be_written_is_checked(run: Run, tmp_path: Path) -> None:
    """Regression: a snapshot that is mounted read-only was refused before it was looked at."""
    with small_disk(tmp_path) as disk:
        with opened(disk) as database:
            add(database)
        make_read_only(disk)
        whole = run("check", "--data", disk)
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        with contextlib.closing(sqlite3.connect(disk / data_dir.DATABASE)) as damaged:
            damaged.execute("UPDATE thread SET count = 5")
            damaged.commit()
            damaged.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        make_read_only(disk)
        faulty = run("check", "--data", disk)
    assert "is intact, and its counts are right" in whole.output
    assert "note: " in whole.output
    assert (whole.exit_code, faulty.exit_code) == (0, 1)


def test_healthcheck_names_the_server(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "probe", lambda _data: "unix:/x")
    assert run("healthcheck", "--data", tmp_path).output == "unix:/x is running\n"


def below(command: click.Command, name: str = "") -> dict[str, click.Command]:
    """Return a command and all its subcommands, by the words with which they are called."""
    found = {name: command}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            inner = command.get_command(context, word)
            assert inner is not None
            assert inner.name == word
            found.update(below(inner, f"{name} {word}".strip()))
    return found


def test_every_command_of_the_package_can_be_called() -> None:
    reached = {id(command) for command in below(main.main).values()}
    for module in pkgutil.walk_packages(cli.__path__, "commentsvc.cli."):
        for name, value in vars(import_module(module.name)).items():
            assert not isinstance(value, click.Command) or id(value) in reached, name


# Words, standard input, and what the output contains; commands write in this process, since no
# server runs. DIR is a folder for files.
TABLE = (
    ("list", "", "blog:/post/"),
    ("approve 1 2", "", "comment 2 is approved"),
    ("spam 2", "", "comment 2 is spam"),
    ("undo", "", "comment 2"),
    ("history 2", "", "approved -> spam"),
    ("delete 3", "", "comment 3 is deleted"),
    ("edit 1", "A new text.", "comment 1"),
    ("moderator add mo", "some good words", "mo"),
    ("moderator role mo owner", "", "mo"),
    ("moderator passwd mo", "other good words", "mo"),
    ("moderator profile mo --public-name Momo", "", "mo"),
    ("moderator token add mo reader", "", ""),
    ("moderator token list mo", "", "reader"),
    ("moderator list", "", "Momo"),
    ("answer 1 --as mo", "An answer.", "answered by comment 5"),
    ("language 1 pt-br", "", "comment 1 has the language pt-BR"),
    ("pin 1", "", "1"),
    ("unpin 1", "", "1"),
    ("search text:new", "", "5 are not searchable yet"),
    ("ban add word pills", "", "ban 1 is set"),
    ("ban list", "", "pills"),
    ("ban remove 1", "", ""),
    ("thread list", "", "/post/"),
    ("thread close /post/", "", ""),
    ("thread open /post/", "", ""),
    ("thread age /post/", "", ""),
    ("thread title /post/ Walks", "", ""),
    ("thread alias /post/ /old/", "", ""),
    ("thread unalias /old/", "", ""),
    ("thread move /post/ /walk/", "", ""),
    ("thread merge /other/ /walk/", "", ""),
    ("thread translations --yes", "", ""),
    ("import disqus DIR/disqus.xml", "", "stored                 3"),
    ("import --list", "", "disqus"),
    ("import --undo 1", "", "import 1 is taken back: 3 comments"),
    ("export DIR/comments.ndjson", "", "comments exported"),
    ("backup DIR/backup", "", "is a complete copy"),
    ("forget ann@mail.example", "y\n", ""),
    ("restore DIR/backup", "", "restored 5 comments"),
    ("moderator remove mo", "", "mo"),
    ("check", "", "its counts are right"),
)
# Commands that use no database, need a service or a mail server, or have tests on both elsewhere.
ELSEWHERE = {"init", "serve", "healthcheck", "doctor", "mail", "copy", "site", "legal"}


def test_every_command_works_with_both_engines(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, files = tmp_path / "data", tmp_path / "files"
    data.mkdir()
    files.mkdir()
    (data / "commentsvc.toml").write_text('[[site]]\norigins = ["https://blog.example"]\n')
    (files / "disqus.xml").write_text(DISQUS)
    if engine == "postgresql":
        monkeypatch.setenv("COMMENTSVC_DATABASE_URL", str(location(data)))
    with opened(data) as database:
        for url in ("/post/", "/post/", "/post/", "/other/"):
            add(database, url=url, status="pending", email="ann@mail.example")
    for text, given, expected in TABLE:
        verb, *words = text.replace("DIR", str(files)).split()
        group = main.main.get_command(None, verb)  # type: ignore[arg-type]  # it uses no context
        index = 1 if hasattr(group, "commands") else 0
        index += words[:1] == ["token"]
        words[index:index] = ["--data", str(data)]
        done = CliRunner().invoke(main.main, [verb, *words], input=given)
        assert done.exit_code == 0, (text, done.output)
        assert expected in done.output, (text, done.output)


def foreign(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")


def replace_folder(path: Path) -> None:
    path.parent.rmdir()
    path.parent.touch()


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: path.parent.rmdir(), "There is no folder"),
    "file": (replace_folder, "is not a folder"),
    "empty": (lambda path: None, "has no database. If the path is right, start the server"),
    "foreign": (foreign, "belongs to another program: move it away"),
    "folder": (Path.mkdir, "cannot be opened: Is a directory"),
    "letter": (lambda path: path.write_text("Dear Ann," * 99), "is no SQLite database: move it"),
    "no bytes": (Path.touch, "has no tables yet"),
}


READING = (
    "check", "list", "search a", "history 1", "export", "backup copy", "thread list", "ban list",
    "moderator list", "moderator token list mo", "import --list", "healthcheck",
)  # fmt: skip
# What is left of an interrupted start is copied as it is.
CASES = [(fault, words) for fault in FAULTS for words in READING]
CASES.remove(("no bytes", "backup copy"))


@pytest.mark.sqlite_only("it is about files")
@pytest.mark.parametrize(("fault", "command"), CASES)
def test_a_reading_command_says_what_is_wrong_with_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    spoil, reason = FAULTS[fault]
    spoil(data / data_dir.DATABASE)
    if command == "healthcheck" and fault not in ("missing", "file"):
        reason = "No server answers"
    done = CliRunner().invoke(main.main, [*command.split(), "--data", str(data)])
    assert done.exit_code == 1
    assert done.stderr.startswith("commentsvc: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert reason in done.stderr


def test_no_command_is_missing_in_the_table() -> None:
    commands = set(main.main.list_commands(None))  # type: ignore[arg-type]  # as above
    assert commands == {text.split()[0] for text, *_ in TABLE} | ELSEWHERE


@pytest.mark.postgresql_only("it ends a connection")
@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    "words", ["list", "approve 1", "check", "export -", "backup DIR/new", "import --list"]
)
def test_a_connection_that_is_lost_in_a_command_is_one_line(
    tmp_path: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a traceback followed where a command looks at the tables."""
    with opened(tmp_path) as database:
        add(database)
    lose = "SELECT pg_terminate_backend(pg_backend_pid())"
    monkeypatch.setattr(postgresql_upgrade, "_FACTS", lose)
    verb, *rest = words.replace("DIR", str(tmp_path)).split()
    done = CliRunner().invoke(main.main, [verb, "--data", str(tmp_path), *rest])
    assert done.exit_code == 1
    assert done.stderr.startswith("commentsvc: PostgreSQL does not answer (")
    assert done.stderr.count("\n") == 1


# Who may run each command. Most belong to whoever may open the files in the data folder, which only
# its owner can (`settings.data_dir`, `runtime.control`). Roles cannot bind this person:
OF_THE_MACHINE = {
    "Who can open the database can read all of this in it.": (
        "list, search, history, check, legal, healthcheck, export, backup, ban list, thread list,"
        " moderator list, moderator token list, moderator credential list"
    ),
    "Who can open the database can change all of this in it.": (
        "approve, spam, delete, undo, edit, language, pin, unpin, forget, import, restore, copy,"
        " ban add, ban remove, thread close, thread open, thread age, thread title, thread reset,"
        " thread alias, thread unalias, thread move, thread moved, thread translations,"
        " thread merge, thread import, site rename"
    ),
    "So the first account is made, and one is recovered whose password is lost.": (
        "moderator add, moderator remove, moderator role, moderator passwd, moderator no-code,"
        " moderator profile, moderator token add, moderator token remove,"
        " moderator credential remove"
    ),
    "It sets up the service, starts it, or tests it.": "init, serve, doctor, mail test",
}
# These act for an account, with its role.
OF_AN_ACCOUNT = {
    "answer": "test_a_command_answers_only_where_the_role_of_the_account_permits_it, below",
    "mail receive": "inbox/test_receiver.py: the server decides, when it processes the mail",
}


def test_each_command_belongs_to_the_owner_of_the_machine_or_to_a_role() -> None:
    names = ", ".join((*OF_THE_MACHINE.values(), *OF_AN_ACCOUNT)).split(", ")
    commands = {
        words: command
        for words, command in below(main.main).items()
        if not isinstance(command, click.Group)
    }
    assert sorted(names) == sorted(commands)
    as_account = {
        words
        for words, command in commands.items()
        if any("--as" in option.opts for option in command.params)
    }
    assert as_account == {"answer"}


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("owner", ""),
        ("moderator", ""),
        ("here", ""),
        ("elsewhere", "no comment has the id 1"),
        ("viewer", "viewer may only read"),
        ("nobody", "no moderator is called nobody"),
    ],
)
@pytest.mark.usefixtures("commands")
def test_a_command_answers_only_where_the_role_of_the_account_permits_it(
    tmp_path: Path, name: str, refusal: str
) -> None:
    roles = {
        "owner": ("owner", ()),
        "moderator": ("moderator", ()),
        "here": ("moderator", ("blog",)),
        "elsewhere": ("owner", ("notes",)),
        "viewer": ("viewer", ()),
    }
    with opened(tmp_path) as database:
        database.write_now(site_rows.sync, ["blog", "notes"])
        add(database, status="pending")
        for account, (role, sites) in roles.items():
            database.write_now(accounts.add, account, "hash", NOW)
            database.write_now(profiles.assign, account, role, sites)
    words = ["answer", "--data", str(tmp_path), "1", "--as", name]
    done = CliRunner().invoke(main.main, words, input="An answer.")
    assert (done.exit_code, refusal in done.stderr) == (int(bool(refusal)), True), done.output
    statuses = [entry.comment.status for entry in client.read(tmp_path, queries.listing, None, 9)]
    assert statuses == (["pending"] if refusal else ["approved", "approved"])


def test_a_mistyped_word_of_every_choice_gets_the_one_that_is_meant() -> None:
    with click.Context(main.main) as ctx:
        for path, command in commands(main.main, ctx):
            for param in command.params:
                if isinstance(param.type, click.Choice):
                    word = max(map(str, param.type.choices), key=len)
                    with pytest.raises(click.BadParameter, match=f'Did you mean "{word}"'):
                        param.type.convert(f"{word}x", param, ctx)
                    assert path


def commands(
    group: click.Group, ctx: click.Context, path: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], click.Command]]:
    """Return the commands of a group and of those in it."""
    found = []
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command
        if isinstance(command, click.Group):
            found += commands(command, ctx, (*path, name))
        else:
            found.append(((*path, name), command))
    return found


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.EMFILE, "Raise the limit of open files"), (errno.EROFS, "Mount its file system")],
)
def test_an_error_of_the_system_names_the_next_step(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number), str(tmp_path / "lock"))

    monkeypatch.setattr(client, "write", fail)
    result = run("approve", "1", "--data", tmp_path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"commentsvc: {tmp_path}/lock: {os.strerror(number)}. {advice}")
