"""Make a server of the core alone, with the defaults of the settings."""

from typing import Any

from commentsvc import _core
from commentsvc.http.bridge import core_options
from commentsvc.settings.schema import ServerSettings


def core_server(
    listen: str = "127.0.0.1:0",
    **options: Any,  # Any: options of the core
) -> _core.Server:
    """Return a server that has not been started."""
    return _core.Server(listen, **{**core_options(ServerSettings()), **options})
