"""A peer: socketify, which is uWebSockets below Python.

python on_socketify.py PORT ANSWER
"""

import json
import sys
from pathlib import Path

from socketify import App  # type: ignore[import-not-found]  # it has its own environment

told = json.loads(Path(sys.argv[2]).read_text())


def answer(res, _):  # type: ignore[no-untyped-def]  # socketify's handlers are untyped
    """Send the answer."""
    for name, value in told["fields"]:
        res.write_header(name, value)
    res.end(told["body"])


application = App()
application.get("/*", answer)
application.listen({"port": int(sys.argv[1]), "host": "127.0.0.1"}, lambda _: None)
application.run()
