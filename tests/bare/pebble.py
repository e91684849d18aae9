"""Pebble, the ACME server that Let's Encrypt makes for tests, in a booted system.

Go builds it, once, into build/pebble. It validates names as Let's Encrypt does, at port 80 of the
host, and never takes an earlier answer for a new one.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import trustme

from tests.bare.booted import BootedSystem
from tests.e2e.program import ROOT

MODULE: Final = "github.com/letsencrypt/pebble/v2/cmd/pebble@v2.7.0"
DIRECTORY: Final = "https://localhost:14000/dir"
AUTHORITY: Final = "/root/pebble/authority.pem"  # of the server's own certificate
ROOT_CERTIFICATE: Final = "https://localhost:15000/roots/0"  # of those that it issues
PATIENCE: Final = 300.0  # seconds for downloading and compiling


def program() -> Path:
    """Return pebble; skip the test if it cannot be built here."""
    built = ROOT / "build/pebble/pebble"
    if built.exists():
        return built
    if (go := shutil.which("go")) is None:
        pytest.skip("there is no Go to build pebble with")
    environ = {**os.environ, "GOBIN": str(built.parent), "CGO_ENABLED": "0"}
    words = [go, "install", MODULE]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        pytest.skip(f"pebble cannot be built: {done.stderr[-300:]}")
    return built


@contextmanager
def running(booted: BootedSystem, *names: str) -> Iterator[None]:
    """Run pebble there during the block, and let `names` lead to the system itself."""
    folder = booted.root / "root/pebble"
    folder.mkdir()
    shutil.copy(program(), folder)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(booted.root / AUTHORITY[1:])
    certificate = authority.issue_cert("localhost")
    certificate.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    settings = {
        "listenAddress": "127.0.0.1:14000",
        "managementListenAddress": "127.0.0.1:15000",
        "certificate": "/root/pebble/server.pem",
        "privateKey": "/root/pebble/server.pem",
        "httpPort": 80,
        "tlsPort": 443,
    }
    (folder / "settings.json").write_text(json.dumps({"pebble": settings}))
    with (booted.root / "etc/hosts").open("a") as file:
        file.write(f"127.0.0.1 {' '.join(names)}\n")
    # Without its answers that are wrong at random, which clients have to endure.
    values = ("AUTHZREUSE=0", "VA_NOSLEEP=1", "WFE_NONCEREJECT=0")
    variables = [f"--setenv=PEBBLE_{value}" for value in values]
    run = ["/root/pebble/pebble", "-config", "/root/pebble/settings.json"]
    booted.run("systemd-run", "--quiet", "--unit=pebble", *variables, *run)
    booted.wait_for_entry("pebble", "ACME directory available at")
    yield
    booted.shell("systemctl stop pebble && rm -r /root/pebble")
