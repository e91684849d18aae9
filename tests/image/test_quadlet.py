"""The files in config/quadlet, read by Podman's own generator, and its units by systemd."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.conftest import find_program
from tests.debian_packages import PackagesError, own_architecture, unpack
from tests.e2e.program import ROOT

FILES = ROOT / "config/quadlet"
GENERATOR = "usr/libexec/podman/quadlet"


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the units that Podman makes of the files.

    Debian 12 has a Podman without this generator, so it is taken from Debian 13.
    """
    folder = tmp_path_factory.mktemp("quadlet")
    generator = Path("/", GENERATOR)
    if not generator.exists():
        try:
            generator = unpack("trixie", own_architecture(), ["podman"], folder) / GENERATOR
        except PackagesError as reason:
            pytest.skip(f"there is no Podman: {reason}")
    made = folder / "units"
    done = subprocess.run(
        [generator, "-no-kmsg-log", made],
        env={**os.environ, "QUADLET_UNIT_DIRS": str(FILES)},
        capture_output=True,
        text=True,
        check=False,
    )
    faults = [line for line in done.stderr.splitlines() if "Loading source unit" not in line]
    assert (done.returncode, faults) == (0, []), done.stderr
    return made


def test_systemd_understands_the_units_that_podman_makes(units: Path) -> None:
    assert {path.name for path in units.glob("*.service")} == {
        "commentsvc.service",
        "commentsvc-proxy.service",
        *(f"{path.stem}-volume.service" for path in FILES.glob("*.volume")),
    }
    for unit in units.glob("*.service"):
        unit.write_text(unit.read_text().replace("/usr/bin/podman", "/bin/true"))
    made = map(str, units.glob("*.service"))
    words = [find_program("systemd-analyze"), "verify", *made]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("unit", "service"), [("", "comments"), ("-proxy", "proxy")])
def test_a_container_gets_the_same_from_podman_as_from_compose(
    units: Path, unit: str, service: str
) -> None:
    plan = yaml.safe_load((ROOT / "config/compose.yml").read_text())["services"][service]
    text = (units / f"commentsvc{unit}.service").read_text()
    [command] = re.findall(r"^ExecStart=\S+ run (.*)$", text, re.MULTILINE)
    for option in (
        "--read-only",
        "--cap-drop all",
        "--security-opt=no-new-privileges",
        f"--memory={plan['mem_limit']}",
        f"--pids-limit {plan['pids_limit']}",
        *(f"--env {name}={value}" for name, value in plan["environment"].items()),
        *(f"--publish {port}" for port in plan.get("ports", ())),
        *(f"--cap-add cap_{name.lower()}" for name in plan.get("cap_add", ())),
        *(f":{volume.split(':')[1]} " for volume in plan["volumes"] if "Caddyfile" not in volume),
    ):
        assert option in command, option
    assert command.endswith(plan["image"] if unit else ":latest")
