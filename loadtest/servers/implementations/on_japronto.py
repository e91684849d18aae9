"""A peer: Japronto 0.1.2, which answers every request with the content of the file ANSWER.

    python3.6 on_japronto.py PORT ANSWER

Japronto writes no Date, and adds a charset to the type; another field makes up for the missing
bytes.
"""

import json
import sys
from pathlib import Path

from japronto import Application  # type: ignore[import-not-found]  # it has its own environment

DATE = len("Date: Thu, 01 Jan 1970 00:00:00 GMT")
CHARSET = len("; charset=utf-8")
bodies = json.loads(Path(sys.argv[2]).read_text())
fields = {name: value for name, value in bodies["fields"] if name.lower() != "content-type"}
fields["X"] = "x" * (DATE - CHARSET - len("X: "))


def answer(request):  # type: ignore[no-untyped-def]  # Japronto has no types
    """Send the answer."""
    return request.Response(text=bodies["body"], mime_type="application/json", headers=fields)


application = Application()
application.router.add_route("/api/comments/count", answer)
application.run(host="127.0.0.1", port=int(sys.argv[1]), worker_num=1)
