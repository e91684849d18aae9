"""How commands change the data, without a server or with a fake one."""

import contextlib
import http.server
import json
import socketserver
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.cli import client, tables
from commentsvc.comments import create, queries
from commentsvc.db.connection import Transaction
from commentsvc.db.errors import DatabaseBusy, DatabaseUnusable
from commentsvc.db.lock import Lock
from commentsvc.errors import UnknownComment
from commentsvc.model import Comment, Entry
from commentsvc.moderation.history import entries
from commentsvc.runtime import control
from commentsvc.runtime.control import ControlError
from commentsvc.runtime.control_commands import ChangeStatus, CommandResult, UndoChange
from tests.unit.database_fixture import new, opened

COMMENT = Comment(
    id=12,
    thread_id=1,
    parent_id=None,
    status="pending",
    author="Ann",
    email="ann@example.org",
    avatar="",
    site="https://ann.example/",
    source="\n  First line\nSecond line",
    html="<p>…</p>",
    created_at=1_790_000_000_123,
    published_at=None,
    edited_at=None,
    votes=0,
)
ENTRY = Entry(comment=COMMENT, site="blog", url="/post/", title="A post")
NEW = new(source="Hello", html="<p>Hello</p>", status="pending", key="k")


@pytest.fixture
def data(tmp_path: Path, commands: None) -> Path:
    """Return a data folder with three pending comments."""

    def fill(tx: Transaction) -> None:
        for number in range(3):
            create.add(tx, replace(NEW, key=f"k{number}"), number)

    with opened(tmp_path) as database:
        database.write_now(fill)
    return tmp_path


def statuses(data: Path) -> dict[int, str]:
    entries = client.read(data, queries.listing, None, 10)
    return {entry.comment.id: entry.comment.status for entry in entries}


def test_approving_alone_changes_the_named_comments(data: Path) -> None:
    assert client.write(data, ChangeStatus(to="approved", ids=(1, 3))).changed == (1, 3)
    assert statuses(data) == {1: "approved", 2: "pending", 3: "approved"}
    assert client.check(data) == []


def test_the_history_of_a_comment_has_its_changes(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "localtime", time.gmtime)
    monkeypatch.setattr(time, "time_ns", lambda: 1_790_000_000 * 10**9)
    client.write(data, ChangeStatus(to="approved", ids=(1,)))
    client.write(data, ChangeStatus(to="spam", ids=(1,)))
    client.write(data, UndoChange())
    assert [client.change_line(change) for change in client.read(data, entries, 1)] == [
        "2026-09-21 14:13:20  approved -> spam  by command line;"
        " undone 2026-09-21 14:13:20 by command line",
        "2026-09-21 14:13:20  pending -> approved  by command line",
    ]
    assert client.read(data, entries, 2) == []


def test_approving_all_alone_leaves_nothing_pending(data: Path) -> None:
    assert client.write(data, ChangeStatus(to="approved", all=True)).changed == (1, 2, 3)
    assert client.read(data, queries.listing, "pending", 10) == []


def test_an_unknown_id_changes_nothing(data: Path) -> None:
    with pytest.raises(UnknownComment, match="no comment has the id 9"):
        client.write(data, ChangeStatus(to="approved", ids=(1, 9)))
    assert set(statuses(data).values()) == {"pending"}


def test_a_running_server_is_asked_first(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "ask", lambda _path, _request: CommandResult(changed=(2,)))
    assert client.write(data, ChangeStatus(to="approved", ids=(2,))) == CommandResult(changed=(2,))
    assert set(statuses(data).values()) == {"pending"}


def test_a_server_that_has_just_started_is_waited_for(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "START_PATIENCE_MS", 120_000)
    asked = threading.Event()
    real = control.ask

    def ask(path: Path, request: ChangeStatus) -> CommandResult:
        with contextlib.suppress(control.NoServer):
            return real(path, request)
        asked.set()
        raise control.NoServer

    monkeypatch.setattr(control, "ask", ask)
    changed: list[int] = []
    with Lock(data):
        other = threading.Thread(
            target=lambda: changed.extend(
                client.write(data, ChangeStatus(to="spam", ids=(1,))).changed
            )
        )
        other.start()
        assert asked.wait(120)
        assert set(statuses(data).values()) == {"pending"}
    other.join()
    assert changed == [1]


def test_a_holder_of_the_lock_that_does_not_answer_is_named(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "START_PATIENCE_MS", 0)
    with Lock(data), pytest.raises(DatabaseBusy, match="in use by another commentsvc"):
        client.write(data, ChangeStatus(to="approved", all=True))


