"""The command line of the ancestors' load tests: `loadtest/ancestors`."""

from pathlib import Path
from typing import Any

import click

from loadtest.harness.browsers import names
from loadtest.harness.result import Result
from loadtest.report import table
from loadtest.servers import versus
from loadtest.servers.competitors import OURS, RIVALS
from loadtest.servers.contest import FRAMEWORKS
from loadtest.workloads import front_page, methods, mixed
from loadtest.workloads.environment import first_round, stage, sum_up, told
from loadtest.workloads.options import extent_of, finish, options


@click.command
@options(seconds=12)
@click.option("--way", "ways", multiple=True, type=click.Choice(tuple(front_page.WAYS)))
@click.option("--only", multiple=True, type=click.Choice((OURS, *(r.name for r in RIVALS))))
def play_article(
    add: Path | None, seconds: int, rounds: int, short: bool, ways: Any, only: Any
) -> None:
    """250 clients ask for the counts of front pages, over HTTPS and without; once for 60 s."""
    before = Result.read(add) if add else None
    chosen = front_page.turns(ways or front_page.WAYS, only)
    with stage(extent_of(short, rounds, seconds)) as place:
        played = front_page.Article(place, told)
        begin = first_round(before)
        rows = [
            row
            for number in range(begin, begin + place.extent.rounds)
            for row in played.play(chosen, number)
        ]
    place.about["absent"] = played.absent
    texts = {turn.name: turn.text for turn in chosen}
    result = sum_up(place.about, texts, rows, front_page.judge, before)
    finish(result, "article", front_page.table(result.rounds, result.summaries), short, add)


@click.command
@options(seconds=3)
@click.option("--only", multiple=True, type=click.Choice((OURS, *FRAMEWORKS)))
def play_japronto(add: Path | None, seconds: int, rounds: int, short: bool, only: Any) -> None:
    """Pipelined requests, 100 connections, 24 deep: against what registries have."""
    before = Result.read(add) if add else None
    result = versus.run(("frameworks",), extent_of(short, rounds, seconds), before, only)
    finish(result, "japronto", table.entries(result), short, add)


@click.command
@options(seconds=1)
def play_small(add: Path | None, seconds: int, rounds: int, short: bool) -> None:
    """ab -c 5 -n 10000 by each method, with and without keep-alive; takes as long as that takes."""
    before = Result.read(add) if add else None
    with stage(extent_of(short, rounds, seconds)) as place:
        asked = methods.SHORT_REQUESTS if short else methods.REQUESTS
        played = methods.Small(place, told, asked)
        begin = first_round(before)
        rows = [
            row
            for number in range(begin, begin + place.extent.rounds)
            for row in played.play(number)
        ]
    every = names([*(before.rounds if before else ()), *rows])
    result = sum_up(place.about, {name: name for name in every}, rows, methods.judge, before)
    finish(result, "small", methods.table(result.summaries), short, add)


@click.command
@options(seconds=6)
@click.option("--part", "parts", multiple=True, type=click.Choice(mixed.PARTS))
def play_talk(add: Path | None, seconds: int, rounds: int, short: bool, parts: Any) -> None:
    """A mix of reads and writes, at the highest rate that holds by the talk's protocol."""
    before = Result.read(add) if add else None
    with stage(extent_of(short, rounds, seconds)) as place:
        played = mixed.Talk(place, told)
        begin = first_round(before)
        rows = [
            row
            for number in range(begin, begin + place.extent.rounds)
            for part in parts or mixed.PARTS
            for row in played.part(part, number, short=short)
        ]
    place.about["absent"] = played.absent
    every = names([*(before.rounds if before else ()), *rows])
    result = sum_up(place.about, {name: name for name in every}, rows, mixed.judge, before)
    finish(result, "talk", mixed.table(result.summaries), short, add)
