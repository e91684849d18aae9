"""Many texts are rendered in several turns of the event loop, in order, and fail separately."""

import asyncio
import threading

import pytest

from commentsvc.submissions import render_queue
from commentsvc.submissions.render_queue import LONG, TURN_MS, RenderJob, RenderQueue
from tests.unit.settable_clock import SettableClock


class SteppingClock(SettableClock):
    """A clock that advances by `step_ms` each time it is read."""

    def __init__(self, step_ms: int) -> None:
        super().__init__(0)
        self.step_ms = step_ms

    def monotonic_ms(self) -> int:
        self.elapsed += self.step_ms
        return self.elapsed


async def turns(step_ms: int, number: int) -> list[int]:
    """Add `number` texts in one turn; return how many were rendered in each turn after it."""
    queue, rendered, counts = (
        RenderQueue(SteppingClock(step_ms)),
        list[str | Exception](),
        list[int](),
    )
    for each in range(number):
        queue.add(RenderJob(str(each)), rendered.append)
    while sum(counts) < number:
        await asyncio.sleep(0)
        counts.append(len(rendered) - sum(counts))
    assert rendered == [f"<p>{each}</p>\n" for each in range(number)]
    return counts


def test_quick_texts_are_rendered_in_one_turn() -> None:
    assert asyncio.run(turns(0, 40)) == [40]


def test_slow_texts_do_not_add_up_in_a_turn() -> None:
    assert asyncio.run(turns(TURN_MS, 4)) == [1, 1, 1, 1]
    assert asyncio.run(turns(TURN_MS // 2, 4)) == [2, 2]


def test_what_comes_while_others_wait_is_rendered_too() -> None:
    async def scene() -> list[str | Exception]:
        queue, rendered = RenderQueue(SteppingClock(TURN_MS)), list[str | Exception]()
        queue.add(RenderJob("a"), rendered.append)
        queue.add(RenderJob("b"), rendered.append)
        await asyncio.sleep(0)
        queue.add(RenderJob("c"), rendered.append)
        return [*rendered, await queue.render("d"), *rendered[1:]]

    assert asyncio.run(scene()) == [f"<p>{each}</p>\n" for each in "adbc"]


def test_a_text_that_cannot_be_rendered_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(source: str, *_: object) -> str:
        if source == "bad":
            raise ValueError("ours")
        return source

    monkeypatch.setattr(render_queue, "render", fails)

    async def scene() -> list[str | BaseException]:
        render = RenderQueue(SteppingClock(0)).render
        return await asyncio.gather(*map(render, ("a", "bad", "b")), return_exceptions=True)

    first, error, last = asyncio.run(scene())
    assert (first, str(error), last) == ("a", "ours", "b")
    assert isinstance(error, ValueError)


def test_a_long_text_is_rendered_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def note(source: str, *_: object) -> str:
        threads.append(threading.get_ident())
        return source[0]

    monkeypatch.setattr(render_queue, "render", note)

    async def scene() -> list[str]:
        render = RenderQueue(SteppingClock(0)).render
        return [await render("a"), await render("b" * (LONG + 1))]

    assert asyncio.run(scene()) == ["a", "b"]
    assert threads[0] == threading.get_ident() != threads[1]


def test_whoever_stops_waiting_costs_the_others_nothing() -> None:
    async def scene() -> str:
        queue = RenderQueue(SteppingClock(0))
        left = asyncio.create_task(queue.render("a"))
        await asyncio.sleep(0)
        left.cancel()
        return await queue.render("b")

    assert asyncio.run(scene()) == "<p>b</p>\n"
