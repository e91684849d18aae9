"""loadtest/workloads/attack.py: what is sent, and the table."""

import json

import pytest

from commentsvc.settings.schema import CommentsSettings
from loadtest.data.blog import Page
from loadtest.harness.browsers import Seen
from loadtest.harness.client import Outcome
from loadtest.harness.environment import sum_up
from loadtest.harness.measurement import Row
from loadtest.harness.scenario import MARK
from loadtest.workloads import attack

PAGES = [Page(f"/post/{rank}/", 200 - rank) for rank in range(1, 121)]


def body_of(one: attack.Attack) -> dict[str, str]:
    head, _, body = one.requests[0].text.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    found: dict[str, str] = json.loads(body)
    return found


@pytest.mark.parametrize("name", attack.BOMBS)
def test_a_bomb_is_no_longer_than_a_message_may_be(name: str) -> None:
    most = CommentsSettings().message_length
    message = body_of(attack.preview(name, attack.BOMBS[name]))["message"]
    assert most * 0.9 < len(message) <= most


def test_a_submission_is_new_each_time() -> None:
    assert MARK in body_of(attack.submit("x", "/post/1/", "Hello"))["key"]


def test_requests_that_are_limited_come_from_many_networks() -> None:
    one = attack.preview("x", "Hello")
    assert len({request.text for request in one.requests}) == attack.NETWORKS


def test_misses_ask_for_what_was_never_asked() -> None:
    misses = [one for one in attack.reads(PAGES) if one.name.endswith("a miss")]
    assert len(misses) == 6
    assert all(MARK.encode() in one.requests[0].text for one in misses)


def test_the_table_begins_with_the_dearest_attack() -> None:
    seen = {"readers_p50": 40.0, "readers_p99": 900.0, "queue_ms": 5.0, "queue_max_ms": 7.0}
    about = {"round": 1, "disturbed": False, **seen}
    costs = {"rate": 100.0, "errors": 0}
    rows: list[Row] = [
        {"scenario": attack.CALM, **about},
        {"scenario": "cheap", "cpu_ns": 10_000.0, **costs, **about},
        {"scenario": "dear", "cpu_ns": 2_000_000.0, **costs, **about},
    ]
    lines = attack.table(sum_up({}, {}, rows, lambda _: [])).splitlines()
    assert [line.split()[0] for line in lines] == ["attack", "dear", "cheap", "no"]
    assert "2,000" in lines[1]
    assert "0.90" in lines[1]


def test_each_status_of_success_is_an_answer_and_no_refusal_is() -> None:
    outcome = Outcome(3, 1.0, 9, 1, 0, 0, 0, 0, 0.5)
    seen = Seen(outcome, 0, 0, 0, 0, {"201": 3, "202": 5, "429": 4})
    found = attack.accepted(seen, 201)
    assert (found.answered, found.wrong, found.failed) == (8, 4, 1)
    assert attack.accepted(seen, 429).wrong == 0
