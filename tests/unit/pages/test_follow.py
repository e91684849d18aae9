"""Following a page: readers confirm by mail, and get new comments until they unsubscribe."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.mail import MailComposer
from commentsvc.delivery.smtp import Envelope
from commentsvc.moderation import retention, threads
from commentsvc.readers import follows
from commentsvc.settings.schema import MailSettings, ServerSettings
from tests.unit.app_fixture import SETTINGS, Served, faults, served, waiting
from tests.unit.database_fixture import decide

MAILING = replace(
    SETTINGS,
    server=ServerSettings(public_url="https://c.example"),
    mail=MailSettings(host="localhost", sender="comments@blog.example"),
)
PAGE, SITE = "/follow?url=/p/", "/follow"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, MAILING) as running:
        yield running


def mails(service: Served) -> list[tuple[OutboxRow, Envelope]]:
    """Take the mails to followers out of the outbox."""
    found = []
    for row in waiting(service):
        envelope = service.database.read_now(MailComposer(MAILING, service.links).compose, row)
        service.database.write_now(outbox.mark_sent, row, "", 1)
        if envelope:
            found.append((row, envelope))
    return found


def text(envelope: Envelope) -> str:
    body = envelope.message.get_body(("plain",))
    assert body
    return str(body.get_content())


def link(envelope: Envelope, purpose: str) -> str:
    [url] = re.findall(rf"https://c\.example(/mail/{purpose}\?t=\S+)", text(envelope))
    return str(url)


def ask(service: Served, target: str = PAGE, email: str = "bob@mail.example") -> int:
    return service.form(target, f"email={email.replace('@', '%40')}").status


def follow(service: Served, target: str = PAGE, email: str = "bob@mail.example") -> None:
    assert ask(service, target, email) == 200
    [(row, envelope)] = mails(service)
    assert row.kind == "follow"
    path = link(envelope, "follow")
    assert service.get(path).status == 200
    assert service.form(path, "").status == 200


def tell(service: Served) -> list[Envelope]:
    """Let the outbox look for new comments, a second later."""
    service.now += 1
    service.database.write_now(follows.queue_mails, service.clock.now_ms())
    return [envelope for row, envelope in mails(service) if row.kind == "followed"]


def test_new_comments_are_mailed_after_a_confirmation_until_one_click_stops_it(
    service: Served,
) -> None:
    service.submit("before")
    service.now += 1
    follow(service)
    assert tell(service) == []
    service.submit("first")
    service.submit("elsewhere", url="/q/")
    [envelope] = tell(service)
    assert envelope.recipient == "bob@mail.example"
    said = text(envelope)
    assert "> first" in said
    assert "before" not in said
    assert "elsewhere" not in said
    stop = str(envelope.message["List-Unsubscribe"]).strip("<>")
    assert envelope.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    parts = urlsplit(stop)
    assert service.form(f"{parts.path}?{parts.query}", "List-Unsubscribe=One-Click").status == 200
    service.now += 7_200
    service.submit("last")
    assert tell(service) == []


def test_who_follows_a_site_hears_of_each_page_once_an_hour(service: Served) -> None:
    follow(service, SITE)
    service.submit("one")
    assert len(tell(service)) == 1
    service.submit("two", url="/q/")
    service.submit("three", url="/r/")
    assert tell(service) == []
    service.now += 3_600
    [envelope] = tell(service)
    assert envelope.message["Subject"] == "[A blog] 2 new comments"
    assert "> two" in text(envelope)
    assert "> one" not in text(envelope)


def test_what_waits_for_approval_is_mailed_when_it_is_approved(service: Served) -> None:
    follow(service)
    service.submit("spam? https://a.example https://b.example https://c.example https://d.example")
    assert tell(service) == []
    decide(service.database, "approved", 1, now=service.clock.now_ms())
    assert len(tell(service)) == 1


def test_nobody_is_told_of_their_own_comments(service: Served) -> None:
    follow(service)
    service.submit("mine", email="bob@mail.example")
    assert tell(service) == []


def test_an_address_is_asked_once_a_day_and_a_week_after_a_no(service: Served) -> None:
    assert ask(service) == ask(service) == 200
    assert [row.kind for row, _ in mails(service)] == ["follow"]
    follower = service.database.read_now(follows.find, 1)
    assert follower
    service.database.write_now(follows.stop, 1, service.clock.now_ms())
    service.now += 2 * 86_400
    assert ask(service) == 200
    assert mails(service) == []
    service.now += 6 * 86_400
    assert ask(service) == 200
    assert len(mails(service)) == 1


@pytest.mark.parametrize("email", ["", "no address", "a@b\r\nBcc: c@d.example"])
def test_what_is_no_address_is_not_asked(service: Served, email: str) -> None:
    body = f"email={email.replace(chr(13), '%0D').replace(chr(10), '%0A')}"
    assert service.form(PAGE, body).status == 400
    assert waiting(service) == []


def test_an_address_asks_only_so_often(service: Served) -> None:
    statuses = [ask(service, f"/follow?url=/{number}/") for number in range(7)]
    assert statuses == [200] * 5 + [429] * 2


def test_who_follows_a_page_follows_what_it_is_merged_into(service: Served) -> None:
    follow(service)
    service.submit("a", url="/q/")
    tell(service)
    service.database.write_now(threads.merge, "blog", "/p/", "/q/", "mo", 1)
    service.submit("b", url="/q/")
    assert len(tell(service)) == 1


def test_the_link_to_stop_works_after_pages_were_merged(service: Served) -> None:
    follow(service)
    service.submit("a")
    [envelope] = tell(service)
    for source, target in (("/p/", "/q/"), ("/q/", "/r/")):
        follow(service, f"/follow?url={target}")
        service.submit("b", url=target)
        tell(service)
        service.database.write_now(threads.merge, "blog", source, target, "mo", 1)
    service.now += 3_600
    assert service.form(link(envelope, "unfollow"), "").status == 200
    service.submit("c", url="/r/")
    assert tell(service) == []


def test_who_confirmed_one_of_two_merged_pages_follows_the_other(service: Served) -> None:
    follow(service)
    ask(service, "/follow?url=/q/")
    [(_, envelope)] = mails(service)
    service.submit("a", url="/q/")
    service.now += 1
    service.database.write_now(threads.merge, "blog", "/p/", "/q/", "mo", 1)
    service.submit("b", url="/q/")
    [mail] = tell(service)
    assert "> b" in text(mail)
    assert service.get(link(envelope, "follow")).status == 200
    assert service.form(link(envelope, "follow"), "").status == 410, "nothing is left to confirm"


def test_an_erased_address_follows_nothing(service: Served) -> None:
    follow(service)
    service.database.write_now(retention.forget, "Bob@mail.example", "mo", 1)
    service.submit("a")
    assert tell(service) == []


def test_forged_links_follow_nothing(service: Served) -> None:
    assert service.form("/mail/follow?t=forged", "").status == 404
    ask(service)
    [(_, envelope)] = mails(service)
    token = link(envelope, "follow").partition("=")[2]
    assert service.form(f"/mail/unfollow?t={token}", "").status == 404


def test_without_mail_there_is_nothing_to_follow(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        assert service.get(PAGE).status == 404


def test_programs_follow_by_json_under_the_same_limits(service: Served) -> None:
    def post(target: str = "/api/follow?url=/p/&lang=de", **sent: str) -> int:
        return service.post(target, sent, origin="https://blog.example").status

    answer = service.post(
        "/api/follow?url=/p/", {"email": "bob@mail.example"}, origin="https://blog.example"
    )
    assert (answer.status, answer.body) == (202, b"")
    assert dict(answer.headers)["Access-Control-Allow-Origin"] == "https://blog.example"
    [(row, envelope)] = mails(service)
    assert (row.kind, row.recipient) == ("follow", "bob@mail.example")
    assert service.form(link(envelope, "follow"), "").status == 200
    assert post(email="lea@mail.example") == 202
    [(_, envelope)] = mails(service)
    assert "Kommentare" in text(envelope)
    assert post(email="nobody") == 400
    assert post() == 400
    assert post(email="a@mail.example", url="/p/") == 400
    assert post("/api/follow?url=https://evil.example/", email="a@mail.example") == 400
    foreign = service.post(
        "/api/follow", {"email": "a@mail.example"}, origin="https://evil.example"
    )
    assert foreign.status == 403
    for _ in range(8):
        assert ask(service, email="bob@mail.example") in (200, 429)
    assert post(email="bob@mail.example") == 429


def test_without_mail_nobody_follows_by_json(tmp_path: Path) -> None:
    with served(tmp_path) as running:
        assert running.post("/api/follow", {"email": "a@mail.example"}).status == 404


WISH: dict[str, Any] = {"email": "ann@mail.example", "follow": True}  # Any: fields of `submit`


def test_an_author_who_wants_it_is_asked_when_the_comment_is_published(tmp_path: Path) -> None:
    """So no program can make us send mail to strangers."""
    settings = replace(MAILING, moderation=replace(SETTINGS.moderation, policy="all"))
    with served(tmp_path, settings) as service:
        service.submit("Hi", **WISH)
        assert mails(service) == []
        decide(service.database, "approved", 1, now=service.clock.now_ms())
        [(row, envelope)] = mails(service)
        assert (row.kind, row.recipient) == ("follow", "ann@mail.example")
        assert service.form(link(envelope, "follow"), "").status == 200
        service.now += 1
        service.submit("No", author="Bob")
        decide(service.database, "approved", 2, now=service.clock.now_ms())
        [envelope] = tell(service)
        assert "> No" in text(envelope)


def test_the_plain_form_has_the_wish_too(service: Served) -> None:
    form = "url=/p/&author=Ann&message=Hi&email=ann@mail.example&notify=page"
    assert service.form("/embed/thread", form).status == 201
    assert [row.kind for row, _envelope in mails(service)] == ["follow"]
    refused = service.form("/embed/thread", form.replace("message=Hi", "message="))
    shown = b'<option value="page" selected>Email me about all comments on this page</option>'
    assert shown in refused.body


def test_the_wish_to_follow_needs_an_address(service: Served) -> None:
    assert faults(service.submit(follow=True)) == ["email"]
    assert faults(service.submit(follow="yes", email="ann@mail.example")) == ["follow"]


def test_comments_on_many_pages_ask_an_address_five_times_a_day(service: Served) -> None:
    for number in range(8):
        service.submit(url=f"/{number}/", **WISH)
    assert len(mails(service)) == follows.DAILY
    service.now += 86_400
    service.submit(url="/9/", **WISH)
    assert len(mails(service)) == 1


EVIL = "You won! Go to evil.example"


@pytest.mark.sqlite_only("it is about texts; other tests here have both engines")
@pytest.mark.parametrize(
    "page",
    [
        f"/p/{between}{EVIL}"
        for between in (
            "\n",
            "\r\n",
            "\t",
            "\0",
            "\x85",
            "\u2028",
            "\u202e",
            "%0A",
            " ",
            "?",
            "#\n",
        )
    ]
    + [f"//{EVIL}", "/" + "You-won-" * 200, "/" + "Ω" * 300, f"https://blog.example/{EVIL}"],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_no_line_of_a_stranger_is_mailed_to_who_shall_follow(
    service: Served, page: str, as_json: bool
) -> None:
    query = urlencode({"url": page})
    if as_json:
        origin = "https://blog.example"
        status = service.post(
            f"/api/follow?{query}", {"email": "bob@mail.example"}, origin=origin
        ).status
    else:
        status = ask(service, f"/follow?{query}")
    found = mails(service)
    assert (status in (200, 202)) == bool(found)
    for _row, envelope in found:
        assert "You won" not in text(envelope)
        [line] = [line for line in text(envelope).splitlines() if "https://blog.example" in line]
        [address] = re.findall(r"https://blog\.example[!-~]*", line)
        assert len(address) <= 201
        assert line.startswith("Someone, hopefully you, asked for mails")
