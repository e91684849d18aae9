"""Links in mails: a GET shows a page, and a POST does what it says, once."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from markupsafe import escape
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.auth import accounts
from commentsvc.delivery.mail import MailComposer
from commentsvc.http.messages import Response
from commentsvc.moderation import changes, history, profiles, undo
from commentsvc.settings.schema import ServerSettings
from tests.unit.app_fixture import SETTINGS, Served, served
from tests.unit.database_fixture import HOUR
from tests.unit.mail_server import mail_settings

WITH_MAIL = replace(
    SETTINGS,
    server=ServerSettings(public_url="https://c.example"),
    moderation=replace(SETTINGS.moderation, policy="all"),
    mail=mail_settings(25),
)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, WITH_MAIL) as running:
        running.submit("Hello <b>you</b>", author="Ann & Bob")
        yield running


def link(
    service: Served, action: str, comment: int = 1, row: int = 1, who: str = "mo@blog.example"
) -> str:
    expires = int(service.now * 1_000) + HOUR
    token = service.links.make("comment", action, comment, row, who, expires=expires)
    return f"/mail/comment?t={token}"


def status(service: Served) -> str:
    return service.stored()[0].comment.status


def title(response: Response) -> str:
    found = re.search(r"<h1[^>]*>(.*)</h1>", response.body.decode())
    assert found
    return found[1]


def test_opening_a_link_shows_the_comment_and_changes_nothing(service: Served) -> None:
    for method in ("GET", "HEAD"):
        answer = service.ask(method, link(service, "approved"))
        assert answer.status == 200
        assert title(answer) == "Publish this comment?"
        assert b"Ann &amp; Bob" in answer.body
        assert b"Hello &lt;b&gt;you&lt;/b&gt;" in answer.body
        assert b'<form method="post">' in answer.body
    assert status(service) == "pending"


@pytest.mark.parametrize("action", ["approved", "spam", "deleted"])
def test_the_button_does_what_the_link_is_for(service: Served, action: str) -> None:
    answer = service.form(link(service, action), "")
    assert answer.status == 200
    assert "comment is" in title(answer)
    assert status(service) == action
    [change] = service.database.read_now(history.entries, 1)
    assert change.actor == "mo@blog.example"


def test_a_publication_is_seen_at_once(service: Served) -> None:
    service.purged.clear()
    service.form(link(service, "approved"), "")
    assert service.purged == ["thread:blog:/p/", "site:blog"]


def test_a_link_works_once(service: Served) -> None:
    service.form(link(service, "approved"), "")
    service.database.write_now(undo.last, [1], "Mo", 5)
    answer = service.form(link(service, "approved"), "")
    assert answer.status == 410
    assert b"already been used" in answer.body
    assert status(service) == "pending"


def test_the_other_links_of_a_mail_still_work(service: Served) -> None:
    service.form(link(service, "approved"), "")
    service.form(link(service, "spam"), "")
    assert status(service) == "spam"


def test_what_is_so_already_has_no_button(service: Served) -> None:
    service.form(link(service, "deleted"), "")
    for action in ("approved", "spam", "deleted"):
        answer = service.get(link(service, action, row=2))
        assert title(answer) == "The comment is already deleted."
        assert b"<form" not in answer.body


def test_an_expired_link_does_nothing(service: Served) -> None:
    target = link(service, "approved")
    service.now += 3_601
    for answer in (service.get(target), service.form(target, "")):
        assert answer.status == 410
        assert b"expired" in answer.body
    assert status(service) == "pending"


@pytest.mark.parametrize("token", ["", "?t=", "?t=x.y", "?t=%00", "?t=" + "x" * 5_000])
def test_a_forged_link_does_nothing(service: Served, token: str) -> None:
    for answer in (service.get(f"/mail/comment{token}"), service.form(f"/mail/comment{token}", "")):
        assert answer.status == 404
        assert b"<form" not in answer.body
    assert status(service) == "pending"


def test_a_link_that_cannot_be_read_is_told_by_a_page(service: Served) -> None:
    answer = service.get("/mail/comment?t=%FF")
    assert answer.status == 400
    assert b"This did not work" in answer.body


def test_a_link_may_have_more_parameters(service: Served) -> None:
    assert service.get("/mail/stop?t=x&utm_source=mail&utm_source=mail").status == 404


def test_a_link_for_another_purpose_does_nothing(service: Served) -> None:
    token = service.links.make("stop", "approved", 1, 1, expires=int(service.now * 1_000) + HOUR)
    assert service.form(f"/mail/comment?t={token}", "").status == 404


def test_a_link_to_a_comment_that_is_gone_says_so(service: Served) -> None:
    for answer in (
        service.get(link(service, "spam", 99)),
        service.form(link(service, "spam", 99), ""),
    ):
        assert answer.status == 410


def test_no_page_of_a_link_is_kept_framed_or_told_to_others(service: Served) -> None:
    for answer in (
        service.get(link(service, "spam")),
        service.form(link(service, "spam"), ""),
        service.get("/mail/comment?t=x"),
    ):
        headers = dict(answer.headers)
        assert headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["Referrer-Policy"] == "no-referrer"
        assert not answer.tags


def mailed(service: Served) -> str:
    """Return the text of the only mail that waits."""
    [row] = service.database.read_now(outbox.due, "mail", int(service.now * 1_000), 9)
    envelope = service.database.read_now(MailComposer(WITH_MAIL, service.links).compose, row)
    assert envelope
    body = envelope.message.get_body(("plain",))
    assert body
    return str(body.get_content())


def test_the_mail_of_a_submission_leads_here(service: Served) -> None:
    """From the submission to the outbox's row, the mail and its link."""
    [first, *_] = re.findall(r"https://c\.example(/mail/comment\?t=\S+)", mailed(service))
    assert service.form(first, "").status == 200
    assert status(service) == "approved"