def test_reading_while_the_lock_is_held_works(data: Path) -> None:
    with Lock(data):
        assert len(client.read(data, queries.listing, "pending", 2)) == 2
        assert client.check(data) == []


def test_a_folder_without_a_database_is_told(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusable, match="has no database"):
        client.check(tmp_path)


@pytest.mark.sqlite_only("test_postgresql_upgrade.py has one of PostgreSQL")
def test_a_newer_database_is_named_by_check(data: Path) -> None:
    with closing(sqlite3.connect(data / "comments.sqlite3")) as database, database:
        database.execute("INSERT INTO schema_migration (name, applied) VALUES ('9999_later', '')")
    with pytest.raises(DatabaseUnusable, match="newer commentsvc"):
        client.check(data)


@pytest.mark.sqlite_only("the file is empty")
def test_an_empty_database_is_told_by_check(data: Path) -> None:
    (data / "secret.key").write_text("x")
    (data / "comments.sqlite3").write_bytes(b"")
    with pytest.raises(DatabaseUnusable, match="is empty, and there was data"):
        client.check(data)


def test_a_damaged_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "comments.sqlite3").write_bytes(b"no database" * 100)
    with pytest.raises(DatabaseUnusable, match="is no SQLite database: move it away"):
        client.read(tmp_path, queries.listing, None, 1)


def test_a_line_shows_what_a_moderator_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(time, "localtime", time.gmtime)
    tables.show(client.ROW, [client.as_row(ENTRY)], "")
    line = "12  pending  2026-09-21 14:13:20  blog:/post/  Ann  First line\n"
    assert capsys.readouterr().out == line


def test_a_long_first_line_is_cut() -> None:
    entry = replace(ENTRY, comment=replace(COMMENT, source="x" * 100))
    assert client.as_row(entry)[-1] == "x" * (client.LINE_LENGTH - 1) + "…"


def test_json_leaves_the_address_of_the_author_out() -> None:
    shown = json.loads(client.as_json(ENTRY))
    assert shown["created"] == "2026-09-21T14:13:20Z"
    assert shown["message"] == COMMENT.source
    assert "published" not in shown
    assert "ann@example.org" not in client.as_json(ENTRY)


class Health(http.server.BaseHTTPRequestHandler):
    """Answers with the status that its server holds."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        healthy = self.path == "/healthz"
        self.send_response(200 if healthy and getattr(self.server, "well", False) else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Do not log."""

    def address_string(self) -> str:
        return ""


class UnixServer(socketserver.UnixStreamServer):
    """A fake of the server, on a unix socket."""

    well = True


class TcpServer(socketserver.TCPServer):
    """A fake of the server, on TCP."""

    well = True


@contextlib.contextmanager
def answering(server: UnixServer | TcpServer) -> Iterator[None]:
    with server:
        worker = threading.Thread(target=server.handle_request)
        worker.start()
        yield
        worker.join()


def at(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(control, "ask", lambda _path, _request: CommandResult(address=address))


def test_a_probe_reaches_a_tcp_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = TcpServer(("127.0.0.1", 0), Health)
    at(monkeypatch, f"http://127.0.0.1:{server.server_address[1]}")
    with answering(server):
        assert client.probe(tmp_path).startswith("http://127.0.0.1:")


def test_a_probe_reaches_a_unix_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, f"unix:{tmp_path}/s")
    with answering(UnixServer(str(tmp_path / "s"), Health)):
        assert client.probe(tmp_path) == f"unix:{tmp_path}/s"


def test_a_probe_speaks_for_itself_where_the_proxy_protocol_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"unix:{tmp_path}/s"
    server = CommandResult(address=address, proxy_header=True)
    monkeypatch.setattr(control, "ask", lambda *_: server)
    heard: list[bytes] = []

    class Strict(Health):
        """Requires a PROXY protocol header, as the core does."""

        def handle(self) -> None:
            heard.append(self.rfile.read(len(control.LOCAL)))
            super().handle()

    with answering(UnixServer(str(tmp_path / "s"), Strict)):
        assert client.probe(tmp_path) == address
    assert heard == [b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"]


def test_a_server_that_is_not_well_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, f"unix:{tmp_path}/s")
    server = UnixServer(str(tmp_path / "s"), Health)
    server.well = False
    with answering(server), pytest.raises(ControlError, match=r"it answers 'HTTP/1\.1 503"):
        client.probe(tmp_path)


@pytest.mark.parametrize("address", ["unix:/nowhere/s", "http://127.0.0.1:1", "http://[::1]:1"])
def test_an_address_where_nobody_answers_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    at(monkeypatch, address)
    with pytest.raises(ControlError, match="does not answer"):
        client.probe(tmp_path)
