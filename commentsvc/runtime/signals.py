"""How the server is told to stop.

The first SIGTERM or SIGINT asks for a stop in good order; the second ends the process at once,
which costs nothing that was acknowledged.
"""

import asyncio
import signal
from typing import Final

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def expect() -> asyncio.Event:
    """An event that the first signal sets, on this loop."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()

    def hear() -> None:
        told.set()
        end_at_once()

    for number in SIGNALS:
        loop.add_signal_handler(number, hear)
    return told


def end_at_once() -> None:
    """Let the next signal end the process."""
    for number in SIGNALS:
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
