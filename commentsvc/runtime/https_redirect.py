"""Redirect: a second listener for plain HTTP that redirects every request to HTTPS.

A TLS terminator such as hitch does not handle plain HTTP. So this is a second core with its own
limits and deadlines, which caches nothing and gives every request the same answer. The redirect
leads to the host of `server.public_url`, whatever host a client names.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import msgspec

from commentsvc.http.bridge import Bridge, Sockets
from commentsvc.http.messages import Request, Response
from commentsvc.runtime.handover import GRACE, Handover
from commentsvc.settings import schema

CONNECTIONS = 1_000  # at once: each is used for one request
KEEP_ALIVE = 5  # seconds


class Redirect:
    """Answers every request with a redirect to the origin of `public_url`."""

    def __init__(self, public_url: str) -> None:
        self._origin = f"https://{urlsplit(public_url).netloc}"

    def handle(self, request: Request) -> Response:
        """Return a 308, which keeps the method; `OPTIONS *` is redirected to the origin itself."""
        path = request.path if request.path.startswith("/") else "/"
        query = f"?{request.query}" if request.query else ""
        return Response(308, (("Location", f"{self._origin}{path}{query}"),), b"")


@asynccontextmanager
async def redirecting(server: schema.ServerSettings, succession: Handover) -> AsyncIterator[None]:
    """Answer at `server.redirect_listen` during the block, if it is set. Raise OSError.

    The listener and its clients come from the previous server, and go to the next one.
    """
    if not server.redirect_listen:
        succession.inherited.redirect.close()
        succession.hold_redirect(Sockets())
        yield
        return
    bridge = Bridge(
        msgspec.structs.replace(
            server,
            listen=server.redirect_listen,
            workers=1,
            cache_mib=0,
            max_connections=CONNECTIONS,
            keep_alive=KEEP_ALIVE,
            proxy_protocol=False,
            hsts="",
        )
    )
    bridge.serve(Redirect(server.public_url), succession.inherited.redirect)
    try:
        yield
    finally:
        if succession.has_other_server:
            await bridge.stop(GRACE, keep=True)
            succession.hold_redirect(bridge.release())
        else:
            await bridge.stop(0)
