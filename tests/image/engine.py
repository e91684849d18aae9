"""A container engine: the one that runs here, or one that is started for the tests."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bare.system import BareSystemError, archive, obstacle
from tests.e2e.program import PATIENCE, Outcome, run, wait_for
from tests.package_sources import apt, authorities, pip

BASE = "debian:trixie-slim"
# Seconds for downloading and building, over a slow network.
BUILD_PATIENCE = 600.0
# Debian's package contains this program; another client may come before it on the PATH.
CLIENT = Path("/usr/bin/docker")


def network() -> dict[str, str]:
    """Return the machine's network interfaces, and whether it forwards packets between them."""
    paths = [*Path("/proc/sys/net").glob("ipv[46]/**/*forward*"), Path("/proc/net/ip_tables_names")]
    found = {str(path): path.read_text() for path in paths if path.exists()}
    return found | {"interfaces": " ".join(sorted(map(str, Path("/sys/class/net").iterdir())))}


class Engine:
    """Docker at the address `host`, "" for the default one."""

    def __init__(self, host: str = "") -> None:
        self.host = host or os.environ.get("DOCKER_HOST", "")
        program = str(CLIENT) if CLIENT.exists() else "docker"
        self._words = [program, *(["--host", host] if host else [])]

    def run(self, *words: object, patience: float = PATIENCE, given: str = "") -> Outcome:
        """Run `docker` with `words` until it ends."""
        return run([*self._words, *words], {**os.environ, "DOCKER_BUILDKIT": "1"}, given, patience)

    def do(self, *words: object, patience: float = PATIENCE) -> str:
        """Run `docker` with `words`; fail if it fails, else return its output."""
        done = self.run(*words, patience=patience)
        assert done.code == 0, done
        return done.out.strip()

    @property
    def answers(self) -> bool:
        """Return whether an engine answers."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            return self.run("info", patience=10).code == 0
        return False

    def build(self, tag: str, folder: Path, secrets: Path) -> None:
        """Build the image from the sources in `folder`, fetching packages as this machine does."""
        options: list[object] = []
        for name, text in (("apt", apt()), ("pip", pip()), ("ca", authorities())):
            file = secrets / name
            file.write_text(text)
            options += ["--secret", f"id={name},src={file}"]
        base = f"--build-arg=BASE={BASE}"  # from `provide_base`, which may have made it here
        words = ("build", "--network=host", "--tag", tag, base, *options, folder)
        self.do(*words, patience=BUILD_PATIENCE)


@contextlib.contextmanager
def own_engine(folder: Path) -> Iterator[Engine]:
    """Start an engine that keeps all its data in `folder`, without networks; skip if it fails.

    It changes nothing of this machine's network, and ends with this process.
    """
    daemon = shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin")
    if daemon is None:
        pytest.skip("no container engine runs here, and dockerd is not installed")
    if os.geteuid() != 0:
        pytest.skip("no container engine runs here, and only root may start one")
    engine = Engine(f"unix://{folder}/socket")
    words = ["setpriv", "--pdeathsig=TERM", daemon, f"--host=unix://{folder}/socket"]
    words += ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"]
    words += [f"--data-root={folder}/data", f"--exec-root={folder}/exec"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*words, f"--pidfile={folder}/pid"], stdout=log, stderr=log)

    def said() -> list[str]:
        return (folder / "log").read_text().splitlines() or ["nothing"]

    try:
        try:
            wait_for(lambda: engine.answers or process.poll() is not None, "dockerd to start")
        except AssertionError as error:
            raise AssertionError("\n".join([str(error), *said()[-20:]])) from None
        if process.poll() is not None:
            pytest.skip(f"dockerd may not run here, it says: {said()[-1][:300]}")
        yield engine
    finally:
        process.terminate()
        process.wait(PATIENCE)


def provide_base(engine: Engine) -> None:
    """Get our image's base image from a registry or make it here; skip if neither works."""
    if engine.run("image", "inspect", BASE).code == 0:
        return
    with contextlib.suppress(subprocess.TimeoutExpired):
        if engine.run("pull", "--quiet", BASE, patience=60).code == 0:
            return
    try:
        if reason := obstacle():
            raise BareSystemError(reason)
        engine.do("import", archive("debian-13"), BASE, patience=60)
    except BareSystemError as reason:
        pytest.skip(f"no registry gives {BASE}: {reason}")
