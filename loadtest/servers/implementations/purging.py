"""Our core with answers that share a tag, which is purged on request; without our Python code.

python -m loadtest.servers.implementations.purging PORT

GET /kept/N is cached under the tag "kept", GET /other/N under "other". POST /purge purges "kept",
and answers how many µs that took.
"""

import select
import sys
import time

from commentsvc import _core
from commentsvc.http.bridge import core_options
from commentsvc.settings.schema import ServerSettings

TEXT = (("Content-Type", "text/plain"),)


def answer(server: _core.Server, call: _core.Request) -> None:
    """Answer one request."""
    if call.method == "POST":
        begin = time.perf_counter()
        server.purge(["kept"])
        took = (time.perf_counter() - begin) * 1e6
        call.respond(200, TEXT, b"%.1f" % took)
    else:
        tag = call.path.split("/")[1]
        call.respond(200, TEXT, call.path.encode(), [tag])


def serve(port: int) -> None:
    """Answer until the process ends."""
    server = _core.Server(f"127.0.0.1:{port}", **core_options(ServerSettings(cache_mib=64)))
    server.start()
    while True:
        select.select([server.fileno()], [], [])
        for call in server.drain():
            answer(server, call)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
