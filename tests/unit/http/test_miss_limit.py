"""The limit of cache misses: reads cost a network what they cost the server; hits are free."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest

from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.http.messages import CorsPolicy, HttpError, Request, Response
from commentsvc.http.miss_limit import LATER, SIZE, MissLimiter
from commentsvc.http.router import Route, Router
from commentsvc.settings.schema import ServerSettings
from commentsvc.util.database_cost import database_ms
from commentsvc.util.lasting import Lasting
from tests.unit.database_fixture import opened
from tests.unit.settable_clock import SettableClock

OURS, OTHER = "192.0.2.1", "198.51.100.1"


async def long_answer(_: Request) -> Response:
    """Answer like a thread of 160 KB, after a while."""
    await asyncio.sleep(0)
    return Response(200, (), bytes(20 * SIZE), ("tag",))


async def failing(_: Request) -> Response:
    await asyncio.sleep(0)
    raise HttpError(404, "not_found", "There is nothing.")


def short_answer(_: Request) -> Response:
    return Response(200, (), b"{}", ("tag",))


async def slow_answer(_: Request) -> Response:
    """Answer with little, after a query of 20 ms."""
    await asyncio.sleep(0)
    database_ms.set(database_ms.get() + 20)
    return Response(200, (), b"{}", ("tag",))


def token(_: Request) -> Response:
    return Response(200, (), b"{}")


class Limited:
    """A router with a limit, and its clock."""

    def __init__(self, limit: str) -> None:
        self.clock = SettableClock(0)
        routes = [
            Route(method, path, handler)
            for path, handler in (
                ("/short", short_answer),
                ("/token", token),
                ("/long", long_answer),
                ("/failing", failing),
                ("/moderation/queue", short_answer),
                ("/slow", slow_answer),
                ("/slow now", self._slow_now),
                ("/no database", self._wait_in_vain),
            )
            for method in ("GET", "POST")
        ]
        router = Router(
            routes, CorsPolicy(()), lambda e: e if isinstance(e, HttpError) else None, 1
        )
        settings = ServerSettings(miss_limit=limit)
        self._limiter = MissLimiter(router, settings, self.clock, Lasting(), {"/token"})

    def _slow_now(self, _: Request) -> Response:
        self.clock.elapsed += 20
        return Response(200, (), b"{}", ("tag",))

    def _wait_in_vain(self, _: Request) -> Response:
        self.clock.elapsed += 20
        raise HttpError(503, "busy", "The database does not answer.")

    def begin(
        self, path: str, peer: str = OURS, method: str = "GET", query: str = ""
    ) -> Response | Awaitable[Response]:
        request = Request(method, path, query, b"", peer, lambda _: None)
        return self._limiter.handle(request)

    async def ask(self, path: str, peer: str = OURS, method: str = "GET", query: str = "") -> int:
        answer = self.begin(path, peer, method, query)
        response = answer if isinstance(answer, Response) else await answer
        return response.status


@pytest.fixture
def limited() -> Limited:
    return Limited("50/minute")


def test_a_network_beyond_its_limit_is_told_to_wait(limited: Limited) -> None:
    async def main() -> None:
        assert [await limited.ask("/short") for _ in range(401)] == [200] * 400 + [429]
        assert await limited.ask("/short", "192.0.2.99") == 429
        assert await limited.ask("/short", OTHER) == 200
        refused = limited.begin("/short")
        assert isinstance(refused, Response)
        assert dict(refused.headers)["Retry-After"] == "1"
        assert b"too_many_reads" in refused.body
        limited.clock.elapsed += 1_000
        assert await limited.ask("/short") == 200

    asyncio.run(main())


def test_the_256_networks_of_an_ipv6_48_cost_what_three_may(limited: Limited) -> None:
    async def main() -> None:
        peers = [f"2001:db8:1:{number:x}00::1" for number in range(256)]
        answers = [await limited.ask("/short", peer) for peer in peers * 10]
        assert answers.count(200) == 1_200
        assert await limited.ask("/moderation/queue", peers[0]) == 200
        assert await limited.ask("/short", "2001:db8:2::1") == 200

    asyncio.run(main())


def test_a_long_answer_costs_more(limited: Limited) -> None:
    async def main() -> None:
        assert [await limited.ask("/long") for _ in range(4)] == [200, 200, 200, 429]

    asyncio.run(main())


def test_many_at_once_do_not_pass_as_few(limited: Limited) -> None:
    async def main() -> None:
        begun = [limited.begin("/long") for _ in range(100)]
        later = [asyncio.ensure_future(each) for each in begun if not isinstance(each, Response)]
        await asyncio.gather(*later)
        assert len(later) <= 50 / LATER + 1

    asyncio.run(main())


def test_a_question_that_is_posted_is_a_read(limited: Limited) -> None:
    async def main() -> None:
        answers = [await limited.ask("/token", method="POST") for _ in range(100)]
        assert (answers[0], answers[-1]) == (200, 429)
        assert await limited.ask("/short", method="POST") == 200

    asyncio.run(main())


def test_what_fails_costs_little(limited: Limited) -> None:
    async def main() -> None:
        assert {await limited.ask("/failing") for _ in range(300)} == {404}

    asyncio.run(main())


def test_an_answer_that_is_not_stored_costs_more(limited: Limited) -> None:
    async def main() -> None:
        assert [await limited.ask("/token") for _ in range(100)].count(200) == 80

    asyncio.run(main())


def test_a_slow_answer_costs_the_time_that_it_took(limited: Limited) -> None:
    """With a long thread, a query of 60 ms for an answer of 50 bytes cost an eighth of one."""

    async def main() -> None:
        assert [await limited.ask("/slow") for _ in range(10)].count(200) == 3
        assert [await limited.ask("/slow now", OTHER) for _ in range(10)].count(200) == 3

    asyncio.run(main())


def test_waiting_for_a_database_that_does_not_answer_costs_as_little_as_a_short_answer(
    limited: Limited,
) -> None:
    """Regression: readers were refused after an outage, for the time that they had waited."""

    async def main() -> None:
        assert {await limited.ask("/no database") for _ in range(300)} == {503}

    asyncio.run(main())


def test_what_the_database_works_is_known_in_each_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SettableClock(0)

    def work(_snapshot: Snapshot) -> None:
        clock.elapsed += 20

    async def read(database: Database, times: int) -> float:
        for _ in range(times):
            await database.read_for_public(work)
        return database_ms.get()

    async def main() -> None:
        with opened(tmp_path) as database:
            for times in (1, 5):
                assert await asyncio.create_task(read(database, times)) == 20 * times
        assert database_ms.get() == 0

    monkeypatch.setattr("commentsvc.db.database.SYSTEM_CLOCK", clock)
    asyncio.run(main())


def test_a_long_query_costs_more(limited: Limited) -> None:
    async def main() -> None:
        query = "url=/a/&" * 1_000
        assert [await limited.ask("/short", query=query) for _ in range(20)].count(200) == 12

    asyncio.run(main())


def test_moderators_are_counted_by_themselves_and_writes_are_not(limited: Limited) -> None:
    async def main() -> None:
        while await limited.ask("/short") == 200:
            pass
        assert await limited.ask("/moderation/queue") == 200
        assert await limited.ask("/short", method="POST") == 200
        while await limited.ask("/moderation/queue") == 200:
            pass
        assert await limited.ask("/moderation/queue", OTHER) == 200

    asyncio.run(main())


@pytest.mark.parametrize(
    "path",
    [
        "/%6doderation/queue",
        "/moderation%2Fqueue",
        "/%6D%6Fderation/%71ueue",
        "/moderation/queue%00",
        "/moderation/../short",
    ],
)
def test_a_path_of_the_moderation_pages_is_theirs_however_it_is_written(
    limited: Limited, path: str
) -> None:
    async def main() -> None:
        while await limited.ask("/moderation/queue") == 200:
            pass
        assert await limited.ask(path) == 429
        assert await limited.ask("/short") == 200

    asyncio.run(main())


@pytest.mark.parametrize(
    "path",
    ["//moderation/queue", "/Moderation/queue", "/moderations", "/%2567moderation/x", "/moderatio"],
)
def test_a_path_that_is_not_of_the_moderation_pages_uses_the_public_budget(
    limited: Limited, path: str
) -> None:
    async def main() -> None:
        while await limited.ask("/short") == 200:
            pass
        assert await limited.ask(path) == 429
        assert await limited.ask("/moderation/queue") == 200

    asyncio.run(main())


def test_a_posted_question_is_a_read_however_its_path_is_written(limited: Limited) -> None:
    async def main() -> None:
        answers = [await limited.ask("/t%6Fken", method="POST") for _ in range(100)]
        assert (answers[0], answers[-1]) == (200, 429)

    asyncio.run(main())


def test_off_counts_nothing() -> None:
    async def main() -> None:
        limited = Limited("off")
        assert {await limited.ask("/long") for _ in range(100)} == {200}

    asyncio.run(main())
