"""Telegram: decides on comments by the buttons of messages in the moderators' chat.

The bot's updates are fetched by long polling (https://core.telegram.org/bots/api#getupdates), so
Telegram needs no way to this service. Whoever is in the chat of the settings may press its buttons,
as with the links that they replace; other chats are refused, and so are groups and channels with a
name, which anybody can join. A program can send any data in the name of a button, so these must
name a comment and a message about it, at most LINK_DAYS old.

The same press twice changes nothing more; the message then shows what the comment is now.
"""

import asyncio
import logging
import re
from functools import partial
from typing import Final

import msgspec

from commentsvc import outbox
from commentsvc.comments import queries
from commentsvc.db import background
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.database import Database
from commentsvc.delivery import telegram
from commentsvc.delivery.channel import DeliveryError
from commentsvc.delivery.decision_links import LINK_DAYS
from commentsvc.delivery.telegram import CHANNEL, UNDO
from commentsvc.delivery.webhooks import Json, Notification, exchange
from commentsvc.model import STATUS
from commentsvc.moderation import changes, history, undo
from commentsvc.settings.schema import Settings, Site
from commentsvc.util.clock import Clock
from commentsvc.util.http_client import SettingsClient
from commentsvc.util.i18n import ENGLISH, moderators_language, translate
from commentsvc.util.i18n import gettext as _
from commentsvc.util.timestamps import DAY_MS

_log = logging.getLogger(__name__)

# Seconds for which Telegram holds a request while nothing is pressed, and beyond which it is lost.
POLL: Final = 50
SPARE: Final = 15.0
# Presses in an answer, and its bytes: each has the message with its text.
PRESSES: Final = 20
ANSWER: Final = 1 << 20
# Seconds after a failure, doubled each time up to the longest pause.
FIRST_PAUSE: Final = 5.0
LONGEST_PAUSE: Final = 300.0

_DATA: Final = re.compile(r"(approved|spam|deleted|undo)\.(\d{1,18})\.(\d{1,18})", re.ASCII)
EXPIRED: Final = _("This button does not work any more. Please use the moderation pages.")


class TelegramChat(msgspec.Struct, frozen=True):
    """A chat; its type is "private" if it is with one person."""

    id: int
    type: str = ""
    username: str = ""


class TelegramMessage(msgspec.Struct, frozen=True):
    """The message with the button; the date is 0 if it is too old to be changed."""

    chat: TelegramChat
    message_id: int
    date: int = 0


class ButtonPress(msgspec.Struct, frozen=True):
    """A press of a button: a CallbackQuery."""

    id: str
    data: str = ""
    message: TelegramMessage | None = None


class TelegramUpdate(msgspec.Struct, frozen=True):
    """What happened to the bot."""

    update_id: int
    callback_query: ButtonPress | None = None


class _RawUpdate(msgspec.Struct, frozen=True):
    update_id: int
    callback_query: msgspec.Raw = msgspec.Raw(b"null")


class _Updates(msgspec.Struct, frozen=True):
    result: tuple[_RawUpdate, ...]


