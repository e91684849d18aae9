"""The filter's model follows the decisions, and only the first submission waits for it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from commentsvc.comments.submission import Submission
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseBusy
from commentsvc.spam import score, training
from commentsvc.spam.model_cache import PAUSE_MS, ModelCache
from commentsvc.spam.score import Signal
from tests.unit.database_fixture import add, decide, opened

TEXTS = {"spam": "cheap pills casino bonus", "approved": "thank you for this bread"}
SENT = Submission(("blog", "/p/"), "Ann", TEXTS["spam"], "", "", "", None, "", "", "")
HELD = [Signal(score.LIKE_SPAM, "like-spam", "cheap, pills, casino, bonus")]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def teach(database: Database) -> None:
    for status, text in TEXTS.items():
        ids = [
            add(database, author="", status="pending", source=text).comment.id
            for _ in range(training.LEAST)
        ]
        decide(database, status, *ids)


def test_what_was_taught_before_the_start_is_known_at_once(database: Database) -> None:
    teach(database)
    assert ModelCache(database).score(SENT, 0) == HELD


def test_what_is_taught_is_learned_after_a_pause_and_meanwhile_nobody_waits(
    database: Database,
) -> None:
    async def scene(school: ModelCache) -> None:
        assert school.score(SENT, 100_000) == []
        await asyncio.to_thread(teach, database)
        assert school.score(SENT, 100_000 + PAUSE_MS // 2) == []
        assert school.score(SENT, 100_000 + PAUSE_MS) == [], "it is read in another OS thread"
        async with asyncio.timeout(120):
            while school.score(SENT, 100_000 + PAUSE_MS) != HELD:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.01)
        other = msgspec.structs.replace(SENT, message="something else")
        assert school.score(other, 0) == [], "a clock that steps back stops nothing"

    asyncio.run(scene(ModelCache(database)))


def test_a_read_that_fails_is_tried_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([DatabaseBusy("busy")])
    odds = training.odds

    def read(snapshot: Snapshot) -> dict[int, float]:
        for failure in failures:
            raise failure
        return odds(snapshot)

    async def scene(school: ModelCache) -> None:
        school.score(SENT, 0)
        await asyncio.to_thread(teach, database)
        monkeypatch.setattr(training, "odds", read)
        async with asyncio.timeout(120):
            moment = PAUSE_MS
            while school.score(SENT, moment) != HELD:
                moment += PAUSE_MS
                await asyncio.sleep(0.01)

    asyncio.run(scene(ModelCache(database)))
    assert next(failures, None) is None
