"""A small application on the core alone, for the wire cases and for protocol judges.

    python -m tests.wire.probe 127.0.0.1:8080

| request | answer |
| --- | --- |
| GET / | `OK` |
| POST, PUT, PATCH, DELETE / | the body, as it was taken out of its transfer coding |
| any /echo | the request as it was read; the field `Show` names further fields to show |
| GET /stored/NAME | its own target, tagged NAME: the second one comes from the response cache |
| GET /purge/NAME | forgets what is tagged NAME |
| GET /later | `later`, after everything else that waits has been answered |
| GET /dropped | nothing: the request object dies unanswered |
| OPTIONS | 204 and `Allow` |
"""

import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from commentsvc import _core
from tests.core_server import core_server

TEXT = [("Content-Type", "text/plain; charset=utf-8")]
ALLOW = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"


class Probe:
    """A server and the simple loop that answers the requests it takes from it."""

    def __init__(self, listen: str, **options: Any) -> None:  # Any: options of the core
        self.server = core_server(listen, **options)
        self._later: list[_core.Request] = []
        self._ended = False

    def run(self) -> None:
        while not self._ended:
            if select.select([self.server.fileno()], [], [], 0 if self._later else 0.05)[0]:
                for request in self.server.drain():
                    self.answer(request)
                    del request  # an unanswered request is freed here
            elif self._later:
                self._later.pop().respond(200, TEXT, b"later")

    def end(self) -> None:
        self._ended = True

    def answer(self, request: _core.Request) -> None:
        path = request.path
        if request.method == "OPTIONS":
            request.respond(204, [("Allow", ALLOW)], b"")
        elif path == "/":
            reads = request.method in ("GET", "HEAD")
            request.respond(200, TEXT, b"OK" if reads else request.body)
        elif path == "/echo":
            request.respond(200, TEXT, describe(request))
        elif path.startswith("/stored/"):
            target = f"{path}?{request.query}" if request.query else path
            request.respond(200, TEXT, target.encode(), [path.removeprefix("/stored/")])
        elif path.startswith("/purge/"):
            self.server.purge([path.removeprefix("/purge/")])
            request.respond(200, TEXT, b"purged")
        elif path == "/later":
            self._later.append(request)
        elif path != "/dropped":
            request.respond(404, TEXT, b"There is nothing here.\n")


def describe(request: _core.Request) -> bytes:
    """Return the request as the core read it, a line for each part."""
    lines = [
        f"method: {request.method}",
        f"path: {request.path}",
        f"query: {request.query}",
        f"body: {request.body.decode('latin-1')}",
    ]
    shown = (request.header("show") or "").split()
    lines.extend(f"{name}: {request.header(name)}" for name in shown)
    return "".join(f"{line}\n" for line in lines).encode("latin-1")


@contextmanager
def running(listen: str, **options: Any) -> Iterator[Probe]:  # Any: as above
    """Run a probe in a thread of its own."""
    probe = Probe(listen, **options)
    probe.server.start()
    loop = Thread(target=probe.run)
    loop.start()
    try:
        yield probe
    finally:
        probe.server.stop(1)
        probe.server.join()
        probe.end()
        loop.join()


def main() -> None:
    probe = Probe(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:8080")
    probe.server.start()
    print(f"the probe listens on {probe.server.address}", flush=True)
    try:
        probe.run()
    except KeyboardInterrupt:
        probe.server.stop(1)
        probe.server.join()


if __name__ == "__main__":
    main()
