"""What `serve` prints when it is ready: where the blog and the moderation pages are.

While there is no account, it also prints the link that makes an owner's, and how to open it where
the machine has no browser. It reads the database itself, since the event loop waits for it.
"""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from commentsvc.auth import edit_tokens, first_owner
from commentsvc.db import sqlite_files
from commentsvc.db.errors import DatabaseError
from commentsvc.settings import data_dir
from commentsvc.settings.schema import Settings
from commentsvc.util.clock import SYSTEM_CLOCK

PATIENCE: Final = 5.0  # seconds to wait for another program's lock
# Hosts to listen on that a browser of the same machine reaches.
NEAR: Final = ("127.0.0.1", "0.0.0.0", "localhost", "[::1]", "[::]")  # noqa: S104 - to compare
TUNNEL: Final = "8080"  # the port of a tunnel to a unix socket


def lines(settings: Settings, data: Path, address: str, *, has_blog: bool) -> Iterator[str]:
    """Yield the lines of a server at ``http://HOST:PORT`` or ``unix:PATH``."""
    public = settings.server.public_url.rstrip("/")
    end, port, is_near = address.removeprefix("unix:"), TUNNEL, False
    if end == address:
        end = address.removeprefix("http://")
        host, _, port = end.rpartition(":")
        is_near = host in NEAR
        end = f"127.0.0.1:{port}" if host in NEAR[:3] else f"[::1]:{port}" if is_near else end
    local = f"http://localhost:{port}"
    base = public or (local if is_near else "")
    blogs = [origin for site in settings.sites for origin in site.origins]
    if has_blog and base:
        blogs = [f"{base}/"]
    if blogs:
        yield f"Blog: {', '.join(blogs)}"
    if base:
        yield f"Moderation: {base}/moderation"
    if not _is_owner_missing(settings, data):
        return
    keys = edit_tokens.load_keys(data / data_dir.SECRET_KEY, settings.auth.secret_key)
    page = f"/moderation/owner?t={first_owner.make(keys, SYSTEM_CLOCK.now_ms())}"
    tunnel = f"ssh -L {port}:{end} USER@SERVER"
    yield "There is no account yet. This link makes the owner's; it works once, within an hour:"
    if public.startswith("https://"):
        yield f"  {public}{page}"
        if not settings.server.proxy_protocol:
            yield f"Before the proxy is ready, run `{tunnel}` on your own computer, and open there:"
            yield f"  {local}{page}"
        return
    yield f"  {local}{page}"
    if is_near:
        yield f"If this machine has no browser, run `{tunnel}` on your own computer first."
    else:
        yield f"It needs `{tunnel}` on your own computer first, or the proxy's https:// address."


def _is_owner_missing(settings: Settings, data: Path) -> bool:
    """Return whether there is no account; False if the database does not answer now."""
    url = settings.database.url
    with contextlib.suppress(DatabaseError):
        if url:
            from commentsvc.db import postgresql_sessions

            return postgresql_sessions.ask(url, first_owner.is_missing)
        path = data / data_dir.DATABASE
        dial = partial(sqlite_files.connect, path, PATIENCE, "query_only=1")
        return sqlite_files.ask(path, dial, first_owner.is_missing)
    return False
