"""Many texts are rendered in several turns of the event loop, in order, and fail separately."""

import asyncio
import threading

import pytest

from commentsvc.submissions import renderer
from commentsvc.submissions.renderer import LONG, TURN_MS, Renderer
from tests.unit.settable_clock import SettableClock


class SlowTexts:
    """Stands for `markdown.render`, but takes `step_ms` of a clock, and notes what it renders."""

    def __init__(self, step_ms: int) -> None:
        self.step_ms = step_ms
        self.clock = SettableClock(0)
        self.rendered: list[str] = []

    def __call__(self, source: str, *_: object) -> str:
        self.clock.elapsed += self.step_ms
        self.rendered.append(source)
        return source


async def turns(patch: pytest.MonkeyPatch, step_ms: int, number: int) -> list[int]:
    """Render `number` texts that come in one turn; return how many each turn has rendered."""
    texts, counts = SlowTexts(step_ms), list[int]()
    patch.setattr(renderer, "render", texts)
    ours = Renderer(texts.clock)
    waiting = [asyncio.create_task(ours.render(str(each))) for each in range(number)]
    while len(texts.rendered) < number:
        await asyncio.sleep(0)
        counts.append(len(texts.rendered) - sum(counts))
    assert texts.rendered == await asyncio.gather(*waiting) == [*map(str, range(number))]
    return [count for count in counts if count]


def test_quick_texts_are_rendered_in_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(turns(monkeypatch, 0, 40)) == [40]


def test_slow_texts_do_not_add_up_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(turns(monkeypatch, TURN_MS, 4)) == [1, 1, 1, 1]
    assert asyncio.run(turns(monkeypatch, TURN_MS // 2, 4)) == [2, 2]


def test_later_texts_do_not_overtake(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = SlowTexts(TURN_MS)
    monkeypatch.setattr(renderer, "render", texts)
    ours = Renderer(texts.clock)

    async def scene() -> None:
        waiting = []
        for each in "abcdefgh":  # two more in each turn
            waiting.append(asyncio.create_task(ours.render(each)))
            waiting.append(asyncio.create_task(ours.render(each.upper())))
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)

    asyncio.run(scene())
    assert "".join(texts.rendered) == "aAbBcCdDeEfFgGhH"


def test_a_long_text_is_rendered_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def note(source: str, *_: object) -> str:
        threads.append(threading.get_ident())
        return source[0]

    monkeypatch.setattr(renderer, "render", note)

    async def scene() -> list[str]:
        render = Renderer(SettableClock(0)).render
        return [await render("a"), await render("b" * (LONG + 1))]

    assert asyncio.run(scene()) == ["a", "b"]
    assert threads[0] == threading.get_ident() != threads[1]
