"""A peer: FastWSGI with a trivial WSGI application.

python on_fastwsgi.py PORT ANSWER
"""

import json
import sys
from pathlib import Path

import fastwsgi  # type: ignore[import-not-found]  # it has its own environment

told = json.loads(Path(sys.argv[2]).read_text())
body = [told["body"].encode()]
fields = [(name, value) for name, value in told["fields"]]
fields.append(("Content-Length", str(len(body[0]))))


def answer(environ, start_response):  # type: ignore[no-untyped-def]  # WSGI applications are untyped
    """Send the answer."""
    start_response("200 OK", fields)
    return body


fastwsgi.run(wsgi_app=answer, host="127.0.0.1", port=int(sys.argv[1]), loglevel=0)
