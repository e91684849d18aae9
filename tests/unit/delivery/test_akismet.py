"""Akismet: asked once a comment is stored, overruled by decisions, and told of them.

The fake server speaks the protocol as Akismet documents it, with its test author and answers.
"""

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from msgspec.structs import replace

from commentsvc import outbox as outbox_queue
from commentsvc.delivery.akismet import Akismet
from commentsvc.delivery.worker import OutboxWorker
from commentsvc.moderation import author_edits, changes, history, undo
from commentsvc.settings.schema import HooksSettings
from commentsvc.spam import training
from commentsvc.spam.score import Verdict
from tests.background import background
from tests.unit.app_fixture import SETTINGS, Served, served, waiting
from tests.unit.database_fixture import decide

KEY = "123YourAPIKey"
SPAMMER = "akismet-guaranteed-spam"
THANKS = b"Thanks for making the web a better place."
NEEDED = {"api_key", "blog", "user_ip"}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        fields = dict(parse_qsl(text, strict_parsing=True))
        assert self.headers["Content-Type"] == "application/x-www-form-urlencoded"
        assert fields.keys() >= NEEDED
        method = self.path.removeprefix("/1.1/")
        self.server.asked.append((method, fields))  # type: ignore[attr-defined] # the test's own attribute
        body = THANKS
        if fields["api_key"] != KEY:
            body = b"invalid"
        elif method == "comment-check":
            body = b"true" if fields["comment_author"] == SPAMMER else b"false"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []  # type: ignore[attr-defined] # the requests that it got
    with background(server):
        yield server


class Asking:
    """A service with a key, and its outbox."""

    def __init__(self, service: Served, server: ThreadingHTTPServer) -> None:
        self.service = service
        self.server = server

    def deliver(self) -> list[tuple[str, str]]:
        """Deliver what waits; return the methods and authors that the server received."""
        self.server.asked.clear()  # type: ignore[attr-defined] # the test's own attribute
        url = f"http://127.0.0.1:{self.server.server_address[1]}/1.1"
        channel = Akismet(settings(), self.service.database, self.service.clock, url)
        outbox = OutboxWorker(self.service.database, {"Akismet": channel}, self.service.clock)
        asyncio.run(outbox.deliver("Akismet"))
        return [(method, fields["comment_author"]) for method, fields in self.asked()]

    def asked(self) -> list[tuple[str, dict[str, str]]]:
        return list(self.server.asked)  # type: ignore[attr-defined] # the test's own attribute

    def statuses(self) -> list[str]:
        return [entry.comment.status for entry in self.service.stored()][::-1]


def settings(key: str = KEY) -> Any:  # Any: Settings, through msgspec's replace
    return replace(
        SETTINGS,
        spam=replace(SETTINGS.spam, akismet_key=key),
        comments=replace(SETTINGS.comments, author_length=80),
        hooks=HooksSettings(allowed_networks=("127.0.0.0/8",)),
    )


@pytest.fixture
def asking(tmp_path: Path, server: ThreadingHTTPServer) -> Iterator[Asking]:
    with served(tmp_path, settings()) as service:
        yield Asking(service, server)


def test_what_it_calls_spam_is_filed_as_such_and_the_rest_left_alone(asking: Asking) -> None:
    asking.service.submit("Buy", author=SPAMMER)
    asking.service.submit("Hello *you*", author="Ann", email="ann@mail.example")
    assert asking.statuses() == ["approved", "approved"], "nobody waits for an answer"
    asking.service.purged.clear()
    assert asking.deliver() == [("comment-check", SPAMMER), ("comment-check", "Ann")]
    assert asking.statuses() == ["spam", "approved"]
    assert asking.service.purged == ["thread:blog:/p/", "site:blog"]
    [change] = asking.service.database.read_now(history.entries, 1)
    assert change.actor == "Akismet"
    assert asking.deliver() == [], "what it did itself is not told it"
    assert waiting(asking.service) == []


