"""The core without the rest of the program, with the defaults of the settings."""

from typing import Any

from commentsvc import _core
from commentsvc.http.bridge import core_options
from commentsvc.settings.schema import ServerSettings


def core_server(
    listen: str = "127.0.0.1:0",
    **options: Any,  # the core's own
) -> _core.Server:
    """Return a server that does not run yet."""
    return _core.Server(listen, **{**core_options(ServerSettings()), **options})
