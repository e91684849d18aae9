"""Text workers: processes that sanitize and render texts, half of the work of an import.

Small imports are rendered in this process; others are started only for large imports.
"""

import os
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

from commentsvc.imports import texts
from commentsvc.imports.records import Markup
from commentsvc.imports.texts import CommentText

LARGE: Final = 20  # batches that are rendered here before processes are started: some 2 s

Batch = Sequence[tuple[str, Markup]]


class TextWorkers:
    """Renders batches of texts, in any order; `submit` returns futures."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._batches = 0

    def submit(self, batch: Batch) -> Future[list[CommentText]]:
        """Return a future for the texts of a batch."""
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
        """Stop the processes; unfinished batches are dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def read_all(batch: Batch) -> list[CommentText]:
    """Return the rendered texts of a batch."""
    return [texts.read(text, markup) for text, markup in batch]
