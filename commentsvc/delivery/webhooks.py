"""Webhooks: messages about comments to programs and messengers.

A webhook gets JSON signed as in Standard Webhooks 1.0 (webhook-id, -timestamp, -signature), so that
existing libraries can verify it; a repeated delivery has the same webhook-id. It also gets changes
of a comment, each with the comment's current state. ntfy, Telegram, Slack and Discord get a short
plain text, in which readers' words cannot be markup: no mention, no disguised link. The author's
e-mail address is never sent.

A 2xx status means that the message was taken. 400, 413 and 422 may be errors of this message alone,
so they do not delay others; but messengers answer so if the chat or the account is wrong, too.
Nothing is given up before its deadline: an operator may correct it.
"""

import base64
import binascii
import contextlib
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, Self

import msgspec

from commentsvc.comments import queries
from commentsvc.db.connection import Snapshot
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.channel import ServerUnreachable, TemporaryFailure
from commentsvc.delivery.decision_links import DecisionLink, DecisionLinks
from commentsvc.markup.markdown import absolute
from commentsvc.model import APPROVED, DELETED, PENDING, SPAM, Entry
from commentsvc.settings.schema import HooksSettings, Settings, Site
from commentsvc.util.clock import Clock
from commentsvc.util.http_client import ANSWER, DEADLINE, HttpResponse, RemoteError, SettingsClient
from commentsvc.util.i18n import ENGLISH, moderators_language, translate
from commentsvc.util.i18n import gettext as _
from commentsvc.util.text import one_line, readable_address, shortened
from commentsvc.util.timestamps import rfc3339

# Characters of a comment in a messenger, of its author and its page's title or path, and of the
# page's address: Telegram takes 4,096 UTF-16 code units, and ntfy as many bytes without address.
SHOWN: Final = 700
NAMED: Final = 100
ADDRESS: Final = 1_000
DISCORD_MESSAGE: Final = 2_000  # the longest message that Discord accepts, in characters
OF_ONE: Final = (400, 413, 422)  # statuses that may be about one message

# Any: JSON in the format of its receiver
Json = dict[str, Any]


class WebhookRequest(NamedTuple):
    """A POST request about a comment."""

    url: str
    body: bytes
    headers: dict[str, str]


async def exchange(
    message: WebhookRequest, client: SettingsClient, deadline: float = DEADLINE, most: int = ANSWER
) -> HttpResponse:
    """Send `message`; return the answer, whose status is 2xx.

    `deadline` is in seconds; `most` bytes of the answer are read. Raise DeliveryError.
    """
    try:
        answer = await client.post(message.url, message.body, message.headers, deadline, most)
    except RemoteError as error:
        raise ServerUnreachable(str(error)) from error
    if not 200 <= answer.status < 300:
        kind = TemporaryFailure if answer.status in OF_ONE else ServerUnreachable
        raise kind(f"{answer.status} {one_line(answer.text[:ANSWER])}")
    return answer


class HttpChannel:
    """Sends each message as a POST request, on a connection of its own."""

    def __init__(self, client: SettingsClient) -> None:
        """Take the client: the receivers are in the settings."""
        self._client = client

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[Self]:
        yield self

    async def send(self, message: WebhookRequest) -> None:
        await exchange(message, self._client)


class Webhook(HttpChannel):
    """A receiver of messages, which `form` makes from a comment and its row of the outbox."""

    def __init__(
        self,
        settings: Settings,
        form: Callable[["Notification"], WebhookRequest],
        clock: Clock,
        links: DecisionLinks | None = None,
    ) -> None:
        """Take the settings, and the maker of `links` for a receiver that shows them to people."""
        super().__init__(SettingsClient(settings.hooks.allowed_networks))
        self._links = links
        self._sites = {site.name: site for site in settings.sites}
        self._form = form
        self._clock = clock

    def compose(self, snapshot: Snapshot, row: OutboxRow) -> WebhookRequest | None:
        entry = queries.find(snapshot, row.comment_id or 0)
        if entry is None:
            return None
        now = self._clock.now_ms() // 1_000
        site = self._sites.get(entry.site, Site())
        language = moderators_language(site.language).tag
        links = self._links.of(entry.comment, row, language) if self._links else []
        page = site.origin + entry.url
        return self._form(Notification(entry, row, page, now, language, links))


# The text for messengers about a new comment, by its status.
SAID: Final = {
    PENDING: _("%(author)s on %(page)s (waits for approval):"),
    APPROVED: _("%(author)s on %(page)s (published):"),
    SPAM: _("%(author)s on %(page)s (spam):"),
    DELETED: _("%(author)s on %(page)s (deleted):"),
}


