"""A measurement: one scenario played once on a running server, its answers checked.

DESIGN. Before the clients start, every distinct question is asked once and its answer checked; that
also fills the store. Afterwards a sample is checked again. The core's own counters must agree that
the store, or Python, answered: a figure for hits that were none would be worth nothing.

What else ran on the server's core is what the core was busy with, less the server, less the
kernel's threads (they write the server's own files to the disk). Above DISTURBED the measurement
is not used.
"""

import json
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest import client, process
from loadtest.blog import PAGES, Page, draw, texts
from loadtest.client import Outcome, Request
from loadtest.scenario import MARK, Question, Scenario
from loadtest.service import JSON, Service, ServiceError, Visitor

DISTURBED = 0.05  # share of the server's core that others may use
SAMPLE = 50  # answers checked after a run
TEMPLATES = 2_000  # different submissions; the key makes each one sent unique
HITS, MISSES = "commentsvc_core_hits_total", "commentsvc_core_misses_total"
SLACK = 0.01  # share of answers that may come from elsewhere: what we ask ourselves meanwhile


@dataclass(frozen=True, slots=True)
class Measurement:
    """The figures of one measurement; latencies are as in Outcome, shares are of one core."""

    scenario: str
    round: int
    answered: int
    seconds: float
    rate: float
    cpu_ns: float
    p50: float
    p90: float
    p99: float
    max: float
    rss_mib: float
    server_share: float
    client_share: float
    others_share: float
    stolen_share: float

    @property
    def disturbance(self) -> float:
        """The share of the server's core that somebody else used."""
        return self.others_share + self.stolen_share

    @property
    def disturbed(self) -> bool:
        """Say whether that was too much."""
        return self.disturbance > DISTURBED


class Bench:
    """Where measurements are made: a server, the blog that it knows, and the cores."""

    def __init__(self, service: Service, pages: Sequence[Page], folder: Path) -> None:
        """Take a running server; `folder` is for the clients' files."""
        self._service = service
        self._pages = pages
        self._folder = folder
        self._serial = 0
        self.submitted = 0

    def measure(
        self, scenario: Scenario, round_number: int, seconds: float, cores: tuple[int, int]
    ) -> Measurement:
        """Play `scenario` once. Raises ServiceError or ClientError for what is not right."""
        questions = scenario.ask(self._pages)
        self._check(questions)
        file = self._write(scenario, questions)
        counters = self._counters()
        begin = _Reading.take(self._service, cores[0])
        outcome = self._play(scenario, file, seconds, cores[1])
        used = _Reading.take(self._service, cores[0]).since(begin)
        judge(scenario, outcome, counters, self._counters())
        self._check(random.Random(self._serial).choices(questions, k=SAMPLE) if questions else [])
        if scenario.submits:
            self.submitted += outcome.answered
            self._submit_one()
        return _measurement(scenario, round_number, outcome, used, self._service.rss())

    def _play(self, scenario: Scenario, file: Path, seconds: float, core: int) -> Outcome:
        port, first = self._service.port, self._next_serial(int(1e8))
        if scenario.submits:
            return client.generate(port, file, scenario.clients, 1, seconds, first, core)
        return client.ask(port, file, scenario.clients, scenario.depth, seconds, first, core)

    def _next_serial(self, count: int) -> int:
        """Reserve `count` serial numbers that are never given again; the first of them."""
        self._serial += count
        return self._serial - count

    def _write(self, scenario: Scenario, questions: Sequence[Question]) -> Path:
        file = self._folder / scenario.name
        if scenario.submits:
            requests = submissions(self._pages, self._service.port)
            file.write_bytes(client.pack(requests, range(len(requests))))
        else:
            lines = [question.target for question in scenario.order(questions)]
            file.write_text("\n".join(lines) + "\n")
        return file

    def _check(self, questions: Sequence[Question]) -> None:
        visitor = Visitor(self._service.port)
        for question in questions:
            target = question.target.replace(MARK, f"{self._next_serial(1):010}")
            body = visitor.get(target)
            if not question.is_right(body):
                raise ServiceError(f"{target} answers wrongly: {body[:200]!r}")
        visitor.close()

    def _submit_one(self) -> None:
        """Submit a comment and see that the count, stored before, tells of it at once."""
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


@dataclass(frozen=True, slots=True)
class _Reading:
    """Nanoseconds: of the clock, the server, its core, the core's thieves, the kernel's threads."""

    clock: int
    server: int
    busy: int
    stolen: int
    kernel: int

    @classmethod
    def take(cls, service: Service, core: int) -> "_Reading":
        now = process.core(core)
        clock = int(os.times().elapsed * 1e9)
        return cls(clock, service.cpu(), now.busy, now.stolen, process.kernel_cpu())

    def since(self, begin: "_Reading") -> "_Reading":
        return _Reading(
            self.clock - begin.clock,
            self.server - begin.server,
            self.busy - begin.busy,
            self.stolen - begin.stolen,
            self.kernel - begin.kernel,
        )


def submissions(pages: Sequence[Page], port: int) -> list[Request]:
    """Submissions as they go over the wire; each has a key that the generator makes unique."""
    requests = []
    for index, text in zip(draw(TEMPLATES, PAGES, seed=5), texts(seed=6), strict=False):
        body = _body(pages[index].url, text.message, text.author, text.email, f"load-{MARK}")
        head = (
            f"POST /api/comments HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Origin: http://127.0.0.1:{port}\r\nContent-Type: {JSON}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        requests.append(Request(head.encode() + body, 201, None))
    return requests


def _body(url: str, message: str, author: str = "Ann", email: str = "", key: str = "") -> bytes:
    fields = {"url": url, "author": author, "email": email, "message": message}
    return json.dumps({**fields, "key": key} if key else fields, ensure_ascii=False).encode()


def judge(
    scenario: Scenario, outcome: Outcome, before: dict[str, int], after: dict[str, int]
) -> None:
    """Raise ServiceError unless all went well and the right side answered."""
    if outcome.wrong or outcome.failed or not outcome.answered:
        raise ServiceError(
            f"{scenario.name}: {outcome.answered} right answers, {outcome.wrong} of another status,"
            f" {outcome.failed} broken connections or missing answers"
        )
    other = MISSES if scenario.answered_by == "store" else HITS
    strange = after[other] - before[other]
    if strange > 10 + SLACK * outcome.answered:
        raise ServiceError(
            f"{scenario.name}: {strange} of {outcome.answered} were not answered by the"
            f" {scenario.answered_by}"
        )


def _measurement(
    scenario: Scenario, round_number: int, outcome: Outcome, used: _Reading, rss: float
) -> Measurement:
    others = max(0, used.busy - used.server - used.kernel)
    return Measurement(
        scenario=scenario.name,
        round=round_number,
        answered=outcome.answered,
        seconds=outcome.seconds,
        rate=outcome.answered / outcome.seconds,
        cpu_ns=used.server / outcome.answered,
        p50=outcome.p50,
        p90=outcome.p90,
        p99=outcome.p99,
        max=outcome.max,
        rss_mib=rss,
        server_share=used.server / used.clock,
        client_share=outcome.client_share,
        others_share=others / used.clock,
        stolen_share=used.stolen / used.clock,
    )
