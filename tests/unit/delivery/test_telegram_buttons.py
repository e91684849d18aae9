"""Buttons in Telegram decide in the moderators' chat only, once, and can be undone there.

Telegram is a fake server on this machine.
"""

import asyncio
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commentsvc.delivery import telegram
from commentsvc.delivery.telegram_buttons import TelegramButtons, TelegramChat
from commentsvc.delivery.webhooks import Webhook
from commentsvc.delivery.worker import OutboxWorker
from commentsvc.moderation import history
from commentsvc.settings.schema import HooksSettings
from commentsvc.util.timestamps import DAY_MS
from tests.unit.app_fixture import SETTINGS, Served, served
from tests.unit.database_fixture import decide
from tests.unit.delivery.asking import listening

Json = dict[str, Any]  # Any: of Telegram's interface
CHAT = -100_500
HOOKS = HooksSettings(
    telegram_token="12:ab",
    telegram_chat=str(CHAT),
    telegram_decides=True,
    allowed_networks=("127.0.0.0/8",),
)
HELD = replace(
    SETTINGS,
    hooks=HOOKS,
    moderation=replace(SETTINGS.moderation, policy="all"),
    spam=replace(SETTINGS.spam, form_token="off", proof_of_work=0),
)


class Bot:
    """A service with such buttons, and the fake Telegram that they are in."""

    def __init__(self, service: Served, server: ThreadingHTTPServer) -> None:
        self.service = service
        self.server = server
        base = f"http://127.0.0.1:{server.server_address[1]}"
        channel = Webhook(HELD, telegram.telegram(HOOKS, base), service.clock)
        channels = {telegram.CHANNEL: channel}
        self.worker = OutboxWorker(service.database, channels, service.clock)
        self.buttons = TelegramButtons(HELD, service.database, service.clock, base)
        self.updates: list[object] = []
        self.calls: list[Json] = []
        server.answer = self.answer  # type: ignore[attr-defined] # the test's own attribute

    def answer(self, asked: Json) -> tuple[int, object]:
        self.calls.append(asked)
        if "allowed_updates" not in asked:
            return 200, {"ok": True, "result": True}
        given, self.updates = self.updates, []
        return 200, {"ok": True, "result": given}

    def buttons_sent(self) -> list[dict[str, str]]:
        """Send the messages that wait; return the buttons of the last one."""
        asyncio.run(self.worker.deliver(telegram.CHANNEL))
        return self.shown()

    def shown(self) -> list[dict[str, str]]:
        message = [each for each in self.calls if "reply_markup" in each][-1]
        [row] = message["reply_markup"]["inline_keyboard"]
        return list(row)

    def press(self, data: str, chat: int = CHAT) -> list[Json]:
        """Press a button; return the calls that follow."""
        message = {"message_id": 3, "date": 1, "chat": {"id": chat, "type": "group"}}
        query = {"id": "q", "from": {"id": 1}, "chat_instance": "i", "data": data}
        self.updates = [{"update_id": 7, "callback_query": query | {"message": message}}]
        self.calls.clear()
        asyncio.run(self.once())
        return [each for each in self.calls if "allowed_updates" not in each]

    async def once(self) -> None:
        for update in await self.buttons._fetch():
            if update.callback_query:
                await self.buttons._take(update.callback_query)

    def status(self) -> str:
        return self.service.stored()[0].comment.status


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Bot]:
    with listening(lambda _: (200, {})) as server, served(tmp_path, HELD) as service:
        service.submit("Hello")
        yield Bot(service, server)


def test_a_button_decides_and_the_message_shows_it(bot: Bot) -> None:
    assert [each["text"] for each in bot.buttons_sent()] == ["Approve", "Spam", "Delete"]
    approve, spam, _delete = bot.shown()
    assert approve["callback_data"] == "approved.1.1"
    said, shown = bot.press(approve["callback_data"])
    assert said == {"callback_query_id": "q"}
    assert bot.status() == "approved"
    assert (shown["chat_id"], shown["message_id"]) == (CHAT, 3)
    assert shown["text"].startswith("Ann on /p/ (published):\nHello")
    assert [each["text"] for each in bot.shown()] == ["Spam", "Delete", "Undo"]
    [change] = bot.service.database.read_now(history.entries, 1)
    assert change.actor == "telegram"
    bot.press(spam["callback_data"])
    assert bot.status() == "spam"


def test_it_can_be_undone_also_after_a_deletion(bot: Bot) -> None:
    *_, delete = bot.buttons_sent()
    bot.press(delete["callback_data"])
    assert bot.status() == "deleted"
    [back] = bot.shown()
    assert back["text"] == "Undo"
    for _ in range(2):
        bot.press(back["callback_data"])
        assert bot.status() == "pending"


