"""Boot a bare system: systemd is its first process, in namespaces of its own.

It has its own processes, host name, network (only the loopback interface), cgroups and mounts. It
shares this machine's kernel and clock, and may change neither. Nothing of it is left at the end.
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.bare.system import BareSystemError, System

PATIENCE: Final = 120.0  # seconds within which a boot, a shutdown or a wait ends
PAUSE: Final = 0.1  # seconds between two looks
# As a login gives it to root.
ENVIRONMENT: Final = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}

# Nobody inside may set this machine's clock or load modules into its kernel.
LIMITED: Final = "setpriv", "--bounding-set=-sys_time,-sys_module"

# Moves this process into the new cgroup $2. $1 is an empty folder; its mount ends with the mount
# namespace. Cgroups of version 2 can be mounted also where the machine uses version 1.
JOIN_CGROUP: Final = """
mount -t cgroup2 cgroup2 "$1"
mkdir -p "$1/$2"
echo $$ >"$1/$2/cgroup.procs"
umount "$1"
shift 2
exec "$@"
"""
REMOVE_CGROUP: Final = """
mount -t cgroup2 cgroup2 "$1"
[ ! -d "$1/$2" ] || find "$1/$2" -depth -type d -exec rmdir {} +
"""
# systemd finds these mounts and makes no others in their place. `container` says that the kernel is
# not its own. $1 is the root; what follows is run in it.
BOOT: Final = """
hostname booted
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do
    : >dev/$name
    mount --bind /dev/$name dev/$name
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
ln -s fd/1 dev/stdout
ln -s fd/2 dev/stderr
pivot_root . .
umount -l .
mount --make-rshared / # systemd mounts the credentials of a unit in another mount namespace
shift
exec env -i container=tests PATH=/usr/sbin:/usr/bin chroot . "$@"
"""


class BootedSystem:
    """A bare system whose systemd runs; `boot` makes one."""

    def __init__(self, system: System, name: str) -> None:
        """Take the system, which has the package systemd, and the name of a new cgroup."""
        self.root = system.root
        self._name = name
        self._folder = TemporaryDirectory(prefix="cgroup.")
        self._outside: subprocess.Popen[bytes] | None = None
        self._first = 0  # the process id of its systemd, as this machine sees it

    def start(
        self, *words: str, environ: Mapping[str, str] = ENVIRONMENT, folder: str = "/"
    ) -> subprocess.Popen[str]:
        """Start a program in it as root; its output, errors included, is read from its stdout.

        The process is nsenter; when it is killed, so is the program.
        """
        enter = ["nsenter", f"--target={self._first}", "--all", f"--wd={self._inside(folder)}"]
        return subprocess.Popen(
            [*enter, "--", *LIMITED, "--pdeathsig=KILL", *words],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(
        self,
        *words: str,
        code: int | None = 0,
        environ: Mapping[str, str] = ENVIRONMENT,
        folder: str = "/",
    ) -> str:
        """Run a program in it to its end; return its output. It must exit with `code`, if given."""
        process = self.start(*words, environ=environ, folder=folder)
        try:
            said, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert code in (None, process.returncode), f"{words}: {process.returncode}\n{said}"
        return said

    def shell(self, script: str, *, code: int | None = 0, folder: str = "/") -> str:
        """Do as `run` with a shell script, which ends at the first command that fails."""
        return self.run("sh", "-euc", script, code=code, folder=folder)

    def wait_for(self, unit: str, state: str = "active") -> None:
        """Wait until a unit is in that state of `systemctl is-active`."""
        now = ""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            now = self.run("systemctl", "is-active", unit, code=None).strip()
            if now == state:
                return
            time.sleep(PAUSE)
        raise AssertionError(f"{unit} is {now}, not {state}:\n{self.journal(unit)}")

    def journal(self, unit: str) -> str:
        """Return what the journal has of a unit since the boot."""
        words = ["journalctl", "--boot", "--no-pager", "--output=cat", f"--unit={unit}"]
        return self.run(*words, code=None)

    def wait_for_entry(self, unit: str, text: str) -> None:
        """Wait until the journal of a unit has a text."""
        end = time.monotonic() + PATIENCE
        while text not in (said := self.journal(unit)):
            assert time.monotonic() < end, f"no {text!r} in the journal of {unit}:\n{said}"
            time.sleep(PAUSE)

    def listeners(self) -> str:
        """Return the TCP sockets that listen, as the kernel lists them: see proc(5)."""
        lines = self.shell("cat /proc/net/tcp /proc/net/tcp6").splitlines()
        return "\n".join(line for line in lines if " 0A " in line)

    def reboot(self) -> None:
        """Shut it down, as `reboot` does it, and boot it again."""
        self._shut_down("reboot")
        self.boot()

    def boot(self) -> None:
        """Start systemd, and wait until it has started all units. Raise BareSystemError."""
        spaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"]
        init = ["unshare", *spaces, "--fork", "--kill-child", "sh", "-euc", BOOT, "sh"]
        init += [str(self.root), *LIMITED, "/lib/systemd/systemd", "--show-status=no"]
        join = ["unshare", "--mount", "sh", "-euc", JOIN_CGROUP, "sh", self._folder.name]
        self._outside = subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", *join, self._name, *init],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        end = time.monotonic() + PATIENCE
        while not self._is_up():
            if self._outside.poll() is not None:
                _, said = self._outside.communicate()
                raise BareSystemError(f"systemd cannot be booted here: {said.decode().strip()}")
            if time.monotonic() > end:
                self.close()
                raise BareSystemError(f"systemd has not booted within {PATIENCE:.0f} s")
            time.sleep(PAUSE)

    def close(self) -> None:
        """Kill all of its processes, and remove its cgroup."""
        if self._outside is not None:
            self._outside.kill()  # and with it systemd, the first of its process namespace
            self._outside.communicate()
            self._outside = None
        words = ["unshare", "--mount", "sh", "-euc", REMOVE_CGROUP, "sh", self._folder.name]
        # The kernel may still be ending the processes.
        end = time.monotonic() + PATIENCE
        while subprocess.run([*words, self._name], capture_output=True).returncode:
            assert time.monotonic() < end, f"the cgroup {self._name} cannot be removed"
            time.sleep(PAUSE)
        self._folder.cleanup()

    def _shut_down(self, verb: str) -> None:
        assert self._outside is not None, "it is not booted"
        self.run("systemctl", verb, code=None)  # it may be killed before its answer
        try:
            self._outside.communicate(timeout=PATIENCE)
        finally:
            self._outside.kill()

    def _is_up(self) -> bool:
        """Return whether systemd runs and has started all units; some may have failed."""
        assert self._outside is not None
        task = Path(f"/proc/{self._outside.pid}/task/{self._outside.pid}/children")
        with contextlib.suppress(OSError, ValueError):
            self._first = int(task.read_text())
            if Path(f"/proc/{self._first}/comm").read_text() == "systemd\n":
                state = self.run("systemctl", "is-system-running", code=None)
                return state.strip() in ("running", "degraded")
        return False

    def _inside(self, folder: str) -> str:
        return f"/proc/{self._first}/root{folder}"


@contextmanager
def boot(system: System, *packages: str) -> Iterator[BootedSystem]:
    """Boot `system` with systemd, D-Bus, sudo and `packages`, which are installed if needed.

    Raise BareSystemError if that is impossible here.
    """
    process = system.start("sh", "-euc", INSTALL, "sh", "systemd", "dbus", "sudo", *packages)
    said, _ = process.communicate()
    if process.returncode:
        raise BareSystemError(f"its packages cannot be installed: {said.strip().splitlines()[-1]}")
    booted = BootedSystem(system, f"commentsvc-tests-{os.getpid()}")
    try:
        booted.boot()
        yield booted
    finally:
        booted.close()


# Without the timers of Debian, which would run apt a while after the boot.
INSTALL: Final = """
export DEBIAN_FRONTEND=noninteractive
install="apt-get install -qq -y --no-install-recommends"
dpkg-query --show "$@" >/dev/null 2>&1 || $install "$@" || { apt-get update -qq && $install "$@"; }
systemctl mask --quiet apt-daily.timer apt-daily-upgrade.timer
"""
