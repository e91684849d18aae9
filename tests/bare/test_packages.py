"""config/packages.sh in a booted system: what ./test installs does not change what it starts.

The system has PostgreSQL already, which is enabled and runs.
"""

import re
from typing import NamedTuple

from tests.bare.booted import BootedSystem
from tests.bare.system import System
from tests.e2e.program import ROOT

# Programs of many megabytes without services; `make bare` installs them, too.
LARGE = {
    "chromium",
    "chromium-headless-shell",
    "clang",
    "debootstrap",
    "firefox-esr",
    "fonts-dejavu-core",
    "gcc",
    "hugo",
    "jekyll",
    "libclang-rt-dev",
    "libssl-dev",
    "shellcheck",
}
# Other services of Debian: the rule holds for whatever ./test may need. There can be only one mail
# server, which is postfix.
MORE = ("apache2", "cron", "sysstat")


def wanted() -> list[str]:
    """Return the packages that config/bootstrap.sh names for the tests, without the large ones."""
    script = (ROOT / "config/bootstrap.sh").read_text()
    functions = re.findall(r"(?ms)^missing_\w+\(\) \{\n(.*?)^\}", script)
    said = re.findall(r"\becho ([a-z][a-z0-9.+ -]+)$", "\n".join(functions), re.MULTILINE)
    said += re.findall(r"for name in (nginx [a-z ]+);", script)
    return sorted({name for line in said for name in line.split()} - LARGE)


class Started(NamedTuple):
    """What a system starts by itself: what is enabled, what runs, and where it listens."""

    enabled: list[str]
    timers: list[str]
    active: list[str]
    links: list[str]
    listeners: set[str]


def started(booted: BootedSystem) -> Started:
    """Return what the system has started."""
    units = "systemctl --no-legend --plain --no-pager"
    kinds = "--type=service,socket,timer,path --state=active"
    return Started(
        booted.shell(f"{units} list-unit-files --state=enabled | cut -d ' ' -f 1").split(),
        re.findall(r"\S+\.timer", booted.shell(f"{units} list-timers --all")),
        booted.shell(f"{units} list-units {kinds} | cut -d ' ' -f 1").split(),
        booted.shell("ls -d /etc/rc?.d/S* || true").split(),
        {line.split()[1] for line in booted.listeners().splitlines()},
    )


def install(debian: System, *names: str) -> None:
    process = debian.start("sh", "config/packages.sh", *names)
    said, _ = process.communicate()
    log = debian.root / "root/comment service/build/apt.log"
    assert process.returncode == 0, said + log.read_text()


def test_what_the_set_up_installs_is_not_started_now_nor_at_the_next_boot(
    booted: BootedSystem, debian: System
) -> None:
    names = wanted()
    assert {"nginx", "caddy", "postgresql", "docker.io", "dovecot-imapd"} <= {*names}
    before = started(booted)
    install(debian, *names, *MORE)
    assert (booted.root / "usr/sbin/nginx").exists()
    booted.reboot()
    assert started(booted) == before
    assert not (booted.root / "usr/sbin/policy-rc.d").exists()


def test_what_was_there_before_is_left_as_it_is(booted: BootedSystem) -> None:
    """And what is new can be had: its unit has to be unmasked."""
    assert "postgresql.service" in started(booted).enabled
    assert booted.run("systemctl", "is-enabled", "nginx", code=1) == "masked\n"
    masked = (booted.root / "var/lib/commentsvc-setup/units").read_text().split()
    assert "nginx.service" in masked
    assert "postgresql.service" not in masked
    booted.run("systemctl", "unmask", "--quiet", "nginx")
    booted.run("systemctl", "enable", "--quiet", "--now", "nginx")
    booted.wait_for("nginx")
    booted.run("systemctl", "disable", "--quiet", "--now", "nginx")
