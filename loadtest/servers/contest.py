"""The contests: our server and others under the same load, and the ratios to reach.

A contest is data, like a scenario. Absolute figures change with the time and the machine; ratios of
figures that were measured in turn, in one run, do not. So every goal here is a ratio to the
baseline or to another server.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loadtest.data.blog import draw
from loadtest.harness.client import Request
from loadtest.harness.scenario import DEPTH

PAGES = 10_000
SEQUENCE = DEPTH * 5_000  # requests before the sequence repeats
OURS = "ours"  # any other server is a peer

Figure = Literal["cpu_ns", "rate", "client_ns", "p50", "p90"]

# The header of Chrome 142 for a fetch() from another origin, without the target.
CHROME = (
    "Host: comments.example.org\r\n"
    "Connection: keep-alive\r\n"
    'sec-ch-ua-platform: "Windows"\r\n'
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/142.0.0.0 Safari/537.36\r\n"
    'sec-ch-ua: "Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"\r\n'
    "sec-ch-ua-mobile: ?0\r\n"
    "Accept: */*\r\n"
    "Origin: https://blog.example.net\r\n"
    "Sec-Fetch-Site: cross-site\r\n"
    "Sec-Fetch-Mode: cors\r\n"
    "Sec-Fetch-Dest: empty\r\n"
    "Referer: https://blog.example.net/\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7\r\n\r\n"
)
WRK = "Host: 127.0.0.1:8080\r\n\r\n"  # what wrk sends


@dataclass(frozen=True, slots=True)
class Entry:
    """A server with a client. Two workers run on both cores, together with the client."""

    name: str
    server: str = OURS
    client: Literal["generator", "wrk"] = "generator"
    workers: int = 1


@dataclass(frozen=True, slots=True)
class Ratio:
    """The goal for the `figure` of an entry divided by that of another one."""

    entry: str
    by: str
    figure: Figure
    sense: Literal["most", "least"]
    bound: float
    reason: str


@dataclass(frozen=True, slots=True)
class Contest:
    """A load, the servers that get it, and the goals for ratios.

    With `awake` the generator never sleeps, if it has a core of its own: then waking it costs no
    server.
    """

    name: str
    text: str
    entries: tuple[Entry, ...]
    ratios: tuple[Ratio, ...]
    depth: int = 1
    chrome: bool = False
    awake: bool = True

    def targets(self, pages: Sequence[str]) -> list[str]:
        """Return the targets: counts. A browser's script encodes the page's path."""
        encoded = (page.replace("/", "%2F") if self.chrome else page for page in pages)
        return [f"/api/comments/count?url={page}" for page in encoded]

    def requests(self, pages: Sequence[str], bodies: Sequence[bytes]) -> list[Request]:
        """Return distinct requests with their right answers."""
        rest = CHROME if self.chrome else WRK
        texts = (f"GET {target} HTTP/1.1\r\n{rest}".encode() for target in self.targets(pages))
        return [Request(text, 200, body) for text, body in zip(texts, bodies, strict=True)]


def order(pages: int) -> list[int]:
    """Return the indices of the `pages` in the order of requests, by Zipf's law."""
    return draw(SEQUENCE, pages, seed=3)


def _peers(*names: str) -> tuple[Entry, ...]:
    return tuple(Entry(name, name) for name in names)


def _below(peer: str) -> Ratio:
    return Ratio(OURS, peer, "cpu_ns", "most", 1.0, f"below {peer}")


def _alike(figure: Figure, part: float) -> tuple[Ratio, Ratio]:
    reason = "both must see the same"
    return (
        Ratio("generator", "wrk", figure, "least", 1 - part, reason),
        Ratio("generator", "wrk", figure, "most", 1 + part, reason),
    )


PLAIN = Contest(
    "plain",
    "counts out of the store, one request at a time, wrk's request",
    (Entry(OURS), *_peers("baseline", "nginx", "libreactor", "hyper", "japronto")),
    (
        Ratio(OURS, "baseline", "cpu_ns", "most", 1.08, "the kernel is nearly everything"),
        *map(_below, ("nginx", "libreactor", "hyper")),
    ),
)
# Japronto's own test, and those of its competitors then and now that can be installed.
FRAMEWORKS = (
    *("japronto", "hyper", "nginx", "uvicorn", "go-http", "go-fasthttp"),
    *("fastwsgi", "granian", "robyn", "socketify", "sanic"),
)
CONTESTS = (
    Contest(
        "frameworks",
        f"counts out of the store, {DEPTH} deep, against what registries have",
        (Entry(OURS), *_peers(*FRAMEWORKS)),
        tuple(map(_below, FRAMEWORKS)),
        depth=DEPTH,
    ),
    Contest(
        "pipelined",
        f"counts out of the store, {DEPTH} deep, wrk's request",
        (Entry(OURS), *_peers("baseline", "japronto"), Entry("ours-wrk", client="wrk")),
        (
            Ratio(OURS, "baseline", "cpu_ns", "most", 1.4, "what a real hit needs"),
            Ratio(OURS, "japronto", "cpu_ns", "most", 0.36, "with an answer of the same size"),
        ),
        depth=DEPTH,
    ),
    Contest(
        "chrome",
        f"counts out of the store, {DEPTH} deep, Chrome's request",
        (Entry(OURS), *_peers("baseline")),
        (Ratio(OURS, "baseline", "cpu_ns", "most", 1.7, "600 bytes of head to check"),),
        depth=DEPTH,
        chrome=True,
    ),
    PLAIN,
    Contest(
        "plain-chrome",
        "counts out of the store, one request at a time, Chrome's request",
        (Entry(OURS), *_peers("baseline")),
        (Ratio(OURS, "baseline", "cpu_ns", "most", 1.08, "the kernel is nearly everything"),),
        chrome=True,
    ),
    Contest(
        "miss",
        "a trivial coroutine in Python answers, one request at a time",
        _peers("bridge", "uvicorn"),
        (Ratio("bridge", "uvicorn", "rate", "least", 1.0, "both on one core"),),
    ),
    Contest(
        "scaling",
        f"counts, {DEPTH} deep, by one worker, and by two that share both cores with the client",
        (Entry("one"), Entry("two", workers=2)),
        (Ratio("two", "one", "cpu_ns", "most", 1.1, "two workers do 1.8 times the work of one"),),
        depth=DEPTH,
        awake=False,
    ),
    Contest(
        "client",
        f"the generator against wrk, {DEPTH} deep, on a server that is faster than both",
        (Entry("generator", "baseline"), Entry("wrk", "baseline", client="wrk")),
        (
            Ratio("generator", "wrk", "client_ns", "most", 1.0, "its own CPU time"),
            Ratio("generator", "wrk", "rate", "least", 1.0, "what it can ask for"),
        ),
        depth=DEPTH,
        awake=False,
    ),
    Contest(
        "validate",
        "the generator against wrk on a slow server, one request at a time",
        (Entry("generator", "uvicorn"), Entry("wrk", "uvicorn", client="wrk")),
        (*_alike("rate", 0.05), *_alike("p50", 0.05), *_alike("p90", 0.1)),
        awake=False,
    ),
)
