"""Reply notifications, from the request to the mail and unsubscribing: handlers, rows and mails."""

import re
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commentsvc.db.schema.outbox import CONFIRMED, SubscriberTable
from commentsvc.delivery.mail import MailComposer
from commentsvc.model import CLASSIFIER
from commentsvc.moderation import changes
from commentsvc.settings.schema import ServerSettings, SpamSettings
from commentsvc.util.timestamps import DAY_MS
from tests.unit.app_fixture import SETTINGS, Served, faults, served, waiting
from tests.unit.mail_server import mail_settings

WITH_MAIL = replace(
    SETTINGS,
    server=ServerSettings(public_url="https://c.example"),
    mail=mail_settings(25, moderators=()),
)
WISH: dict[str, Any] = {  # Any: fields of `submit`
    "email": "ann@home.example",
    "notify": True,
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, WITH_MAIL) as running:
        yield running


def kinds(service: Served) -> list[tuple[str, int | None]]:
    return [(row.kind, row.comment_id) for row in waiting(service)]


def mail(service: Served, kind: str) -> EmailMessage | None:
    """Return the last mail of a kind, or None if it is no longer to be sent."""
    mails = MailComposer(WITH_MAIL, service.links)
    [*_, row] = [row for row in waiting(service) if row.kind == kind]
    found = service.database.read_now(mails.compose, row)
    if found is None:
        return None
    assert found.recipient == found.message["To"] == "ann@home.example"
    return found.message


def text(message: EmailMessage | None) -> str:
    assert message
    body = message.get_body(("plain",))
    assert body
    return str(body.get_content())


def target(message: EmailMessage | None, path: str) -> str:
    """Return the target of the link to one of our pages in a mail."""
    found = re.search(rf"https://c\.example(/mail/{path}\?t=\S+)", text(message))
    assert found
    return found[1]


def confirmed(service: Served) -> None:
    """Comment 1 is by Ann, who asked for mails about replies and has confirmed it."""
    service.submit(**WISH)
    assert service.form(target(mail(service, "confirm"), "confirm"), "").status == 200


def test_an_answer_is_mailed_once_the_author_has_confirmed(service: Served) -> None:
    confirmed(service)
    service.submit("No, *you* are", author="Bob", parent=1)
    assert kinds(service) == [("confirm", 1), ("reply", 2)]
    message = mail(service, "reply")
    assert message
    assert message["Subject"] == "[A blog] Bob replied to you on “/p/”"
    assert "> No, *you* are" in text(message)
    assert "> Hi" in text(message)
    assert "https://blog.example/p/#commentsvc-2" in text(message)


def test_before_the_author_has_confirmed_nothing_is_mailed(service: Served) -> None:
    service.submit(**WISH)
    service.get(target(mail(service, "confirm"), "confirm"))
    service.submit(parent=1)
    assert kinds(service) == [("confirm", 1)]


def test_one_network_has_twenty_addresses_a_day_asked(tmp_path: Path) -> None:
    """Where no moderator approves, each comment could mail another stranger."""
    limited = replace(WITH_MAIL, spam=SpamSettings(rate_limit="100/minute", form_token="off"))
    with served(tmp_path, limited) as service:
        for number in range(25):
            fields = {"email": f"{number}@home.example", "follow": number % 2 == 1}
            sent = service.submit(f"It is {number}", notify=True, url=f"/{number}/", **fields)
            assert sent.status == 201
        asked = {row.recipient or row.comment_id for row in waiting(service)}
        assert len({row.comment_id for row in waiting(service) if row.kind == "confirm"}) == 20
        assert len(asked) == 20 + 10, "and ten of them about their page"
        with_consent = SubscriberTable.update(consent=CONFIRMED)
        first = with_consent.where(SubscriberTable.email == "0@home.example")
        service.database.write_now(lambda tx: tx.change(first))
        service.submit("It is I again", notify=True, email="0@home.example")
        service.submit("It is I, too", parent=service.stored()[0].comment.id)
        assert [row.kind for row in waiting(service)][-1] == "reply"


