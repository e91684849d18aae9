"""A peer: Sanic with a trivial handler.

python on_sanic_only.py PORT ANSWER
"""

import json
import sys
from pathlib import Path

from sanic import HTTPResponse, Sanic  # type: ignore[import-not-found]  # its own environment

told = json.loads(Path(sys.argv[2]).read_text())
fields = {name: value for name, value in told["fields"] if name.lower() != "content-type"}
application = Sanic("peer", configure_logging=False)
application.config.update(ACCESS_LOG=False, MOTD=False)


@application.get("/api/comments/count")
async def answer(_):  # type: ignore[no-untyped-def]  # Sanic's handlers are untyped
    """Send the answer."""
    return HTTPResponse(told["body"], 200, fields, "application/json")


if __name__ == "__main__":
    application.run(host="127.0.0.1", port=int(sys.argv[1]), single_process=True)
