"""The commands `versus` and `frameworks`: contests with other servers."""

import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from loadtest.harness import client, programs
from loadtest.harness.environment import prepare
from loadtest.harness.measurement import Measurement
from loadtest.harness.result import Result, Verdict, summarise
from loadtest.harness.rounds import Extent
from loadtest.harness.scenario import Goal
from loadtest.report import table
from loadtest.report.command import extent_of, finish, options
from loadtest.servers import scan
from loadtest.servers.contest import CONTESTS, FRAMEWORKS, OURS, PAGES, Contest, Ratio
from loadtest.servers.runner import ContestRunner
from loadtest.servers.scan import Scan, ScanRunner

SCAN_SHORT = 50_000  # targets of a short scan
TEXTS = {**{contest.name: contest.text for contest in CONTESTS}, scan.NAME: scan.TEXT}


@click.command
@click.argument("names", metavar="[CONTEST]...", nargs=-1, type=click.Choice(tuple(TEXTS)))
@click.option("--list", "listed", is_flag=True, help="List the contests.")
@options(seconds=3)
def main(
    names: tuple[str, ...], listed: bool, add: Path | None, seconds: int, rounds: int, short: bool
) -> None:
    """Our server, others, and a minimal C server."""
    if listed:
        click.echo("\n".join(f"{name:<16} {text}" for name, text in TEXTS.items()))
        return
    before = Result.read(add) if add else None
    result = run(names or tuple(TEXTS), extent_of(short, rounds, seconds), before)
    finish(result, "versus", table.entries(result), short=short, add=add)


@click.command
@click.option("--only", multiple=True, type=click.Choice((OURS, *FRAMEWORKS)))
@options(seconds=3)
def frameworks(
    add: Path | None, seconds: int, rounds: int, short: bool, only: tuple[str, ...]
) -> None:
    """Pipelined counts: us and eleven frameworks."""
    before = Result.read(add) if add else None
    result = run(("frameworks",), extent_of(short, rounds, seconds), before, only)
    finish(result, "frameworks", table.entries(result), short=short, add=add)


def run(
    names: Collection[str],
    extent: Extent,
    before: Result | None = None,
    only: Collection[str] = (),
) -> Result:
    """Seed, play all rounds, sum up together with `before`; `only` limits the entries.

    Raise ServiceError, ClientError or ProgramError.
    """
    earlier = [Measurement(**one) for one in before.rounds] if before else []
    begin = 1 + max((one.round for one in earlier), default=0)
    contests = [chosen(contest, only) for contest in CONTESTS if contest.name in names]
    programs.generator()
    with prepare(extent, PAGES) as place:
        runner = ContestRunner(
            place.folder, place.pages, extent, place.cores, lambda one: table.show(one.row())
        )
        made = earlier + [
            measurement
            for number in range(begin, begin + extent.rounds)
            for contest in contests
            for measurement in runner.play(contest, number)
        ]
        result = sum_up(place.about | runner.about(), contests, made)
        if scan.NAME in names:
            wanted = scan.ASKED if extent.rounds > 1 else SCAN_SHORT
            seen = ScanRunner(place.folder, place.pages, place.cores).play(extent.seconds, wanted)
            result = with_scan(result, seen)
    return result


def chosen(contest: Contest, only: Collection[str]) -> Contest:
    """Return the contest with the entries named in `only`, or with all if that is empty.

    Raise ClientError if wrk is needed and missing.
    """
    wanted = tuple(entry for entry in contest.entries if not only or entry.name in only)
    if any(entry.client == "wrk" for entry in wanted):
        client.find_wrk()
    return replace(contest, entries=wanted)


def sum_up(
    about: dict[str, Any],  # Any: as in Result
    contests: Iterable[Contest],
    made: Sequence[Measurement],
) -> Result:
    """Return the medians of all entries, and a verdict for each ratio of two measured ones."""
    played = {measurement.scenario for measurement in made}
    rows = [measurement.row() for measurement in made]
    summaries, verdicts = [], []
    for contest in contests:
        names = [f"{contest.name}: {entry.name}" for entry in contest.entries]
        summaries += [summarise(name, contest.text, rows) for name in names if name in played]
        verdicts += [
            judge(contest.name, ratio, made)
            for ratio in contest.ratios
            if {f"{contest.name}: {ratio.entry}", f"{contest.name}: {ratio.by}"} <= played
        ]
    rounds = [asdict(measurement) for measurement in made]
    return Result(about, tuple(summaries), tuple(verdicts), tuple(rounds))


def with_scan(result: Result, seen: Scan) -> Result:
    """Return the result with that of the scan."""
    verdicts = (*result.verdicts, *seen.verdicts())
    return replace(result, about={**result.about, "scan": asdict(seen)}, verdicts=verdicts)


def judge(contest: str, ratio: Ratio, made: Sequence[Measurement]) -> Verdict:
    """Return the median of a ratio over the rounds in which both sides were quiet."""
    sides: list[dict[int, Measurement]] = [
        {one.round: one for one in made if one.scenario == f"{contest}: {name}"}
        for name in (ratio.entry, ratio.by)
    ]
    pairs = [(above, sides[1][number]) for number, above in sides[0].items()]
    quiet = [pair for pair in pairs if not (pair[0].disturbed or pair[1].disturbed)]
    values = [
        getattr(above, ratio.figure) / getattr(below, ratio.figure)
        for above, below in quiet or pairs
    ]
    value = statistics.median(values)
    goal = Goal("times", ratio.sense, ratio.bound, ratio.reason)
    name = f"{contest}: {ratio.figure} of {ratio.entry} by {ratio.by}"
    holds = goal.holds(value) if quiet else None
    return Verdict(name, goal, value, holds, (min(values), max(values)))
