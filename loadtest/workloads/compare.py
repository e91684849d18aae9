"""Two versions of the server under the same load, interleaved within one run.

In each round both versions start on a fresh copy of their database, and stay up together. Each
scenario is played on one and then immediately on the other; the next round begins with the other
one. So slow changes of the machine affect both, and the ratio within a round is the result.

The database of each version is made by that version: comments are submitted to it over HTTP. That
is the only interface that two versions share; their schemas and modules may differ.
"""

import itertools
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

import click

from loadtest.data import blog
from loadtest.data.blog import Page, Text, texts, visits
from loadtest.harness import client, install, programs
from loadtest.harness.bench import Bench
from loadtest.harness.browsers import ratio
from loadtest.harness.environment import Environment, prepare_empty, sum_up
from loadtest.harness.measurement import Row
from loadtest.harness.result import Result, Verdict
from loadtest.harness.rounds import play, quiet
from loadtest.harness.scenario import SCENARIOS, Goal, Scenario, named
from loadtest.harness.service import ENVIRONMENT, Service, ServiceError, Visitor
from loadtest.report.command import extent_of, finish, head_and_bound, options
from loadtest.report.table import align, number, show

DEFAULT: Final = ("count", "count-pipelined", "count-miss", "submit")
BASE, HEAD = "base", "head"
SUBMITTERS: Final = 32  # connections that fill a database
LITTLE: Final = 1_000  # comments of a short run
BOUND: Final = 1.05
FIGURES: Final = {"start_ms": "start, ms", "rss_start_mib": "MiB at start", "rss_mib": "MiB at end"}


@dataclass(frozen=True, slots=True)
class Version:
    """One of the two versions: its commit, its program, its database."""

    name: str
    commit: str
    program: Path
    data: Path
    plans: Path  # the input of its clients
    settings: Mapping[str, None] = field(default_factory=dict)  # our settings that it does not have

    def start(self, data: Path, cores: Sequence[int]) -> Service:
        """Start it on a data folder. Raise ServiceError."""
        return Service(data, cores, settings=self.settings, program=self.program)


def fill(version: Version, pages: Sequence[Page], cores: Sequence[int]) -> None:
    """Make the database of a version by submissions. Raise ServiceError if a count is wrong."""
    written = list(zip(itertools.count(), visits(pages), texts(seed=2), strict=False))
    parts = [written[begin::SUBMITTERS] for begin in range(SUBMITTERS)]
    with version.start(version.data, cores) as service:
        with ThreadPoolExecutor(SUBMITTERS) as pool:
            list(pool.map(_submit, [service.port] * SUBMITTERS, parts))
        visitor = Visitor(service.port)
        for page in pages:
            found = json.loads(visitor.get(f"/api/comments/count?url={page.url}"))["count"]
            if found != page.count:
                raise ServiceError(f"{version.name}: {page.url} has {found} of {page.count}")
        visitor.close()


def _submit(port: int, part: Sequence[tuple[int, Page, Text]]) -> None:
    visitor = Visitor(port)
    for serial, page, text in part:
        fields = {"url": page.url, "author": text.author, "message": text.message}
        fields["key"] = f"fill-{serial:08}"  # so that equal words are not a retry
        visitor.post("/api/comments", json.dumps(fields).encode())
    visitor.close()


def adapted(version: Version, cores: Sequence[int]) -> Version:
    """Return the version without those of our settings that it refuses."""
    while True:
        try:
            with version.start(version.data, cores):
                return version
        except ServiceError as error:
            unknown = [name for name in ENVIRONMENT if f"{name} " in str(error)]
            if not unknown or version.settings.keys() >= set(unknown):
                raise
            version = replace(version, settings={**version.settings, **dict.fromkeys(unknown)})


class Comparison:
    """Rounds of both versions."""

    def __init__(
        self, environment: Environment, versions: Sequence[Version], scenarios: Sequence[Scenario]
    ) -> None:
        """Take versions whose databases are filled with the environment's pages."""
        self._environment = environment
        self._versions = versions
        self._scenarios = sorted(scenarios, key=lambda scenario: scenario.submits)

    def play(self, round_number: int) -> list[Row]:
        """Play one round. Raise ServiceError or ClientError for a wrong answer."""
        versions = self._versions if round_number % 2 else self._versions[::-1]
        with ExitStack() as stack:
            services = [stack.enter_context(self._start(version)) for version in versions]
            started = [service.rss() for service in services]
            benches = [
                Bench(service, self._environment.pages, version.plans)
                for service, version in zip(services, versions, strict=True)
            ]
            rows = [
                quiet(
                    self._environment.extent,
                    partial(self._measure, bench, scenario, round_number, version),
                )
                for scenario in self._scenarios
                for bench, version in zip(benches, versions, strict=True)
            ]
            for service, version, rss in zip(services, versions, started, strict=True):
                figures = {"start_ms": service.start_ms, "rss_start_mib": rss}
                name = {"scenario": f"process: {version.name}", "round": round_number}
                rows.append({**name, "disturbed": False, **figures, "rss_mib": service.rss()})
        return rows

    def _start(self, version: Version) -> Service:
        """Start a version on a copy of its database."""
        data = self._environment.folder / f"{version.name}-round"
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(version.data, data)
        os.sync()
        return version.start(data, self._environment.cores[:1])

    def _measure(self, bench: Bench, scenario: Scenario, number: int, version: Version) -> Row:
        made = bench.measure(
            scenario, number, self._environment.extent.seconds, self._environment.cores
        )
        made["scenario"] = f"{scenario.name}: {version.name}"
        show(made)
        return made


