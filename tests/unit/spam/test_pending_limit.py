"""The limit of pending comments: a network's share, and the limit of a site."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.db.database import Database
from commentsvc.settings.schema import SpamSettings
from commentsvc.spam import pending_limit
from commentsvc.spam.pending_limit import NETWORK_FULL, RECOUNT_MS, SITE_FULL, PendingLimit
from commentsvc.util.client_network import network_of
from commentsvc.util.i18n import Text
from commentsvc.util.lasting import Lasting
from commentsvc.util.timestamps import DAY_MS
from tests.unit.database_fixture import add, decide, opened

HERE, THERE = b"abc", b"def"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def limit(
    database: Database, per_day: int = 1_000, site: int = 0, rate: str = "1/day"
) -> PendingLimit:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pending_limit, "SITE_PENDING", site)
        settings = SpamSettings(rate_limit=rate, pending_limit=f"{per_day}/day")
        return PendingLimit(settings, database, Lasting())


def texts(limit: PendingLimit, number: int, network: bytes = HERE, now_ms: int = 0) -> list[Text]:
    """Submit `number` comments; return the error for each, "" for those that may be pending."""
    refusals = [limit.take("blog", network, now_ms) for _ in range(number)]
    return [refusal.text if refusal else "" for refusal in refusals]


def test_a_network_has_a_days_share_of_the_queue(database: Database) -> None:
    bound = limit(database, per_day=3)
    assert texts(bound, 4) == ["", "", "", NETWORK_FULL]
    assert texts(bound, 1, THERE) == [""]
    refusal = bound.take("blog", HERE, 0)
    assert refusal
    assert refusal.retry_after == 86_400 / 3
    assert texts(bound, 4, now_ms=DAY_MS) == ["", "", "", NETWORK_FULL]


def test_an_ipv6_48_has_the_share_of_three_networks(database: Database) -> None:
    """Its 256 networks could fill the queue of a site within two days."""
    bound = limit(database, per_day=3)
    networks = [network_of(f"2001:db8:1:{number:x}00::1") for number in range(256)]
    assert [bound.take("blog", each, 0) for each in networks].count(None) == 9


def test_the_queue_of_a_site_is_bounded_until_somebody_decides(database: Database) -> None:
    first = [add(database, status="pending").comment.id for _ in range(2)]
    add(database, status="approved")
    bound = limit(database, site=3)
    assert texts(bound, 2) == ["", SITE_FULL]
    add(database, status="pending")
    decide(database, "approved", *first)
    assert texts(bound, 1) == [SITE_FULL], "it is not counted again for each"
    assert texts(bound, 3, now_ms=RECOUNT_MS) == ["", "", SITE_FULL]


def test_other_sites_have_their_own_queue(database: Database) -> None:
    bound = limit(database, site=1)
    assert texts(bound, 2) == ["", SITE_FULL]
    assert bound.take("notes", HERE, 0) is None


def test_without_a_rate_limit_nothing_is_bounded(database: Database) -> None:
    assert texts(limit(database, per_day=1, site=1, rate="off"), 3) == ["", "", ""]
    assert texts(limit(database, site=0), 3) == ["", "", ""]


def test_what_waits_for_the_classifier_alone_counts_for_the_site(database: Database) -> None:
    bound = limit(database, per_day=1, site=2)
    assert [bound.take("blog", None, 0) for _ in range(2)] == [None, None]
    refusal = bound.take("blog", None, 0)
    assert refusal
    assert refusal.text == SITE_FULL
