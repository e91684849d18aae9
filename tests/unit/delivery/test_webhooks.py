"""Webhooks: what each receiver gets, signed or escaped, and how its answer is treated."""

import asyncio
import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commentsvc.delivery import webhooks
from commentsvc.delivery.channel import DeliveryError, ServerUnreachable, TemporaryFailure
from commentsvc.delivery.channels import channels, targets
from commentsvc.delivery.webhooks import Webhook, WebhookRequest
from commentsvc.moderation import changes, history, undo
from commentsvc.settings.schema import HooksSettings, Settings
from commentsvc.util.http_client import HttpResponse, SettingsClient
from commentsvc.util.text import readable_address
from tests.unit.app_fixture import NOW, SETTINGS, Served, served, waiting
from tests.unit.settable_clock import SettableClock

ALL = HooksSettings(
    webhooks=("https://hooks.example/secret-path",),
    secret="whsec_" + base64.b64encode(b"k" * 24).decode(),
    ntfy="https://ntfy.example/my-comments",
    ntfy_token="tk",
    telegram_token="12:ab",
    telegram_chat="@me",
    slack="https://hooks.slack.example/x",
    discord="https://discord.example/api/webhooks/x",
)
WITH_HOOKS = replace(SETTINGS, hooks=ALL)
PUBLIC = "https://comments.example"
HOSTILE = "@everyone <!channel> <https://evil.example|bank> [a](https://b.example) ```\n*x* &amp;"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, WITH_HOOKS) as running:
        yield running


def messages(
    service: Served, settings: Settings = WITH_HOOKS
) -> dict[str, tuple[WebhookRequest, Any]]:
    """Return what waits, by channel: the message, and its decoded JSON."""
    clock = SettableClock(int(NOW * 1_000))
    by_name = channels(settings, service.links, clock, service.database, service.service.lasting)
    found = {}
    for row in waiting(service):
        message = service.database.read_now(by_name[row.channel].compose, row)
        assert message
        found[row.channel.split()[0]] = (message, json.loads(message.body))
    return found


def test_every_receiver_is_told_of_a_comment(service: Served) -> None:
    service.submit("Hello", email="ann@secret.example")
    assert sorted(messages(service)) == ["discord", "ntfy", "slack", "telegram", "webhook"]
    for message, _ in messages(service).values():
        assert b"Hello" in message.body
        assert b"secret.example" not in message.body


def test_a_webhook_is_signed_as_standard_webhooks_says(service: Served) -> None:
    service.submit("Hello")
    message, event = messages(service)["webhook"]
    number, moment = message.headers["webhook-id"], message.headers["webhook-timestamp"]
    signed = f"{number}.{moment}.".encode() + message.body
    expected = base64.b64encode(hmac.new(b"k" * 24, signed, hashlib.sha256).digest()).decode()
    assert message.headers["webhook-signature"] == f"v1,{expected}"
    assert moment == str(int(NOW))
    assert event["type"] == "comment.submitted"
    assert event["data"]["page"] == "https://blog.example/p/"
    assert event["data"]["status"] == "approved"
    assert event["data"]["verified"] is False


@pytest.mark.parametrize("secret", ["any text", "whsec_no base64!"])
def test_any_text_may_be_the_secret(service: Served, secret: str) -> None:
    service.submit()
    form = webhooks.webhook("https://h.example/", secret)
    [row] = [row for row in waiting(service) if row.channel.startswith("webhook")]
    hook = Webhook(WITH_HOOKS, form, SettableClock(int(NOW * 1_000)))
    message = service.database.read_now(hook.compose, row)
    assert message
    signed = f"{message.headers['webhook-id']}.{int(NOW)}.".encode() + message.body
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
    assert message.headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"


def test_a_webhook_alone_is_told_of_changes_and_once_for_several(service: Served) -> None:
    service.submit()
    for to in ("spam", "approved"):
        service.database.write_now(changes.change, [1], to, "Mo", 5)
    service.database.write_now(undo.last, [1], "Mo", 6)
    queued = [row for row in waiting(service) if row.kind == "changed"]
    assert [row.channel.split()[:2] for row in queued] == [["webhook", "hooks.example"]]
    _, event = messages(service)["webhook"]
    assert (event["type"], event["data"]["status"]) == ("comment.changed", "spam")


def test_a_webhook_is_told_of_an_edit(service: Served) -> None:
    service.submit()
    service.database.write_now(changes.edit, 1, "Better", "Mo", 5)
    _, event = messages(service)["webhook"]
    assert (event["type"], event["data"]["message"]) == ("comment.changed", "Better")


