"""A booted system: what the other tests need of it holds, and nothing of it is left."""

import re
import subprocess
from pathlib import Path

from tests.bare.booted import BootedSystem

CAP_SYS_MODULE, CAP_SYS_TIME = 16, 25  # capabilities(7)


def test_units_start_at_boot_and_again_after_a_reboot(booted: BootedSystem) -> None:
    unit = "[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
    file = booted.root / "etc/systemd/system/sleeper.service"
    file.write_text(unit)
    booted.run("systemctl", "enable", "--quiet", "sleeper")
    assert booted.run("systemctl", "is-active", "sleeper", code=3) == "inactive\n"
    booted.reboot()
    booted.wait_for("sleeper")
    booted.shell(
        "systemctl disable --now --quiet sleeper && rm /etc/systemd/system/sleeper.service"
    )


def test_a_unit_runs_in_a_sandbox_as_a_user_of_its_own(booted: BootedSystem) -> None:
    sandbox = ["-pDynamicUser=yes", "-pPrivateUsers=yes", "-pProtectSystem=strict"]
    done = booted.run("systemd-run", "--quiet", "--wait", "--pipe", *sandbox, "id", "-u")
    assert int(done) > 60_000


def test_a_unit_can_read_a_credential_that_only_root_can_read(booted: BootedSystem) -> None:
    booted.shell("echo some good words >/root/words && chmod 600 /root/words")
    given = ["-pDynamicUser=yes", "-pLoadCredential=words:/root/words"]
    read = ["sh", "-c", 'cat "$CREDENTIALS_DIRECTORY/words"']
    done = booted.run("systemd-run", "--quiet", "--wait", "--pipe", *given, *read)
    assert done == "some good words\n"


def test_it_has_only_its_own_network_and_processes(booted: BootedSystem) -> None:
    assert booted.shell("ls /sys/class/net").split() == ["lo"]
    assert booted.shell("cat /proc/1/comm") == "systemd\n"
    assert "5432" in str(int(booted.listeners().split()[1].rpartition(":")[2], 16))


def test_it_can_neither_set_the_clock_nor_change_the_kernel(booted: BootedSystem) -> None:
    """The rights are looked at: to try whether the clock can be set would set it."""
    for process in ("self", "1"):
        [rights] = re.findall(r"CapBnd:\t(\w+)", booted.shell(f"cat /proc/{process}/status"))
        assert not int(rights, 16) & (1 << CAP_SYS_TIME | 1 << CAP_SYS_MODULE)
    booted.run("sh", "-c", "echo 1 >/proc/sys/kernel/panic", code=2)


def test_its_mounts_and_cgroup_are_its_own(booted: BootedSystem) -> None:
    booted.shell("mount -t tmpfs none /mnt && touch /mnt/inside && umount /mnt")
    assert str(booted.root) not in Path("/proc/self/mounts").read_text()
    group = subprocess.run(["find", "/sys/fs/cgroup", "-name", "sleeper*"], capture_output=True)
    assert group.stdout == b""