def test_the_question_says_nothing_that_a_reader_wrote(service: Served) -> None:
    service.submit("Buy https://evil.example", author="Evil", title="Evil", **WISH)
    message = mail(service, "confirm")
    assert message
    assert "vil" not in text(message) + str(message["Subject"])
    assert "https://blog.example/p/" in text(message)


def test_without_the_wish_nobody_is_asked(service: Served) -> None:
    service.submit(email="ann@home.example")
    service.submit(parent=1)
    assert kinds(service) == []


def test_the_question_comes_when_a_moderator_has_approved(tmp_path: Path) -> None:
    """So no program can make us send mail to strangers."""
    settings = replace(WITH_MAIL, moderation=replace(SETTINGS.moderation, policy="all"))
    with served(tmp_path, settings) as service:
        service.submit(**WISH)
        assert kinds(service) == []
        now = int(service.now * 1_000)
        service.database.write_now(changes.change, [1], "approved", "Mo", now)
        assert kinds(service) == [("confirm", 1)]


def test_an_answer_is_mailed_when_it_is_approved_and_not_again(tmp_path: Path) -> None:
    settings = replace(WITH_MAIL, moderation=replace(SETTINGS.moderation, policy="all"))
    with served(tmp_path, settings) as service:

        def decide(number: int, to: str) -> None:
            now = int(service.now * 1_000)
            service.database.write_now(changes.change, [number], to, "Mo", now)

        service.submit(**WISH)
        decide(1, "approved")
        service.form(target(mail(service, "confirm"), "confirm"), "")
        service.submit(parent=1)
        assert kinds(service) == [("confirm", 1)]
        for to in ("approved", "spam", "approved"):
            decide(2, to)
        assert kinds(service) == [("confirm", 1), ("reply", 2)]
        decide(2, "spam")
        assert mail(service, "reply") is None, "it is shown no more"


def test_an_author_who_confirmed_is_told_once_when_a_waiting_comment_is_published(
    tmp_path: Path,
) -> None:
    settings = replace(WITH_MAIL, moderation=replace(SETTINGS.moderation, policy="all"))
    with served(tmp_path, settings) as service:

        def decide(number: int, to: str, who: str = "Mo") -> None:
            now = int(service.now * 1_000)
            service.database.write_now(changes.change, [number], to, who, now)

        service.submit(**WISH)
        decide(1, "approved")
        service.form(target(mail(service, "confirm"), "confirm"), "")
        for words in ("Second", "Third", "Fourth"):
            service.submit(words, **WISH)
        for to in ("approved", "spam", "approved"):
            decide(2, to)
        decide(3, "approved", CLASSIFIER)
        service.submit("Without the wish", email="ann@home.example")
        decide(5, "approved")
        assert kinds(service) == [("confirm", 1), ("published", 2)]
        message = mail(service, "published")
        assert message
        assert message["To"] == "ann@home.example"
        assert message["Subject"] == "[A blog] Your comment on “/p/” is published"
        assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        assert "> Second" in text(message)
        assert "https://blog.example/p/#commentsvc-2" in text(message)


def test_the_question_is_repeated_once_a_day_at_most(service: Served) -> None:
    for _ in range(3):
        service.submit(f"Hi {service.now}", **WISH)
        service.now += 3_600
    assert kinds(service) == [("confirm", 1)]
    service.now += DAY_MS / 1_000
    service.submit("Hi again", **WISH)
    assert kinds(service) == [("confirm", 1), ("confirm", 4)]


def test_a_yes_counts_once_and_for_later_comments_too(service: Served) -> None:
    service.submit(**WISH)
    yes = target(mail(service, "confirm"), "confirm")
    assert [service.form(yes, "").status for _ in range(2)] == [200, 410]
    service.submit("Another", **WISH)
    service.submit(parent=2)
    assert kinds(service) == [("confirm", 1), ("reply", 3)]


