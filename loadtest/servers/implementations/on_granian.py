"""A peer: Granian with a trivial RSGI application, started as it is by its command.

python on_granian.py PORT ANSWER
"""

import json
import os
import sys
from pathlib import Path

from granian import Granian  # type: ignore[import-not-found]  # it has its own environment
from granian.constants import Interfaces  # type: ignore[import-not-found]  # it has its own environment
from granian.http import HTTP1Settings  # type: ignore[import-not-found]  # it has its own environment

told = json.loads(Path(os.environ.get("ANSWER") or sys.argv[2]).read_text())
fields = [(name.lower(), value) for name, value in told["fields"]]


async def answer(_, protocol):  # type: ignore[no-untyped-def]  # RSGI applications are untyped
    """Send the answer."""
    protocol.response_str(200, fields, told["body"])


if __name__ == "__main__":
    os.environ["ANSWER"] = sys.argv[2]  # its worker imports this file
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    Granian(
        "on_granian:answer",
        address="127.0.0.1",
        port=int(sys.argv[1]),
        interface=Interfaces.RSGI,
        workers=1,
        websockets=False,
        log_enabled=False,
        http1_settings=HTTP1Settings(pipeline_flush=True),
    ).serve()
