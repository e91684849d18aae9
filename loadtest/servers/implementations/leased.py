"""Our core with one stored answer, without our Python code; it ends with SIGTERM.

python -m loadtest.servers.implementations.leased PORT yes|no

"yes": the answer is used within a lease, as that of an instance among others.
"""

import select
import signal
import sys
import time
from types import FrameType

from commentsvc import _core
from commentsvc.http.bridge import core_options
from commentsvc.settings.schema import ServerSettings

LEASE = 3_600.0  # seconds


def end(_number: int, _frame: FrameType | None) -> None:
    """End the process in order."""
    sys.exit()


def serve(port: int, *, leased: bool) -> None:
    """Answer until the process is ended."""
    signal.signal(signal.SIGTERM, end)
    server = _core.Server(f"127.0.0.1:{port}", **core_options(ServerSettings(workers=1)))
    if leased:
        server.set_lease(time.monotonic() + LEASE)
    server.start()
    print("ready", flush=True)
    while True:
        select.select([server.fileno()], [], [])
        for call in server.drain():
            call.respond(200, (("Content-Type", "application/json"),), b'{"count":7}', ["stored"])


if __name__ == "__main__":
    serve(int(sys.argv[1]), leased=sys.argv[2] == "yes")
