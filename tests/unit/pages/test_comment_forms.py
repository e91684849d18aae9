"""Votes, reports, edits and deletions by forms, without JavaScript."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from commentsvc.feedback import reports
from commentsvc.http.messages import Response
from commentsvc.model import APPROVED, DELETED, REPORT_REASONS, SPAM
from commentsvc.moderation import changes
from commentsvc.settings.schema import CommentsSettings, PrivacySettings
from tests.unit.app_fixture import SETTINGS, Served, served

ACTIONS = "/embed/actions"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    settings = replace(SETTINGS, comments=CommentsSettings(votes="both"))
    with served(tmp_path, settings) as running:
        yield running


def act(service: Served, do: str, comment: object = 1, **more: str) -> Response:
    fields = "".join(f"&{name}={value}" for name, value in more.items() if name != "peer")
    body = f"comment={comment}&do={do}{fields}"
    peers = {"peer": more["peer"]} if "peer" in more else {}
    return service.form(f"{ACTIONS}?lang=de", body, **peers)


def thread(service: Served) -> str:
    return service.get("/embed/thread?url=/p/&view=page").body.decode()


def test_a_network_votes_once_for_a_comment_of_others(service: Served) -> None:
    service.submit("Hello")
    own = act(service, "up")
    assert own.status == 409, "it is its own"
    assert "schon abgestimmt, oder er wurde dort geschrieben" in own.body.decode()
    service.purged.clear()
    answer = act(service, "down", peer="198.51.100.1")
    location = "thread?url=%2Fp%2F&view=page&site=blog&lang=de#commentsvc-1"
    assert (answer.status, dict(answer.headers)["Location"]) == (303, location)
    assert "thread:blog:/p/" in service.purged
    assert '<span class="commentsvc-votes">-1</span>' in thread(service)
    again = act(service, "up", peer="198.51.100.1")
    assert again.status == 409
    assert "<form" not in again.body.decode()
    assert "▲" not in service.get("/embed/thread?url=/p/").body.decode(), "it has no scripts"


def test_without_network_hashes_a_network_votes_once_a_day(tmp_path: Path) -> None:
    settings = replace(SETTINGS, privacy=PrivacySettings(keep_network_days=0))
    with served(tmp_path, settings) as service:
        service.submit("Hello")
        assert [act(service, "up").status for _ in range(2)] == [303, 409]
        assert act(service, "down", peer="198.51.100.1").status == 404, "there are only votes for"


def test_a_report_asks_for_its_reason_and_counts_once_from_each_network(service: Served) -> None:
    service.submit("Buy this")
    page = act(service, "report").body.decode()
    assert "Buy this" in page
    assert "Warum meldest du diesen Kommentar?" in page
    reasons = re.findall('<input type="radio" name="reason" value="([a-z]+)" required>', page)
    assert reasons == [*REPORT_REASONS]
    assert service.database.read_now(reports.of_comments, [1]) == {}
    for reason in ("spam", "other"):
        answer = act(service, "report", reason=reason, explanation="It+sells%0d%0athings")
        assert answer.status == 200
        assert "Die Moderation sieht sich diesen Kommentar an." in answer.body.decode()
    assert 'href="https://blog.example/p/#commentsvc-1"' in answer.body.decode()
    [found] = service.database.read_now(reports.of_comments, [1]).values()
    assert found[:2] == (1, (("other", 1),))
    assert found.explanations == ["It sells things"]
    act(service, "report", reason="abuse", peer="198.51.100.1")
    [found] = service.database.read_now(reports.of_comments, [1]).values()
    assert found.number == 2


def test_a_report_that_is_refused_for_now_can_be_sent_again(service: Served) -> None:
    service.submit("Buy this")
    fields = {"reason": "abuse", "explanation": "It+hurts+%3Cme>"}
    answers = [act(service, "report", **fields) for _ in range(50)]
    refused = next(answer for answer in answers if answer.status == 429).body.decode()
    assert 'value="abuse" checked required>' in refused
    assert refused.count("checked") == 1
    assert "\nIt hurts &lt;me&gt;</textarea>" in refused
    assert '<input type="hidden" name="comment" value="1">' in refused
    gone = act(service, "report", comment=99, peer="198.51.100.1", **fields)
    assert gone.status == 404
    assert "<textarea" not in gone.body.decode(), "it can never be sent"


def test_only_a_comment_that_is_shown_is_reported(service: Served) -> None:
    service.submit("Hello")
    service.database.write_now(changes.change, [1], SPAM, "mo", 0)
    assert act(service, "report").status == 404
    assert act(service, "report", reason="spam").status == 404
    assert act(service, "report", comment=99).status == 404


def own(html: str) -> dict[str, str]:
    """Return the fields of the form with which an author changes a comment."""
    fields = dict(re.findall(r'<input type="hidden" name="(comment|token)" value="([^"]*)">', html))
    [message] = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", html, re.DOTALL)
    return {**fields, "message": unescape(message)}


def test_authors_change_and_delete_what_they_have_just_sent(service: Served) -> None:
    sent = service.form("/embed/thread", "url=/p/&author=Ann&message=*Frist* <b>")
    mine = own(sent.body.decode())
    assert mine["message"] == "*Frist* <b>"
    changed = act(service, "edit", **mine | {"message": "*First*"})
    assert changed.status == 200
    assert own(changed.body.decode()) == mine | {"message": "*First*"}
    assert "<em>First</em>" in thread(service)
    refused = act(service, "edit", **mine | {"message": "x" * 9_000})
    assert refused.status == 400
    assert 'id="commentsvc-message-fault"' in refused.body.decode()
    assert own(refused.body.decode())["message"] == "x" * 9_000, "what was typed is kept"
    [entry] = service.stored()
    assert (entry.comment.source, entry.comment.status) == ("*First*", APPROVED)
    asked = act(service, "delete", **mine)
    assert "<title>Diesen Kommentar löschen?</title>" in asked.body.decode()
    assert "<em>First</em>" in asked.body.decode()
    assert 'href="https://blog.example/p/#commentsvc-1"' in asked.body.decode()
    assert service.stored()[0].comment.status == APPROVED, "it asks first"
    sure = dict(re.findall(r'name="(comment|do|sure|token)" value="([^"]*)"', asked.body.decode()))
    answer = act(service, **sure)
    assert "Dein Kommentar wurde gelöscht." in answer.body.decode()
    assert service.stored()[0].comment.status == DELETED
    assert [act(service, do, **mine).status for do in ("edit", "delete")] == [404, 404]


@pytest.mark.parametrize("more", [{"token": "wrong"}, {"unknown": "1"}, {"sure": "maybe"}])
def test_a_refused_edit_holds_its_text(service: Served, more: dict[str, str]) -> None:
    service.submit("Hello")
    answer = act(service, "edit", message="kept", **more)
    assert answer.status >= 400
    assert re.search(r"<textarea[^>]*>\nkept</textarea>", answer.body.decode())


@pytest.mark.parametrize("url", ["/p/", "https://other.example/", ""])
def test_a_refused_comment_holds_its_text(service: Served, url: str) -> None:
    fields = urlencode({"url": url, "author": "Ann", "message": "kept", "unknown": "1"})
    answer = service.form("/embed/thread", fields)
    assert answer.status >= 400
    assert re.search(r"<textarea[^>]*>\nkept</textarea>", answer.body.decode())


def test_nobody_else_changes_a_comment(service: Served) -> None:
    service.submit("Hello")
    for do, sure in (("edit", ""), ("delete", ""), ("delete", "yes")):
        answer = act(service, do, token="x", message="Mine", sure=sure)
        assert (answer.status, "WWW-Authenticate" in dict(answer.headers)) == (401, True)
    assert [entry.comment.source for entry in service.stored()] == ["Hello"]
    foreign = service.form(ACTIONS, "comment=1&do=up", origin="https://elsewhere.example")
    assert foreign.status == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("comment=7&do=up", 404),
        ("comment=7&do=report", 404),
        ("comment=7&do=delete&token=x", 404),
        ("comment=0&do=up", 400),
        ("comment=1&do=like", 400),
        ("comment=1&do=delete&token=x&sure=no", 400),
        ("do=up", 400),
        ("comment=1&do=up&more=1", 400),
    ],
)
def test_what_is_malformed_is_refused(service: Served, body: str, status: int) -> None:
    answer = service.form(ACTIONS, body)
    assert answer.status == status
    assert dict(answer.headers)["Content-Type"].startswith("text/html")
