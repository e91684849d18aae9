"""Clients that post to a comment form, from a script to a person, each from its own network.

    script    reads the plain form and fills in every field of it
    stamper   asks for a form token and waits until it is old enough; no proof of work; twenty texts
    solver    does all that the widget does, proof of work included, and never repeats a text
    person    most use the widget; some have no JavaScript; a few send the same thing twice

The status of a comment is read from the database, since an answer does not distinguish spam from
pending.
"""

import html
import itertools
import json
import random
import re
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from altcha import Challenge, Payload, solve_challenge

from commentsvc.runtime import control
from commentsvc.runtime.control_commands import ChangeStatus
from commentsvc.settings import data_dir
from commentsvc.spam.form_tokens import YOUNGEST_MS
from commentsvc.spam.score import HOLD
from loadtest.data import texts
from loadtest.data.texts import FormFields

PERSON: Final = "person"
TEXTS: Final = 20  # of a stamper
NETWORKS: Final = 2_000  # that a sort of visitors comes from
PAGES: Final = 50
TIMEOUT: Final = 30.0  # seconds for an answer

_INPUT: Final = re.compile(r'<(?:input|textarea)\b[^>]*\bname="([^"]+)"[^>]*?(?:value="([^"]*)")?>')

_FATES: Final = (
    "SELECT count(*) FILTER (WHERE c.status = 'spam'),"
    " count(*) FILTER (WHERE c.status = 'pending' AND c.score >= ?),"
    " count(*) FILTER (WHERE c.status = 'pending' AND c.score < ?)"
    " FROM comment AS c JOIN thread AS t ON t.id = c.thread_id WHERE t.url LIKE ?"
    " AND c.id > ?"
)

_IDS: Final = (
    "SELECT c.id FROM comment AS c JOIN thread AS t ON t.id = c.thread_id WHERE t.url LIKE ?"
)


class Sending(NamedTuple):
    """A comment to be sent: its target, body, network, and the earliest time (monotonic)."""

    target: str
    body: bytes
    form: bool
    network: str
    ripe: float


class Tally(NamedTuple):
    """How many comments of one sort were refused, are filed as spam, or wait.

    `doubted` are those that wait because of their score, also under a laxer policy; `seconds` of
    CPU time are what one visitor spent on proof of work.
    """

    sent: int
    refused: dict[str, int]
    repeated: int
    spam: int
    doubted: int
    plain: int
    seconds: float


