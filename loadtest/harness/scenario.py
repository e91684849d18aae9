"""The scenarios: requests, numbers of clients, right answers, and goals.

A scenario is data. Its questions are the distinct targets with the answers for the seeded database;
`order` is the sequence in which they are sent repeatedly. A mark of ten '#' in a target is replaced
by a serial number that is never used twice.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from loadtest.data.blog import Page, draw
from loadtest.harness.programs import ROOT

MARK = "#" * 10
CLIENTS = 100  # connections, as in Japronto's and our peers' figures
WRITERS = 64  # clients that submit, as in the figures for the database's designs
DEPTH = 24  # requests in a pipeline
SEQUENCE = 24 * 500  # targets asked before the sequence repeats
BATCH = 10  # counts of one list page
LIST = 20  # comments
MIB_RSS = 60.0

Figure = Literal["cpu_ns", "rate", "rss_mib", "times", "errors", "ms"]
Check = Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class Goal:
    """The value that a median must reach: at most, or at least, `bound`."""

    figure: Figure
    sense: Literal["most", "least"]
    bound: float
    reason: str

    def holds(self, value: float) -> bool:
        """Return whether `value` reaches it."""
        return value <= self.bound if self.sense == "most" else value >= self.bound


@dataclass(frozen=True, slots=True)
class Question:
    """A target, and a check of its answer's body."""

    target: str
    is_right: Check


@dataclass(frozen=True, slots=True)
class Scenario:
    """A load pattern. `answered_by` is the cache (hits only) or Python (no hit).

    The generator plays it, except in comparisons with published figures, which used wrk.
    """

    name: str
    text: str
    ask: Callable[[Sequence[Page]], list[Question]]
    answered_by: Literal["store", "python"] = "store"
    depth: int = 1
    clients: int = CLIENTS
    client: Literal["generator", "wrk"] = "generator"
    goals: tuple[Goal, ...] = ()

    @property
    def submits(self) -> bool:
        """Return whether it stores comments."""
        return self.clients == WRITERS


def order(questions: int) -> list[int]:
    """Return the indices of questions in the order of requests, by Zipf's law."""
    return draw(SEQUENCE, questions, seed=3)


def equals(expected: object) -> Check:
    """Return a check for a JSON body."""
    return lambda body: bool(json.loads(body) == expected)


def _is_list(count: int) -> Check:
    def check(body: bytes) -> bool:
        answer = json.loads(body)
        moments = [item["published"] for item in answer["data"]]
        whole = all(item["content"] and item["html"] for item in answer["data"])
        return answer["count"] == len(moments) == count and moments == sorted(moments) and whole

    return check


# Behind the address of a page, which stays the same page: another target, so no answer is stored.
ELSEWHERE: Final = f"%3Futm_source={MARK}"


def _counts(pages: Sequence[Page]) -> list[Question]:
    return [
        Question(f"/api/comments/count?url={page.url}", equals({"count": page.count}))
        for page in pages
    ]


def _unheard(pages: Sequence[Page]) -> list[Question]:
    return [Question(f"{asked.target}{ELSEWHERE}", asked.is_right) for asked in _counts(pages)]


def _batches(pages: Sequence[Page]) -> list[Question]:
    questions = []
    for begin in range(0, len(pages), BATCH):
        batch = pages[begin : begin + BATCH]
        target = "/api/comments/counts?" + "&".join(f"url={page.url}" for page in batch)
        counts = {page.url: page.count for page in batch}
        questions.append(Question(target, equals({"counts": counts})))
    return questions


def _lists(pages: Sequence[Page]) -> list[Question]:
    twenty = [page for page in pages if page.count == LIST]
    return [Question(f"/api/comments?url={page.url}", _is_list(LIST)) for page in twenty]


def _static(_: Sequence[Page]) -> list[Question]:
    script = (ROOT / "static" / "count.js").read_bytes()
    return [Question("/static/count.js", lambda body: body == script)]


def _nothing(_: Sequence[Page]) -> list[Question]:
    return []


SCENARIOS = (
    Scenario(
        "count",
        "a count out of the store, one request at a time on each connection",
        _counts,
        client="wrk",
        goals=(Goal("cpu_ns", "most", 7_000, "the kernel alone takes 5.4 µs"),),
    ),
    Scenario(
        "count-pipelined",
        f"the same, {DEPTH} requests deep",
        _counts,
        depth=DEPTH,
        client="wrk",
        goals=(
            Goal("cpu_ns", "most", 514, "1.5 times Japronto's hello world, which takes 771 ns"),
        ),
    ),
    Scenario("batch", f"the counts of {BATCH} pages in one request, out of the store", _batches),
    Scenario("list", f"the {LIST} comments of a page, out of the store", _lists),
    Scenario("static", "the counter's script, out of the store", _static),
    Scenario(
        "count-miss",
        "a count that Python answers: pages with comments, in targets never asked before",
        _unheard,
        answered_by="python",
    ),
    Scenario(
        "submit",
        f"comments from {WRITERS} clients, each acknowledged after its fsync",
        _nothing,
        answered_by="python",
        clients=WRITERS,
        goals=(Goal("rate", "least", 7_000, "durable, synchronous=FULL"),),
    ),
)
MEMORY = Goal("rss_mib", "most", MIB_RSS, "of the server after all scenarios of a round")


def named(names: Sequence[str]) -> tuple[Scenario, ...]:
    """Return the scenarios of these names in our order, all without names. Raise KeyError."""
    known = {scenario.name: scenario for scenario in SCENARIOS}
    chosen = {known[name].name for name in names} or set(known)
    return tuple(scenario for scenario in SCENARIOS if scenario.name in chosen)
