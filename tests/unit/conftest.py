"""What many unit tests start from; a test that needs another start has a fixture of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.admin_client import Seat, seated
from tests.unit.app_fixture import Served, served


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
