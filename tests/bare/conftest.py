"""One bare Debian 12 for all tests of this folder, in the order of their files."""

from collections.abc import Iterator

import pytest

from tests.bare.booted import BootedSystem, boot
from tests.bare.system import BareSystemError, System, obstacle, system


@pytest.fixture(scope="session")
def debian() -> Iterator[System]:
    """Return a bare Debian 12; skip the tests if it cannot be made."""
    if reason := obstacle():
        pytest.skip(reason)
    try:
        with system("debian-12") as bare:
            yield bare
    except BareSystemError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def booted(debian: System) -> Iterator[BootedSystem]:
    """Return the system, booted, with PostgreSQL; skip the tests if it cannot be booted here."""
    try:
        with boot(debian, "postgresql") as running:
            yield running
    except BareSystemError as error:
        pytest.skip(str(error))
