"""Render queue: what is rendered in one turn of the event loop, and no more than it can bear.

What comes within a turn is rendered in one go when the turn is over: the code of one step
stays in the processor's caches, which for forty submissions saves a fifth. A turn renders for
TURN_MS at most, and ends the text it is at (16 ms for the slowest known one of 8,000 characters);
the rest waits for the next turn, so that everybody else's requests come in between.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from commentsvc.comments.markdown import render
from commentsvc.util.clock import Clock

TURN_MS: Final = 20  # more than a hundred usual comments

# Gets the HTML, or why there is none.
Rendered = Callable[[str | Exception], None]


class RenderQueue:
    """Renders Markdown on the event loop, in the order in which it comes."""

    def __init__(self, clock: Clock) -> None:
        self._waiting: list[tuple[str, Rendered]] = []
        self._clock = clock

    def add(self, source: str, done: Rendered) -> None:
        """Call `done`, which raises nothing, in a later turn with the HTML of `source`."""
        self._waiting.append((source, done))
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._turn)

    async def render(self, source: str) -> str:
        """As `markdown.render`, in a later turn."""
        rendered: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def done(html: str | Exception) -> None:
            if rendered.cancelled():
                return
            if isinstance(html, Exception):
                rendered.set_exception(html)
            else:
                rendered.set_result(html)

        self.add(source, done)
        return await rendered

    def _turn(self) -> None:
        end = self._clock.monotonic_ms() + TURN_MS
        htmls: list[str | Exception] = []
        for source, _ in self._waiting:
            htmls.append(_rendered(source))
            if self._clock.monotonic_ms() >= end:
                break
        ready, self._waiting = self._waiting[: len(htmls)], self._waiting[len(htmls) :]
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._turn)
        for (_, done), html in zip(ready, htmls, strict=True):
            done(html)


def _rendered(source: str) -> str | Exception:
    """As `render`; what nobody foresaw must not cost the others of the same turn."""
    try:
        return render(source)
    except Exception as error:
        return error
