"""Fixtures for most unit tests; a test that needs another setup has its own fixture."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from nacl.pwhash import argon2id

from commentsvc.auth import passwords
from commentsvc.db.postgresql import connection as driver
from tests.postgresql_server import KeptConnection, Server
from tests.unit import database_fixture, postgresql
from tests.unit.admin_client import Seat, seated
from tests.unit.app_fixture import Served, served

# How long a service waits for PostgreSQL, and PostgreSQL for it, in seconds. A machine that runs
# all tests at once may need longer.
PATIENCE = ("DIAL_PATIENCE", "LOOP_PATIENCE", "LOOP_READ_PATIENCE", "IDLE")


@pytest.fixture(scope="session", autouse=True)
def queries_for_postgresql() -> Iterator[None]:
    """Check that PostgreSQL accepts the queries of the tests, too; `make sql` switches this on."""
    if not os.environ.get("PLAN_QUERIES"):
        yield
        return
    with postgresql.noted() as found:
        yield
    assert postgresql.faults(found) == ""


@pytest.fixture(scope="session", autouse=True)
def cheap_passwords() -> Iterator[None]:
    """Take a moment for a new password and each sign-in; `auth.test_passwords` takes all of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "PASSES", argon2id.OPSLIMIT_MIN)
        patch.setattr(passwords, "MEMORY", argon2id.MEMLIMIT_MIN)
        yield


@pytest.fixture(autouse=True, scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the engine of the databases that `opened` and `served` make: see tests/conftest.py."""
    name: str = getattr(request, "param", "sqlite")
    if name == "sqlite":
        yield name
        return
    running: Server = request.getfixturevalue("postgresql_server")
    database_fixture.in_use.append(running)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg, "connect", KeptConnection.of_service)
        for each in PATIENCE:
            patch.setattr(driver, each, 50)
        yield name
    database_fixture.in_use.clear()


@pytest.fixture(autouse=True)
def recycled(engine: str) -> Iterator[None]:
    """Empty the test's databases and make them available to the next test."""
    yield
    if engine != "sqlite":
        database_fixture.in_use[0].recycle()


@pytest.fixture
def commands(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands of a test find the database of the data folder `tmp_path`."""
    for name, value in database_fixture.environ(tmp_path).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    """Return the service on an empty database."""
    with served(tmp_path) as running:
        yield running


@pytest.fixture
def seat(service: Served) -> Seat:
    """Return the browser of a moderator who has signed in to `service`."""
    return seated(service)


@pytest.fixture
def purged() -> list[str]:
    """Return the list that receives the cache tags purged by a test's database."""
    return []
