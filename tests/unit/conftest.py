"""What many unit tests start from; a test that needs another start has a fixture of its own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit import postgresql
from tests.unit.admin_client import Seat, seated
from tests.unit.app_fixture import Served, served


@pytest.fixture(scope="session", autouse=True)
def queries_for_postgresql() -> Iterator[None]:
    """What the tests run is right for PostgreSQL, too: asked by `make sql`."""
    if not os.environ.get("PLAN_QUERIES"):
        yield
        return
    with postgresql.noted() as found:
        yield
    assert postgresql.faults(found) == ""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    """The service on an empty database."""
    with served(tmp_path) as running:
        yield running


@pytest.fixture
def seat(service: Served) -> Seat:
    """A moderator who has signed in to `service`."""
    return seated(service)


@pytest.fixture
def purged() -> list[str]:
    """Where the tags go that a test's database purges."""
    return []
