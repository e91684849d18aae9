"""The costs of the most expensive allowed requests, and what other clients see meanwhile.

Each attack sends requests that the service answers: the largest ones, those that miss the cache,
Markdown that is expensive to parse, password checks. Requests with a limit per client network come
from as many networks as a botnet has.

Each attack is played twice on a fresh server. Alone it shows the server's CPU time per request.
Then four readers request cached counts and a moderator the queue at the same time, which shows what
they see while the attackers send requests as fast as they are answered.
"""

import json
import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import click

from loadtest.data import accounts
from loadtest.data.blog import Page, draw
from loadtest.data.seed import add_waiting
from loadtest.harness import client
from loadtest.harness.browsers import Seen, browse
from loadtest.harness.client import Outcome, Request
from loadtest.harness.environment import Environment, prepare, sum_up
from loadtest.harness.measurement import Measurement, Reading, Row
from loadtest.harness.result import Result
from loadtest.harness.rounds import play
from loadtest.harness.scenario import ELSEWHERE, MARK
from loadtest.harness.service import JSON, PATIENCE, Service, ServiceError, Visitor
from loadtest.report.command import extent_of, finish, options
from loadtest.report.table import align, milliseconds, number
from loadtest.workloads import hostile
from loadtest.workloads.admin_browser import AdminBrowser

ATTACKERS: Final = 20  # connections
READERS: Final = 4
SILENT: Final = 200  # clients that ask and never read
WAITING: Final = 100  # comments in the queue
LONGEST: Final = 8_000  # characters of a message
BATCH: Final = 100  # pages of one batch of counts
LIST: Final = 1_000  # comments of the longest list
NETWORKS: Final = 20_000  # networks of the attackers
PLAN: Final = 16_000_000  # bytes of the requests that clients read
GUESSES: Final = 8  # at once; any further one is refused unread
SEQUENCE: Final = 12_000  # requests of readers, before they repeat
LEAD: Final = 0.3  # seconds
LARGE_HEAD: Final = "".join(f"\r\nX-Field-{n}: {'x' * 100}" for n in range(60))
BLOG: Final = "https://blog.example"
SECRET: Final = "0123456789abcdef0123456789abcdef"
# What only some services have is on; no mail is sent, since nothing listens on that port.
SETTINGS: Final = {
    "COMMENTSVC_SPAM_SITE_RATE_LIMIT": "off",
    "COMMENTSVC_SPAM_VOTE_LIMIT": "off",
    "COMMENTSVC_SERVER_PUBLIC_URL": "https://comments.example",
    "COMMENTSVC_MAIL_HOST": "127.0.0.1",
    "COMMENTSVC_MAIL_PORT": "9",
    "COMMENTSVC_MAIL_SENDER": "comments@blog.example",
    "COMMENTSVC_INBOX_ADDRESS": "comments@blog.example",
    "COMMENTSVC_INBOX_HOOK_SECRET": SECRET,
    "COMMENTSVC_SITE_ORIGINS": BLOG,
    "COMMENTSVC_SITE_ISSO": "true",
    "COMMENTSVC_SITE_WALINE": "true",
    "COMMENTSVC_SITE_ARTALK": "true",
    "COMMENTSVC_SITE_WEBMENTIONS": "true",
    "COMMENTSVC_SITE_SIGN_IN": "mail",
}
Play = Callable[[float], Outcome]
CALM: Final = "no attack"
QUEUE: Final = "/moderation/queue"
API: Final = "/api/moderation/comments"

