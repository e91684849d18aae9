"""One bare Debian for all tests of this folder, in the order of their files.

It is Debian 12, or what BARE_SYSTEM names: debian-13.
"""

import os
from collections.abc import Iterator

import pytest

from tests.bare.booted import BootedSystem, boot
from tests.bare.system import BareSystemError, System, obstacle, system
from tests.bare.units import SETTINGS, SETTINGS_FILE, from_manual


@pytest.fixture(scope="session")
def debian() -> Iterator[System]:
    """Return the bare system; skip the tests if it cannot be made."""
    if reason := obstacle():
        pytest.skip(reason)
    try:
        with system(os.environ.get("BARE_SYSTEM", "debian-12")) as bare:
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


@pytest.fixture(scope="session")
def installed(debian: System) -> None:
    """Install the package as the manual says, from a wheel made of these sources.

    The core is compiled already if another test has started ./run.
    """
    script = """
        sh config/bootstrap.sh
        tag=$(python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
        PATH=$PWD/.venv/bin:$PATH python -m pip wheel --quiet --no-build-isolation --no-deps \\
            --config-settings=build-dir=build/$tag --wheel-dir build/wheel .
        python3 -m venv /opt/commentsvc
        wheel=$(echo "$PWD"/build/wheel/*.whl)
        /opt/commentsvc/bin/pip install --quiet "$wheel[postgres]"
        ln -s /opt/commentsvc/bin/commentsvc /usr/local/bin/
    """
    process = debian.start("sh", "-euc", script)
    said, _ = process.communicate()
    if process.returncode:
        pytest.skip(f"the package cannot be installed: {said[-300:]}")


@pytest.fixture
def unit(installed: None, booted: BootedSystem) -> Iterator[BootedSystem]:
    """Return the system with the unit set up by the manual's lines; remove it at the end."""
    booted.shell(
        "\n".join(from_manual("installing", "install -m", "systemctl enable", "commentsvc init"))
    )
    (booted.root / SETTINGS_FILE).write_text(SETTINGS)
    booted.run("systemctl", "restart", "commentsvc")
    yield booted
    booted.shell(
        "systemctl disable --quiet --now commentsvc.socket commentsvc.service || true\n"
        "rm -rf /etc/systemd/system/commentsvc* /var/lib/commentsvc /var/lib/private/commentsvc\n"
        "systemctl daemon-reload"
    )
