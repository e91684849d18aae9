"""End-to-end tests run on both engines: see `pytest_generate_tests` in tests/conftest.py."""

from collections.abc import Iterator

import pytest

from tests.e2e import program


@pytest.fixture(autouse=True, scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the engine of the databases of all services and commands of the module.

    A service for the whole module depends on this, so that each engine gets one of its own.
    """
    name: str = getattr(request, "param", "sqlite")
    if name == "postgresql":
        program.in_use.append(request.getfixturevalue("postgresql_server"))
    yield name
    program.in_use.clear()


@pytest.fixture(autouse=True)
def recycled(engine: str) -> Iterator[None]:
    """Empty the databases that no service uses, for the next test."""
    yield
    for server in program.in_use:
        server.recycle()
