"""Reading texts on another processor: sanitizing and rendering is half of the work of an import.

Small imports have it done here and now; a process is started for large ones only.
"""

import os
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

from commentsvc.imports import texts
from commentsvc.imports.records import Markup
from commentsvc.imports.texts import CommentText

LARGE: Final = 20  # batches that are read here, before processes are started: some 2 s

Batch = Sequence[tuple[str, Markup]]


class TextWorkers:
    """Reads batches of texts, in any order; `results` come by futures."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._batches = 0

    def submit(self, batch: Batch) -> Future[list[CommentText]]:
        """Have a batch read."""
        self._batches += 1
        if self._batches > LARGE:
            if self._pool is None:
                others = max((os.cpu_count() or 2) - 1, 1)
                self._pool = ProcessPoolExecutor(others, mp_context=get_context("spawn"))
            return self._pool.submit(read_all, batch)
        done: Future[list[CommentText]] = Future()
        done.set_result(read_all(batch))
        return done

    def close(self) -> None:
        """End the processes; what is not read is dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def read_all(batch: Batch) -> list[CommentText]:
    """Read the texts of a batch."""
    return [texts.read(text, markup) for text, markup in batch]
