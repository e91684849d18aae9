"""Replies are fetched from a real IMAP mailbox, at once, and again after the server was down."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
from msgspec.structs import replace

from commentsvc.inbox import imap
from commentsvc.inbox.imap import ImapFetcher
from commentsvc.settings.schema import InboxSettings
from tests.unit.inbox.imap_server import PASSWORD, ImapServer, imap_server
from tests.unit.inbox.mail_programs import plain
from tests.unit.inbox.test_reply_text import ORIGINAL


@pytest.fixture(scope="module")
def server() -> Iterator[ImapServer]:
    with imap_server() as running:
        yield running


@pytest.fixture
def settings(server: ImapServer) -> InboxSettings:
    return InboxSettings(
        address="comments@blog.example",
        host="localhost",
        port=server.port,
        user="me",
        password=PASSWORD,
        ca_file=server.authority,
    )


def deliver(server: ImapServer, words: str, number: int, **headers: str) -> None:
    """Put a reply into the mailbox."""
    mail = plain(ORIGINAL, words, Message_ID=f"<{number}@mail.example>", **headers)
    with server.mailbox() as client:
        client.append("INBOX", mail)


def fetching(settings: InboxSettings, story: Callable[[list[bytes]], Awaitable[None]]) -> None:
    """Fetch mails while `story` runs, which gets the mails that were taken."""

    async def main() -> None:
        taken: list[bytes] = []

        async def take(raw: bytes) -> None:
            taken.append(raw)

        task = asyncio.create_task(ImapFetcher(settings, take).run())
        try:
            await story(taken)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(asyncio.wait_for(main(), 110))


async def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 100
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, f"waited for {what}"
        await asyncio.sleep(0.02)


def test_answers_are_fetched_at_once_and_once_and_other_mails_are_left_alone(
    server: ImapServer, settings: InboxSettings
) -> None:
    deliver(server, "before we came", 1)
    deliver(server, "of somebody else", 2, To="me@blog.example")

    async def story(taken: list[bytes]) -> None:
        await until(lambda: len(taken) == 1, "the mail that was there")
        await asyncio.to_thread(deliver, server, "while we idle", 3)
        await until(lambda: len(taken) == 2, "the mail that came")
        await until(lambda: server.unseen() == 1, "both to be marked as seen")
        assert b"before we came" in taken[0]
        assert b"while we idle" in taken[1]

    fetching(settings, story)

    async def again(taken: list[bytes]) -> None:
        await asyncio.to_thread(deliver, server, "the next day", 4)
        await until(lambda: len(taken) == 1, "the next mail")
        assert b"the next day" in taken[0]

    fetching(settings, again)


def test_nothing_is_lost_while_the_server_is_away(
    server: ImapServer,
    settings: InboxSettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(imap, "FIRST_PAUSE", 0.1)

    async def story(taken: list[bytes]) -> None:
        await asyncio.to_thread(deliver, server, "first", 11)
        await until(lambda: len(taken) == 1, "the first mail")
        await asyncio.to_thread(server.stop)
        await until(lambda: "will be tried again" in caplog.text, "the failure to be told")
        await asyncio.to_thread(server.start)
        await asyncio.to_thread(deliver, server, "second", 12)
        await until(lambda: len(taken) == 2, "the mail of the meantime")

    fetching(settings, story)
    assert caplog.text.count("will be tried again") == 1


@pytest.mark.parametrize("wrong", [{"password": "wrong"}, {"ca_file": ""}, {"folder": "No/such"}])
def test_a_mailbox_that_cannot_be_read_is_told_of_and_nothing_is_fetched(
    settings: InboxSettings, wrong: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async def story(taken: list[bytes]) -> None:
        await until(lambda: "will be tried again" in caplog.text, "the failure to be told")
        assert not taken
        assert PASSWORD not in caplog.text

    fetching(replace(settings, **wrong), story)


def test_a_mail_that_was_not_stored_is_fetched_again(
    server: ImapServer, settings: InboxSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imap, "FIRST_PAUSE", 0.1)
    deliver(server, "stubborn", 21)

    async def main() -> None:
        tries: list[bytes] = []

        async def take(raw: bytes) -> None:
            tries.append(raw)
            if len(tries) == 1:
                raise OSError("the disk is full")

        task = asyncio.create_task(ImapFetcher(settings, take).run())
        await until(lambda: len(tries) == 2, "a second try")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert tries[0] == tries[1]

    asyncio.run(asyncio.wait_for(main(), 110))
