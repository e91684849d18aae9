"""Jobs wait in order and in bounds, and their outcomes come back to where they are awaited."""

import asyncio
import threading
from typing import Any

import pytest

from commentsvc.db.jobs import Job, WorkQueue, hand_back
from commentsvc.db.sqlite import DatabaseBusy, DatabaseClosed


def job(loop: asyncio.AbstractEventLoop | None = None) -> Job[Any]:
    return Job(lambda: None, loop)


def backlog(limit: int = 10) -> WorkQueue:
    waiting = WorkQueue(limit)
    waiting.open()
    return waiting


def test_jobs_are_taken_in_order_and_not_more_than_asked_for() -> None:
    waiting, jobs = backlog(), [job() for _ in range(5)]
    for one in jobs:
        waiting.put(one)
    assert waiting.take(3) == jobs[:3]
    assert waiting.take(3) == jobs[3:]


def test_a_full_backlog_refuses() -> None:
    waiting = backlog(2)
    waiting.put(job())
    waiting.put(job())
    with pytest.raises(DatabaseBusy, match="2 requests wait"):
        waiting.put(job())
    waiting.take(1)
    waiting.put(job())


def test_a_closed_backlog_hands_out_what_waits_and_then_nothing_for_everybody() -> None:
    waiting, last = backlog(), job()
    waiting.put(last)
    waiting.close()
    waiting.close()
    with pytest.raises(DatabaseClosed):
        waiting.put(job())
    assert waiting.take(9) == [last]
    assert waiting.take(9) == []
    assert waiting.take(9) == []


def test_a_backlog_that_was_never_opened_refuses() -> None:
    waiting = WorkQueue(1)
    waiting.close()
    with pytest.raises(DatabaseClosed):
        waiting.put(job())


def test_who_waits_for_a_job_is_woken_by_it() -> None:
    waiting, taken = backlog(), []
    taker = threading.Thread(target=lambda: taken.extend(waiting.take(9)))
    taker.start()
    one = job()
    waiting.put(one)
    taker.join(30)
    assert taken == [one]


def test_outcomes_reach_each_loop_by_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        calls: list[object] = []
        soon = loop.call_soon_threadsafe

        def counted(*given: Any) -> asyncio.Handle:  # Any: a callback and its arguments
            calls.append(given)
            return soon(*given)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        jobs = [job(loop) for _ in range(3)]
        jobs[0].result = "stored"
        jobs[1].error = ValueError("refused")
        jobs[2].error = StopIteration()
        alone = job()
        alone.result = 7
        hand_back([*jobs, alone])
        assert len(calls) == 1
        outcomes = await asyncio.gather(*(one.future for one in jobs), return_exceptions=True)
        assert outcomes[0] == "stored"
        assert outcomes[1] is jobs[1].error
        assert isinstance(outcomes[2], RuntimeError)
        assert alone.future.result() == 7

    asyncio.run(main())


def test_a_client_that_left_does_not_disturb_the_others() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        left, stays = job(loop), job(loop)
        left.future.cancel()
        hand_back([left, stays])
        assert await stays.future is None

    asyncio.run(main())


def test_nobody_waits_on_a_closed_loop() -> None:
    loop = asyncio.new_event_loop()
    forgotten = job(loop)
    loop.close()
    hand_back([forgotten])
    assert not forgotten.future.done()
