#!/usr/bin/env python3
"""Judge comments for commentsvc by rspamd: an example of a classifier.

    export CLASSIFIER_SECRET=…                 # hooks.secret of commentsvc
    python3 classifier.py http://127.0.0.1:11333

It asks rspamd's normal worker. It listens on 127.0.0.1:8090, or where CLASSIFIER_LISTEN says. It
needs Python 3.11 and no package.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from collections.abc import Callable
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import Request, urlopen

Json = dict[str, Any]  # Any: the data of a webhook, which docs/spam.md describes
TIMEOUT = 9  # seconds; commentsvc gives up after ten
MOST = 1_000_000  # bytes of a request
OLDEST = 300  # seconds after which a request may be a copy that somebody has kept


def ask_rspamd(comment: Json, url: str) -> Json:
    """Return the opinion of rspamd, to which the comment is shown as a mail."""
    mail = EmailMessage()
    mail["From"] = "comments@localhost"
    mail["To"] = "blog@localhost"
    mail["Date"], mail["Message-ID"] = formatdate(), make_msgid(domain="localhost")
    mail["Subject"] = " ".join(comment["title"].split()) or "Comment"
    mail.set_content(f"{comment['author']} {comment['author_site']}\n\n{comment['message']}")
    answer = fetch(f"{url}/checkv2", mail.as_bytes())
    decision = {"reject": "spam", "add header": "hold", "rewrite subject": "hold"}
    return {
        "decision": decision.get(answer["action"], "accept"),
        "reason": ", ".join(sorted(answer["symbols"]))[:200],
        "score": answer["score"],
    }


def fetch(url: str, body: bytes) -> Json:
    """POST `body` to `url`, and return the JSON that is answered."""
    request = Request(url, body, {"Content-Type": "message/rfc822"})
    with urlopen(request, timeout=TIMEOUT) as answer:
        found: Json = json.load(answer)
        return found


def is_signed(headers: Any, body: bytes, secret: str) -> bool:  # Any: a mapping of strings
    """Return whether a request is signed with the secret and recent (Standard Webhooks 1.0)."""
    number, moment = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not moment.isdigit() or abs(time.time() - int(moment)) > OLDEST:
        return False
    is_base64 = secret.startswith("whsec_")
    key = base64.b64decode(secret.removeprefix("whsec_")) if is_base64 else secret.encode()
    digest = hmac.new(key, f"{number}.{moment}.".encode() + body, hashlib.sha256).digest()
    wanted = f"v1,{base64.b64encode(digest).decode()}"
    return hmac.compare_digest(headers.get("webhook-signature", "").encode(), wanted.encode())


def serve(judge: Callable[[Json], Json], secret: str, listen: str) -> None:
    """Answer requests until the program is stopped."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or MOST + 1)
            body = self.rfile.read(length) if length <= MOST else b""
            if not is_signed(self.headers, body, secret):
                return self.answer(401, {"error": "the signature is not by our secret"})
            try:
                self.answer(200, judge(json.loads(body)["data"]))
            except (OSError, LookupError, TypeError, ValueError) as error:
                # Whoever asked tries again later, and the comment waits.
                self.answer(503, {"error": f"no opinion: {error!r}"})

        def answer(self, status: int, content: Json) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    host, _, port = listen.rpartition(":")
    with ThreadingHTTPServer((host, int(port)), Handler) as server:
        print(f"listening on http://{host}:{server.server_address[1]}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not os.environ.get("CLASSIFIER_SECRET"):
        sys.exit("CLASSIFIER_SECRET is not set: give it the value of hooks.secret.")
    serve(
        lambda comment: ask_rspamd(comment, sys.argv[1]),
        os.environ["CLASSIFIER_SECRET"],
        os.environ.get("CLASSIFIER_LISTEN", "127.0.0.1:8090"),
    )
