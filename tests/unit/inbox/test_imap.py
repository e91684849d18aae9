"""Replies are fetched from a real IMAP mailbox, once each, whatever else reads or changes it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from imapclient import SEEN, IMAPClient  # type: ignore[import-untyped]  # it has no types
from msgspec.structs import replace

from commentsvc.db.database import Database
from commentsvc.inbox import imap
from commentsvc.inbox.imap import ImapFetcher, Take
from commentsvc.inbox.message import MAIL_SIZE
from commentsvc.settings.schema import InboxSettings
from commentsvc.util.clock import SYSTEM_CLOCK
from tests.unit.database_fixture import opened
from tests.unit.inbox.imap_server import PASSWORD, TOKEN, ImapServer, imap_server
from tests.unit.inbox.mail_programs import plain
from tests.unit.inbox.test_reply_text import ORIGINAL


@pytest.fixture(scope="module")
def server() -> Iterator[ImapServer]:
    with imap_server() as running:
        yield running


@pytest.fixture
def settings(server: ImapServer) -> InboxSettings:
    server.clear()
    return InboxSettings(
        address="comments@blog.example",
        host="localhost",
        port=server.port,
        user="me",
        password=PASSWORD,
        ca_file=server.authority,
    )


def deliver(
    server: ImapServer, words: str, number: int, flags: Sequence[bytes] = (), **headers: str
) -> None:
    """Put a reply into the mailbox."""
    mail = plain(ORIGINAL, words, Message_ID=f"<{number}@mail.example>", **headers)
    with server.mailbox() as client:
        client.append("INBOX", mail, flags)


class Fetching:
    """Fetches the mails of a mailbox into a list."""

    def __init__(self, settings: InboxSettings, database: Database) -> None:
        self.settings = settings
        self.database = database

    def fetcher(self, take: Take) -> ImapFetcher:
        return ImapFetcher(self.settings, take, self.database, SYSTEM_CLOCK)

    def __call__(self, story: Callable[[list[bytes]], Awaitable[None]]) -> None:
        asyncio.run(asyncio.wait_for(self._main(story), 110))

    async def _main(self, story: Callable[[list[bytes]], Awaitable[None]]) -> None:
        taken: list[bytes] = []

        async def take(raw: bytes) -> bool:
            ours = b"not ours" not in raw
            if ours:
                taken.append(raw)
            return ours

        task = asyncio.create_task(self.fetcher(take).run())
        try:
            await story(taken)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def fetching(settings: InboxSettings, tmp_path: Path) -> Iterator[Fetching]:
    """Fetch mails while a story runs, which gets the mails that were taken."""
    with opened(tmp_path) as database:
        yield Fetching(settings, database)


async def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 100
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, f"waited for {what}"
        await asyncio.sleep(0.02)


def test_answers_are_fetched_at_once_and_once_and_other_mails_are_left_alone(
    server: ImapServer, fetching: Fetching
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

    fetching(story)

    async def again(taken: list[bytes]) -> None:
        await asyncio.to_thread(deliver, server, "the next day", 4)
        await until(lambda: len(taken) == 1, "the next mail")
        assert b"the next day" in taken[0]

    fetching(again)


def test_a_server_that_does_not_tell_the_next_number_is_read(
    server: ImapServer, fetching: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may leave that out (RFC 3501, 6.3.1)."""
    select = IMAPClient.select_folder

    def without_next(client: IMAPClient, folder: str) -> dict[bytes, Any]:
        return {key: each for key, each in select(client, folder).items() if key != b"UIDNEXT"}

    monkeypatch.setattr(IMAPClient, "select_folder", without_next)
    deliver(server, "before we came", 1)

    async def story(taken: list[bytes]) -> None:
        await until(lambda: len(taken) == 1, "the mail that was there")
        await asyncio.to_thread(deliver, server, "while we idle", 2)
        await until(lambda: len(taken) == 2, "the mail that came")
        await until(lambda: server.unseen() == 0, "both to be marked as seen")

    fetching(story)


