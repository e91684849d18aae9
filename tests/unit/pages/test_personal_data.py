"""Readers' own data: from an address to a mail, and from its links to an export or deletion.

The mails go through a real SMTP server.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.delivery import channels, worker
from commentsvc.http.messages import Response
from commentsvc.settings.schema import ServerSettings
from tests.unit import database_fixture
from tests.unit.app_fixture import FORM, SETTINGS, Served, served, waiting
from tests.unit.mail_server import mail_server, mail_settings

WITH_MAIL = replace(
    SETTINGS,
    server=ServerSettings(public_url="https://c.example"),
    mail=mail_settings(25, moderators=()),
)
ROSA = "rosa@mail.example"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, WITH_MAIL) as running:
        running.submit("Hello from Rosa", author="Rosa", email=ROSA)
        running.submit("Hello from Bob", author="Bob", email="bob@mail.example")
        yield running


def ask(service: Served, email: str = ROSA, peer: str = "192.0.2.1") -> Response:
    body = f"email={email}".encode()
    kind = "application/x-www-form-urlencoded"
    return service.ask("POST", "/mail/own", body, peer, content_type=kind)


def sent(service: Served) -> list[EmailMessage]:
    """Send what waits to a real mail server; return what it received."""

    async def scene() -> list[EmailMessage]:
        async with mail_server() as server:
            settings = replace(WITH_MAIL, mail=mail_settings(server.port, moderators=()))
            by_name = channels.channels(
                settings, service.links, service.clock, service.database, service.service.lasting
            )
            await worker.OutboxWorker(service.database, by_name, service.clock).deliver("mail")
            assert server.recipients == [mail["To"] for mail in server.mails]
            return server.mails

    return asyncio.run(scene())


def links(service: Served) -> dict[str, str]:
    """Return the links in the one mail that is sent, by purpose."""
    assert ask(service).status == 200
    [mail] = sent(service)
    assert mail["To"] == ROSA
    found = {}
    for kind in ("plain", "html"):
        body = mail.get_body((kind,))
        assert body
        found[kind] = {
            purpose: target
            for target, purpose in re.findall(
                r"https://c\.example(/mail/(export|erase)\?t=[\w.-]+)", body.get_content()
            )
        }
    assert found["plain"] == found["html"]
    return found["plain"]


def test_the_page_asks_for_an_address(service: Served) -> None:
    answer = service.get("/mail/own")
    assert answer.status == 200
    assert b'inputmode="email"' in answer.body
    assert dict(answer.headers)["Cache-Control"] == "no-store"


def test_a_thread_leads_there_where_mail_is_sent(tmp_path: Path) -> None:
    for number, settings in enumerate((WITH_MAIL, SETTINGS)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with served(folder, settings) as service:
            body = service.get("/embed/thread?url=/p/&view=page").body
            assert (b'href="../mail/own"' in body) == (settings is WITH_MAIL)


def test_nobody_learns_whether_an_address_has_written_and_a_stranger_gets_no_mail(
    service: Served,
) -> None:
    known, unknown = ask(service), ask(service, "eve@mail.example")
    assert (known.status, known.body) == (unknown.status, unknown.body)
    assert [mail["To"] for mail in sent(service)] == [ROSA]


def test_an_export_holds_all_of_the_author_and_nothing_of_others(service: Served) -> None:
    target = links(service)["export"]
    for _ in range(2):
        page = service.get(target)
        assert page.status == 200
        assert b"Rosa" not in page.body
        answer = service.form(target, "")
        assert answer.status == 200
        assert dict(answer.headers)["Content-Disposition"].startswith("attachment")
        found = json.loads(answer.body)
        assert found["email"] == ROSA
        assert [comment["message"] for comment in found["comments"]] == ["Hello from Rosa"]


def test_a_link_downloads_ten_times_a_day(service: Served) -> None:
    target = links(service)["export"]
    answers = [
        service.ask("POST", target, b"", f"198.51.{n}.1", content_type=FORM) for n in range(11)
    ]
    assert [answer.status for answer in answers] == [200] * 10 + [429]
    assert b"Rosa" not in answers[-1].body
    assert service.get(target).status == 200


def test_erasing_asks_first_and_works_once(service: Served) -> None:
    target = links(service)["erase"]
    assert b"1 comment was written with rosa@mail.example" in service.get(target).body
    assert service.get(target).status == 200
    assert service.stored()[1].comment.source == "Hello from Rosa"
    service.purged.clear()
    answer = service.form(target, "")
    assert answer.status == 200
    assert b"1 comment was erased" in answer.body
    assert service.purged == ["thread:blog:/p/", "site:blog"]
    bob, rosa = (entry.comment for entry in service.stored())
    assert (rosa.status, rosa.author, rosa.email, rosa.source) == ("deleted", "", "", "")
    assert bob.source == "Hello from Bob"
    service.submit("Once more", author="Rosa", email=ROSA)
    assert service.form(target, "").status == 410
    assert service.stored()[0].comment.source == "Once more"


def test_what_the_filter_learned_of_an_author_is_erased_too(service: Served) -> None:
    database_fixture.decide(service.database, "spam", 1)
    service.form(links(service)["erase"], "")
    rows = service.database.read_now(
        lambda snapshot: snapshot.execute(
            "SELECT 1 FROM training_token WHERE spam + good > 0 UNION ALL SELECT 1 FROM"
            " training_comment"
        ).fetchall()
    )
    assert rows == []


@pytest.mark.parametrize("purpose", ["export", "erase"])
def test_a_link_does_nothing_else_and_nothing_for_ever(service: Served, purpose: str) -> None:
    other = {"export": "erase", "erase": "export"}[purpose]
    target = links(service)[purpose]
    for wrong in (target.replace(purpose, other, 1), target[:-1], f"/mail/{purpose}?t=x"):
        for answer in (service.get(wrong), service.form(wrong, "")):
            assert answer.status == 404
            assert b"<form" not in answer.body
    service.now += 3 * 86_400
    for answer in (service.get(target), service.form(target, "")):
        assert answer.status == 410
    assert len([e for e in service.stored() if e.comment.author == "Rosa"]) == 1


@pytest.mark.parametrize("email", ["", "x", "a@b", "a@b.example%0D%0ABcc:%20c@d.example"])
def test_what_is_no_address_is_asked_again(service: Served, email: str) -> None:
    answer = ask(service, email)
    assert answer.status == 400
    assert b'role="alert"' in answer.body
    assert waiting(service) == []


def test_neither_an_address_nor_a_network_is_used_to_send_many_mails(service: Served) -> None:
    peers = [f"198.51.{n}.1" for n in range(5)]
    assert [ask(service, peer=peer).status for peer in peers] == [200, 200, 200, 429, 429]
    answers = [ask(service, f"{n}@mail.example", "203.0.113.1") for n in range(11)]
    assert [answer.status for answer in answers] == [200] * 10 + [429]
    assert "h." in answers[-1].body.decode()
    assert dict(answers[-1].headers).get("Retry-After") or answers[-1].status == 429


def test_where_no_mail_is_sent_the_page_says_whom_to_ask(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        for answer in (service.get("/mail/own"), ask(service)):
            assert answer.status == 404
            assert b"ask the owner of the blog" in answer.body


def test_a_body_that_is_no_form_is_refused(service: Served) -> None:
    answer = service.ask("POST", "/mail/own", b"{}", content_type="application/json")
    assert answer.status == 415
