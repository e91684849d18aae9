"""How this machine fetches packages (mirrors, proxies, CA files), for systems built by tests."""

import os
import re
import subprocess
from pathlib import Path

AUTHORITIES = "/run/ca.pem"  # where the settings below expect them


def apt() -> str:
    """Return the settings of apt on this machine that say how to fetch packages."""
    done = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("Acquire::")]
    return "\n".join([*lines, f'Acquire::https::CAInfo "{AUTHORITIES}";', ""])


def pip() -> str:
    """Return pip's settings on this machine, environment variables included, with our CA file."""
    done = subprocess.run(["pip", "config", "list"], capture_output=True, text=True, check=False)
    found = dict(re.findall(r"^(?:global|:env:)\.([a-z-]+)='(.*)'$", done.stdout, re.MULTILINE))
    wanted = ("extra-index-url", "index-url", "proxy", "timeout", "trusted-host")
    lines = [f"{key} = {found[key]}" for key in wanted if key in found]
    return "\n".join(["[global]", f"cert = {AUTHORITIES}", *lines, ""])


def npm() -> str:
    """Return npm's settings on this machine that say how to fetch packages, with our CA file."""
    lines = [f"cafile={AUTHORITIES}"]
    for key in ("registry", "proxy", "https-proxy", "noproxy"):
        words = ["npm", "config", "get", key]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if (value := done.stdout.strip()) not in ("", "null"):
            lines.append(f"{key}={value}")
    return "\n".join([*lines, ""])


def authorities() -> str:
    """Return the certificate authorities that this machine trusts."""
    import certifi

    system = "/etc/ssl/certs/ca-certificates.crt"
    # The second is where this module tells a bare system to find them.
    for path in (os.environ.get("SSL_CERT_FILE", ""), AUTHORITIES, system):
        if path and Path(path).exists():
            return Path(path).read_text()
    return Path(certifi.where()).read_text()