def test_it_is_told_no_address_of_any_sort(asking: Asking) -> None:
    asking.service.submit(
        "Hello", author="Ann", email="ann@mail.example", site="https://ann.example"
    )
    asking.deliver()
    [(_, fields)] = asking.asked()
    assert fields == {
        "api_key": KEY,
        "blog": "https://blog.example",
        "user_ip": "192.0.2.1",
        "permalink": "https://blog.example/p/",
        "comment_type": "comment",
        "comment_author": "Ann",
        "comment_author_url": "https://ann.example",
        "comment_content": "Hello",
        "comment_date_gmt": "2026-11-18T11:06:40Z",
    }


def test_it_is_told_where_a_moderator_decides_otherwise(asking: Asking) -> None:
    asking.service.submit("Buy", author=SPAMMER)
    asking.service.submit("Hello", author="Ann")
    asking.deliver()
    asking.deliver()
    decide(asking.service.database, "approved", 1)
    decide(asking.service.database, "spam", 2)
    assert sorted(asking.deliver()) == [("submit-ham", SPAMMER), ("submit-spam", "Ann")]
    database = asking.service.database
    database.write_now(changes.edit, 1, "Other", "Mo", 5)
    assert asking.deliver() == [], "an edited text is no decision"


def test_undoing_what_it_did_is_a_decision_too(asking: Asking) -> None:
    asking.service.submit("Buy", author=SPAMMER)
    asking.deliver()
    asking.deliver()
    asking.service.database.write_now(undo.last, [1], "Mo", 5)
    assert asking.deliver() == [("submit-ham", SPAMMER)]
    assert asking.statuses() == ["approved"]


def test_who_has_decided_meanwhile_is_not_overruled(asking: Asking) -> None:
    asking.service.submit("Buy", author=SPAMMER)
    decide(asking.service.database, "deleted", 1)
    decide(asking.service.database, "approved", 1)
    asking.service.submit("Buy more", author=SPAMMER)
    decide(asking.service.database, "spam", 2)
    asking.service.database.write_now(undo.last, [2], "Mo", 5)
    assert ("comment-check", SPAMMER) in asking.deliver(), "undone, it is open again"
    assert asking.statuses() == ["deleted", "spam"]


def test_what_an_author_does_is_no_decision(asking: Asking) -> None:
    """A comment that its author changed, and that is pending again for it, is checked again."""
    asking.service.submit("Hello", author=SPAMMER)
    revised = Verdict("hold", 5, ("links +5 4",))
    asking.service.database.write_now(author_edits.edit, 1, "Buy", revised, 5)
    assert asking.statuses() == ["pending"]
    assert asking.deliver()[-1:] == [("comment-check", SPAMMER)]
    assert asking.statuses() == ["spam"]
    asking.service.database.write_now(author_edits.delete, 1, 6)
    assert asking.deliver() == []


def test_our_own_filter_learns_nothing_from_it(asking: Asking) -> None:
    asking.service.submit("Buy", author=SPAMMER)
    asking.deliver()
    assert asking.service.database.read_now(training.version) == 0
    decide(asking.service.database, "approved", 1)
    assert asking.service.database.read_now(training.version) == 1


def test_a_wrong_key_is_told_and_asked_with_again(
    tmp_path: Path, server: ThreadingHTTPServer
) -> None:
    with served(tmp_path, settings()) as service:
        service.submit("Buy", author=SPAMMER)
        url = f"http://127.0.0.1:{server.server_address[1]}/1.1"
        channel = Akismet(settings("wrong"), service.database, service.clock, url)
        asyncio.run(
            OutboxWorker(service.database, {"Akismet": channel}, service.clock).deliver("Akismet")
        )
        [row] = waiting(service)
        assert row.attempts == 1
        assert row.error == "200 invalid: see spam.akismet_key"
        assert service.stored()[0].comment.status == "approved"


def test_a_server_that_is_down_is_asked_later(asking: Asking) -> None:
    asking.service.submit("Buy", author=SPAMMER)
    port, asking.server.server_address = asking.server.server_address, ("127.0.0.1", 9)
    assert asking.deliver() == []
    assert [row.attempts for row in waiting(asking.service)] == [1]
    asking.server.server_address = port
    asking.service.now += outbox_queue.FIRST_PAUSE / 1_000
    assert asking.deliver() == [("comment-check", SPAMMER)]
    assert asking.statuses() == ["spam"]


def test_without_a_key_nobody_is_asked(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        service.submit("Buy", author=SPAMMER[:20])
        assert waiting(service) == []
