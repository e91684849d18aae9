"""Bots: how much spam reaches the queue, and whether a person is refused: `loadtest/bots`.

DESIGN. Three sorts of programs and people (see `visitors`) post to the real program over HTTP. The
settings are the defaults (every comment waits for approval), but for the work, a share of it, so
that a run takes minutes. People are a scene of their own, in which the site's rate is not limited,
for a week of them comes in a minute; and they come in the midst of solvers. Once more they do so
after a moderator has decided on the first of both, which teaches the filter.
"""

import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import click

from commentsvc.settings.schema import Moderation, Spam
from commentsvc.spam import model_cache
from loadtest.harness import machine
from loadtest.harness.programs import BUILD
from loadtest.harness.result import RESULTS
from loadtest.harness.service import Service
from loadtest.workloads.bot_clients import PERSON, Crowd, Tally


class Scene(NamedTuple):
    """Who comes to one server: how many of each sort, and settings for it.

    After the first `lessons` of each sort a moderator decides on them; they are not counted.
    """

    name: str
    numbers: dict[str, int]
    settings: dict[str, str]
    lessons: int = 0


UNHURRIED: Final = {"COMMENTSVC_SPAM_SITE_RATE_LIMIT": "off"}


def scenes(posts: int, people: int, lessons: int) -> list[Scene]:
    """The scenes with so many posts of each sort of program, of people, and lessons of both."""
    return [
        Scene("script", {"script": posts}, {}),
        Scene("stamper", {"stamper": posts}, {}),
        Scene("solver", {"solver": posts, PERSON: people}, {}),
        Scene("people", {PERSON: people}, UNHURRIED),
        Scene("taught", {"solver": posts, PERSON: people}, UNHURRIED, lessons),
    ]


def play(scene: Scene, port: int, data: Path, seed: int) -> dict[str, Tally]:
    """Play a scene on the server at `port`, whose data folder is `data`."""
    crowd = Crowd(port, seed)
    try:
        if scene.lessons:
            crowd.play(dict.fromkeys(scene.numbers, scene.lessons))
            crowd.teach(data)
            time.sleep(model_cache.PAUSE)
        crowd.play(scene.numbers)
    finally:
        crowd.close()
    return crowd.tallies(data)


# The defaults, where loadtest.harness.service has others.
DEFAULTS: Final = {
    "COMMENTSVC_MODERATION_POLICY": Moderation().policy,
    "COMMENTSVC_SPAM_RATE_LIMIT": Spam().rate_limit,
}


@click.command
@click.option("--posts", default=10_000, show_default=True, help="Of each sort of program.")
@click.option("--people", default=1_000, show_default=True, help="Of people.")
@click.option("--lessons", default=100, show_default=True, help="Of both, for the filter.")
@click.option("--work", default=5, show_default=True, help="The setting spam.work.")
@click.option("--keep", is_flag=True, help="Store the result in loadtest/results.")
def main(posts: int, people: int, lessons: int, work: int, keep: bool) -> None:
    """Let bots and people post. Exits with 1 where a person is refused."""
    BUILD.mkdir(parents=True, exist_ok=True)
    found = {}
    for scene in scenes(posts, people, lessons):
        with tempfile.TemporaryDirectory(dir=BUILD) as place:
            data = Path(place) / "data"
            settings = {**DEFAULTS, "COMMENTSVC_SPAM_WORK": str(work), **scene.settings}
            with Service(data, os.sched_getaffinity(0), settings=settings) as service:
                found[scene.name] = play(scene, service.port, data, seed=1)
        for sort, tally in found[scene.name].items():
            click.echo(f"{scene.name:<8} {_line(sort, tally)}")
    if keep:
        click.echo(f"stored in {_store(found, {'work': work, 'lessons': lessons})}")
    if any(tallies[PERSON].refused for tallies in found.values() if PERSON in tallies):
        raise click.ClickException("a person was refused")


def _line(sort: str, tally: Tally) -> str:
    refused = sum(tally.refused.values())
    return (
        f"{sort:<8} {tally.sent:6} sent {refused:6} refused {tally.repeated:6} repeated"
        f" {tally.spam:6} spam {tally.doubted:6} wait, doubted {tally.plain:6} wait"
        f" {tally.seconds * 1e3:6.1f} ms of work"
    )


def _store(found: Mapping[str, Mapping[str, Tally]], numbers: Mapping[str, int]) -> Path:
    about = machine.commit() | {"date": machine.now(), "machine": machine.describe()}
    date = str(about["date"]).replace(":", "").removesuffix("Z")
    path = RESULTS / f"bots-{date}-{str(about['commit'])[:10]}.json"
    told = {
        scene: {sort: tally._asdict() for sort, tally in tallies.items()}
        for scene, tallies in found.items()
    }
    path.write_text(json.dumps({"about": about, **numbers, "scenes": told}, indent=1) + "\n")
    return path
