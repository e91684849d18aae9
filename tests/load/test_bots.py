"""`python -m loadtest bots` in small: bots and people at the same form, on one server."""

from collections.abc import Callable
from pathlib import Path

from loadtest.workloads import bot_clients, bots
from loadtest.workloads.bots import Scene
from tests.e2e.program import Service

NUMBERS = {"script": 30, "stamper": 100, "solver": 30, "person": 40}
# The usual limit of a site would put all of these into the queue.
SETTINGS = {"COMMENTSVC_SPAM_SITE_RATE_LIMIT": "off", "COMMENTSVC_SPAM_PROOF_OF_WORK": "2"}


def test_each_sort_of_visitor_gets_as_far_as_the_layers_let_it(
    data: Path, start: Callable[..., Service]
) -> None:
    service = start(data, environ=SETTINGS)
    found = bots.play(Scene("all", NUMBERS, SETTINGS), service.port, data, seed=1)
    assert {sort: tally.sent for sort, tally in found.items()} == NUMBERS
    assert found["script"].refused == {"400 form": 30}, "it fills the field that nobody sees"
    stamper = found["stamper"]
    assert stamper.spam >= 100 - 3 * bot_clients.TEXTS, (
        "a text is known again from its third network on"
    )
    assert not stamper.refused
    solver = found["solver"]
    assert (solver.refused, solver.spam, solver.doubted) == ({}, 0, 0)
    assert solver.plain == 30, "who does all that a person does waits for a moderator"
    person = found["person"]
    assert (person.refused, person.spam) == ({}, 0)
    assert person.doubted + person.plain == 40


def test_who_solves_everything_is_known_by_what_moderators_called_spam(
    data: Path, start: Callable[..., Service]
) -> None:
    service = start(data, environ=SETTINGS)
    scene = Scene("taught", {"solver": 60, "person": 60}, SETTINGS, training=60)
    found = bots.play(scene, service.port, data, seed=1)
    solver = found["solver"]
    assert solver.spam >= 20
    assert solver.plain <= 10, "of those that are not filed as spam most are doubted"
    assert (found["person"].refused, found["person"].spam) == ({}, 0)
