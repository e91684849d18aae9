"""nginx with its micro-cache enabled: fewer requests, and no answer older than a second."""

import time
from functools import partial

import pytest

from loadtest.harness.service import parse_counters
from loadtest.proxies.configs import nginx
from tests.e2e.program import Service, wait_for
from tests.proxy.client import Client
from tests.proxy.conftest import Begin, Network

HITS = "commentsvc_core_hits_total"
MISSES = "commentsvc_core_misses_total"
CONFIRMED = "commentsvc_core_not_modified_total"


@pytest.fixture(scope="module")
def cached(begin: Begin) -> Client:
    return begin(partial(nginx, marks=("#m ",)))


def figures(service: Service) -> dict[str, int]:
    """Return the core's counters."""
    text = service.request("GET", "/metrics").body.decode()
    return parse_counters(text, (HITS, MISSES, CONFIRMED))


def await_second() -> None:
    """Wait until a second has just begun, so that what follows fits into one."""
    time.sleep(1 - time.time() % 1)


def test_one_question_a_second_reaches_the_service(cached: Client, service: Service) -> None:
    target = "/api/comments/count?url=/cached/"
    cached.ask("GET", target)
    await_second()
    before, began = figures(service)[HITS], time.time()
    assert {cached.ask("GET", target).body for _ in range(20)} == {b'{"count":0}'}
    asked = figures(service)[HITS] - before
    assert asked <= 3 + time.time() - began  # on a slow machine, seconds pass meanwhile


def test_a_comment_is_seen_within_a_second(cached: Client, networks: Network) -> None:
    writer, target = cached._replace(source=next(networks)), "/api/comments/count?url=/seen/"
    await_second()  # an answer that is cached now would live longest
    assert cached.ask("GET", target).json() == {"count": 0}
    assert writer.submit("/seen/").status == 201
    acknowledged = time.time()
    asked = acknowledged
    while cached.ask("GET", target).json() == {"count": 0}:
        assert asked - acknowledged <= 1.0, "what was asked for later than that tells of it"
        asked = time.time()


def test_what_has_not_changed_is_confirmed_by_its_tag(cached: Client, service: Service) -> None:
    target = "/api/comments/count?url=/confirmed/"

    def is_confirmed() -> bool:
        before = figures(service)[CONFIRMED]
        assert cached.ask("GET", target).json() == {"count": 0}
        return figures(service)[CONFIRMED] > before

    wait_for(is_confirmed, "a question with If-None-Match")


def test_what_is_not_public_is_not_kept(cached: Client, service: Service) -> None:
    for target in ("/healthz", "/api/form-token?url=/post/", "/moderation/sign-in"):
        before = figures(service)[MISSES]
        for _ in range(3):
            cached.ask("GET", target)
        assert figures(service)[MISSES] - before >= 3, target
