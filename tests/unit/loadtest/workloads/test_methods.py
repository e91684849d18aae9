"""loadtest/workloads/methods.py: what ab is told, and what it says."""

from pathlib import Path

import pytest

from loadtest.harness.client import ClientError
from loadtest.workloads import methods

SAID = """Concurrency Level:      5
Time taken for tests:   0.500 seconds
Complete requests:      10000
Failed requests:        2
Non-2xx responses:      3
Percentage of the requests served within a certain time (ms)
  50%      1
  66%      1
  90%      2
  99%     16
 100%     30 (longest request)
"""


def test_what_ab_says_is_read() -> None:
    outcome = methods.parse(SAID, 0.5)
    assert (outcome.answered, outcome.failed, outcome.wrong) == (9_995, 2, 3)
    assert (outcome.p50, outcome.p99, outcome.max) == (1_000, 16_000, 30_000)
    assert outcome.seconds == 0.5
    assert methods.parse(SAID.replace("Non-2xx responses:      3\n", ""), 0.5).wrong == 0
    with pytest.raises(ClientError, match="Complete"):
        methods.parse("apr_socket_recv: Connection refused", 0.5)


def test_each_method_is_asked_for_by_its_option() -> None:
    body = Path("/body")
    assert methods.asking("GET", body) == []
    assert methods.asking("POST", body)[:2] == ["-p", "/body"]
    assert methods.asking("PUT", body)[:2] == ["-u", "/body"]
    assert methods.asking("DELETE", body) == ["-m", "DELETE"]
