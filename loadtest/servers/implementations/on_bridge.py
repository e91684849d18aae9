"""Our core, the Bridge and a trivial handler: a coroutine whose answer is not cached.

python -m loadtest.servers.implementations.on_bridge PORT ANSWER
"""

import asyncio
import json
import sys
from collections.abc import Awaitable
from pathlib import Path

from commentsvc.http import messages
from commentsvc.http.bridge import Bridge
from commentsvc.settings.schema import ServerSettings


class Trivial:
    """Answers everything with the same response."""

    def __init__(self, response: messages.Response) -> None:
        """Take the response."""
        self._response = response

    def handle(self, _: messages.Request) -> Awaitable[messages.Response]:
        """Return a coroutine, as most handlers of others are."""
        return self._give()

    async def _give(self) -> messages.Response:
        return self._response


async def serve(port: int, response: messages.Response) -> None:
    """Answer until the process ends."""
    bridge = Bridge(ServerSettings(listen=f"127.0.0.1:{port}", workers=1))
    bridge.serve(Trivial(response))
    await asyncio.Event().wait()


if __name__ == "__main__":
    bodies = json.loads(Path(sys.argv[2]).read_text())
    fields = tuple((name, value) for name, value in bodies["fields"] if name != "ETag")
    asyncio.run(serve(int(sys.argv[1]), messages.Response(200, fields, bodies["body"].encode())))