def test_an_own_answer_is_not_mailed(service: Served) -> None:
    confirmed(service)
    service.submit("PS", parent=1, email="ann@home.example")
    assert kinds(service) == [("confirm", 1)]


def test_one_click_ends_it_for_good(service: Served) -> None:
    confirmed(service)
    service.submit(parent=1)
    message = mail(service, "reply")
    assert message
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    address = str(message["List-Unsubscribe"])
    found = re.fullmatch(r"<https://c\.example(/mail/stop\?t=[\w.-]+)>", address)
    assert found
    stop = found[1]
    assert b"Stop mails about replies" in service.get(stop).body
    assert mail(service, "reply"), "a look changes nothing"
    assert service.form(stop, "List-Unsubscribe=One-Click").status == 200
    assert mail(service, "reply") is None, "what waits is not sent"
    service.submit("Later", parent=1)
    service.submit("Once more", **WISH)
    assert kinds(service) == [("confirm", 1), ("reply", 2)]
    assert service.form(stop, "").status == 200, "it works again"


def test_a_link_to_stop_works_for_years(service: Served) -> None:
    confirmed(service)
    service.submit(parent=1)
    stop = target(mail(service, "reply"), "stop")
    service.now += 9 * 365 * DAY_MS / 1_000
    assert service.form(stop, "").status == 200


def test_after_the_end_an_old_question_cannot_be_answered(service: Served) -> None:
    service.submit(**WISH)
    yes = target(mail(service, "confirm"), "confirm")
    service.form(yes, "")
    service.submit(parent=1)
    service.form(target(mail(service, "reply"), "stop"), "")
    assert service.form(yes, "").status == 410


@pytest.mark.parametrize("path", ["confirm", "stop"])
@pytest.mark.parametrize("token", ["", "x.y", "x" * 999])
def test_a_forged_link_does_nothing(service: Served, path: str, token: str) -> None:
    service.submit(**WISH)
    for answer in (
        service.get(f"/mail/{path}?t={token}"),
        service.form(f"/mail/{path}?t={token}", ""),
    ):
        assert answer.status == 404


def test_a_link_for_the_one_does_not_do_the_other(service: Served) -> None:
    service.submit(**WISH)
    yes = target(mail(service, "confirm"), "confirm")
    assert service.form(yes.replace("confirm?", "stop?"), "").status == 404


def test_a_link_of_a_subscriber_who_is_gone_says_so(service: Served) -> None:
    token = service.links.make("stop", 99, expires=int(service.now * 1_000) + DAY_MS)
    assert service.form(f"/mail/stop?t={token}", "").status == 410


def test_the_wish_needs_an_address(service: Served) -> None:
    assert faults(service.submit(notify=True)) == ["email"]


def test_the_wish_must_be_true_or_false(service: Served) -> None:
    assert faults(service.submit(notify="yes", email="a@b.example")) == ["notify"]


def test_the_form_offers_the_choice_and_keeps_it_after_a_mistake(service: Served) -> None:
    assert b'name="notify"' in service.get("/embed/thread?url=/p/").body
    service.form("/embed/thread", "url=/p/&author=Ann&message=Hi&email=a@b.example&notify=yes")
    assert kinds(service) == [("confirm", 1)]
    refused = service.form("/embed/thread", "url=/p/&author=Ann&message=&email=&notify=yes")
    assert b'<option value="yes" selected>' in refused.body


def test_without_a_language_of_its_page_a_mail_is_in_that_of_the_site(tmp_path: Path) -> None:
    german = [replace(site, language="de") for site in WITH_MAIL.sites]
    with served(tmp_path, replace(WITH_MAIL, sites=tuple(german))) as service:
        service.submit(**WISH)
        message = mail(service, "confirm")
        assert message
        assert message["Subject"].startswith("[A blog] Möchtest du eine E-Mail")


def test_without_mail_the_wish_means_nothing(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        assert b'name="notify"' not in service.get("/embed/thread?url=/p/").body
        assert service.submit(**WISH).status == 201
        service.submit(parent=1)
        assert kinds(service) == []