def test_a_decision_of_a_moderator_is_shown_and_not_undone(bot: Bot) -> None:
    _approve, spam, _delete = bot.buttons_sent()
    decide(bot.service.database, "spam", 1)
    _said, shown = bot.press(spam["callback_data"])
    assert "(spam)" in shown["text"]
    assert [each["text"] for each in bot.shown()] == ["Approve", "Delete"]
    bot.press("undo.1.1")
    assert bot.status() == "spam"


@pytest.mark.parametrize("chat", [CHAT + 1, 100_500, 1])
def test_another_chat_decides_nothing(bot: Bot, chat: int) -> None:
    approve, *_ = bot.buttons_sent()
    [said] = bot.press(approve["callback_data"], chat)
    assert said["text"].startswith("This button does not work any more.")
    assert bot.status() == "pending"


@pytest.mark.parametrize(
    "data",
    [
        "",
        "approved.2.1",
        "approved.1.2",
        "approved.1.1.1",
        "pending.1.1",
        "approved.1.99999999999999999999",
        "approved.\u0661.1",
        "approved.1.1\n",
        "x" * 10_000,
    ],
    ids=lambda data: data[:20],
)
def test_a_button_that_is_not_ours_decides_nothing(bot: Bot, data: str) -> None:
    bot.buttons_sent()
    [said] = bot.press(data)
    assert "text" in said
    assert bot.status() == "pending"


def test_a_button_works_for_two_weeks(bot: Bot) -> None:
    approve, *_ = bot.buttons_sent()
    bot.service.clock.moment += 15 * DAY_MS
    bot.press(approve["callback_data"])
    assert bot.status() == "pending"


def test_an_update_that_is_no_press_is_passed_over(bot: Bot) -> None:
    for update in (
        {"update_id": 9},
        {"update_id": 10, "callback_query": {"id": "q", "from": {}}},
        {"update_id": 11, "callback_query": {"id": "q", "data": "approved.1.1"}},
    ):
        bot.updates = [update]
        asyncio.run(bot.once())
    assert bot.status() == "pending"


async def until(bot: Bot, condition: Callable[[], object]) -> None:
    """Run the buttons until a condition holds."""
    running = asyncio.create_task(bot.buttons.run())
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110 - the server runs on a thread
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize(
    "odd",
    [
        {"id": 1},
        {"id": "q", "data": None},
        {"id": "q", "message": {"chat": {"id": "x"}}},
        [],
        "x",
        1,
    ],
)
def test_an_odd_update_stops_no_press_beside_it(bot: Bot, odd: object) -> None:
    data = bot.buttons_sent()[0]["callback_data"]
    message = {"message_id": 3, "date": 1, "chat": {"id": CHAT, "type": "group"}}
    bot.updates = [
        {"update_id": 6, "callback_query": odd},
        {"update_id": 7, "callback_query": {"id": "q", "data": data, "message": message}},
    ]
    asyncio.run(bot.once())
    assert bot.status() == "approved"


def test_a_press_is_fetched_once_although_another_one_fails(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    approve, *_ = bot.buttons_sent()
    message = {"message_id": 3, "chat": {"id": CHAT}}
    bot.updates = [
        {"update_id": number, "callback_query": {"id": "a", "data": data, "message": message}}
        for number, data in ((20, "undo.1.1"), (21, approve["callback_data"]))
    ]
    monkeypatch.setattr("commentsvc.delivery.telegram_buttons._is_last", lambda *_: 1 / 0)
    asyncio.run(until(bot, lambda: bot.calls[-1].get("offset") == 22))
    assert bot.status() == "approved"


@pytest.mark.parametrize(
    "answer", [(409, {"description": "Conflict"}), (500, b"x" * 500_000), (200, b"[" * 9_000)]
)
def test_what_keeps_presses_from_coming_is_told_to_the_operator(
    bot: Bot, answer: tuple[int, object]
) -> None:
    bot.server.answer = lambda _: answer  # type: ignore[attr-defined] # the test's own attribute
    asyncio.run(until(bot, lambda: bot.buttons.trouble))
    assert bot.buttons.trouble.startswith("buttons in Telegram do nothing now: ")
    assert len(bot.buttons.trouble) < 3_000


def test_in_a_chat_that_anybody_can_join_nobody_decides(bot: Bot) -> None:
    assert bot.buttons._is_ours(TelegramChat(CHAT, "private", "mo"))
    for kind in ("group", "supergroup", "channel"):
        assert bot.buttons._is_ours(TelegramChat(CHAT, kind))
        assert not bot.buttons._is_ours(TelegramChat(CHAT, kind, "mods"))
    bot.buttons._settings = replace(HOOKS, telegram_chat="@mods")
    assert not bot.buttons._is_ours(TelegramChat(CHAT, "channel", "mods"))