def answer_link(service: Served, email: str = "mo@blog.example", row: int = 1) -> str:
    token = service.links.make("answer", 1, email, row, expires=int(service.now * 1_000) + HOUR)
    return f"/mail/answer?t={token}"


@pytest.fixture
def moderator(service: Served) -> Served:
    """The service with the moderator mo, who has the address that mails go to."""
    service.database.write_now(accounts.add, "mo", "hash", int(service.now * 1_000))
    mo = service.database.read_now(profiles.named, "mo")
    service.database.write_now(profiles.verify, replace(mo, public_name="Mo B."), "mo@blog.example")
    return service


def test_a_moderator_answers_from_a_mail(moderator: Served) -> None:
    """Open the link, then press the button."""
    [target] = re.findall(r"https://c\.example(/mail/answer\?t=\S+)", mailed(moderator))
    page = moderator.get(target)
    assert title(page) == "Answer this comment"
    html = page.body.decode()
    assert "Your answer, as <bdi>Mo B.</bdi>" in html
    assert ">Approve and answer</button>" in html
    assert status(moderator) == "pending"
    answered = moderator.form(target, "message=*Yes*")
    assert (answered.status, title(answered)) == (200, "Your answer is published.")
    answer, question = (entry.comment for entry in moderator.stored())
    assert (question.status, answer.parent_id) == ("approved", 1)
    assert (answer.author, answer.role, answer.html) == (
        "Mo B.",
        "owner",
        "<p><em>Yes</em></p>\n",
    )
    assert moderator.form(target, "message=*Yes*").status == 410
    assert moderator.form(target, "message=Again").status == 410
    assert len(moderator.stored()) == 2


@pytest.mark.parametrize("message", ["", "+", "x" * 201])
def test_a_mistake_in_an_answer_leaves_the_link_usable(moderator: Served, message: str) -> None:
    target = answer_link(moderator)
    refused = moderator.form(target, f"message={message}")
    assert refused.status == 400
    assert 'role="alert"' in refused.body.decode()
    assert moderator.form(target, "message=Yes").status == 200


