"""loadtest/servers/contest.py: what is asked, and which ratios are judged."""

import pytest

from loadtest.servers.contest import CHROME, CONTESTS, OURS, Contest, order
from loadtest.servers.peer import PEER

BY_NAME = {contest.name: contest for contest in CONTESTS}


@pytest.mark.parametrize("contest", CONTESTS, ids=lambda contest: contest.name)
def test_ratios_are_of_entries_and_entries_of_servers(contest: Contest) -> None:
    names = [entry.name for entry in contest.entries]
    assert len(set(names)) == len(names)
    assert {name for ratio in contest.ratios for name in (ratio.entry, ratio.by)} <= set(names)
    assert {entry.server for entry in contest.entries} <= {OURS, *PEER}


def test_each_page_is_asked_for_with_what_must_be_answered() -> None:
    first, second = BY_NAME["plain"].requests(["/a/", "/b/"], [b"1", b"2"])
    assert first.text == (
        b"GET /api/comments/count?url=/a/ HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"
    )
    assert (first.status, first.body, second.body) == (200, b"1", b"2")


def test_chrome_sends_some_600_bytes_with_an_origin_and_an_encoded_page() -> None:
    (request,) = BY_NAME["chrome"].requests(["/post/1/"], [b""])
    assert 580 <= len(request.text) <= 680
    assert b"count?url=%2Fpost%2F1%2F HTTP/1.1\r\n" in request.text
    assert "\r\nOrigin: https://blog.example.net\r\n" in CHROME
    assert request.text.endswith(b"\r\n\r\n")
    assert request.text.count(b"\r\n\r\n") == 1


def test_the_order_is_made_of_whole_pipelines_and_prefers_the_first_page() -> None:
    asked = order(1_000)
    assert all(len(asked) % contest.depth == 0 for contest in CONTESTS)
    assert asked.count(0) > 5 * asked.count(9) > 0
    assert max(asked) < 1_000


def test_a_generator_that_shares_its_core_with_a_server_sleeps() -> None:
    shared = {one.name for one in CONTESTS if any(entry.workers > 1 for entry in one.entries)}
    assert shared == {"scaling"}
    assert not BY_NAME["scaling"].awake