class Notification(NamedTuple):
    """A comment, its row of the outbox, the address of its page, and the time (Unix seconds).

    `language` is the tag of the language of the text; the `links` decide on the comment.
    """

    entry: Entry
    row: OutboxRow
    page: str
    now: int
    language: str = ENGLISH
    links: Sequence[DecisionLink] = ()

    def text(self) -> str:
        """Return the comment and its status, for people."""
        comment = self.entry.comment
        source = comment.source
        author = shortened(one_line(comment.author), NAMED)
        where = readable_address(one_line(self.entry.title) or one_line(self.entry.url), NAMED)
        said = replace(SAID[comment.status], params={"author": author, "page": where})
        return f"{translate(said, self.language)}\n{shortened(source, SHOWN)}"

    def address(self, room: int = ADDRESS) -> str:
        """Return the page's address; if it is longer than `room`, its beginning for people."""
        return self.page if len(self.page) <= room else readable_address(self.page, room)

    def title(self) -> str:
        """Return the title of the message."""
        return translate(_("New comment"), self.language)


def webhook(url: str, secret: str) -> Callable[[Notification], WebhookRequest]:
    """Return a function that makes requests to `url`, signed with `secret`."""

    def format_message(notification: Notification) -> WebhookRequest:
        body = msgspec.json.encode(_event(notification))
        headers = {"Content-Type": "application/json"}
        return WebhookRequest(
            url, body, headers | signature(secret, notification.row, notification.now, body)
        )

    return format_message


def signature(secret: str, row: OutboxRow, now: int, body: bytes) -> dict[str, str]:
    """Return the headers with the signature (Standard Webhooks 1.0); `now` is in Unix seconds."""
    key = secret.encode()
    if secret.startswith("whsec_"):
        with contextlib.suppress(binascii.Error):  # then the secret is used as it is
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    number = f"commentsvc-{row.id}-{row.created_at}"
    signed = f"{number}.{now}.".encode() + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": number,
        "webhook-timestamp": str(now),
        "webhook-signature": f"v1,{digest}",
    }


def _event(notification: Notification) -> Json:
    comment = notification.entry.comment
    return {
        "type": f"comment.{notification.row.kind}",
        "timestamp": rfc3339(notification.row.created_at),
        "data": {
            "id": comment.id,
            "parent": comment.parent_id,
            "status": comment.status,
            "site": notification.entry.site,
            "url": notification.entry.url,
            "page": notification.page,
            "title": notification.entry.title,
            "author": comment.author,
            "author_site": comment.site,
            "role": comment.role,
            "verified": comment.reader_id is not None,
            "message": comment.source,
            "html": absolute(comment.html, notification.page),
            "created": rfc3339(comment.created_at),
        },
    }


def ntfy(hooks: HooksSettings) -> Callable[[Notification], WebhookRequest]:
    """Return a function that makes requests to ntfy, published as JSON."""
    base, _, topic = hooks.ntfy.rstrip("/").rpartition("/")
    token = {"Authorization": f"Bearer {hooks.ntfy_token}"} if hooks.ntfy_token else {}
    return lambda notification: json_request(
        base + "/",
        {
            "topic": topic,
            "title": notification.title(),
            "message": notification.text(),
            "click": notification.page,
            "actions": [
                {"action": "view", "label": link.name, "url": link.url}
                for link in notification.links
            ],
        },
        token,
    )


def slack(hooks: HooksSettings) -> Callable[[Notification], WebhookRequest]:
    """Return a function that makes requests to a Slack webhook: escaped text, markup off."""

    def format_message(notification: Notification) -> WebhookRequest:
        text = plain = f"{notification.text()}\n{notification.address()}"
        for sign, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
            text = text.replace(sign, escaped)
        message: Json = {"text": text, "mrkdwn": False, "unfurl_links": False}
        if notification.links:  # then notifications show the text, and the message is the blocks
            shown = {"type": "plain_text", "text": plain}
            buttons = [
                {
                    "type": "button",
                    "text": {"type": "plain_text", "text": link.name},
                    "url": link.url,
                }
                for link in notification.links
            ]
            message["blocks"] = [
                {"type": "section", "text": shown},
                {"type": "actions", "elements": buttons},
            ]
        return json_request(hooks.slack, message)

    return format_message


def discord(hooks: HooksSettings) -> Callable[[Notification], WebhookRequest]:
    """Return a function that makes requests to Discord: text in a code block, no mentions."""

    def format_message(notification: Notification) -> WebhookRequest:
        text = notification.text().replace("`", "\u02cb")  # so that no text ends the block
        links = " · ".join(f"[{link.name}](<{link.url}>)" for link in notification.links)
        content = f"```\n{text}\n```"
        room = DISCORD_MESSAGE - len(content) - len(links) - 2
        lines = [content, notification.address(max(room, 0)), links if room > 0 else ""]
        content = "\n".join(filter(None, lines))
        return json_request(hooks.discord, {"content": content, "allowed_mentions": {"parse": []}})

    return format_message


def json_request(url: str, value: Json, headers: dict[str, str] | None = None) -> WebhookRequest:
    """Return a POST request of JSON."""
    headers = {"Content-Type": "application/json", **(headers or {})}
    return WebhookRequest(url, msgspec.json.encode(value), headers)
