"""What all formats are written to: a file that takes large pieces, and counts the comments."""

from collections.abc import Callable
from typing import BinaryIO, Final

# Written at once, in bytes: a system call costs as much as a comment.
BATCH: Final = 1 << 18


class Output:
    """Collects bytes for `file`. `comments` is how many were put in so far.

    `advance` is told now and then how many these were since it was last told.
    """

    def __init__(
        self, file: BinaryIO, advance: Callable[[int], object] = lambda _comments: None
    ) -> None:
        self.comments = 0
        self._file = file
        self._advance = advance
        self._told = 0
        self._buffer = bytearray()

    def put(self, data: bytes) -> None:
        """Write `data`, now or later."""
        self._buffer += data
        if len(self._buffer) >= BATCH:
            self.flush()

    def put_comment(self, data: bytes) -> None:
        """As `put`, for what stands for one comment."""
        self.comments += 1
        self.put(data)

    def flush(self) -> None:
        """Write all that was put in."""
        self._file.write(self._buffer)
        self._buffer.clear()
        self._advance(self.comments - self._told)
        self._told = self.comments