@pytest.mark.sqlite_only("the database is not reached")
def test_a_mail_that_comes_just_before_the_client_waits_is_fetched_soon(
    server: ImapServer, fetching: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = ImapFetcher._wait
    delivers = iter(range(21, 26))

    def later(self: ImapFetcher, client: IMAPClient, *given: Any) -> bool:  # as _wait
        if number := next(delivers, 0):
            deliver(server, "in between", number)
        return wait(self, client, *given)

    monkeypatch.setattr(ImapFetcher, "_wait", later)
    monkeypatch.setattr(imap, "FIRST_PATIENCE", 0.2)

    async def story(taken: list[bytes]) -> None:
        await until(lambda: len(taken) == 5, "the mails of the meantime")

    fetching(story)


def test_nothing_is_lost_while_the_server_is_away(
    server: ImapServer,
    fetching: Fetching,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(imap, "FIRST_PAUSE", 0.1)
    monkeypatch.setattr(imap, "LONGEST_PAUSE", 1.0)
    monkeypatch.setattr(imap, "DEADLINE", 5.0)  # a server that stops may accept and say nothing

    async def story(taken: list[bytes]) -> None:
        await asyncio.to_thread(deliver, server, "first", 11)
        await until(lambda: len(taken) == 1, "the first mail")
        await asyncio.to_thread(server.stop)
        await until(lambda: "will be tried again" in caplog.text, "the failure to be told")
        await asyncio.to_thread(server.start)
        await asyncio.to_thread(deliver, server, "second", 12)
        # The first one comes again if the server was gone before it was marked as seen.
        await until(lambda: any(b"second" in mail for mail in taken), "the mail of the meantime")

    fetching(story)
    assert caplog.text.count("will be tried again") == 1


@pytest.mark.sqlite_only("the database is not reached")
@pytest.mark.parametrize(
    "wrong",
    [
        {"password": "wrong"},
        {"ca_file": ""},
        {"folder": "No/such"},
        {"token_command": "echo wrong"},
        {"token_command": "false"},
        {"token_command": "/no/such/program"},
        {"token_command": "echo 'not closed"},
    ],
    ids=str,
)
def test_a_mailbox_that_cannot_be_read_is_told_of_and_nothing_is_fetched(
    fetching: Fetching, wrong: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async def story(taken: list[bytes]) -> None:
        await until(lambda: "will be tried again" in caplog.text, "the failure to be told")
        assert not taken
        assert PASSWORD not in caplog.text

    fetching.settings = replace(fetching.settings, **wrong)
    fetching(story)


def test_a_mail_that_was_not_stored_is_fetched_again(
    server: ImapServer, fetching: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imap, "FIRST_PAUSE", 0.1)
    deliver(server, "stubborn", 21)

    async def main() -> None:
        tries: list[bytes] = []

        async def take(raw: bytes) -> bool:
            tries.append(raw)
            if len(tries) == 1:
                raise OSError("the disk is full")
            return True

        task = asyncio.create_task(fetching.fetcher(take).run())
        await until(lambda: len(tries) == 2, "a second try")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert tries[0] == tries[1]

    asyncio.run(asyncio.wait_for(main(), 110))


def words_of(taken: list[bytes]) -> list[str]:
    return [raw.split(b"\r\n\r\n", 1)[1].strip().decode() for raw in taken]


def test_a_mail_that_another_program_opened_first_is_fetched(
    server: ImapServer, fetching: Fetching
) -> None:
    deliver(server, "before", 31)

    async def begin(taken: list[bytes]) -> None:
        await until(lambda: server.unseen() == 0, "the first mail to be marked")

    fetching(begin)
    deliver(server, "opened", 32, [SEEN])

    async def story(taken: list[bytes]) -> None:
        await until(lambda: len(taken) == 1, "the opened mail")
        await asyncio.to_thread(deliver, server, "opened while we idle", 33, [SEEN])
        await until(lambda: len(taken) == 2, "the other one")
        assert words_of(taken) == ["opened", "opened while we idle"]

    fetching(story)


def test_a_mail_that_comes_during_the_search_is_fetched_at_once(
    server: ImapServer, fetching: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: the server tells of it with the result of the search, and not again in IDLE."""
    search = IMAPClient.search

    def late(client: IMAPClient, criteria: list[object]) -> list[int]:
        monkeypatch.setattr(IMAPClient, "search", search)
        deliver(server, "during the search", 41)
        found: list[int] = search(client, criteria)
        return found

    monkeypatch.setattr(IMAPClient, "search", late)

    async def story(taken: list[bytes]) -> None:
        await until(lambda: len(taken) == 1, "the mail")

    fetching(story)


def test_the_first_start_reads_no_mail_that_was_read_before(
    server: ImapServer, fetching: Fetching
) -> None:
    deliver(server, "years ago", 41, [SEEN])
    deliver(server, "waits", 42)

    async def story(taken: list[bytes]) -> None:
        await until(lambda: server.unseen() == 0, "the mail that waits")
        assert words_of(taken) == ["waits"]

    fetching(story)


def test_no_answer_is_lost_when_the_server_numbers_its_mails_anew(
    server: ImapServer, fetching: Fetching
) -> None:
    for number in (51, 52, 53):
        deliver(server, f"old {number}", number)

    async def begin(taken: list[bytes]) -> None:
        await until(lambda: server.unseen() == 0, "the old mails")

    fetching(begin)
    deliver(server, "new", 54, [SEEN])
    server.renumber()

    async def story(taken: list[bytes]) -> None:
        await until(lambda: "new" in words_of(taken), "the new mail")

    fetching(story)


def test_mails_that_are_moved_or_deleted_meanwhile_do_no_harm(
    server: ImapServer, fetching: Fetching
) -> None:
    deliver(server, "before", 61)

    async def begin(taken: list[bytes]) -> None:
        await until(lambda: server.unseen() == 0, "the first mail")

    fetching(begin)
    deliver(server, "gone", 62)
    server.clear()
    deliver(server, "stays", 63)

    async def story(taken: list[bytes]) -> None:
        await until(lambda: len(taken) == 1, "the mail that stays")
        assert words_of(taken) == ["stays"]

    fetching(story)


def test_a_mail_that_only_looks_like_an_answer_stays_unread(
    server: ImapServer, fetching: Fetching
) -> None:
    deliver(server, "not ours", 71, To="mycomments+x@mail.example")
    deliver(server, "ours", 72, To="me@blog.example", Delivered_To=ORIGINAL.reply_to)

    async def story(taken: list[bytes]) -> None:
        await until(lambda: len(taken) == 1, "our mail")
        await until(lambda: server.unseen() == 1, "our mail to be marked")
        assert words_of(taken) == ["ours"]

    fetching(story)


def test_a_mail_that_is_too_large_is_told_of(server: ImapServer, fetching: Fetching) -> None:
    deliver(server, ("x" * 70 + "\n") * 65_000, 81)

    async def story(taken: list[bytes]) -> None:
        await until(lambda: len(taken) == 1, "the mail")
        assert len(taken[0]) == MAIL_SIZE + 1

    fetching(story)


def test_a_server_that_takes_no_password_takes_the_token_of_a_command(
    server: ImapServer, fetching: Fetching
) -> None:
    fetching.settings = replace(
        fetching.settings, password="", token_command=f"printf '%s\n' {TOKEN}"
    )
    deliver(server, "by token", 91)

    async def story(taken: list[bytes]) -> None:
        await until(lambda: len(taken) == 1, "the mail")

    fetching(story)
