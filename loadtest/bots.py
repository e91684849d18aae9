"""Bots: how much spam reaches the queue, and whether a person is refused: `loadtest/bots`.

DESIGN. Four sorts of visitors post to the real program, over HTTP, each from its own network:

    script    reads the plain form and fills in every field of it
    stamper   asks for a stamp and waits until it is old enough; does no work; has twenty texts
    solver    does all that the widget does, the work too, and never says the same thing twice
    person    most use the widget; some have no JavaScript; a few send the same thing twice

The settings are the defaults (every comment waits for approval), but for the work, a share of it,
so that a run takes minutes. What became of a comment is read from the database afterwards, since
an answer does not tell spam from what waits. People are a scene of their own, in which the site's
rate is not limited, for a week of them comes in a minute; and they come in the midst of solvers.
"""

import html
import itertools
import json
import os
import random
import re
import sqlite3
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import click
from altcha import Challenge, Payload, solve_challenge

from commentsvc import datadir
from commentsvc.config import Moderation, Spam
from commentsvc.spam import HOLD
from commentsvc.stamps import YOUNGEST
from loadtest import machine, prose
from loadtest.programs import BUILD
from loadtest.prose import Words
from loadtest.result import RESULTS
from loadtest.service import Service

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
)


class Post(NamedTuple):
    """A comment, ready to be sent: to which target, with what, and from when on (monotonic)."""

    target: str
    body: bytes
    form: bool
    network: str
    ripe: float


class Tally(NamedTuple):
    """How many comments of one sort were refused, are filed as spam, or wait.

    `doubted` are those that wait for a reason, and would do so under a laxer policy, too; `seconds`
    of CPU are what one of its visitors spent on the work that it was asked for.
    """

    sent: int
    refused: dict[str, int]
    repeated: int
    spam: int
    doubted: int
    plain: int
    seconds: float


class Crowd:
    """Visitors of one server."""

    def __init__(self, port: int, seed: int) -> None:
        """Take the port of the server, and what all chance follows from."""
        self._connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        self._source = random.Random(seed)
        self._numbers = itertools.count()
        self._refused: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._sent: Counter[str] = Counter()
        self._worked: Counter[str] = Counter()
        self._texts = [prose.spammer(self._source) for _ in range(TEXTS)]

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def play(self, numbers: Mapping[str, int]) -> None:
        """Let so many of each sort write, in any order, and then send, once their forms are old."""
        sorts = [sort for sort, number in numbers.items() for _ in range(number)]
        self._source.shuffle(sorts)
        posts = [(sort, post) for sort in sorts for post in self._write(sort)]
        for sort, post in posts:
            time.sleep(max(0.0, post.ripe - time.monotonic()))
            self._send(sort, post)

    def tallies(self, data: Path) -> dict[str, Tally]:
        """What became of all that was sent, by the database in the folder `data`."""
        found = {}
        path = f"file:{data / datadir.DATABASE}?mode=ro"
        with closing(sqlite3.connect(path, uri=True)) as rows:
            for sort, sent in self._sent.items():
                [fates] = rows.execute(_FATES, (HOLD, HOLD, f"/{sort}/%")).fetchall()
                spam, doubted, plain = fates
                refused, each = dict(self._refused[sort]), self._worked[sort] / 1e9 / sent
                repeated = sent - sum(refused.values()) - sum(fates)
                found[sort] = Tally(sent, refused, repeated, spam, doubted, plain, each)
        return found

    def _write(self, sort: str) -> Sequence[Post]:
        """Let one visitor of that sort open a form, and write."""
        number = next(self._numbers)
        self._sent[sort] += 1
        url = f"/{sort}/{number % PAGES}/"
        network = f"{20 + len(sort)}.{number % NETWORKS // 250}.{number % 250}.7"
        if sort == "script":
            return [self._fill(url, network, prose.spammer(self._source))]
        if sort == "stamper":
            return [self._use_widget(sort, url, network, self._source.choice(self._texts), False)]
        if sort == "solver":
            return [self._use_widget(sort, url, network, prose.spammer(self._source), True)]
        words = prose.person(self._source)
        if self._source.random() < 0.2:
            fields = {**words._asdict(), "url": url}
            return [_plain(fields, network)]
        post = self._use_widget(sort, url, network, words, True)
        return [post] * (2 if self._source.random() < 0.02 else 1)

    def _fill(self, url: str, network: str, words: Words) -> Post:
        """Fill in every field of the plain form, as it stands in the page."""
        _, body = self._ask("GET", f"/embed/thread?{urlencode({'url': url})}", None, network)
        known = {**words._asdict(), "url": url}
        fields = {
            name: html.unescape(value) or known.get(name, words.author)
            for name, value in _INPUT.findall(body.decode())
        }
        return _plain({**fields, **known}, network)

    def _use_widget(self, sort: str, url: str, network: str, words: Words, works: bool) -> Post:
        _, body = self._ask("GET", f"/api/stamp?{urlencode({'url': url})}", None, network)
        given = json.loads(body)
        fields: dict[str, Any] = {**words._asdict(), "url": url, "stamp": given["stamp"]}  # JSON
        if works and "work" in given:
            begin = time.process_time_ns()
            fields["work"] = _solved(given["work"])
            self._worked[sort] += time.process_time_ns() - begin
        if sort != "stamper":
            fields["key"] = f"{sort}-{self._source.getrandbits(64):016x}"
        ripe = time.monotonic() + YOUNGEST + 1
        return Post("/api/comments", json.dumps(fields).encode(), False, network, ripe)

    def _send(self, sort: str, post: Post) -> None:
        kind = "application/x-www-form-urlencoded" if post.form else "application/json"
        status, body = self._ask("POST", post.target, post.body, post.network, kind)
        if status >= 400:
            code = "form" if post.form else json.loads(body)["error"]["code"]
            self._refused[sort][f"{status} {code}"] += 1

    def _ask(
        self, method: str, target: str, body: bytes | None, network: str, kind: str = ""
    ) -> tuple[int, bytes]:
        headers = {"X-Forwarded-For": network} | ({"Content-Type": kind} if kind else {})
        self._connection.request(method, target, body, headers)
        response = self._connection.getresponse()
        return response.status, response.read()