def test_a_text_is_shown_where_its_link_is_over_or_its_comment_decided(moderator: Served) -> None:
    over, typed = answer_link(moderator), "It's <kept>"
    body = urlencode({"message": typed})
    shown = f"<textarea[^>]* readonly>\n{escape(typed)}</textarea>"
    moderator.database.write_now(changes.change, [1], "spam", "Mo", int(moderator.now * 1_000))
    decided = moderator.form(over, body)
    assert re.search(shown, decided.body.decode())
    assert "<button" not in decided.body.decode(), "no answer can be sent any more"
    moderator.now += 40 * 86_400
    answer = moderator.form(over, body)
    assert answer.status == 410
    assert re.search(shown, answer.body.decode())
    assert "<button" not in answer.body.decode()
    assert dict(answer.headers)["Cache-Control"] == "no-store"
    assert "textarea" not in moderator.get(over).body.decode()


def test_a_link_to_answer_is_of_one_moderator_and_one_purpose(moderator: Served) -> None:
    assert moderator.get(answer_link(moderator, "ann@blog.example")).status == 410
    token = link(moderator, "approved").partition("t=")[2]
    assert moderator.get(f"/mail/answer?t={token}").status == 404
    token = answer_link(moderator).partition("t=")[2]
    assert moderator.form(f"/mail/comment?t={token}", "").status == 404
    target = answer_link(moderator)
    moderator.database.write_now(profiles.remove, "mo")
    assert moderator.form(target, "message=Yes").status == 410
    assert len(moderator.stored()) == 1


def test_what_was_marked_as_spam_meanwhile_is_not_answered(moderator: Served) -> None:
    target = answer_link(moderator)
    moderator.form(link(moderator, "spam"), "")
    assert title(moderator.get(target)) == "The comment is already marked as spam."
    assert moderator.form(target, "message=Yes").status == 409
    assert len(moderator.stored()) == 1


def test_a_mail_to_an_address_of_no_account_leads_to_the_moderation_pages(service: Served) -> None:
    assert "https://c.example/moderation/comment?id=1#answer" in mailed(service)


def test_a_page_speaks_the_language_of_its_link_or_else_of_the_browser(service: Served) -> None:
    address = link(service, "approved")
    assert title(service.get(f"{address}&lang=de")) == "Diesen Kommentar veröffentlichen?"
    answer = service.ask("GET", address, accept_language="ar")
    assert b'<html lang="ar" dir="rtl">' in answer.body
    assert title(service.get("/mail/comment?t=x&lang=fr")) == "Cela n’a pas fonctionné"


def test_links_end_with_the_right_to_decide(moderator: Served) -> None:
    target = answer_link(moderator)
    assert moderator.get(target).status == 200
    moderator.database.write_now(accounts.add, "jo", "hash", 0)
    for role, sites in (("viewer", ()), ("moderator", ("notes",))):
        moderator.database.write_now(profiles.assign, "jo", "owner", ())
        moderator.database.write_now(profiles.assign, "mo", role, sites)
        assert moderator.get(target).status == 410
        assert moderator.form(link(moderator, "approved"), "").status == 410
        assert status(moderator) == "pending"
    moderator.database.write_now(profiles.assign, "mo", "moderator", ())
    assert moderator.form(link(moderator, "approved"), "").status == 200


def test_a_link_counts_for_an_account_only_with_a_confirmed_address(moderator: Served) -> None:
    """Whoever gave the account an address that was not proved decides and publishes nothing."""
    decision, target = link(moderator, "approved"), answer_link(moderator)
    mo = moderator.database.read_now(profiles.named, "mo")
    for email in ("", "Mo@blog.example"):
        moderator.database.write_now(profiles.save, replace(mo, email=email))
    assert moderator.form(decision, "").status == 410
    assert moderator.get(target).status == 410
    assert moderator.form(target, "message=Yes").status == 410
    assert status(moderator) == "pending"
    moderator.database.write_now(profiles.verify, mo, "mo@blog.example")
    assert moderator.form(target, "message=Yes").status == 200
