"""Authors change their own comments, readers vote, and nobody can do it for someone else."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commentsvc.feedback import reports
from commentsvc.http.messages import Response
from commentsvc.settings.schema import CommentsSettings, ModerationSettings, SpamSettings
from tests.unit.app_fixture import SETTINGS, Served, data, faults, served

VOTER = "a-random-word"
MINUTES = 60.0


@pytest.fixture
def token(service: Served) -> str:
    """Return the edit token of comment 1."""
    return str(data(service.submit("Hello"))["token"])


def edit(service: Served, token: str, message: object = "New", number: int = 1) -> Response:
    return send(service, "PATCH", f"/api/comments/{number}", {"message": message}, token)


def withdraw(service: Served, token: str, number: int = 1, **headers: str) -> Response:
    target = f"/api/comments/{number}"
    return service.ask("DELETE", target, b"", authorization=f"Bearer {token}", **headers)


def send(
    service: Served, method: str, target: str, fields: object, token: str = "", **headers: str
) -> Response:
    body = data_of(fields)
    headers = {"content_type": "application/json", **headers}
    if token:
        headers["authorization"] = f"Bearer {token}"
    return service.ask(method, target, body, **headers)


def data_of(fields: object) -> bytes:
    return json.dumps(fields).encode()


def vote(service: Served, value: object, number: int = 1, **changes: Any) -> Response:
    fields = {"vote": value, "voter": VOTER} | changes
    return service.post(f"/api/comments/{number}/votes", fields)


def vote_from(service: Served, peer: str, voter: str) -> Response:
    body = json.dumps({"vote": 1, "voter": voter}).encode()
    target = "/api/comments/1/votes"
    return service.ask("POST", target, body, peer, content_type="application/json")


def listed(service: Served, query: str = "") -> Any:
    return data(service.get(f"/api/comments?url=/p/{query}"))


def test_an_author_edits_a_comment(service: Served, token: str) -> None:
    answer = edit(service, token, "*New*")
    assert answer.status == 200
    answered = data(answer)
    assert (answered["status"], answered["comment"]["html"]) == (
        "approved",
        "<p><em>New</em></p>\n",
    )
    assert answered["comment"]["edited"].endswith("Z")
    assert [item["content"] for item in listed(service)["data"]] == ["*New*"]


def test_spam_cannot_be_put_into_an_approved_comment(service: Served, token: str) -> None:
    links = " ".join(f"https://{number}.example/" for number in range(5))
    assert data(edit(service, token, links))["status"] == "pending"
    assert listed(service)["count"] == 0


def test_where_all_is_moderated_an_edit_is_too(tmp_path: Path) -> None:
    with served(
        tmp_path, replace(SETTINGS, moderation=ModerationSettings(policy="all"))
    ) as service:
        token = data(service.submit("Hello"))["token"]
        assert data(edit(service, token))["status"] == "pending"


def test_only_the_token_of_the_comment_changes_it(service: Served, token: str) -> None:
    other = data(service.submit("Ho"))["token"]
    target, body = "/api/comments/1", data_of({"message": "New"})
    for headers in (
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": f"Bearer {other}"},
        {"authorization": f"Basic {token}"},
        {"authorization": "Bearer " + "x" * 5_000},
        {"authorization": f"Bearer {token}\u00ff"},
    ):
        for method in ("PATCH", "DELETE"):
            answer = service.ask(method, target, body, content_type="application/json", **headers)
            assert answer.status == 401
            assert dict(answer.headers)["WWW-Authenticate"].startswith("Bearer")
    assert [item["content"] for item in listed(service)["data"]] == ["Hello", "Ho"]
    assert edit(service, token).status == 200


def test_after_the_edit_time_it_is_too_late(service: Served, token: str) -> None:
    service.now += SETTINGS.moderation.edit_minutes * MINUTES
    for answer in (edit(service, token), withdraw(service, token)):
        assert (answer.status, data(answer)["error"]["code"]) == (403, "too_late")


def test_an_author_deletes_a_comment_and_may_say_so_twice(service: Served, token: str) -> None:
    for _ in range(2):
        answer = withdraw(service, token)
        assert (answer.status, answer.body) == (204, b"")
    assert listed(service)["count"] == 0
    assert edit(service, token).status == 404


@pytest.mark.parametrize("number", ["99", "0", "999999999999999999"])
def test_an_unknown_comment_is_not_found(service: Served, number: str) -> None:
    for method, below in (("PATCH", ""), ("DELETE", ""), ("POST", "/votes")):
        target = f"/api/comments/{number}{below}"
        assert send(service, method, target, {"vote": 1, "voter": VOTER}).status == 404


def test_other_paths_are_no_comments(service: Served) -> None:
    for path in ("x", "-1", "1/x", "1/", "9999999999999999999", "1.0", "%31x"):
        assert send(service, "PATCH", f"/api/comments/{path}", {}).status == 404
    assert service.get("/api/comments/1").status == 405


@pytest.mark.parametrize("message", ["", None, 7, "x" * 201, "  "])
def test_a_new_text_is_checked_as_a_first_one(service: Served, token: str, message: object) -> None:
    assert faults(edit(service, token, message)) == ["message"]


def test_nothing_but_the_text_can_be_edited(service: Served, token: str) -> None:
    answer = send(service, "PATCH", "/api/comments/1", {"message": "x", "author": "Bob"}, token)
    assert faults(answer) == ["author"]


def test_edits_count_against_the_rate(tmp_path: Path) -> None:
    with served(tmp_path, replace(SETTINGS, spam=SpamSettings(rate_limit="2/minute"))) as service:
        token = data(service.submit("Hello"))["token"]
        assert edit(service, token, "A").status == 200
        answer = edit(service, token, "B")
        assert answer.status == 429
        assert dict(answer.headers)["Retry-After"] == "30"


def test_foreign_pages_change_nothing(service: Served, token: str) -> None:
    assert withdraw(service, token, origin="https://evil.example").status == 403
    answer = withdraw(service, token, origin="https://blog.example")
    assert dict(answer.headers)["Access-Control-Allow-Origin"] == "https://blog.example"


def test_a_browser_may_ask_whether_it_may(service: Served) -> None:
    answer = service.ask(
        "OPTIONS",
        "/api/comments/1",
        origin="https://blog.example",
        access_control_request_method="PATCH",
    )
    headers = dict(answer.headers)
    assert "PATCH" in headers["Access-Control-Allow-Methods"]
    assert "authorization" in headers["Access-Control-Allow-Headers"]


def test_a_vote_is_seen_in_the_list_and_sorts_it(service: Served) -> None:
    for text in ("One", "Two"):
        service.submit(text)
    assert listed(service)["voting"] == "up"
    assert data(vote(service, 1, 2)) == {"votes": 1, "vote": 1}
    assert [item["votes"] for item in listed(service, "&sort=top")["data"]] == [1, 0]
    assert [item["id"] for item in listed(service, "&sort=top")["data"]] == [2, 1]
    assert data(vote(service, 0, 2)) == {"votes": 0, "vote": 0}


@pytest.mark.parametrize("value", [-1, 2, True, "1", None, 1.0])
def test_a_vote_is_one_of_those_allowed(service: Served, value: object) -> None:
    service.submit()
    assert faults(vote(service, value)) == ["vote"]


@pytest.mark.parametrize("voter", ["short", "x" * 65, "white space", None, 7])
def test_a_voter_is_a_random_word(service: Served, voter: object) -> None:
    service.submit()
    assert faults(vote(service, 1, voter=voter)) == ["voter"]


def test_a_ballot_has_these_fields_alone(service: Served) -> None:
    service.submit()
    for sent in ("[]", '"x"', "{"):
        answer = service.ask(
            "POST", "/api/comments/1/votes", sent.encode(), content_type="application/json"
        )
        assert data(answer)["error"]["code"] == "malformed"
    assert faults(vote(service, 1, x=1)) == ["x"]
    assert faults(service.post("/api/comments/1/votes", {})) == ["vote", "voter"]


def test_a_vote_is_no_longer_than_it_must_be(service: Served) -> None:
    number = data(service.submit("Hi"))["comment"]["id"]
    long = {"vote": 1, "voter": "v" * 16, "more": [[]] * 1_000}
    answer = service.post(f"/api/comments/{number}/votes", long)
    assert (answer.status, data(answer)["error"]["code"]) == (400, "malformed")


def test_the_settings_say_how_one_may_vote(tmp_path: Path) -> None:
    for name, against, status in (("both", -1, 200), ("off", 1, 404)):
        folder = tmp_path / name
        folder.mkdir()
        settings = replace(SETTINGS, comments=replace(CommentsSettings(), votes=name))
        with served(folder, settings) as service:
            service.submit()
            assert vote(service, against).status == status
            assert listed(service).get("voting") == (None if name == "off" else name)


def test_votes_are_bounded_for_a_network(tmp_path: Path) -> None:
    spam = SpamSettings(rate_limit="off", vote_limit="2/hour")
    with served(tmp_path, replace(SETTINGS, spam=spam)) as service:
        service.submit()
        assert [vote(service, value).status for value in (1, 0, 1)] == [200, 200, 429]


def test_too_many_votes_of_a_network_are_a_conflict(service: Served) -> None:
    service.submit()
    answers = [vote(service, 1, voter=f"{VOTER}-{number}") for number in range(21)]
    assert [answer.status for answer in answers] == [200] * 20 + [409]


def test_many_networks_of_one_ipv6_48_are_no_crowd(service: Served) -> None:
    service.submit()
    statuses = [
        vote_from(service, f"2001:db8:1:{n:x}00::1", f"{VOTER}-{n}").status for n in range(61)
    ]
    assert statuses == [200] * 60 + [409]
    assert vote_from(service, "2001:db8:2::1", VOTER).status == 200


def report(service: Served, reporter: str = VOTER, number: int = 1) -> Response:
    return service.post(f"/api/comments/{number}/reports", {"reporter": reporter})


def test_a_report_of_a_reader_counts_once_until_a_moderator_decides(
    service: Served, token: str
) -> None:
    for word in (VOTER, VOTER, "another-word"):
        answer = report(service, word)
        assert (answer.status, answer.body) == (204, b"")
    assert service.database.read_now(reports.of_comments, [1]) == {1: reports.Reports(2)}
    [entry] = service.database.read_now(reports.reported, None, 10)
    assert entry.comment.id == 1
    assert service.database.read_now(reports.reported, ["another"], 10) == []
    assert listed(service)["count"] == 1  # it is still shown
    assert withdraw(service, token).status == 204
    assert service.database.read_now(reports.reported, None, 10) == []
    assert report(service).status == 404


def test_reports_are_bounded_and_what_is_none_is_refused(service: Served, token: str) -> None:
    assert token
    assert faults(report(service, "short")) == ["reporter"]
    assert service.post("/api/comments/1/reports", {}).status == 400
    assert report(service, number=99).status == 404
    answers = [report(service, f"a-random-word-{n}").status for n in range(11)]
    assert answers == [204] * 10 + [429]


def test_a_comment_keeps_no_more_reports_than_tell_something(service: Served, token: str) -> None:
    assert token
    for n in range(reports.MOST + 5):
        service.database.write_now(reports.report, 1, f"a-random-word-{n}", 0)
    found = service.database.read_now(reports.of_comments, [1])
    assert found == {1: reports.Reports(reports.MOST)}


def test_a_report_has_a_reason_and_a_line_of_explanation_if_the_client_asks_for_them(
    service: Served, token: str
) -> None:
    """Regression: one tap reported, and moderators did not learn why."""
    assert token

    def sent(word: str, **fields: object) -> int:
        return service.post("/api/comments/1/reports", {"reporter": word, **fields}).status

    assert sent("a-random-word", reason="spam", explanation=" Buy\n\x00now\u202e ") == 204
    assert sent("another-word", reason="spam") == 204
    assert sent("a-third-word", reason="illegal", explanation="字" * 500) == 204
    [found] = service.database.read_now(reports.of_comments, [1]).values()
    assert found.reasons == (("spam", 2), ("illegal", 1))
    assert sorted(found.explanations) == ["Buy now", "字" * 500]
    # Whoever reports again corrects the reason
    assert sent("a-random-word", reason="illegal", explanation="A threat") == 204
    [found] = service.database.read_now(reports.of_comments, [1]).values()
    assert (found.number, found.reasons[0]) == (3, ("illegal", 2))
    assert "Buy now" not in found.explanations


def test_a_reason_that_is_none_and_a_long_explanation_are_refused(
    service: Served, token: str
) -> None:
    assert token
    for fields in ({"reason": "dislike"}, {"reason": ""}, {"explanation": "x" * 501}):
        answer = service.post("/api/comments/1/reports", {"reporter": VOTER, **fields})
        assert faults(answer) == [*fields]
    long = {"reporter": VOTER, "explanation": "x" * 9_000}
    assert service.post("/api/comments/1/reports", long).status == 400
    assert service.database.read_now(reports.of_comments, [1]) == {}
