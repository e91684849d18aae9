"""The Debian package in a booted system: installed, upgraded, removed and purged as apt does it.

    PACKAGE_SYSTEM=debian-12 ./test tests/bare/test_package.py

The system is debian-12, debian-13 or ubuntu-24.04. CI does not run it: it takes minutes. With
PACKAGES=FOLDER, packages that are built already are taken from there.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bare.booted import BootedSystem, boot
from tests.bare.system import BareSystemError, system
from tests.bare.units import COUNT, DATA, SOCKET
from tests.conftest import find_program
from tests.e2e.program import ROOT

SETTINGS = "etc/commentsvc/commentsvc.toml"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packages of these sources."""
    if "PACKAGE_SYSTEM" not in os.environ:
        pytest.skip("it takes minutes: PACKAGE_SYSTEM names the system to run it in")
    if prepared := os.environ.get("PACKAGES"):
        return Path(prepared)
    folder = tmp_path_factory.mktemp("packages")
    words = ["python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    words += ["--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(words, check=True, cwd=ROOT)
    [wheel] = folder.glob("*.whl")
    subprocess.run(["sh", "config/package/build.sh", wheel, folder], check=True, cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def machine(packages: Path) -> Iterator[BootedSystem]:
    """Return the system, booted, with what the package needs and the package in /root."""
    name = os.environ["PACKAGE_SYSTEM"]
    try:
        with system(name) as bare, boot(bare, "python3", "adduser") as running:
            [package] = packages.glob("*.deb")
            (running.root / "root/commentsvc.deb").write_bytes(package.read_bytes())
            yield running
    except BareSystemError as error:
        pytest.skip(str(error))


def serves(machine: BootedSystem) -> bool:
    """Return whether the service answers at its socket, once systemd says that it has started."""
    machine.wait_for("commentsvc.service")
    return machine.run("python3", "-c", COUNT, SOCKET).strip() == "0"


def apt(machine: BootedSystem, *words: str) -> str:
    """Run apt without a network."""
    said = machine.run("apt-get", "-y", "-q", *words)
    assert "not empty so not removed" not in said
    return said


def test_the_package_gives_a_running_service_and_is_removed_as_debian_does(
    machine: BootedSystem,
) -> None:
    apt(machine, "install", "/root/commentsvc.deb")
    assert serves(machine)
    assert machine.run("systemctl", "is-enabled", "commentsvc.socket") == "enabled\n"
    owners = machine.shell(f"stat --format='%U:%G %a' {DATA} /{SETTINGS}")
    assert owners == "commentsvc:commentsvc 700\nroot:commentsvc 640\n"
    assert "commentsvc, version 1." in machine.run("commentsvc", "--version")

    settings = machine.root / SETTINGS
    settings.write_text('[[site]]\norigins = ["https://blog.example"]\n')
    machine.run("commentsvc", "check", "--data", DATA)
    key = machine.shell(f"sha256sum {DATA}/secret.key")

    apt(machine, "install", "--reinstall", "/root/commentsvc.deb")
    assert serves(machine)
    assert "blog.example" in settings.read_text()
    assert machine.shell(f"sha256sum {DATA}/secret.key") == key

    apt(machine, "remove", "commentsvc")
    machine.wait_for("commentsvc.socket", "inactive")
    assert machine.shell("ls -d /usr/lib/commentsvc 2>&1 || true").endswith("directory\n")
    assert machine.shell(f"sha256sum {DATA}/secret.key") == key
    assert settings.exists()

    apt(machine, "install", "/root/commentsvc.deb")
    assert serves(machine)
    apt(machine, "purge", "commentsvc")
    left = "find / -xdev -name '*commentsvc*' -not -path '/root/*' -not -path '/proc/*'"
    assert machine.shell(left) == ""


def test_the_packages_have_what_their_own_programs_want(packages: Path) -> None:
    [deb], [rpm] = packages.glob("*.deb"), packages.glob("*.rpm")
    words = [find_program("lintian"), "--allow-root", "--fail-on", "error", str(deb)]
    judged = subprocess.run(words, capture_output=True, text=True, check=False)
    assert not re.findall(r"^E: .*", judged.stdout, re.MULTILINE), judged.stdout
    asked = [find_program("rpm"), "-qp", "--requires", "--scripts", "--list", str(rpm)]
    message = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert "python3 < 3.15" in message
    assert "/usr/lib/systemd/system/commentsvc.service\n" in message
    assert "systemctl enable --quiet --now commentsvc.socket" in message
