"""loadtest/harness/bench.py: what is sent, and which answers are right."""

import json
from dataclasses import replace

import pytest

from loadtest.data.blog import pages
from loadtest.harness.bench import HITS, MISSES, judge, submissions
from loadtest.harness.client import ClientError, Outcome
from loadtest.harness.scenario import MARK, named
from loadtest.harness.service import ServiceError

COUNT, MISS = named(["count", "count-miss"])
GOOD = Outcome(1_000, 1.0, 0, 0, 1, 2, 3, 4, 0.5)


def test_submissions_are_whole_requests_with_one_mark() -> None:
    for request in submissions(pages(), 8080)[:100]:
        head, _, body = request.text.partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}".encode() in head.split(b"\r\n")
        assert request.text.count(MARK.encode()) == 1
        assert request.status == 201
        assert json.loads(body)["url"].startswith("/post/")


@pytest.mark.parametrize(
    "outcome",
    [replace(GOOD, wrong=1), replace(GOOD, failed=1), replace(GOOD, answered=0)],
    ids=["wrong status", "broken connection", "no answer"],
)
def test_anything_but_right_answers_fails_the_run(outcome: Outcome) -> None:
    counters = {HITS: 0, MISSES: 0}
    with pytest.raises(ClientError, match="count: "):
        judge(COUNT, outcome, counters, counters)


def test_the_side_that_must_answer_is_held_to_it() -> None:
    before, after = {HITS: 10, MISSES: 10}, {HITS: 1_010, MISSES: 12}
    judge(COUNT, GOOD, before, after)
    with pytest.raises(ServiceError, match="not answered by the python"):
        judge(MISS, GOOD, before, after)
