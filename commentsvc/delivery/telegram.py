"""Telegram: messages of a bot about comments, with buttons (https://core.telegram.org/bots/api).

They are plain text, without parse_mode, in which readers' words cannot be markup. A button opens a
page with a decision, or with `hooks.telegram_decides` decides in the chat: see `telegram_buttons`.
"""

from collections.abc import Callable
from typing import Final

from commentsvc.delivery.decision_links import ACTIONS
from commentsvc.delivery.webhooks import Json, Notification, WebhookRequest, json_request
from commentsvc.model import MOVES, Comment
from commentsvc.settings.schema import HooksSettings
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import translate

BASE: Final = "https://api.telegram.org"
CHANNEL: Final = "telegram"
UNDO: Final = "undo"


def telegram(hooks: HooksSettings, base: str = BASE) -> Callable[[Notification], WebhookRequest]:
    """Return a function that makes requests to a Telegram bot."""

    def format_message(notification: Notification) -> WebhookRequest:
        comment, row, language = notification.entry.comment, notification.row, notification.language
        keyboard = [{"text": link.name, "url": link.url} for link in notification.links]
        if hooks.telegram_decides:
            keyboard = buttons(comment, row.id, language, undoes=False)
        message = {"chat_id": hooks.telegram_chat} | shown(notification, keyboard)
        return method(hooks, "sendMessage", message, base)

    return format_message


def method(hooks: HooksSettings, name: str, parameters: Json, base: str = BASE) -> WebhookRequest:
    """Return a call of a method of the bot's interface."""
    return json_request(f"{base}/bot{hooks.telegram_token}/{name}", parameters)


def shown(notification: Notification, keyboard: list[dict[str, str]]) -> Json:
    """Return the content of a message with these buttons."""
    return {
        "text": f"{notification.text()}\n{notification.address()}",
        "link_preview_options": {"is_disabled": True},
        "reply_markup": {"inline_keyboard": [keyboard]},
    }


def buttons(comment: Comment, row_id: int, language: str, *, undoes: bool) -> list[dict[str, str]]:
    """Return a button for each decision that is possible on a comment, or takes the last one back.

    Telegram sends back the data of a button: the decision, the ids of the comment and of the
    message's row in the outbox.
    """
    names = [(to, name) for to, name in ACTIONS.items() if comment.status in MOVES[to]]
    return [
        {"text": translate(name, language), "callback_data": f"{to}.{comment.id}.{row_id}"}
        for to, name in (*names, *([(UNDO, _("Undo"))] if undoes else ()))
    ]
