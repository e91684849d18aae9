"""Run ./run and ./test in bare systems, as a newcomer has them; debootstrap makes them.

    python -m tests.bare.system [SYSTEM...] [-- PART...]    ./run, and ./test PART... in each

Each system is kept below build/bare and copied for each use. It has Debian's smallest set of
packages, and fetches others as this machine does (tests/package_sources.py). Its files and
processes are isolated and belong to root; it uses this machine's network.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.e2e.program import ROOT
from tests.package_sources import AUTHORITIES, apt, authorities, npm, pip

CACHE = ROOT / "build/bare"
KEYRINGS = Path("/usr/share/keyrings")
SCRIPTS = Path("/usr/share/debootstrap/scripts")


class Distribution(NamedTuple):
    """The arguments of debootstrap; `script` names a suite that also an older debootstrap knows."""

    suite: str
    script: str
    keyring: str
    components: str = "main"


DISTRIBUTIONS = {
    "debian-12": Distribution("bookworm", "sid", "debian-archive-keyring"),
    "debian-13": Distribution("trixie", "sid", "debian-archive-keyring"),
    "ubuntu-24.04": Distribution("noble", "gutsy", "ubuntu-archive-keyring", "main,universe"),
}
SOURCES = "/root/comment service"  # a path with a space, on purpose
# These mounts are in the process's own mount namespace, so they end with it.
ENTER = """
mount --bind "$1" "$1" # programs inside may unshare their mounts only below a mount point
mount --rbind /dev "$1/dev"
mount --rbind /sys "$1/sys"
mount -t proc proc "$1/proc"
cd "$1"
pivot_root . . # as `docker exec` enters the root of the namespace, which chroot does not change
umount -l .
shift
exec chroot . "$@"
"""


class BareSystemError(Exception):
    """The system cannot be made here; the text says why."""


def obstacle() -> str:
    """Return why no bare system can be made or entered here, "" if it can."""
    if shutil.which("debootstrap", path="/usr/sbin:/sbin") is None:
        return "debootstrap is not installed"
    words = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return f"only root may make a bare system: {done.stderr.strip()}" if done.returncode else ""


def archive(name: str) -> Path:
    """Return the tar archive of the bare system; debootstrap makes it if it does not exist yet."""
    kept = CACHE / f"{name}.tar"
    if kept.exists():
        return kept
    wanted = DISTRIBUTIONS[name]
    keyring = find_keyring(wanted.keyring)
    CACHE.mkdir(parents=True, exist_ok=True)
    # debootstrap makes nothing in a folder whose path has spaces.
    with TemporaryDirectory(dir="/var/tmp", prefix=f"{name}.") as folder:
        root, new = Path(folder, "root"), kept.with_suffix(f".{os.getpid()}")
        # Mounts below `root` are visible to this process alone, and end with it even if it is
        # killed.
        words = ["unshare", "--mount", "debootstrap", "--variant=minbase", "--force-check-gpg"]
        words += [
            f"--keyring={keyring}",
            f"--components={wanted.components}",
            wanted.suite,
            str(root),
            "",
        ]
        words += [str(SCRIPTS / wanted.script)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip().splitlines()
            raise BareSystemError(f"debootstrap cannot make {name}: {said[-1] if said else ''}")
        subprocess.run(["tar", "-C", str(root), "-cf", str(new), "."], check=True)
        return new.replace(kept)


def find_keyring(name: str) -> Path:
    """Return the file of the keys that a distribution's packages are signed with.

    If Ubuntu's keys are not installed, they are taken from a package of Debian 13. Raise
    BareSystemError if they cannot be had.
    """
    installed, kept = (folder / f"{name}.gpg" for folder in (KEYRINGS, CACHE))
    if installed.exists() or kept.exists():
        return installed if installed.exists() else kept
    if name.startswith("debian"):  # without keys, debootstrap would not verify the packages
        raise BareSystemError(f"its packages cannot be verified without {installed}")
    with system("debian-13") as debian:
        script = "apt-get update && apt-get install -y ubuntu-keyring"
        process = debian.start("/bin/sh", "-c", script)
        said, _ = process.communicate()
        if process.returncode != 0:
            raise BareSystemError(f"its keys cannot be installed: {said.strip()}")
        shutil.copy(debian.root / installed.relative_to("/"), kept)
    return kept


class System:
    """A copy of a bare system with these sources in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def start(self, *words: str, offline: bool = False) -> subprocess.Popen[str]:
        """Start a program in the folder of the sources; its output is read from its stdout.

        `kill` ends it with all its child processes; `terminate` has no effect.
        """
        namespaces = ["--mount", "--pid", "--fork", "--kill-child", *(["--net"] if offline else [])]
        enter = f"ip link set lo up\n{ENTER}" if offline else ENTER
        inside = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', SOURCES, *words]
        environ = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        return subprocess.Popen(
            ["unshare", *namespaces, "sh", "-euc", enter, "sh", str(self.root), *inside],
            env={**environ, "HOME": "/root", "PIP_CONFIG_FILE": "/etc/pip.conf"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@contextmanager
def system(name: str) -> Iterator[System]:
    """Unpack the bare system `name`; remove it at the end of the block. Raise BareSystemError."""
    tar = archive(name)
    root = CACHE / f"{name}.root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    subprocess.run(["tar", "-C", str(root), "-xf", str(tar)], check=True)
    for path in ("etc/resolv.conf", "etc/hosts"):
        shutil.copy(Path("/", path), root / path)
    (root / "etc/apt/apt.conf.d/99sources").write_text(apt())
    # There is no power failure to survive; without this, dpkg waits for the disk most of its time.
    (root / "etc/dpkg/dpkg.cfg.d/sources").write_text("force-unsafe-io\n")
    (root / "etc/pip.conf").write_text(pip())
    (root / "root/.npmrc").write_text(npm())
    (root / AUTHORITIES[1:]).write_text(authorities())
    copy_sources(root / SOURCES[1:])
    try:
        yield System(root)
    finally:
        shutil.rmtree(root)


def copy_sources(folder: Path) -> None:
    """Copy what a clone of these sources holds, together with uncommitted changes."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)  # as in a clone


def main(names: list[str], parts: list[str]) -> None:
    """Run ./run and these parts of ./test in each system, and print how they ended."""
    ended = []
    for name in names:
        try:
            with system(name) as bare:
                for words in (("./run", "--help"), ("./test", *parts)):
                    process = bare.start(*words)
                    last = ""
                    for last in process.stdout or ():
                        print(f"{name}: {last}", end="", flush=True)
                    ended.append((process.wait(), f"{name}: {words[0]}: {last.strip()}"))
        except BareSystemError as error:
            ended.append((0, f"{name}: skipped: {error}"))
    print("\n".join(line for _, line in ended))
    sys.exit(any(code for code, _ in ended))


if __name__ == "__main__":
    if reason := obstacle():
        sys.exit(reason)
    words = [*sys.argv[1:], "--"]
    at = words.index("--")
    main(words[:at] or [*DISTRIBUTIONS], words[at + 1 : -1])
