"""loadtest/harness/scenario.py: what is asked, what is right, what is aimed at."""

import json

import pytest

from loadtest.data.blog import pages
from loadtest.harness.scenario import LIST, MARK, SCENARIOS, Goal, Question, named, order

PAGES = pages()


def questions(name: str) -> list[Question]:
    return named([name])[0].ask(PAGES)


def test_scenarios_are_found_by_name_and_keep_our_order() -> None:
    assert [scenario.name for scenario in named(["submit", "count"])] == ["count", "submit"]
    assert named([]) == SCENARIOS
    with pytest.raises(KeyError, match="nothing"):
        named(["count", "nothing"])


def test_a_goal_holds_at_its_bound() -> None:
    most, least = Goal("cpu_ns", "most", 500, ""), Goal("rate", "least", 500, "")
    assert most.holds(500)
    assert not most.holds(501)
    assert least.holds(500)
    assert not least.holds(499)


def test_a_count_is_right_only_with_the_seeded_number() -> None:
    first = questions("count")[0]
    right = json.dumps({"count": PAGES[0].count}).encode()
    assert first.is_right(right)
    assert not first.is_right(b'{"count":0}')


def test_a_batch_asks_for_ten_pages() -> None:
    batch = questions("batch")[3]
    assert batch.target.count("url=") == 10
    counts = {page.url: page.count for page in PAGES[30:40]}
    assert batch.is_right(json.dumps({"counts": counts}).encode())
    assert not batch.is_right(json.dumps({"counts": counts | {"/more/": 1}}).encode())


def test_a_list_is_right_when_whole_and_in_order() -> None:
    asked = questions("list")
    assert asked, "some page must have so many comments"
    item = {"content": "x", "html": "<p>x</p>"}
    data = [{**item, "published": f"2026-01-{day:02}T00:00:00Z"} for day in range(1, LIST + 1)]
    assert asked[0].is_right(json.dumps({"data": data, "count": LIST}).encode())
    assert not asked[0].is_right(json.dumps({"data": data[::-1], "count": LIST}).encode())
    assert not asked[0].is_right(json.dumps({"data": data[1:], "count": LIST}).encode())


def test_targets_of_misses_have_a_mark_and_others_none() -> None:
    for scenario in SCENARIOS:
        marked = {MARK in question.target for question in scenario.ask(PAGES)}
        assert marked <= {scenario.answered_by == "python"}, scenario.name


def test_popular_questions_are_asked_more_often() -> None:
    asked = order(1_000)
    assert all(len(asked) % scenario.depth == 0 for scenario in SCENARIOS)
    assert asked.count(0) > asked.count(100)
    assert len(set(asked)) > 500


def test_wrk_plays_what_is_compared_with_other_peoples_figures() -> None:
    assert {s.name for s in SCENARIOS if s.client == "wrk"} == {"count", "count-pipelined"}
    assert not any(MARK in asked.target for asked in questions("count"))
