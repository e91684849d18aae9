"""The bench: plays one scenario on a running server and checks its answers.

Before the clients start, every distinct request is sent once and its answer checked, which also
fills the cache. The generator requires the same bodies; wrk does not check bodies. Afterwards a
sample is checked again. The server's own counters must agree that the cache, or Python, answered.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path

from loadtest.data.blog import Page, Text, draw, texts
from loadtest.harness import client
from loadtest.harness.client import Outcome, Request
from loadtest.harness.measurement import Measurement, Reading, Row
from loadtest.harness.running import Running
from loadtest.harness.scenario import MARK, Question, Scenario, order
from loadtest.harness.service import JSON, Service, ServiceError, Visitor

SAMPLE = 50  # answers checked after a run
TEMPLATES = 2_000  # different submissions; the key makes each one sent unique
HITS, MISSES = "hits_total", "misses_total"
WARMING = 0.5  # seconds of one warm-up
WARMINGS = 40  # after which misses are an error
SLACK = 0.01  # share of answers that may come from the other side: our own requests


class Bench:
    """Measures scenarios on one server with its blog."""

    def __init__(self, service: Service, pages: Sequence[Page], folder: Path) -> None:
        """Take a running server; `folder` is for the clients' files."""
        self._service = service
        self._pages = pages
        self._folder = folder
        self._serial = 0
        self.submitted = 0

    def measure(
        self, scenario: Scenario, round_number: int, seconds: float, cores: tuple[int, int]
    ) -> Row:
        """Play `scenario` once. Raise ServiceError or ClientError for wrong answers."""
        questions = scenario.ask(self._pages)
        file = self._write(scenario, questions, self._check(questions))
        counters = self._counters()
        server, other = cores
        begin = Reading.take(self._service.cpu(), {server}, other)
        outcome = self._play(scenario, file, seconds, str(other))
        used = Reading.take(self._service.cpu(), {server}, other).since(begin)
        judge(scenario, outcome, counters, self._counters())
        self._check(random.Random(self._serial).choices(questions, k=SAMPLE) if questions else [])
        if scenario.submits:
            self.submitted += outcome.answered
            self._submit_one()
        rss = self._service.rss()
        return Measurement.of(scenario.name, round_number, outcome, used, rss).row()

    def _play(self, scenario: Scenario, file: Path, seconds: float, core: str) -> Outcome:
        port, clients, depth = self._service.port, scenario.clients, scenario.depth
        if scenario.client == "wrk":
            return client.ask(port, file, clients, depth, seconds, core)
        first = self._next_serial(int(1e8))
        return client.generate(port, file, clients, depth, seconds, first, core)

    def _next_serial(self, count: int) -> int:
        """Reserve `count` unused serial numbers; return the first of them."""
        self._serial += count
        return self._serial - count

    def _write(
        self, scenario: Scenario, questions: Sequence[Question], bodies: Sequence[bytes]
    ) -> Path:
        """Write the client's input; `bodies` are the right answers to the questions."""
        file, port = self._folder / scenario.name, self._service.port
        asked = order(len(questions)) if questions else []
        if scenario.client == "wrk":
            file.write_text("".join(f"{questions[index].target}\n" for index in asked))
        elif scenario.submits:
            requests = submissions(self._pages, port)
            file.write_bytes(client.pack(requests, range(len(requests))))
        else:
            targets = (question.target for question in questions)
            texts = (f"GET {t} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n" for t in targets)
            requests = [
                Request(text.encode(), 200, body) for text, body in zip(texts, bodies, strict=True)
            ]
            file.write_bytes(client.pack(requests, asked))
        return file

    def _check(self, questions: Sequence[Question]) -> list[bytes]:
        """Send all `questions` once; return the answers, which are checked."""
        visitor, bodies = Visitor(self._service.port), []
        for question in questions:
            target = question.target.replace(MARK, f"{self._next_serial(1):010}")
            bodies.append(visitor.get(target))
            if not question.is_right(bodies[-1]):
                raise ServiceError(f"{target} answers wrongly: {bodies[-1][:200]!r}")
        visitor.close()
        return bodies

    def _submit_one(self) -> None:
        """Submit a comment and check that the cached count changes at once."""
        visitor = Visitor(self._service.port)
        url = f"/submitted/{self._next_serial(1)}/"
        count = f"/api/comments/count?url={url}"
        before = json.loads(visitor.get(count))
        answer = json.loads(visitor.post("/api/comments", _body(url, next(texts(4)).message)))
        after = json.loads(visitor.get(count))
        visitor.close()
        self.submitted += 1
        if (before, after) != ({"count": 0}, {"count": 1}) or not answer["comment"]["html"]:
            raise ServiceError(f"a submission made {before} into {after} and answered {answer}")

    def _counters(self) -> dict[str, int]:
        visitor = Visitor(self._service.port)
        counters = visitor.counters((HITS, MISSES))
        visitor.close()
        return counters


def submissions(pages: Sequence[Page], port: int) -> list[Request]:
    """Return submissions as bytes of requests; the generator makes the key of each unique."""
    return [submission(page.url, text, f"load-{MARK}", port) for page, text in comments(pages)]


def comments(pages: Sequence[Page]) -> list[tuple[Page, Text]]:
    """Return what is submitted, and where."""
    drawn = zip(draw(TEMPLATES, len(pages), seed=5), texts(seed=6), strict=False)
    return [(pages[index], text) for index, text in drawn]


def submission(url: str, text: Text, key: str, port: int, **more: object) -> Request:
    """Return a submission from our own origin, with `more` fields."""
    body = _body(url, text.message, text.author, text.email, key, **more)
    head = (
        f"POST /api/comments HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Origin: http://127.0.0.1:{port}\r\nContent-Type: {JSON}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return Request(head.encode() + body, 201, None)


def _body(
    url: str, message: str, author: str = "Ann", email: str = "", key: str = "", **more: object
) -> bytes:
    fields = {"url": url, "author": author, "email": email, "message": message, **more}
    return json.dumps({**fields, "key": key} if key else fields, ensure_ascii=False).encode()


def judge(
    scenario: Scenario, outcome: Outcome, before: dict[str, int], after: dict[str, int]
) -> None:
    """Raise ClientError for failed requests, ServiceError if the wrong side answered."""
    client.demand(scenario.name, outcome)
    other = MISSES if scenario.answered_by == "store" else HITS
    strange = after[other] - before[other]
    if strange > 10 + SLACK * outcome.answered:
        raise ServiceError(
            f"{scenario.name}: {strange} of {outcome.answered} were not answered by the"
            f" {scenario.answered_by}"
        )


def warm(
    server: Service | Running, plan: Path, count: int, clients: int, depth: int, core: str
) -> None:
    """Play `plan`; on our own server until all its `count` answers come from the cache."""
    ours = isinstance(server, Service)
    for _ in range(WARMINGS):
        before = hits(server) if ours else 0
        outcome = client.generate(server.port, plan, clients, depth, WARMING, 0, core)
        client.demand("warming up", outcome)
        if not ours or hits(server) - before == outcome.answered >= count:
            return
    raise ServiceError("the store does not keep the answers of all pages")


def hits(server: Service | Running) -> int:
    """Return the number of our server's cache hits so far."""
    visitor = Visitor(server.port)
    found = visitor.counters((HITS,))[HITS]
    visitor.close()
    return found
