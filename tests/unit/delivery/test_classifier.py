"""The classifier is asked before a comment is published; if it fails, the comment stays pending.

The classifier is a fake server on this machine, or the manual's example with one behind it.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from msgspec.structs import replace

from commentsvc import outbox as outbox_queue
from commentsvc.delivery.classifier import ClassifierProgram
from commentsvc.delivery.worker import FIRST_REST, LONGEST_REST
from commentsvc.model import CLASSIFIER
from commentsvc.moderation import author_edits, history
from commentsvc.settings.schema import HooksSettings, Settings
from commentsvc.spam import pending_limit
from commentsvc.spam.score import Verdict
from tests.background import background
from tests.e2e.program import ROOT
from tests.unit.app_fixture import SETTINGS, served, waiting
from tests.unit.database_fixture import decide
from tests.unit.delivery.asking import Asking, listening

SECRET = "whsec_c2VjcmV0IG9mIHRoZSBjbGFzc2lmaWVy"


def judge(asked: dict[str, Any]) -> tuple[int, object]:
    """Judge a message by its first word."""
    word = asked["data"]["message"].split()[0]
    if word in ("accept", "hold", "spam"):
        return 200, {"decision": word, "reason": f"it says {word}", "score": 0.5}
    return 200, {"decision": "accept"}


def settings(url: str) -> Settings:
    return replace(
        SETTINGS,
        spam=replace(SETTINGS.spam, classifier_url=url, form_token="off", proof_of_work=0),
        hooks=HooksSettings(secret=SECRET, allowed_networks=("127.0.0.0/8",)),
    )


def messages(asking: Asking) -> list[str]:
    """Ask; return the messages that the classifier received."""
    return [each["data"]["message"] for each in asking.ask()]


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with listening(judge) as server:
        yield server


@pytest.fixture
def asking(tmp_path: Path, server: ThreadingHTTPServer) -> Iterator[Asking]:
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    with served(tmp_path, settings(url)) as service:
        yield Asking(service, server, settings(url), ClassifierProgram(settings(url)))


def test_a_comment_is_shown_when_the_classifier_has_accepted_it(asking: Asking) -> None:
    for message in ("accept me", "hold me", "spam", "fine"):
        asking.service.submit(message, author="Bea", email="bea@mail.example")
    assert asking.statuses() == ["pending"] * 4
    assert asking.reasons(1).splitlines()[-1] == "classifier-waits +0"
    asking.service.purged.clear()
    assert messages(asking) == ["accept me", "hold me", "spam", "fine"]
    assert asking.statuses() == ["approved", "pending", "spam", "approved"]
    assert "thread:blog:/p/" in asking.service.purged
    assert asking.reasons(2) == "classifier +0 hold, 0.5, it says hold"
    assert asking.reasons(4) == "classifier +0 accept"
    [change] = asking.service.database.read_now(history.entries, 3)
    assert change.actor == CLASSIFIER
    assert asking.ask() == [], "nobody is asked for the same text twice"
    assert waiting(asking.service) == []


def test_it_is_told_no_address_and_knows_who_asks(asking: Asking) -> None:
    asking.service.submit("Hello", author="Bea", email="bea@mail.example")
    asking.ask()
    [question] = asking.server.asked  # type: ignore[attr-defined] # the test's own attribute
    assert "mail.example" not in json.dumps(question)
    assert question["data"]["page"] == "https://blog.example/p/"


def test_what_waits_for_a_moderator_gets_an_opinion_and_goes_on_waiting(asking: Asking) -> None:
    links = " ".join(f"https://{number}.example" for number in range(9))
    asking.service.submit(f"accept {links}", author="Bea")
    asking.service.submit(f"spam {links}", author="Bea")
    assert len(asking.ask()) == 2
    assert asking.statuses() == ["pending", "spam"]
    assert "classifier +0 accept" in asking.reasons(1)


def test_what_a_moderator_has_decided_stays(asking: Asking) -> None:
    for message in ("spam", "accept"):
        asking.service.submit(message, author="Bea")
    decide(asking.service.database, "approved", 1)
    decide(asking.service.database, "spam", 2)
    assert asking.ask() == []
    assert asking.statuses() == ["approved", "spam"]


def test_an_edit_is_judged_anew_and_shows_nothing_that_was_held(asking: Asking) -> None:
    database, now = asking.service.database, asking.service.clock.now_ms()
    waits = Verdict("hold", 0, ("classifier-waits +0",))
    for message in ("accept", "hold"):
        asking.service.submit(message, author="Bea")
    asking.ask()
    for number in (1, 2):
        database.write_now(author_edits.edit, number, "accept this", waits, now)
    assert asking.statuses() == ["pending", "pending"]
    assert sorted(messages(asking)) == ["accept this", "accept this"]
    assert asking.statuses() == ["approved", "pending"]


def test_the_opinion_on_an_old_text_is_not_used(asking: Asking) -> None:
    asking.service.submit("accept", author="Bea")
    database = asking.service.database

    def answer(asked: dict[str, Any]) -> tuple[int, object]:
        waits = Verdict("hold", 0, ("classifier-waits +0",))
        now = asking.service.clock.now_ms()
        if asked["data"]["message"] == "accept":
            database.write_now(author_edits.edit, 1, "spam", waits, now)
        return judge(asked)

    asking.server.answer = answer  # type: ignore[attr-defined] # the test's own attribute
    assert messages(asking) == ["accept"]
    assert asking.statuses() == ["pending"]
    assert messages(asking) == ["spam"]
    assert asking.statuses() == ["spam"]


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"no JSON"),
        (200, b"[" * 100_000),
        (200, {"decision": "delete"}),
        (200, {"reason": "none"}),
        (422, {"error": "what?"}),
    ],
)
def test_a_wrong_answer_leaves_the_comment_to_the_moderators(
    asking: Asking, answer: tuple[int, object]
) -> None:
    asking.server.answer = lambda _: answer  # type: ignore[attr-defined] # the test's own attribute
    asking.service.submit("accept", author="Bea")
    assert len(asking.ask()) == 1
    assert asking.statuses() == ["pending"]
    [row] = asking.service.database.read_now(outbox_queue.listing, "failed", 9, 9)
    assert row.channel == CLASSIFIER
    assert asking.ask() == []


def test_while_it_is_away_the_queue_of_a_site_is_bounded(
    tmp_path: Path, server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending_limit, "SITE_PENDING", 2)
    known = settings(f"http://127.0.0.1:{server.server_address[1]}/")
    bound = replace(known.spam, rate_limit="9/minute", pending_limit="1/day")
    with served(tmp_path, replace(known, spam=bound)) as service:
        statuses = [service.submit(f"accept {n}", author="Bea").status for n in range(3)]
    assert statuses[:2] == [202, 202]
    assert statuses[2] not in (201, 202)


@pytest.mark.sqlite_only("it lives through an hour, second by second")
def test_while_it_is_away_comments_wait_and_it_is_asked_ever_less_often(asking: Asking) -> None:
    asking.server.answer = lambda _: (503, {})  # type: ignore[attr-defined] # the test's own attribute
    attempts = 0
    for second in range(3_600):
        if second % 10 == 0:
            asking.service.submit(f"accept {second}", author="Bea")
        attempts += len(asking.ask())
        asking.service.clock.moment += 1_000
    assert attempts <= 3_600_000 // LONGEST_REST + LONGEST_REST // FIRST_REST
    assert set(asking.statuses()) == {"pending"}
    asking.server.answer = judge  # type: ignore[attr-defined] # the test's own attribute
    for _ in range(10):
        asking.service.clock.moment += LONGEST_REST
        asking.ask()
    assert set(asking.statuses()) == {"approved"}


@contextmanager
def example(rspamd: str) -> Iterator[str]:
    """Run the example of the manual; return its address."""
    words = [sys.executable, str(ROOT / "docs/examples/classifier.py"), rspamd]
    environ = {**os.environ, "CLASSIFIER_SECRET": SECRET, "CLASSIFIER_LISTEN": "127.0.0.1:0"}
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            yield program.stdout.readline().split()[-1]
        finally:
            program.kill()


class Rspamd(BaseHTTPRequestHandler):
    """Answers as rspamd's normal worker does."""

    def do_POST(self) -> None:
        mail = self.rfile.read(int(self.headers["Content-Length"])).decode()
        answer = {"action": "reject" if "pills" in mail else "no action", "score": 15.5}
        body = json.dumps(answer | {"symbols": {"PILLS": {}, "GTUBE": {}}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def test_the_example_asks_rspamd(tmp_path: Path) -> None:
    rspamd = ThreadingHTTPServer(("127.0.0.1", 0), Rspamd)
    with (
        background(rspamd),
        example(f"http://127.0.0.1:{rspamd.server_address[1]}") as url,
        served(tmp_path, settings(url)) as service,
    ):
        service.clock.moment = int(time.time() * 1_000)
        asking = Asking(service, rspamd, settings(url), ClassifierProgram(settings(url)))
        for message in ("pills", "hello"):
            service.submit(message, author="Bea")
        asyncio.run(asking.worker.deliver(CLASSIFIER))
        assert asking.statuses() == ["spam", "approved"]
        assert asking.reasons(1) == "classifier +0 spam, 15.5, GTUBE, PILLS"
        with pytest.raises(HTTPError, match="401"):
            urlopen(Request(url, b"{}"))
