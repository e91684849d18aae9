"""A peer: uvicorn with uvloop and httptools, and a trivial ASGI application.

    python on_uvicorn.py PORT ANSWER

uvicorn adds the Date itself.
"""

import json
import sys
from pathlib import Path

import uvicorn

told = json.loads(Path(sys.argv[2]).read_text())
body = told["body"].encode()
fields = [(name.lower().encode(), value.encode()) for name, value in told["fields"]]
fields.append((b"content-length", str(len(body)).encode()))
HEAD = {"type": "http.response.start", "status": 200, "headers": fields}
BODY = {"type": "http.response.body", "body": body}


async def answer(scope, receive, send):  # type: ignore[no-untyped-def]  # ASGI applications are untyped
    """Send the answer."""
    await send(HEAD)
    await send(BODY)


uvicorn.run(
    answer,
    host="127.0.0.1",
    port=int(sys.argv[1]),
    loop="uvloop",
    http="httptools",
    lifespan="off",
    access_log=False,
    server_header=False,
    log_level="error",
)
