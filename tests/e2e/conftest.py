"""Fixtures of the journeys."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.program import Service


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where a data folder will be; it does not exist yet."""
    return tmp_path / "data"


@pytest.fixture
def launch() -> Iterator[Callable[..., Service]]:
    """Start a server without waiting for it; it ends with the test."""
    services: list[Service] = []

    def launch(*words: object, **more: object) -> Service:
        services.append(Service(*words, **more))  # type: ignore[arg-type] # as Service says
        return services[-1]

    yield launch
    for service in services:
        service.close()


@pytest.fixture
def start(launch: Callable[..., Service]) -> Callable[..., Service]:
    """Start a server and wait until it is ready; it ends with the test."""

    def start(*words: object, **more: object) -> Service:
        return launch(*words, **more).wait_until_ready()

    return start
