"""A program: fill a store with ten times its bound, and print by how many KiB the process grew.

It is a process of its own, so that nothing but the store makes it grow. `python fill.py MIB`.
"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from commentsvc import _core
from tests.bridge.application import TEXT, Application, memory, request, running

# Sizes of bodies in bytes, and how often each occurs: counts, lists, feeds.
SIZES = {100: 30, 150: 20, 250: 15, 400: 10, 700: 8, 1200: 6, 3000: 5, 8000: 3, 20000: 2, 60000: 1}
MIB = 1024 * 1024


class Filler:
    """Request a new target each time."""

    def __init__(self) -> None:
        self.tags: list[str] = []
        self._choice = random.Random(1)
        self._number = 0

    def answer(self, call: _core.Request) -> None:
        """Return a body of one of the sizes, slightly varied."""
        [size] = self._choice.choices(list(SIZES), list(SIZES.values()))
        call.respond(200, TEXT, bytes(size + self._choice.randrange(64)), self.tags)

    def fill(self, app: Application, size: int) -> None:
        """Request answers of `size` bytes in all."""
        with app.dial() as client:
            while size > 0:
                self._number += 1
                client.send(request(f"/{self._number}"))
                size -= len(client.answer().body)


def main() -> None:
    """Let everything but the store grow first, then the store."""
    bound = int(sys.argv[1]) * MIB
    filler = Filler()
    with running(filler.answer, cache_bytes=bound) as app:
        filler.fill(app, bound // 2)
        before = memory()
        filler.tags = ["t"]
        filler.fill(app, 10 * bound)
        stats = app.server.stats()
        assert stats["evictions"] > stats["cache_entries"] > 0
        print(memory() - before)


if __name__ == "__main__":
    main()
