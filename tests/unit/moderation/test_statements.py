"""Statements of reasons: who gets a moderator's words, and what deletes them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from commentsvc.db.connection import Transaction
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.feedback import reports
from commentsvc.feedback.reports import Reason
from commentsvc.model import APPROVED, AUTHOR, DELETED, PENDING, STATUS
from commentsvc.moderation import (
    authorized,
    history,
    notices,
    permissions,
    personal_data,
    retention,
    statements,
    undo,
)
from commentsvc.moderation.authorized import Decision
from commentsvc.moderation.statements import LENGTH, Reasons, StatementOfReasons
from tests.unit.app_fixture import Served, served
from tests.unit.moderation.test_notices import (
    REPORTER,
    WITH,
    WORD,
    WRITER,
    comment,
    mails,
    now_of,
    objection,
    report,
    written,
)

MO: Final = permissions.actor(1, "Mo", "moderator", "")
SAID: Final = Reasons("law", "You named her <address>.\nSection 185 forbids it.")
CHECKED: Final = "Automatic checks had rated the comment before; a person has decided."


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, WITH) as running:
        yield running


def decide(service: Served, to: str, reasons: Reasons | None, *ids: int) -> None:
    given = dict.fromkeys(ids or (1,), reasons) if reasons else {}
    decision = Decision(ids or (1,), to, reasons=given)
    service.database.write_now(authorized.decide, MO, decision, now_of(service))


def stored(service: Served, number: int = 1) -> list[StatementOfReasons]:
    return service.database.read_now(statements.of_comment, number)


def text(service: Served, row: OutboxRow) -> str:
    return " ".join(written(service, row).replace("\n>", "\n").split())


def test_the_author_and_the_reporter_are_told_the_facts_the_ground_and_the_means(
    service: Served,
) -> None:
    comment(service)
    report(service)
    decide(service, DELETED, SAID)
    to_writer, to_reporter = sorted(mails(service), key=lambda row: row.kind)
    mail = text(service, to_writer)
    for each in (
        "It was reported for this reason: Illegal content.",
        "The moderator found it against the law. The moderator’s reasons:",
        "You named her <address>. Section 185 forbids it.",
        "A person has decided, without automatic means.",
        "You can also go to court.",
    ):
        assert each in mail
    assert "or the rules" not in mail
    assert "Section 185 forbids it." in text(service, to_reporter)


def test_who_decides_in_the_same_moment_is_named_with_the_reasons(service: Served) -> None:
    comment(service)
    for who in ("Ann", "Mo"):
        reasons = {1: Reasons("rules", f"{who} says so.")}
        service.database.write_now(statements.add, [1], reasons, who, now_of(service))
    assert [(each.actor, each.message) for each in stored(service)] == [("Mo", "Mo says so.")]


def test_without_reasons_the_mail_says_what_it_can(service: Served) -> None:
    comment(service)
    decide(service, DELETED, None)
    mail = text(service, mails(service)[0])
    assert "The moderator found it against the law or the rules of this blog." in mail
    assert "reasons:" not in mail
    assert stored(service) == []


def test_a_mail_says_that_automatic_checks_had_rated_a_comment(service: Served) -> None:
    number = service.database.write_now(_checked, comment(service))
    decide(service, DELETED, None, number)
    assert CHECKED in text(service, mails(service)[0])


def _checked(tx: Transaction, number: int) -> int:
    tx.execute("UPDATE comment SET score = 3, reasons = 'links +3' WHERE id = ?", (number,))
    return number


def test_a_reporter_is_told_why_a_comment_stays(service: Served) -> None:
    comment(service)
    report(service)
    decide(service, APPROVED, Reasons("rules", "It quotes the minister."))
    [row] = mails(service)
    mail = text(service, row)
    assert "It quotes the minister." in mail
    assert "found it against" not in mail, "since it stays"


def test_a_later_decision_does_not_get_the_reasons_of_the_one_before(service: Served) -> None:
    comment(service)
    decide(service, DELETED, SAID)
    service.form(objection(service, mails(service)[0]), "message=Why")
    service.now += 1
    decide(service, DELETED, None)
    first, second = mails(service)
    assert "Section 185" in written(service, first)
    assert "Section 185" not in written(service, second)


@pytest.mark.parametrize("second", [None, Reasons("rules", "Too loud.")])
def test_a_mail_has_the_reasons_of_the_last_decision_before_it_was_due(
    service: Served, second: Reasons | None
) -> None:
    comment(service)
    report(service)
    decide(service, APPROVED, Reasons("", "It may stay."))
    service.now += 1
    decide(service, DELETED, SAID)
    service.now += 1
    decide(service, authorized.TAKE_BACK, None)
    service.now += 1
    decide(service, DELETED, second)
    kinds = [row.kind for row in mails(service)]
    assert kinds == ["report-decided", "removed"]
    for row in mails(service):
        mail = text(service, row)
        assert "It may stay." not in mail
        assert "Section 185" not in mail
        assert ("Too loud." in mail) == bool(second)


def test_a_mail_about_a_decision_that_was_taken_back_has_no_reasons(service: Served) -> None:
    comment(service, status=PENDING)
    decide(service, APPROVED, None)
    report(service)
    service.now += 1
    decide(service, APPROVED, SAID)
    [row] = mails(service)
    service.now += 1
    service.database.write_now(undo.last, [1], "Mo", now_of(service))
    assert "Section 185" not in text(service, row)


def test_undoing_a_decision_deletes_the_reasons_for_what_it_left_published(
    service: Served,
) -> None:
    comment(service)
    report(service)
    others = [comment(service, status=PENDING) for _ in range(2)]
    decide(service, APPROVED, SAID, 1, *others)
    service.now += 1
    decide(service, DELETED, Reasons("", "Later"), others[1])
    made = service.database.read_now(history.last_changes, others[0], STATUS)[0].decision_id
    service.database.write_now(authorized.undo_decision, MO, made, now_of(service))
    assert [len(stored(service, number)) for number in (1, *others)] == [0, 0, 2]


def test_undoing_a_decision_deletes_its_reasons(service: Served) -> None:
    comment(service)
    decide(service, DELETED, SAID)
    [found] = stored(service)
    assert (found.actor, found.ground, found.message) == ("Mo", *SAID)
    service.now += 1
    service.database.write_now(undo.last, [1], "Mo", now_of(service))
    assert stored(service) == []


def test_an_objection_that_is_granted_can_have_reasons_too(service: Served) -> None:
    comment(service)
    decide(service, DELETED, SAID)
    service.form(objection(service, mails(service)[0]), "message=Why")
    service.now += 1
    decide(service, authorized.TAKE_BACK, Reasons("", "You are right."))
    last = text(service, mails(service)[-1])
    assert "The comment is published. The moderator’s reasons: You are right." in last


def test_the_page_to_object_shows_the_reasons_of_its_mail_alone(service: Served) -> None:
    comment(service)
    decide(service, DELETED, SAID)
    link = objection(service, mails(service)[0])
    page = service.get(f"{link}&lang=en").body.decode()
    assert "You named her &lt;address&gt;." in page
    service.now += notices.UNDO_TIME
    decide(service, authorized.TAKE_BACK, None)
    decide(service, DELETED, Reasons("", "Another time"))
    assert "Another time" not in service.get(link).body.decode()


@pytest.mark.parametrize(
    ("ground", "message", "expected"),
    [
        ("", "", None),
        ("crime", " \n\r\t ", None),
        ("law", "", Reasons("law", "")),
        ("x", "Rude\x00\x1b[31m\u202e words", Reasons("", "Rude[31m words")),
        ("rules", "a\r\n\r\nb", Reasons("rules", "a\n\nb")),
        ("rules", "x" * 100_000, Reasons("rules", "x" * LENGTH)),
        ("rules", "\n" * 100_000 + "x", Reasons("rules", "")),
    ],
)
def test_reasons_are_bounded_and_hold_no_control_characters(
    ground: str, message: str, expected: Reasons | None
) -> None:
    assert statements.reasons(ground, message) == expected


def test_reasons_are_personal_data_and_go_with_the_comment(service: Served) -> None:
    comment(service)
    decide(service, DELETED, SAID)
    database, now = service.database, now_of(service)
    [found] = database.read_now(personal_data.export, WRITER, now).comments
    assert found.reasons_given == [f"Against the law: {SAID.message}"]
    assert "Mo" not in found.reasons_given[0]
    database.write_now(retention.forget, WRITER, AUTHOR, now)
    assert stored(service) == []


def test_a_ground_without_words_is_personal_data(service: Served) -> None:
    comment(service)
    decide(service, DELETED, Reasons("rules"))
    [found] = service.database.read_now(personal_data.export, WRITER, now_of(service)).comments
    assert found.reasons_given == ["Against the rules of this blog"]


def test_no_public_answer_has_reasons(service: Served) -> None:
    comment(service)
    service.database.write_now(reports.report, 1, WORD, 1, Reason("spam", email=REPORTER))
    decide(service, APPROVED, Reasons("rules", "Walrus"))
    for path in ("/api/comments?url=/post/", "/embed/thread?url=/post/", "/api/feed.atom"):
        assert "Walrus" not in service.get(path).body.decode()
