"""Servers that tests have beside them, such as those in the place of somebody else's."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer
from typing import TypeVar

S = TypeVar("S", bound=BaseServer)


@contextmanager
def background(server: S) -> Iterator[S]:
    """Let `server` serve on an OS thread of its own during the block, and close it then."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