def test_a_webhook_is_told_of_what_a_reader_does_with_a_comment(service: Served) -> None:
    token = json.loads(service.submit("Hello").body)["token"]
    holder = f"Bearer {token}"
    body, kind = b'{"message": "Better"}', "application/json"
    service.ask("PATCH", "/api/comments/1", body, content_type=kind, authorization=holder)
    _, event = messages(service)["webhook"]
    assert (event["type"], event["data"]["message"]) == ("comment.changed", "Better")
    service.ask("DELETE", "/api/comments/1", authorization=holder)
    _, event = messages(service)["webhook"]
    assert (event["type"], event["data"]["status"]) == ("comment.changed", "deleted")


def test_no_name_of_a_channel_shows_a_secret() -> None:
    assert "secret-path" not in "".join(target.channel for target in targets(WITH_HOOKS))


def test_messengers_get_their_own_forms(service: Served) -> None:
    service.submit("Hello")
    sent = messages(service)
    text = "Ann on /p/ (published):\nHello"
    assert sent["ntfy"][0].url == "https://ntfy.example/"
    assert sent["ntfy"][0].headers["Authorization"] == "Bearer tk"
    assert sent["ntfy"][1]["topic"] == "my-comments"
    assert sent["ntfy"][1]["message"] == text
    assert sent["telegram"][0].url == "https://api.telegram.org/bot12:ab/sendMessage"
    assert sent["telegram"][1]["chat_id"] == "@me"
    assert sent["telegram"][1]["text"] == f"{text}\nhttps://blog.example/p/"
    assert sent["slack"][1]["text"] == f"{text}\nhttps://blog.example/p/"


def test_messengers_are_told_in_the_language_of_the_blog(service: Served) -> None:
    service.submit("Hello")
    entry, row = service.stored()[0], waiting(service)[0]
    sent = webhooks.Notification(entry, row, "https://blog.example/p/", 0, "de")
    message = json.loads(webhooks.ntfy(ALL)(sent).body)
    assert message["title"] == "Neuer Kommentar"
    assert message["message"] == "Ann zu /p/ (veröffentlicht):\nHello"


def test_no_words_of_a_reader_are_markup_of_a_messenger(service: Served) -> None:
    service.submit(HOSTILE)
    sent = messages(service)
    assert "parse_mode" not in sent["telegram"][1]
    assert "<" not in sent["slack"][1]["text"]
    assert "&amp;amp;" in sent["slack"][1]["text"]
    assert sent["slack"][1]["mrkdwn"] is False
    assert sent["discord"][1]["content"].count("```") == 2
    assert sent["discord"][1]["allowed_mentions"] == {"parse": []}


def test_messengers_have_a_button_for_each_decision_and_programs_have_none(tmp_path: Path) -> None:
    settings = replace(WITH_HOOKS, server=replace(SETTINGS.server, public_url=PUBLIC))
    with served(tmp_path, settings) as service:
        service.submit()
        sent = {name: content for name, (_, content) in messages(service, settings).items()}
    buttons = {
        "ntfy": [(each["label"], each["url"]) for each in sent["ntfy"]["actions"]],
        "telegram": [
            (each["text"], each["url"])
            for each in sent["telegram"]["reply_markup"]["inline_keyboard"][0]
        ],
        "slack": [
            (each["text"]["text"], each["url"]) for each in sent["slack"]["blocks"][1]["elements"]
        ],
        "discord": re.findall(r"\[(\w+)\]\(<(\S+)>\)", sent["discord"]["content"]),
    }
    for pairs in buttons.values():
        assert [name for name, _ in pairs] == ["Spam", "Delete"]  # it is approved already
        assert all(url.startswith(f"{PUBLIC}/mail/comment?t=") for _, url in pairs)
    assert "/mail/comment" not in json.dumps(sent["webhook"])


def test_a_decision_by_a_messenger_stands_under_its_name(tmp_path: Path) -> None:
    settings = replace(WITH_HOOKS, server=replace(SETTINGS.server, public_url=PUBLIC))
    with served(tmp_path, settings) as service:
        service.submit()
        url = messages(service, settings)["slack"][1]["blocks"][1]["elements"][0]["url"]
        assert service.ask("POST", url.removeprefix(PUBLIC)).status == 200
        [change] = service.database.read_now(history.entries, 1)
        assert (change.new, change.actor) == ("spam", "slack")
        assert service.ask("POST", url.removeprefix(PUBLIC)).status == 410


def test_a_long_comment_is_cut(service: Served) -> None:
    service.submit("x" * 200)
    row = waiting(service)[0]
    entry = service.stored()[0]
    long = replace(entry, comment=replace(entry.comment, source="x" * 9_000))
    sent = webhooks.Notification(long, row, "https://blog.example/p/", 0)
    content = json.loads(webhooks.discord(ALL)(sent).body)["content"]
    assert len(content) < 2_000
    assert content.endswith("https://blog.example/p/")


