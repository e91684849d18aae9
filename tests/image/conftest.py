"""Fixtures: a container engine, and the image built with it."""

from collections.abc import Iterator

import pytest

from tests.e2e.program import ROOT
from tests.image.engine import Engine, network, own_engine, provide_base

IMAGE = "commentsvc:test"


@pytest.fixture(scope="session")
def network_before() -> dict[str, str]:
    """Return the state of the network before an engine was started."""
    return network()


@pytest.fixture(scope="session")
def engine(
    network_before: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """Return the engine that runs on this machine, or start one."""
    usual = Engine()
    if usual.answers:
        yield usual
        return
    with own_engine(tmp_path_factory.mktemp("docker")) as ours:
        yield ours


@pytest.fixture(scope="session")
def image(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build the image from these sources and return its name."""
    provide_base(engine)
    engine.build(IMAGE, ROOT, tmp_path_factory.mktemp("secrets"))
    return IMAGE
