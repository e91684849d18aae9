"""This machine's ways to packages, for systems built here: a mirror, a proxy, authorities."""

import os
import re
import subprocess
from pathlib import Path

AUTHORITIES = "/run/ca.pem"  # where the settings expect them


def apt() -> str:
    """The settings of apt on this machine that say how to fetch."""
    done = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("Acquire::")]
    return "\n".join([*lines, f'Acquire::https::CAInfo "{AUTHORITIES}";', ""])


def pip() -> str:
    """The settings of pip on this machine, its variables too, with our authorities."""
    done = subprocess.run(["pip", "config", "list"], capture_output=True, text=True, check=False)
    found = dict(re.findall(r"^(?:global|:env:)\.([a-z-]+)='(.*)'$", done.stdout, re.MULTILINE))
    wanted = ("extra-index-url", "index-url", "proxy", "timeout", "trusted-host")
    lines = [f"{key} = {found[key]}" for key in wanted if key in found]
    return "\n".join(["[global]", f"cert = {AUTHORITIES}", *lines, ""])


def npm() -> str:
    """The settings of npm on this machine that say how to fetch, with our authorities."""
    lines = [f"cafile={AUTHORITIES}"]
    for key in ("registry", "proxy", "https-proxy", "noproxy"):
        words = ["npm", "config", "get", key]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if (value := done.stdout.strip()) not in ("", "null"):
            lines.append(f"{key}={value}")
    return "\n".join([*lines, ""])


def authorities() -> str:
    """The certificate authorities that this machine trusts."""
    import certifi

    for path in (os.environ.get("SSL_CERT_FILE", ""), "/etc/ssl/certs/ca-certificates.crt"):
        if path and Path(path).exists():
            return Path(path).read_text()
    return Path(certifi.where()).read_text()