def _plain(fields: Mapping[str, str], network: str) -> Post:
    return Post("/embed/thread", urlencode(fields).encode(), True, network, 0.0)


def _solved(asked: dict[str, Any]) -> str:  # Any: JSON as ALTCHA defines it
    challenge = Challenge.from_dict(asked)
    solution = solve_challenge(challenge)
    assert solution, "every challenge has a solution"
    return Payload(challenge, solution).to_base64()


class Scene(NamedTuple):
    """Who comes to one server: how many of each sort, and settings for it."""

    name: str
    numbers: dict[str, int]
    settings: dict[str, str]


def scenes(posts: int, people: int) -> list[Scene]:
    """The scenes with so many posts of each sort of program, and so many of people."""
    return [
        Scene("script", {"script": posts}, {}),
        Scene("stamper", {"stamper": posts}, {}),
        Scene("solver", {"solver": posts, PERSON: people}, {}),
        Scene("people", {PERSON: people}, {"COMMENTSVC_SPAM_SITE_RATE_LIMIT": "off"}),
    ]


def play(scene: Scene, port: int, data: Path, seed: int) -> dict[str, Tally]:
    """Play a scene on the server at `port`, whose data folder is `data`."""
    crowd = Crowd(port, seed)
    try:
        crowd.play(scene.numbers)
    finally:
        crowd.close()
    return crowd.tallies(data)


# The defaults, where loadtest.service has others.
DEFAULTS: Final = {
    "COMMENTSVC_MODERATION_POLICY": Moderation().policy,
    "COMMENTSVC_SPAM_RATE_LIMIT": Spam().rate_limit,
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--posts", default=10_000, show_default=True, help="Of each sort of program.")
@click.option("--people", default=1_000, show_default=True, help="Of people.")
@click.option("--work", default=5, show_default=True, help="The setting spam.work.")
@click.option("--keep", is_flag=True, help="Store the result in loadtest/results.")
def main(posts: int, people: int, work: int, keep: bool) -> None:
    """Let bots and people post. Exits with 1 where a person is refused."""
    BUILD.mkdir(parents=True, exist_ok=True)
    found = {}
    for scene in scenes(posts, people):
        with tempfile.TemporaryDirectory(dir=BUILD) as place:
            data = Path(place) / "data"
            settings = {**DEFAULTS, "COMMENTSVC_SPAM_WORK": str(work), **scene.settings}
            with Service(data, os.sched_getaffinity(0), settings=settings) as service:
                found[scene.name] = play(scene, service.port, data, seed=1)
        for sort, tally in found[scene.name].items():
            click.echo(f"{scene.name:<8} {_line(sort, tally)}")
    if keep:
        click.echo(f"stored in {_store(found, work)}")
    if any(tallies[PERSON].refused for tallies in found.values() if PERSON in tallies):
        raise click.ClickException("a person was refused")


def _line(sort: str, tally: Tally) -> str:
    refused = sum(tally.refused.values())
    return (
        f"{sort:<8} {tally.sent:6} sent {refused:6} refused {tally.repeated:6} repeated"
        f" {tally.spam:6} spam {tally.doubted:6} wait, doubted {tally.plain:6} wait"
        f" {tally.seconds * 1e3:6.1f} ms of work"
    )


def _store(found: Mapping[str, Mapping[str, Tally]], work: int) -> Path:
    about = machine.commit() | {"date": machine.now(), "machine": machine.describe()}
    date = str(about["date"]).replace(":", "").removesuffix("Z")
    path = RESULTS / f"bots-{date}-{str(about['commit'])[:10]}.json"
    told = {
        scene: {sort: tally._asdict() for sort, tally in tallies.items()}
        for scene, tallies in found.items()
    }
    path.write_text(json.dumps({"about": about, "work": work, "scenes": told}, indent=1) + "\n")
    return path


if __name__ == "__main__":
    main()
