"""Bots: how much spam reaches the queue, and whether a person is refused.

Three sorts of bots and people (bot_clients.py) post to the real program over HTTP. The settings are
the defaults (every comment waits for approval), except that the proof of work is a fraction of the
default, so that a run takes minutes. People come alone, without the site's rate limit, since a week
of them comes within a minute; together with solvers; and once more after a moderator has decided on
the first comments of both, which trains the filter.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from commentsvc.settings.schema import ModerationSettings, SpamSettings
from commentsvc.spam import model_cache
from loadtest.harness.environment import prepare_empty, sum_up
from loadtest.harness.result import Result
from loadtest.harness.rounds import Extent
from loadtest.harness.service import Service
from loadtest.report.command import finish, short
from loadtest.workloads.bot_clients import PERSON, BotTraffic, Tally


class Scene(NamedTuple):
    """The visitors of one server: how many of each sort, and its settings.

    After the first `training` of each sort a moderator decides on them; they are not counted.
    """

    name: str
    numbers: dict[str, int]
    settings: dict[str, str]
    training: int = 0


UNHURRIED: Final = {"COMMENTSVC_SPAM_SITE_RATE_LIMIT": "off"}


def scenes(posts: int, people: int, training: int) -> list[Scene]:
    """Return the scenes with so many posts of each sort of bot, of people, and for training."""
    return [
        Scene("script", {"script": posts}, {}),
        Scene("stamper", {"stamper": posts}, {}),
        Scene("solver", {"solver": posts, PERSON: people}, {}),
        Scene("people", {PERSON: people}, UNHURRIED),
        Scene("taught", {"solver": posts, PERSON: people}, UNHURRIED, training),
    ]


def play(scene: Scene, port: int, data: Path, seed: int) -> dict[str, Tally]:
    """Play a scene on the server at `port`, whose data folder is `data`."""
    traffic = BotTraffic(port, seed)
    try:
        if scene.training:
            traffic.play(dict.fromkeys(scene.numbers, scene.training))
            traffic.train(data)
            time.sleep(model_cache.PAUSE_MS / 1_000)
        traffic.play(scene.numbers)
    finally:
        traffic.close()
    return traffic.tallies(data)


# The defaults of settings that loadtest.harness.service changes.
DEFAULTS: Final = {
    "COMMENTSVC_MODERATION_POLICY": ModerationSettings().policy,
    "COMMENTSVC_SPAM_RATE_LIMIT": SpamSettings().rate_limit,
}


@click.command
@click.option("--posts", default=10_000, show_default=True, help="Of each sort of program.")
@click.option("--people", default=1_000, show_default=True, help="Of people.")
@click.option("--training", default=100, show_default=True, help="Of both, for the filter.")
@click.option("--work", default=5, show_default=True, help="The setting spam.proof_of_work.")
@short
def main(posts: int, people: int, training: int, work: int, short: bool) -> None:
    """Spam from three sorts of bots, and people among them.

    Exits with 1 if a person is refused.
    """
    if short:
        posts, people, training = 20, 20, 10
    found = {}
    with prepare_empty(Extent(rounds=1)) as environment:
        for scene in scenes(posts, people, training):
            data = environment.folder / scene.name
            settings = {**DEFAULTS, "COMMENTSVC_SPAM_PROOF_OF_WORK": str(work), **scene.settings}
            with Service(data, environment.cores, settings=settings) as service:
                found[scene.name] = play(scene, service.port, data, seed=1)
            for sort, tally in found[scene.name].items():
                click.echo(f"{scene.name:<8} {_line(sort, tally)}")
    about = environment.about | {"work": work, "training": training}
    finish(_result(about, found), "bots", "", short=short)
    if any(tallies[PERSON].refused for tallies in found.values() if PERSON in tallies):
        raise click.ClickException("a person was refused")


def _line(sort: str, tally: Tally) -> str:
    refused = sum(tally.refused.values())
    return (
        f"{sort:<8} {tally.sent:6} sent {refused:6} refused {tally.repeated:6} repeated"
        f" {tally.spam:6} spam {tally.doubted:6} wait, doubted {tally.plain:6} wait"
        f" {tally.seconds * 1e3:6.1f} ms of work"
    )


def _result(
    about: dict[str, Any], found: Mapping[str, Mapping[str, Tally]]
) -> Result:  # Any: as in Result
    """Return the tallies as entries of a result."""
    rows = [
        {
            "scenario": f"{scene}: {sort}",
            "disturbed": False,
            **tally._asdict(),
            "refused": sum(tally.refused.values()),
            "refusals": tally.refused,
        }
        for scene, tallies in found.items()
        for sort, tally in tallies.items()
    ]
    return sum_up(about, {}, rows)
