"""What an outbox with a classifier asks a fake server on this machine."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from commentsvc.delivery.classifier import Classifier, ClassifierBackend
from commentsvc.delivery.worker import OutboxWorker
from commentsvc.model import CLASSIFIER
from commentsvc.settings.schema import Settings
from tests.background import background
from tests.unit.app_fixture import Served


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(text))  # type: ignore[attr-defined] # the test's own attribute
        status, answer = self.server.answer(json.loads(text))  # type: ignore[attr-defined]  # the server is ours
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def listening(
    answer: Callable[[dict[str, Any]], tuple[int, object]],
) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []  # type: ignore[attr-defined] # the requests that it got
    server.answer = answer  # type: ignore[attr-defined] # a function from a request to the answer
    with background(server):
        yield server


class Asking:
    """A service with a classifier, and its outbox."""

    def __init__(
        self,
        service: Served,
        server: ThreadingHTTPServer,
        settings: Settings,
        backend: ClassifierBackend,
    ) -> None:
        self.service = service
        self.server = server
        channel = Classifier(
            settings, service.database, service.clock, backend, service.service.lasting
        )
        self.worker = OutboxWorker(service.database, {CLASSIFIER: channel}, service.clock)

    def ask(self) -> list[Any]:
        """Send the requests that are due; return what the server received."""
        self.server.asked.clear()  # type: ignore[attr-defined] # the test's own attribute
        asyncio.run(self.worker.deliver(CLASSIFIER))
        return [*self.server.asked]  # type: ignore[attr-defined]  # the server is ours

    def statuses(self) -> list[str]:
        return [entry.comment.status for entry in self.service.stored()][::-1]

    def reasons(self, comment_id: int) -> str:
        sql = "SELECT reasons FROM comment WHERE id = ?"
        return str(
            self.service.database.read_now(
                lambda snapshot: snapshot.execute(sql, (comment_id,)).fetchone()[0]
            )
        )
