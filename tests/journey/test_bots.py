"""Bots and people at the same form: `loadtest/bots` in small, on one server."""

from collections.abc import Callable
from pathlib import Path

from loadtest import bots
from loadtest.bots import Scene
from tests.journey.program import Service

NUMBERS = {"script": 30, "stamper": 100, "solver": 30, "person": 40}
# So many come at once only in a test: a site's own limit would make all of them wait.
SETTINGS = {"COMMENTSVC_SPAM_SITE_RATE_LIMIT": "off", "COMMENTSVC_SPAM_WORK": "2"}


def test_each_sort_of_visitor_gets_as_far_as_the_layers_let_it(
    data: Path, start: Callable[..., Service]
) -> None:
    service = start(data, environ=SETTINGS)
    found = bots.play(Scene("all", NUMBERS, SETTINGS), service.port, data, seed=1)
    assert {sort: tally.sent for sort, tally in found.items()} == NUMBERS
    assert found["script"].refused == {"400 form": 30}, "it fills the field that nobody sees"
    stamper = found["stamper"]
    assert stamper.spam >= 100 - 3 * bots.TEXTS, "a text is known again from its third network on"
    assert not stamper.refused
    solver = found["solver"]
    assert (solver.refused, solver.spam, solver.doubted) == ({}, 0, 0)
    assert solver.plain == 30, "who does all that a person does waits for a moderator"
    person = found["person"]
    assert (person.refused, person.spam) == ({}, 0)
    assert person.doubted + person.plain == 40