# Markdown that is expensive to parse: nesting, and openers that are never closed.
BOMBS: Final = {
    "nested quotes": ">" * LONGEST,
    "nested lists": "- " * (LONGEST // 2),
    "open brackets": "[" * LONGEST,
    "open images": "![" * (LONGEST // 2),
    "links in links": "[a](" * (LONGEST // 4),
    "open emphasis": "*a _a " * (LONGEST // 6),
    "emphasis of each length": " ".join("*" * n + "a" for n in range(1, 140))[:LONGEST],
    "backticks of each length": " ".join("`" * n for n in range(1, 140))[:LONGEST],
    "many links": "[a](http://b.example) " * (LONGEST // 22),
    "bare addresses": "http://b.example/a " * (LONGEST // 19),
    "entities": "&amp;" * (LONGEST // 5),
    "short paragraphs": "a\n\n" * (LONGEST // 3),
}
ORDINARY: Final = "Thank you for **writing** this down. See [the guide](https://docs.example/)."


@dataclass(frozen=True, slots=True)
class Attack:
    """Requests that so many clients send again and again."""

    name: str
    requests: tuple[Request, ...]
    clients: int = ATTACKERS


def _request(head: str, body: str = "", status: int = 200) -> Request:
    fields = "Host: localhost\r\n"
    if body:
        fields += f"Content-Length: {len(body.encode())}\r\n"
    return Request(f"{head}\r\n{fields}\r\n{body}".encode(), status, None)


def _get(name: str, target: str, fields: str = "") -> Attack:
    return Attack(name, (_request(f"GET {target} HTTP/1.1{fields}"),))


def _post(name: str, target: str, status: int, **fields: object) -> Attack:
    head = f"POST {target} HTTP/1.1\r\nContent-Type: {JSON}"
    return Attack(name, _from_networks(head, json.dumps(fields), status))


def _from_networks(head: str, body: str, status: int) -> tuple[Request, ...]:
    """Return the same request from each of many networks, as many as PLAN has room for."""
    networks = range(min(NETWORKS, PLAN // (len(head) + len(body))))
    return tuple(
        _request(f"{head}\r\nX-Forwarded-For: 2001:db8:{network:x}::1", body, status)
        for network in networks
    )


def preview(name: str, message: str) -> Attack:
    """Return the attack that renders a message."""
    return _post(f"preview: {name}", "/api/preview", 200, message=message)


def submit(name: str, url: str, message: str) -> Attack:
    """Return the attack that stores a message."""
    fields = {"url": url, "author": "Ann", "key": f"attack-{MARK}", "message": message}
    return _post(f"submit: {name}", "/api/comments", 201, **fields)


def reads(pages: Sequence[Page]) -> list[Attack]:
    """Return the attacks that only read, on the most commented pages."""
    url = pages[0].url
    every = "&".join(f"url={page.url}" for page in pages[: BATCH - 1])
    return [
        _get("count, a hit with a large head", f"/api/comments/count?url={url}", LARGE_HEAD),
        _get("count, a miss", f"/api/comments/count?url={url}{ELSEWHERE}"),
        _get(f"counts of {BATCH} pages, a miss", f"/api/comments/counts?{every}&url=/{MARK}/"),
        _get(f"list of {LIST}, a miss", f"/api/comments?url={url}{ELSEWHERE}&limit={LIST}"),
        _get("list by votes, a miss", f"/api/comments?url={url}{ELSEWHERE}&sort=top&limit={LIST}"),
        _get("embedded thread, a miss", f"/embed/thread?url={url}&parent=1{MARK}"),
        _get("feed, a miss", f"/feed.atom?url={url}{ELSEWHERE}"),
        _get("form token", f"/api/form-token?url={url}"),
        _get("metrics", "/metrics"),
    ]


def optional_reads(pages: Sequence[Page]) -> list[Attack]:
    """Return the attacks that read what only some services offer, or several lists at once."""
    url = pages[0].url
    asked = f"page={BLOG}{url}&word={MARK.replace('#', '0')}"
    return [
        _get(
            "counts, reactions and lists, a miss",
            f"/api/comments/counts?url={url}&url=/{MARK}/&reactions=yes&latest=yes&popular=year",
        ),
        _get("Isso's list, a miss", f"/isso/?uri={url}{ELSEWHERE}"),
        _get("Waline's list, a miss", f"/waline/api/comment?path={url}{ELSEWHERE}&pageSize={LIST}"),
        _get(
            "Artalk's list, a miss",
            f"/artalk/api/v2/comments?page_key={url}{ELSEWHERE}&limit={LIST}",
        ),
        _get("a reader's sign-in", f"/reader/sign-in?{asked}"),
        _get("form to follow", f"/follow?url={url}"),
    ]


def refusals(pages: Sequence[Page]) -> list[Attack]:
    """Return the attacks that are refused: without the token, secret or address they need."""
    url, form = pages[0].url, "Content-Type: application/x-www-form-urlencoded"
    wrong = "Authorization: Bearer wrong"
    foreign = f"source=http://a.example/{MARK}&target=https://b.example/"
    return [
        Attack(name, _from_networks(head, body, status))
        for name, head, body, status in (
            ("reader, a wrong token", f"GET /api/reader?url={url} HTTP/1.1\r\n{wrong}", "", 401),
            ("moderation, a wrong token", f"GET {API} HTTP/1.1\r\n{wrong}", "", 401),
            ("inbox, a wrong secret", f"POST /api/inbox HTTP/1.1\r\n{wrong}", "x" * 100_000, 401),
            ("webmention of another site", f"POST /webmention HTTP/1.1\r\n{form}", foreign, 400),
            ("a forged mail link", f"GET /mail/follow?t={MARK} HTTP/1.1", "", 404),
            ("a forged state", f"GET /reader/return?state={MARK} HTTP/1.1", "", 403),
        )
    ]


def follow(url: str) -> Attack:
    """Return the attack that asks for a mail, each from another network to another address."""
    return _post("follow", f"/api/follow?url={url}", 202, email=f"a{MARK}@mail.example")


def sign_in(port: int) -> Attack:
    """Return the attack that guesses passwords for unknown names from many networks."""
    browser = AdminBrowser(port)
    browser.get("sign-in")
    browser.close()
    head = (
        "POST /moderation/sign-in HTTP/1.1\r\nSec-Fetch-Site: same-origin\r\n"
        f"Cookie: {browser.cookie}\r\nContent-Type: application/x-www-form-urlencoded"
    )
    body = f"csrf_token={browser.token}&name={MARK}&password=wrong"
    return Attack("sign-in, a wrong password", _from_networks(head, body, 403), GUESSES)


def play_requests(
    attack: Attack, port: int, plan: Path, seconds: float, core: str, first: int
) -> Outcome:
    """Send the requests of an attack as fast as they are answered."""
    order = range(len(attack.requests))
    plan.write_bytes(client.pack(attack.requests, order))
    seen = browse(port, plan, attack.clients, seconds, core, first=first)
    return accepted(seen, attack.requests[0].status)


def accepted(seen: Seen, status: int) -> Outcome:
    """Return the result with each status of success counted as right, as `status` is.

    A submission is answered by 201 or 202, depending on the spam policy.
    """
    answers = {int(name): count for name, count in seen.statuses.items()}
    right = sum(count for one, count in answers.items() if 200 <= one < 300 or one == status)
    return replace(seen.outcome, answered=right, wrong=sum(answers.values()) - right)


def open_streams(port: int, url: str, seconds: float) -> Outcome:
    """Open streams of events one after the other, and close each after its first event."""
    said = f"GET /api/comments/stream?url={url} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    begin, opened = time.monotonic(), 0
    while (took := time.monotonic() - begin) < seconds:
        with hostile.connect_many(port, ATTACKERS, said) as clients:
            hostile.wait_for_text(clients, b'{"count"')
        opened += ATTACKERS
    return Outcome(opened, took, 0, 0, 0, 0, 0, 0, 0)


class Attacks:
    """Plays attacks, each on a server with a fresh copy of the database."""

    def __init__(self, environment: Environment) -> None:
        """Take the environment with its seeded blog."""
        self._environment = environment
        self._core = str(environment.cores[1])
        self._serial = 0
        add_waiting(environment.folder / "data", environment.pages, WAITING)
        [browser] = accounts.sign_in(environment.folder / "data")
        self._cookie = browser.cookie

    def play(self, number: int, *, short: bool) -> list[Row]:
        """Play all attacks once; a `short` round has few of them."""
        pages, url = self._environment.pages, self._environment.pages[0].url
        rows = [self._with_requests(None, number)]
        previews = [preview("an ordinary text", ORDINARY), *map(preview, BOMBS, BOMBS.values())]
        found = [*reads(pages), *optional_reads(pages), *refusals(pages), follow(url)]
        if short:
            found, previews = found[:2], previews[:2]
        rows += [self._with_requests(one, number) for one in found]
        rendered = [self._with_requests(one, number) for one in previews]
        rows += rendered
        # The most expensive one to render is submitted as well.
        dearest = max(rendered, key=lambda row: float(row["cpu_ns"]))["scenario"]
        name = dearest.partition(": ")[2]
        rows.append(self._with_requests(submit("an ordinary text", url, ORDINARY), number))
        rows.append(self._with_requests(submit(name, url, BOMBS.get(name, ORDINARY)), number))
        rows += [self._sign_in(number), self._streams(number), self._silence(number)]
        return rows

    def _with_requests(self, attack: Attack | None, number: int) -> Row:
        """Play an attack of requests; None is no attack, for comparison."""
        with self._serve() as service:
            if attack is None:
                return self._observe(CALM, number, service, None)
            return self._measure(attack, number, service)

    def _sign_in(self, number: int) -> Row:
        with self._serve() as service:
            return self._measure(sign_in(service.port), number, service)

    def _measure(self, attack: Attack, number: int, service: Service) -> Row:
        def play(seconds: float) -> Outcome:
            self._serial += 10_000_000
            plan = self._environment.folder / "attack"
            return play_requests(
                attack, service.port, plan, seconds, self._core, self._serial - 10_000_000
            )

        return self._observe(attack.name, number, service, play)

    def _streams(self, number: int) -> Row:
        url = self._environment.pages[0].url
        with self._serve() as service:
            return self._observe(
                "stream, opened and left",
                number,
                service,
                lambda seconds: open_streams(service.port, url, seconds),
            )

    def _silence(self, number: int) -> Row:
        """Measure the memory for clients that request the longest list and never read."""
        url = self._environment.pages[0].url
        target = f"/api/comments?url={url}&limit={LIST}"
        text = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        with self._serve() as service:
            Visitor(service.port).get(target)
            before = service.rss()
            with hostile.connect_many(service.port, SILENT, b"", hostile.ROOM) as clients:
                hostile.fill(clients, text)
                row = self._observe(f"{SILENT} clients that never read", number, service, None)
                return row | {"gained_mib": service.rss() - before}

    def _serve(self) -> Service:
        data = self._environment.folder / "attacked"
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(self._environment.folder / "data", data)
        return Service(data, self._environment.cores[:1], settings=SETTINGS)

    def _observe(self, name: str, number: int, service: Service, play: Play | None) -> Row:
        """Measure an attack alone, and then what readers and a moderator see meanwhile."""
        seconds, row = self._environment.extent.seconds, _about(name, number)
        if play:
            server, other = self._environment.cores
            begin = Reading.take(service.cpu(), {server}, other)
            outcome = play(seconds)
            used = Reading.take(service.cpu(), {server}, other).since(begin)
            if not outcome.answered:
                raise ServiceError(f"{name}: no right answer, {outcome.wrong} wrong ones")
            row |= Measurement.of(name, number, outcome, used, service.rss()).row()
            row["errors"] = outcome.wrong + outcome.failed
        row |= self._see(service, seconds, play)
        click.echo(_line(row))
        return row

    def _see(self, service: Service, seconds: float, play: Play | None) -> Row:
        """Return what readers and a moderator see, while attackers play."""
        plan = self._environment.folder / "readers"
        targets = [
            f"/api/comments/count?url={page.url}" for page in self._environment.pages[BATCH:]
        ]
        visitor = Visitor(service.port)
        requests = [
            Request(f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode(), 200, visitor.get(target))
            for target in targets
        ]
        visitor.close()
        plan.write_bytes(client.pack(requests, draw(SEQUENCE, len(requests), seed=4)))
        with ThreadPoolExecutor(2) as pool:
            # Attackers begin before and end after those who are observed.
            attack = pool.submit(play, seconds + 2 * LEAD) if play else None
            time.sleep(LEAD)
            queue = pool.submit(self._moderate, service.port, seconds)
            read = client.generate(service.port, plan, READERS, 1, seconds, 0, self._core)
            client.demand("readers", read)
            times = queue.result()
            if attack:
                attack.result()
        figures = {"readers_p50": read.p50, "readers_p99": read.p99, "readers_rate": read.answered}
        figures["readers_rate"] /= read.seconds
        return figures | {"queue_ms": statistics.median(times), "queue_max_ms": max(times)}

    def _moderate(self, port: int, seconds: float) -> list[float]:
        """Request the queue's page again and again; return the milliseconds of each."""
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        times: list[float] = []
        end = time.monotonic() + seconds
        while not times or time.monotonic() < end:
            begin = time.perf_counter()
            connection.request("GET", QUEUE, headers={"Cookie": self._cookie})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise ServiceError(f"{QUEUE} answers {answer.status}")
            times.append((time.perf_counter() - begin) * 1e3)
        connection.close()
        return times


def _about(name: str, number: int) -> Row:
    return {"scenario": name, "round": number, "disturbed": False, "disturbance": 0.0}


def _line(row: Row) -> str:
    cost = f"{number(row['cpu_ns'] / 1e3):>8} CPU-µs" if "cpu_ns" in row else " " * 15
    return (
        f"{row['scenario']:<36}{cost}  readers p99 {milliseconds(row['readers_p99']):>7} ms"
        f"  queue {row['queue_ms']:8.1f} ms"
    )


def table(result: Result) -> str:
    """Return the attacks, the most expensive first, and what others see during each."""
    head = ("attack", "CPU-µs", "requests/s", "errors", "readers p50", "p99 ms", "queue ms")
    lines: list[tuple[str, ...]] = [(*head, "max ms", "MiB gained")]
    for one in sorted(result.summaries, key=lambda one: -one.medians.get("cpu_ns", 0)):
        figures = one.medians
        cost = ["", "", ""]
        if "cpu_ns" in figures:
            cost = [number(figures["cpu_ns"] / 1e3), number(figures["rate"])]
            cost.append(f"{figures['errors']:,.0f}")
        seen = (milliseconds(figures["readers_p50"]), milliseconds(figures["readers_p99"]))
        times = (f"{figures['queue_ms']:,.1f}", f"{figures['queue_max_ms']:,.1f}")
        gained = number(figures["gained_mib"]) if "gained_mib" in figures else ""
        name = one.name + " (disturbed)" * one.disturbed
        lines.append((name, *cost, *seen, *times, gained))
    return align(lines)


@click.command
@options(2, 1)
def main(seconds: int, rounds: int, short: bool) -> None:
    """The most expensive allowed requests, and what others see.

    Each is played alone, and beside readers of cached counts and a moderator.
    """
    with prepare(extent_of(short, rounds, seconds)) as environment:
        rows = play(environment.extent, partial(Attacks(environment).play, short=short))
    result = sum_up(environment.about, {}, rows)
    finish(result, "attack", table(result), short=short)
