"""The output of all formats: a buffered file that counts comments."""

from collections.abc import Callable
from typing import BinaryIO, Final

# Bytes that are written at once: a system call costs as much as a comment.
BATCH: Final = 1 << 18


class Output:
    """Buffers bytes for `file`. `comments` is how many were put so far.

    `advance` is called with the number of comments since its last call.
    """

    def __init__(
        self, file: BinaryIO, advance: Callable[[int], object] = lambda _comments: None
    ) -> None:
        self.comments = 0
        self._file = file
        self._advance = advance
        self._reported = 0
        self._buffer = bytearray()

    def put(self, data: bytes) -> None:
        """Write `data`, immediately or later."""
        self._buffer += data
        if len(self._buffer) >= BATCH:
            self.flush()

    def put_comment(self, data: bytes) -> None:
        """Do as `put`, and count one comment."""
        self.comments += 1
        self.put(data)

    def flush(self) -> None:
        """Write everything that is in the buffer."""
        self._file.write(self._buffer)
        self._buffer.clear()
        self._advance(self.comments - self._reported)
        self._reported = self.comments