class TelegramButtons:
    """Fetches presses of buttons, and decides."""

    def __init__(
        self, settings: Settings, database: Database, clock: Clock, base: str = telegram.BASE
    ) -> None:
        self._settings = settings.hooks
        self._base = base
        self._client = SettingsClient(self._settings.allowed_networks)
        self._sites = {site.name: site for site in settings.sites}
        self._database = database
        self._clock = clock
        self._next = 0  # the number of the next update
        self.trouble = ""  # why no press is fetched

    async def run(self) -> None:
        """Decide until cancelled."""
        pause = FIRST_PAUSE
        while True:
            try:
                updates = await self._fetch()
                self.trouble, pause = "", FIRST_PAUSE
            except DeliveryError as error:
                if not self.trouble:
                    _log.warning("buttons in Telegram do nothing now: %s", error)
                self.trouble = f"buttons in Telegram do nothing now: {error}"
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            for update in updates:
                self._next = max(self._next, update.update_id + 1)
                if update.callback_query:
                    await background.attempt(partial(self._take, update.callback_query), "Telegram")

    async def _fetch(self) -> tuple[TelegramUpdate, ...]:
        """Wait for updates. Raise DeliveryError."""
        asked = {"timeout": POLL, "limit": PRESSES, "allowed_updates": ["callback_query"]}
        text = await self._call("getUpdates", asked | {"offset": self._next}, POLL + SPARE)
        try:
            found = msgspec.json.decode(text, type=_Updates).result
        except (msgspec.MsgspecError, RecursionError) as error:
            raise DeliveryError(str(error)) from error
        return tuple(TelegramUpdate(each.update_id, _press(each)) for each in found)

    async def _call(self, name: str, parameters: Json, deadline: float = SPARE) -> str:
        """Call a method of the bot's interface; return the answer. Raise DeliveryError."""
        request = telegram.method(self._settings, name, parameters, self._base)
        return (await exchange(request, self._client, deadline, ANSWER)).text

    async def _take(self, press: ButtonPress) -> None:
        """Do what a button says, and show it in its message. Raise DatabaseError."""
        message, found = press.message, _DATA.fullmatch(press.data)
        notification = None
        if message and found and self._is_ours(message.chat):
            action, comment_id, row_id = found.groups()
            now = self._clock.now_ms()
            notification = await self._database.write(
                self._decide, action, int(comment_id), int(row_id), now
            )
        try:
            said = {} if notification else {"text": str(translate(EXPIRED, self._language()))}
            await self._call("answerCallbackQuery", {"callback_query_id": press.id, **said})
            if notification and message:
                await self._show(notification, message)
        except DeliveryError as error:  # the decision holds; the message may be gone
            _log.info("a message in Telegram still shows what it showed before: %s", error)

    def _is_ours(self, chat: TelegramChat) -> bool:
        is_public = chat.username and chat.type != "private"
        return str(chat.id) == self._settings.telegram_chat and not is_public

    def _language(self, site: str = "") -> str:
        known = self._sites.get(site) or next(iter(self._sites.values()), None)
        return moderators_language(known.language).tag if known else ENGLISH

    def _decide(
        self, tx: Transaction, action: str, comment_id: int, row_id: int, now: int
    ) -> Notification | None:
        """Decide on a comment, if that is still possible; return what to show, None for nothing."""
        row = outbox.find(tx, row_id)
        is_about = row is not None and (row.channel, row.comment_id) == (CHANNEL, comment_id)
        if row is None or not is_about or row.created_at < now - LINK_DAYS * DAY_MS:
            return None
        entry = queries.find(tx, comment_id)
        if entry is None or entry.site not in self._sites:
            return None
        if action != UNDO:
            changes.change(tx, [comment_id], action, CHANNEL, now)
        elif _is_last(tx, comment_id):
            undo.last(tx, [comment_id], CHANNEL, now)
        entry = queries.find(tx, comment_id)
        assert entry is not None, "a deleted comment keeps its row"
        site = self._sites.get(entry.site, Site())
        language = self._language(entry.site)
        return Notification(entry, row, site.origin + entry.url, now // 1_000, language)

    async def _show(self, notification: Notification, message: TelegramMessage) -> None:
        comment = notification.entry.comment
        undoes = await self._database.read(_is_last, comment.id)
        keyboard = telegram.buttons(
            comment, notification.row.id, notification.language, undoes=undoes
        )
        of_chat = {"chat_id": message.chat.id, "message_id": message.message_id}
        await self._call("editMessageText", of_chat | telegram.shown(notification, keyboard))


def _press(update: _RawUpdate) -> ButtonPress | None:
    """Return the press in an update; None without, or in another shape, which stops no other."""
    try:
        return msgspec.json.decode(update.callback_query, type=ButtonPress | None)
    except msgspec.MsgspecError:
        return None


def _is_last(snapshot: Snapshot, comment_id: int) -> bool:
    """Return whether a button has made the last decision on a comment."""
    return any(
        last.actor == CHANNEL and last.field == STATUS and last.undone_at is None
        for last in history.entries(snapshot, comment_id, 1)
    )