LONG_PATHS = (
    f"/x/?q={'a' * 1_960}",
    "/" + "a/" * 990,
    f"/{'%E4%BD%A0' * 220}/",
    f"/{'%F0%9F%98%80' * 160}/",
)
LIMITS: dict[
    str, Callable[[Any], int]
] = {  # what is left of the limit of each messenger, in characters, UTF-16 code units or bytes
    "discord": lambda sent: 2_000 - len(sent["content"]),
    "telegram": lambda sent: 4_096 - len(sent["text"].encode("utf-16-le")) // 2,
    "slack": lambda sent: 3_000 - max(len(sent["text"]), len(sent["blocks"][0]["text"]["text"])),
    "ntfy": lambda sent: 4_096 - len(sent["message"].encode()),
}


@pytest.mark.sqlite_only("it is about lengths")
@pytest.mark.parametrize("path", LONG_PATHS)
@pytest.mark.parametrize("words", ["a nasty comment", "😀" * 700 + "x" * 50, "`x" * 350], ids=len)
@pytest.mark.parametrize("public_url", [PUBLIC, f"https://{'c' * 60}.example/{'d' * 150}"], ids=len)
def test_words_of_a_comment_are_in_each_message_however_long_its_address_is(
    tmp_path: Path, path: str, words: str, public_url: str
) -> None:
    settings = replace(
        WITH_HOOKS,
        server=replace(SETTINGS.server, public_url=public_url),
        comments=replace(SETTINGS.comments, author_length=1_000, message_length=800),
    )
    with served(tmp_path, settings) as service:
        assert service.submit(words, path, author="Ann😀" * 250).status in (201, 202)
        sent = messages(service, settings)
    for name, left in LIMITS.items():
        message = sent[name][1]
        assert left(message) >= 0, name
        assert words[:600].replace("`", "\u02cb") in json.dumps(
            message, ensure_ascii=False
        ).replace("`", "\u02cb")
    assert sent["discord"][1]["content"].count("```") == 2


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("/%E4%BD%A0%E5%A5%BD/", "/你好/"),
        ("/b%C3%BCcher/?a=%26b%20c", "/bücher/?a=%26b%20c"),
        ("/%E2%80%AE/", "/%E2%80%AE/"),  # it turns the direction round
        ("/%C2%A0/", "/%C2%A0/"),  # a space
        ("/%E4%BD/%FF/", "/%E4%BD/%FF/"),  # no UTF-8
        ("/" + "a" * 60, "/" + "a" * 48 + "…"),
        ("/" + "%E4%BD%A0" * 60, "/" + "你" * 48 + "…"),
    ],
)
def test_addresses_are_decoded_and_then_shortened_for_people(address: str, shown: str) -> None:
    assert readable_address(address, 50) == shown


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *[(200, None), (204, None)],
        *[(status, TemporaryFailure) for status in (400, 413, 422)],
        *[(status, ServerUnreachable) for status in (302, 401, 404, 410, 429, 500)],
    ],
)
def test_each_answer_has_its_meaning(
    monkeypatch: pytest.MonkeyPatch, status: int, error: type[DeliveryError] | None
) -> None:
    async def answer(*_: object) -> HttpResponse:
        return HttpResponse(status, "because\n<b>")

    monkeypatch.setattr(SettingsClient, "post", answer)
    hook = Webhook(WITH_HOOKS, webhooks.slack(ALL), SettableClock(int(NOW * 1_000)))
    sending = hook.send(WebhookRequest("https://h.example/", b"{}", {}))
    if error is None:
        asyncio.run(sending)
        return
    with pytest.raises(error, match=f"^{status} because <b>$"):
        asyncio.run(sending)


def test_a_hook_at_a_private_address_waits_and_says_why(tmp_path: Path) -> None:
    settings = replace(SETTINGS, hooks=HooksSettings(ntfy="http://127.0.0.1:9/topic"))
    with served(tmp_path, settings) as service:
        service.submit()
        asyncio.run(service.outbox.deliver("ntfy"))
        [row] = waiting(service)
        assert "no public address" in row.error
        assert "hooks.allowed_networks" in row.error


def test_of_a_comment_that_is_gone_nobody_is_told(service: Served) -> None:
    service.submit()
    row = waiting(service)[0]
    hook = Webhook(WITH_HOOKS, webhooks.slack(ALL), SettableClock(int(NOW * 1_000)))
    gone = replace(row, comment_id=99)
    assert service.database.read_now(hook.compose, gone) is None