class BotTraffic:
    """Clients of one server."""

    def __init__(self, port: int, seed: int) -> None:
        """Take the port of the server, and the seed of all random choices."""
        self._connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        self._source = random.Random(seed)
        self._numbers = itertools.count()
        self._refused: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._sent: Counter[str] = Counter()
        self._worked: Counter[str] = Counter()
        self._trained = 0
        self._texts = [texts.spammer(self._source) for _ in range(TEXTS)]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def play(self, numbers: Mapping[str, int]) -> None:
        """Let so many bots of each sort write, in any order, and send once their forms are old."""
        sorts = [sort for sort, number in numbers.items() for _ in range(number)]
        self._source.shuffle(sorts)
        sendings = [(sort, sending) for sort in sorts for sending in self._write(sort)]
        for sort, sending in sendings:
            time.sleep(max(0.0, sending.ripe - time.monotonic()))
            self._send(sort, sending)

    def train(self, data: Path) -> None:
        """Let a moderator decide on all comments, and begin to count again."""
        decisions = {"approved": self._ids(data, PERSON)}
        decisions["spam"] = self._ids(data, "%") - decisions["approved"]
        for to, ids in decisions.items():
            control.ask(data / data_dir.CONTROL, ChangeStatus(to=to, ids=tuple(ids)))  # type: ignore[arg-type] # both are
        self._trained = max(ids, default=0)
        self._sent.clear()
        self._refused.clear()
        self._worked.clear()

    def tallies(self, data: Path) -> dict[str, Tally]:
        """Return the results for all comments sent since `train`, from the database in `data`."""
        found = {}
        with self._rows(data) as rows:
            for sort, sent in self._sent.items():
                [fates] = rows.execute(_FATES, (HOLD, HOLD, f"/{sort}/%", self._trained))
                spam, doubted, plain = fates
                refused, each = dict(self._refused[sort]), self._worked[sort] / 1e9 / sent
                repeated = sent - sum(refused.values()) - sum(fates)
                found[sort] = Tally(sent, refused, repeated, spam, doubted, plain, each)
        return found

    def _ids(self, data: Path, sort: str) -> set[int]:
        with self._rows(data) as rows:
            return {number for (number,) in rows.execute(_IDS, (f"/{sort}/%",))}

    def _rows(self, data: Path) -> closing[sqlite3.Connection]:
        path = f"file:{data / data_dir.DATABASE}?mode=ro"
        return closing(sqlite3.connect(path, uri=True))

    def _write(self, sort: str) -> Sequence[Sending]:
        """Let one visitor of that sort open a form, and write."""
        number = next(self._numbers)
        self._sent[sort] += 1
        url = f"/{sort}/{number % PAGES}/"
        network = f"{20 + len(sort)}.{number % NETWORKS // 250}.{number % 250}.7"
        if sort == "script":
            return [self._fill(url, network, texts.spammer(self._source))]
        if sort == "stamper":
            return [self._use_widget(sort, url, network, self._source.choice(self._texts), False)]
        if sort == "solver":
            return [self._use_widget(sort, url, network, texts.spammer(self._source), True)]
        words = texts.person(self._source)
        if self._source.random() < 0.2:
            fields = {**words._asdict(), "url": url}
            return [_plain(fields, network)]
        sending = self._use_widget(sort, url, network, words, True)
        return [sending] * (2 if self._source.random() < 0.02 else 1)

    def _fill(self, url: str, network: str, words: FormFields) -> Sending:
        """Fill in every field of the plain form in the page."""
        _, body = self._ask("GET", f"/embed/thread?{urlencode({'url': url})}", None, network)
        known = {**words._asdict(), "url": url}
        fields = {
            name: html.unescape(value) or known.get(name, words.author)
            for name, value in _INPUT.findall(body.decode())
        }
        return _plain({**fields, **known}, network)

    def _use_widget(
        self, sort: str, url: str, network: str, words: FormFields, works: bool
    ) -> Sending:
        _, body = self._ask("GET", f"/api/form-token?{urlencode({'url': url})}", None, network)
        given = json.loads(body)
        fields: dict[str, Any] = {
            **words._asdict(),
            "url": url,
            "form_token": given["form_token"],
        }  # JSON
        if works and "proof_of_work" in given:
            begin = time.process_time_ns()
            fields["proof_of_work"] = _solved(given["proof_of_work"])
            self._worked[sort] += time.process_time_ns() - begin
        if sort != "stamper":
            fields["key"] = f"{sort}-{self._source.getrandbits(64):016x}"
        ripe = time.monotonic() + YOUNGEST_MS / 1_000
        return Sending("/api/comments", json.dumps(fields).encode(), False, network, ripe)

    def _send(self, sort: str, sending: Sending) -> None:
        kind = "application/x-www-form-urlencoded" if sending.form else "application/json"
        status, body = self._ask("POST", sending.target, sending.body, sending.network, kind)
        if status >= 400:
            code = "form" if sending.form else json.loads(body)["error"]["code"]
            self._refused[sort][f"{status} {code}"] += 1

    def _ask(
        self, method: str, target: str, body: bytes | None, network: str, kind: str = ""
    ) -> tuple[int, bytes]:
        headers = {"X-Forwarded-For": network} | ({"Content-Type": kind} if kind else {})
        self._connection.request(method, target, body, headers)
        response = self._connection.getresponse()
        return response.status, response.read()


def _plain(fields: Mapping[str, str], network: str) -> Sending:
    return Sending("/embed/thread", urlencode(fields).encode(), True, network, 0.0)


def _solved(asked: dict[str, Any]) -> str:  # Any: JSON as ALTCHA defines it
    challenge = Challenge.from_dict(asked)
    solution = solve_challenge(challenge)
    assert solution, "every challenge has a solution"
    return Payload(challenge, solution).to_base64()