def judge(rows: Sequence[Row], bound: float) -> list[Verdict]:
    """Return the ratio of head to base for each scenario, in each round that has both."""
    kinds = dict.fromkeys(row["scenario"].partition(": ")[0] for row in rows)
    goal = Goal("times", "most", bound, "head costs no more than base")
    return [
        ratio(rows, f"{kind}: {HEAD}", [f"{kind}: {BASE}"], goal, figure)
        for kind in kinds
        for figure in (FIGURES if kind == "process" else ("cpu_ns",))
    ]


def table(result: Result) -> str:
    """Return medians and spread of both versions, and the ratio of head to base."""
    found = {one.name: one for one in result.summaries}
    ratios = iter(result.verdicts)
    head_row = ("", "base", "head", "head / base", "base/s", "head/s")
    rows: list[tuple[str, ...]] = [head_row]
    for kind in dict.fromkeys(name.partition(": ")[0] for name in found):
        base, head = (found[f"{kind}: {name}"] for name in (BASE, HEAD))
        for figure in FIGURES if kind == "process" else ("cpu_ns",):
            cells = [
                f"{number(one.medians[figure])} ({'–'.join(map(number, one.spread[figure]))})"
                for one in (base, head)
            ]
            rates = [
                number(one.medians["rate"]) if "rate" in one.medians else "" for one in (base, head)
            ]
            verdict = next(ratios)
            assert verdict.spread
            low, high = verdict.spread
            name = FIGURES.get(figure, f"{kind}, CPU-ns")
            name += " (disturbed)" * (base.disturbed or head.disturbed)
            times = f"{verdict.value:.3f} ({low:.3f}–{high:.3f})"
            rows.append((name, cells[0], cells[1], times, *rates))
    return align(rows)


@click.command
@click.argument(
    "names", metavar="[SCENARIO]...", nargs=-1, type=click.Choice([one.name for one in SCENARIOS])
)
@click.option("--base", required=True, help="A git revision, or the path of a program commentsvc.")
@head_and_bound(BOUND)
@options(5, 5)
def main(
    names: tuple[str, ...],
    base: str,
    head: str,
    bound: float,
    seconds: int,
    rounds: int,
    short: bool,
) -> None:
    """Two commits: CPU per request, start time, memory.

    Without SCENARIO: count, count-pipelined, count-miss, submit. A revision is built once, in
    build/loadtest/revisions.
    """
    chosen = named(names or DEFAULT)
    if any(one.client == "wrk" for one in chosen):
        client.find_wrk()
    programs.generator()
    with prepare_empty(extent_of(short, rounds, seconds)) as empty:
        pages = blog.pages(comments=LITTLE if short else blog.COMMENTS)
        environment, versions = _fill_both(empty, {BASE: base, HEAD: head}, pages)
        comparison = Comparison(environment, versions, chosen)
        rows = play(environment.extent, comparison.play)
    result = sum_up(environment.about, {}, rows, lambda every: judge(every, bound))
    finish(result, "compare", table(result), short=short)
    if not short and any(one.value > bound for one in result.verdicts):
        raise click.ClickException(f"head costs more than {bound} times what base costs")


def _fill_both(
    environment: Environment, revisions: dict[str, str], pages: Sequence[Page]
) -> tuple[Environment, list[Version]]:
    """Build both versions, and fill a database by each."""
    versions = []
    for name, revision in revisions.items():
        click.echo(f"{name}: {revision or 'the working tree'}")
        commit, program = install.find(revision)
        plans = environment.folder / f"{name}-plans"
        plans.mkdir()
        version = Version(name, commit, program, environment.folder / name, plans)
        versions.append(adapted(version, environment.cores))
        fill(versions[-1], pages, environment.cores)
    about = environment.about | {one.name: one.commit for one in versions} | {"pages": len(pages)}
    return Environment(
        environment.folder, pages, environment.extent, environment.cores, about
    ), versions
