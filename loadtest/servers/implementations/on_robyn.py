"""A peer: Robyn, whose Rust side stores the answer (`const`).

python on_robyn.py PORT ANSWER
"""

import json
import sys
from pathlib import Path

bodies = json.loads(Path(sys.argv[2]).read_text())
port = int(sys.argv[1])
del sys.argv[1:]  # Robyn reads them too

from robyn import Headers, Response, Robyn  # type: ignore[import-not-found]  # noqa: E402 - above

application = Robyn(__file__)


@application.get("/api/comments/count", const=True)
def answer():  # type: ignore[no-untyped-def]  # Robyn's handlers are untyped
    """Send the answer."""
    return Response(200, Headers(dict(bodies["fields"])), bodies["body"])


application.start(host="127.0.0.1", port=port)
