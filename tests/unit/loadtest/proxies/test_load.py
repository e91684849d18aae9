"""loadtest/proxies/load.py: what h2load says, and who is on which core."""

import pytest

from loadtest.harness.client import ClientError
from loadtest.proxies.load import parse_h2load, placed

SAID = """
finished in 1.52s, 39421.21 req/s, 8.21MB/s
requests: 60000 total, 60000 started, 60000 done, 59998 succeeded, 2 failed, 0 errored, 1 timeout
status codes: 59990 2xx, 0 3xx, 8 4xx, 0 5xx
"""


def test_what_h2load_says_is_read() -> None:
    outcome = parse_h2load(SAID, 0.5)
    assert (outcome.answered, outcome.wrong, outcome.failed) == (59_990, 8, 3)
    assert (outcome.seconds, outcome.client_share) == (1.52, 0.5)
    assert parse_h2load(SAID.replace("1.52s", "152.00ms"), 0).seconds == 0.152


def test_an_h2load_that_failed_is_told() -> None:
    with pytest.raises(ClientError, match="could not connect"):
        parse_h2load("could not connect", 0)


def test_the_proxy_has_a_core_for_itself_or_shares_both() -> None:
    assert placed((2, 5), "apart") == ([2], [5])
    assert placed((2, 5), "together") == ([2, 5], [2, 5])
