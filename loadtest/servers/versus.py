"""The command line of the contests: `loadtest/versus`."""

import shutil
import statistics
import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from loadtest.data import blog
from loadtest.data.seed import seed
from loadtest.harness import client, machine, programs
from loadtest.harness.measurement import Measurement
from loadtest.harness.programs import BUILD, ROOT
from loadtest.harness.progress import progress
from loadtest.harness.result import Result, Verdict, summarise
from loadtest.harness.rounds import Extent
from loadtest.harness.scenario import Goal
from loadtest.report import table
from loadtest.servers import scan
from loadtest.servers.contest import CONTESTS, PAGES, Contest, Ratio
from loadtest.servers.runner import Arena
from loadtest.servers.scan import Attack, Scan

FULL, SHORT = Extent(seconds=3), Extent(rounds=1, seconds=1, tries=1)
SCAN_SHORT = 50_000  # targets of a short scan
TEXTS = {**{contest.name: contest.text for contest in CONTESTS}, scan.NAME: scan.TEXT}


@click.command
@click.argument("names", metavar="[CONTEST]...", nargs=-1, type=click.Choice(tuple(TEXTS)))
@click.option("--short", is_flag=True, help="One round of 1 s each, to try it out; not stored.")
@click.option(
    "--rounds",
    type=click.IntRange(1, 100),
    default=FULL.rounds,
    show_default=True,
    help="How many; the median of their ratios counts.",
)
@click.option("--list", "show", is_flag=True, help="List the contests.")
def main(names: tuple[str, ...], short: bool, rounds: int, show: bool) -> None:
    """Measure the server against the limit and its peers, in turn."""
    if show:
        click.echo("\n".join(f"{name:<16} {text}" for name, text in TEXTS.items()))
        return
    result = run(names or tuple(TEXTS), SHORT if short else Extent(rounds, FULL.seconds))
    click.echo(f"\n{table.contests(result)}\n")
    if not short:
        click.echo(f"stored as {result.store().relative_to(ROOT)}")


def run(
    names: Collection[str],
    extent: Extent,
    before: Result | None = None,
    only: Collection[str] = (),
) -> Result:
    """Seed, play all rounds, sum up, with those of `before`; `only` these entries, if any.

    Raises ServiceError, ClientError or ProgramError.
    """
    earlier = [Measurement(**one) for one in before.rounds] if before else []
    begin = 1 + max((one.round for one in earlier), default=0)
    contests = [chosen(contest, only) for contest in CONTESTS if contest.name in names]
    cores = machine.choose_cores()
    programs.generator()
    BUILD.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=BUILD))
    about: dict[str, Any] = {  # Any: as in Result
        **machine.commit(),
        "date": machine.now(),
        "machine": machine.describe(),
        **asdict(extent),
        "pages": PAGES,
        "comments": blog.COMMENTS,
    }
    try:
        pages = blog.pages(PAGES)
        seed(place / "data", pages, progress())
        arena = Arena(place, pages, extent, cores, lambda one: click.echo(table.line(one)))
        made = earlier + [
            measurement
            for number in range(begin, begin + extent.rounds)
            for contest in contests
            for measurement in arena.play(contest, number)
        ]
        about |= arena.about()
        result = sum_up(about, contests, made)
        if scan.NAME in names:
            wanted = scan.ASKED if extent.rounds > 1 else SCAN_SHORT
            seen = Attack(place, pages, cores).play(extent.seconds, wanted)
            result = with_scan(result, seen)
    finally:
        shutil.rmtree(place)
    return result


def chosen(contest: Contest, only: Collection[str]) -> Contest:
    """The contest with those of its entries that are wanted; all of them where none is named.

    Raises ClientError without wrk, where it plays.
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
    """The medians of all entries, and a verdict for each ratio of two that were there."""
    played = {measurement.scenario for measurement in made}
    summaries, verdicts = [], []
    for contest in contests:
        names = [f"{contest.name}: {entry.name}" for entry in contest.entries]
        summaries += [summarise(name, contest.text, made) for name in names if name in played]
        verdicts += [
            judge(contest.name, ratio, made)
            for ratio in contest.ratios
            if {f"{contest.name}: {ratio.entry}", f"{contest.name}: {ratio.by}"} <= played
        ]
    rounds = [asdict(measurement) for measurement in made]
    return Result(about, tuple(summaries), tuple(verdicts), tuple(rounds))


def with_scan(result: Result, seen: Scan) -> Result:
    """The result, and what the scan did."""
    verdicts = (*result.verdicts, *seen.verdicts())
    return replace(result, about={**result.about, "scan": asdict(seen)}, verdicts=verdicts)


def judge(contest: str, ratio: Ratio, made: Sequence[Measurement]) -> Verdict:
    """The median of a ratio over the rounds in which both sides were quiet."""
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
