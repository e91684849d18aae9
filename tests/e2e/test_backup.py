"""A database is copied while comments come in, lost, and restored; the service goes on with it."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.program import PATIENCE, Service, command, wait_for
from tests.unit.mail_server import MailServer, mail_server

pytestmark = pytest.mark.forked

Start = Callable[..., Service]
OPEN = {"COMMENTSVC_MODERATION_POLICY": "none", "COMMENTSVC_SPAM_RATE_LIMIT": "off"}


class Writing(threading.Thread):
    """Sends comments to a service until it is told to end."""

    def __init__(self, service: Service, more: str = "") -> None:
        super().__init__()
        self.service = service
        self.more = more  # is appended to the number of each comment
        self.ending = threading.Event()
        self.acknowledged = 0

    def run(self) -> None:
        while not self.ending.is_set():
            text = f"number {self.acknowledged} {self.more}"
            assert self.service.submit("/post/", text).status == 201
            self.acknowledged += 1


def test_a_lost_database_comes_back_from_a_copy_that_was_made_under_load(
    data: Path, tmp_path: Path, start: Start
) -> None:
    service, copy, new = start(data, environ=OPEN), tmp_path / "copy", tmp_path / "new"
    writing = Writing(service)
    writing.start()
    try:
        wait_for(lambda: writing.acknowledged > 20, "comments")
        before = writing.acknowledged
        done = command("backup", "--data", data, copy)
        assert (done.code, done.err) == (0, "")
        after = writing.acknowledged
        refused = command("restore", "--data", data, copy)
        assert refused.code == 1
        assert "in use by another commentsvc" in refused.err
    finally:
        writing.ending.set()
        writing.join()
    assert service.stop() == 0

    done = command("restore", "--data", new, copy)
    assert done.code == 0, done.err
    assert "has no secret.key" in done.out
    assert command("check", "--data", new).code == 0
    service = start(new, environ=OPEN)
    assert before <= service.count("/post/") <= after + 1
    assert service.submit("/post/", "afterwards").status == 201


def test_a_server_makes_backups_by_itself_and_tells_of_failures(
    data: Path, tmp_path: Path, start: Start
) -> None:
    environ = {"COMMENTSVC_BACKUP_DIRECTORY": str(tmp_path / "kept")}
    service = start(data, environ=environ)
    wait_for(lambda: bool([*tmp_path.glob("kept/comments-*Z.*")]), "a backup")
    assert b"commentsvc_backup_failing 0.0" in service.request("GET", "/metrics").body
    assert service.stop() == 0
    [made] = tmp_path.glob("kept/*")
    assert command("restore", "--data", data, made).code == 0

    (tmp_path / "file").touch()
    service = start(data, environ={"COMMENTSVC_BACKUP_DIRECTORY": str(tmp_path / "file")})
    failing = b"commentsvc_backup_failing 1.0"
    wait_for(lambda: failing in service.request("GET", "/metrics").body, "the failure")
    assert "no backup is made" in service.log.read_text()
    assert service.request("GET", "/healthz").status == 200


@contextlib.contextmanager
def mailbox() -> Iterator[MailServer]:
    """Run a mail server on an event loop of its own."""
    ready, made = threading.Event(), []
    loop = asyncio.new_event_loop()

    async def serve(ending: asyncio.Event) -> None:
        async with mail_server() as server:
            made.append(server)
            ready.set()
            await ending.wait()

    ending = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(ending),))
    thread.start()
    try:
        assert ready.wait(PATIENCE), "the mail server does not start"
        yield made[0]
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join()
        loop.close()


def test_a_mail_that_waited_in_a_backup_is_not_sent_by_restoring_it(
    data: Path, tmp_path: Path, start: Start
) -> None:
    """Regression: restoring an old backup sent its mails a second time."""
    with mailbox() as server:
        environ = {
            "COMMENTSVC_MAIL_HOST": "localhost",
            "COMMENTSVC_MAIL_PORT": str(server.port),
            "COMMENTSVC_MAIL_SECURITY": "none",
            "COMMENTSVC_MAIL_SENDER": "comments@blog.example",
            "COMMENTSVC_MAIL_MODERATORS": "mo@blog.example",
            "COMMENTSVC_SERVER_PUBLIC_URL": "https://c.example",
        }
        server.data_answer = "451 not now"
        service = start(data, environ=environ)
        assert service.submit("/post/", "the first").status == 202
        assert command("backup", "--data", data, tmp_path / "copy").code == 0
        assert service.stop() == 0
        done = command("restore", "--data", data, tmp_path / "copy")
        assert "1 mails and messages that were waiting in it are held back" in done.out, done

        server.data_answer = "250 Thank you"
        service = start(data, environ=environ)
        assert service.submit("/post/", "the second").status == 202
        wait_for(lambda: bool(server.mails), "a mail of the second comment")
        metrics = service.request("GET", "/metrics").body.decode()
        assert service.stop() == 0
    [mail] = server.mails
    body = mail.get_body(("plain",))
    assert body is not None
    assert "the second" in body.get_content()
    assert 'commentsvc_outbox_failed{channel="mail"} 1.0' in metrics
