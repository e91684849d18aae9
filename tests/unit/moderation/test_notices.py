"""Notices of decisions: who hears of them, how they object, and how strangers are left alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.db.schema.outbox import MAIL, OutboxRow
from commentsvc.delivery.mail import MailComposer
from commentsvc.feedback import reports
from commentsvc.feedback.reports import Reason
from commentsvc.model import AKISMET, APPROVED, AUTHOR, DELETED, PENDING, SPAM
from commentsvc.moderation import changes, notices, personal_data, retention, undo
from commentsvc.settings.schema import ServerSettings, Settings, Site
from tests.unit.app_fixture import SETTINGS, Served, served
from tests.unit.database_fixture import add
from tests.unit.mail_server import mail_settings

WORD: Final = "a-random-word"
REPORTER, WRITER = "rita@home.example", "ann@home.example"
BLOG: Final = Site(origins=("https://blog.example",), title="Oak", notices=True)
WITH: Final = replace(
    SETTINGS,
    server=ServerSettings(public_url="https://comments.example"),
    mail=mail_settings(25),
    sites=(BLOG,),
)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, WITH) as running:
        yield running


def now_of(service: Served) -> int:
    return service.clock.now_ms()


def comment(service: Served, email: str = WRITER, status: str = APPROVED) -> int:
    return add(service.database, now_of(service), status=status, email=email).comment.id


def report(service: Served, number: int = 1, email: str = REPORTER, word: str = WORD) -> int:
    given = {
        "reporter": word,
        "reason": "illegal",
        "explanation": "Words of evil",
        "name": "Rita",
        "email": email,
        "in_good_faith": True,
    }
    return service.post(f"/api/comments/{number}/reports?lang=de", given).status


def decide(service: Served, to: str, *ids: int, who: str = "Mo") -> None:
    service.database.write_now(changes.change, ids or (1,), to, who, now_of(service))


def mails(service: Served) -> list[OutboxRow]:
    """Return the notices that are due after the time to undo a decision."""
    later = now_of(service) + notices.UNDO_TIME
    rows = service.database.read_now(outbox.due, MAIL, later, 100)
    return [row for row in rows if row.kind in outbox.NOTICES]


def kinds(service: Served) -> list[tuple[str, str]]:
    return [(row.kind, row.recipient) for row in mails(service)]


def written(service: Served, row: OutboxRow, settings: Settings = WITH) -> str:
    composed = service.database.read_now(MailComposer(settings, service.links).compose, row)
    if composed is None:
        return ""
    body = composed.message.get_body(("plain",))
    assert body
    return f"{composed.message['Subject']}\n{body.get_content()}"


def objection(service: Served, row: OutboxRow) -> str:
    """Return the path of the link to object in a mail."""
    text = written(service, row)
    return "/mail/object?" + text.partition("/mail/object?")[2].split()[0]


def test_a_reporter_and_the_author_hear_of_a_removal_and_its_reason(service: Served) -> None:
    comment(service)
    assert report(service) == 204
    decide(service, DELETED)
    assert sorted(kinds(service)) == [("removed-illegal", WRITER), ("report-decided", REPORTER)]
    to_writer, to_reporter = sorted(mails(service), key=lambda row: row.kind)
    assert to_reporter.language == "de"
    assert "Der Kommentar wurde gelöscht." in written(service, to_reporter)
    assert "/mail/object" not in written(service, to_reporter), "they got what they wanted"
    text = " ".join(written(service, to_writer).split())
    assert "It was reported for this reason: Illegal content." in text
    assert "evil" not in text + written(service, to_reporter)


def test_nothing_is_due_while_a_decision_may_be_undone(service: Served) -> None:
    comment(service)
    decide(service, DELETED)
    due = service.database.read_now(outbox.due, MAIL, now_of(service) + notices.UNDO_TIME - 1, 9)
    assert [row for row in due if row.kind in outbox.NOTICES] == []
    service.database.write_now(undo.last, [1], "Mo", now_of(service))
    assert [written(service, row) for row in mails(service)] == [""]


@pytest.mark.parametrize(
    ("status", "to", "who"),
    [
        (APPROVED, SPAM, "Mo"),
        (APPROVED, DELETED, AUTHOR),
        (APPROVED, DELETED, AKISMET),
        (PENDING, DELETED, "Mo"),
        (APPROVED, PENDING, "Mo"),
    ],
)
def test_an_author_is_mailed_only_about_a_published_comment_that_a_person_deletes(
    service: Served, status: str, to: str, who: str
) -> None:
    comment(service, status=status)
    decide(service, to, who=who)
    assert mails(service) == []


def test_without_the_setting_no_contact_is_stored_and_nobody_is_mailed(tmp_path: Path) -> None:
    with served(tmp_path, replace(WITH, sites=(replace(BLOG, notices=False),))) as service:
        comment(service)
        assert report(service) == 204
        [found] = service.database.read_now(reports.of_comments, [1]).values()
        assert found.said == (Reason("illegal", "Words of evil"),)
        assert "notices" not in service.get("/api/comments?url=/post/").body.decode()
        decide(service, DELETED)
        assert mails(service) == []


def test_without_mail_a_contact_is_shown_to_moderators_only(tmp_path: Path) -> None:
    with served(tmp_path, replace(WITH, mail=SETTINGS.mail)) as service:
        comment(service)
        report(service)
        [found] = service.database.read_now(reports.of_comments, [1]).values()
        assert (found.said[0].email, found.said[0].in_good_faith) == (REPORTER, 1)
        decide(service, DELETED)
        assert mails(service) == []


def test_an_address_that_is_none_is_refused(service: Served) -> None:
    comment(service)
    for email in ("rita", "a@b.example\r\nBcc: all@evil.example", "x" * 250 + "@b.example"):
        assert report(service, email=email) == 400
    assert service.database.read_now(reports.of_comments, [1]) == {}


def test_a_person_decides_about_an_objection_to_a_removal(service: Served) -> None:
    comment(service)
    decide(service, DELETED)
    [row] = mails(service)
    link = objection(service, row)
    assert service.get(link).status == 200
    assert service.database.read_now(reports.reported, None, 9) == [], "reading changes nothing"
    assert service.form(link, "message=It+was+a+quote").status == 200
    [entry] = service.database.read_now(reports.reported, None, 9)
    assert entry.comment.status == DELETED
    assert service.database.read_now(reports.count, None) == 1
    assert service.form(link, "message=Again").status == 410, "it works once"
    service.database.write_now(undo.last, [1], "Mo", now_of(service))
    assert service.database.read_now(reports.reported, None, 9) == []
    assert kinds(service)[-1] == ("objection-decided", WRITER)
    assert "The comment is published." in written(service, mails(service)[-1])


def test_a_removal_that_stays_is_told_once_and_has_no_further_link(service: Served) -> None:
    comment(service)
    decide(service, DELETED)
    service.form(objection(service, mails(service)[0]), "message=Why")
    decide(service, DELETED)
    assert kinds(service) == [("removed", WRITER), ("objection-decided", WRITER)]
    last = written(service, mails(service)[-1])
    assert "The comment is deleted." in last
    assert "/mail/object" not in last


def test_a_reporter_objects_to_a_comment_that_stays(service: Served) -> None:
    comment(service)
    report(service)
    decide(service, APPROVED)
    [row] = mails(service)
    assert service.form(objection(service, row), "message=Look").status == 200
    [entry] = service.database.read_now(reports.reported, None, 9)
    assert entry.comment.status == APPROVED


def test_there_is_nothing_to_object_to_after_the_decision_was_changed(service: Served) -> None:
    comment(service)
    decide(service, DELETED)
    link = objection(service, mails(service)[0])
    service.database.write_now(undo.last, [1], "Mo", now_of(service))
    assert "The comment is published." in service.get(f"{link}&lang=en").body.decode()
    assert service.form(link, "message=x").status == 200
    assert service.database.read_now(reports.of_comments, [1]) == {}


def test_a_stranger_gets_few_mails_however_the_address_is_spelled(service: Served) -> None:
    for number in range(1, outbox.NOTICES_TO_ONE + 3):
        comment(service, email="")
        service.database.write_now(
            reports.report, number, WORD, 1, Reason("spam", email="rita@HOME.example")
        )
        spelling = "Home.Example" if number % 2 else "home.example"
        reason = Reason("spam", email=f"rita@{spelling}")
        service.database.write_now(reports.report, number, "another-word", 1, reason)
        decide(service, SPAM, number)
    rows = mails(service)
    assert len(rows) == outbox.NOTICES_TO_ONE + 2, "each once for a comment"
    for row in rows[: outbox.NOTICES_TO_ONE]:
        assert not service.database.read_now(outbox.is_flooding, row, now_of(service))
        service.database.write_now(outbox.mark_sent, row, "", now_of(service))
    assert service.database.read_now(outbox.is_flooding, rows[-1], now_of(service))
    service.database.write_now(outbox.collect, rows[-1], now_of(service))
    assert len(mails(service)) == 1, "it is dropped"


def test_a_flood_of_notices_ends(service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "NOTICES_TO_ALL", 2)
    for number in range(1, 4):
        comment(service, email=f"writer{number}@home.example")
        decide(service, DELETED, number)
    *sent, last = mails(service)
    for row in sent:
        service.database.write_now(outbox.mark_sent, row, "", now_of(service))
    assert service.database.read_now(outbox.is_flooding, last, now_of(service))


def test_a_contact_is_exported_and_erased_and_goes_with_the_decision(service: Served) -> None:
    comment(service)
    report(service)
    database, now = service.database, now_of(service)
    assert database.read_now(personal_data.is_known, REPORTER.upper().replace("RITA", "rita"))
    [found] = database.read_now(personal_data.export, REPORTER, now).reports
    assert (found.name, found.reason, found.explanation) == ("Rita", "illegal", "Words of evil")
    database.write_now(retention.forget, REPORTER, AUTHOR, now)
    assert database.read_now(reports.of_comments, [1]) == {}
    report(service)
    decide(service, APPROVED)
    assert database.read_now(personal_data.export, REPORTER, now).reports == []
    database.write_now(retention.forget, REPORTER, AUTHOR, now)
    assert mails(service) == [], "nor is a mail sent"
