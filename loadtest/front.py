"""The proxy in front: config/proxy/nginx.conf as we ship it, the same for every server compared."""

import os
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Final

from loadtest.peer import AbsentError
from loadtest.running import Running, free_port
from loadtest.service import ROOT

SHIPPED: Final = ROOT / "config" / "proxy" / "nginx.conf"
# What belongs to the machine and not to a site; one worker, since it has one core.
MAIN: Final = """daemon off; {user} worker_processes 1;
pid {folder}/front.pid; error_log stderr crit;
events {{ worker_connections 4096; }}
http {{ {temporary} include {folder}/site.conf; }}
"""
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
_NAME = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "7"]


class Front(Running):
    """A running nginx; `trusted` is the certificate that its clients have to trust."""

    def __init__(self, folder: Path, upstream: str, cores: Collection[int]) -> None:
        """Start it before `upstream`, HOST:PORT or unix:PATH. Raises AbsentError, ServiceError."""
        program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            raise AbsentError("nginx is missing. Run: apt-get install -y nginx-light")
        folder = folder.resolve()
        self.trusted = _certificate(folder)
        port = free_port()
        (folder / "site.conf").write_text(_site(folder, upstream, port))
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        user = "user root;" if os.geteuid() == 0 else ""  # who alone may enter the folder
        file = folder / "front.conf"
        file.write_text(MAIN.format(user=user, folder=folder, temporary=temporary))
        words = [program, "-e", "stderr", "-c", str(file)]
        super().__init__(words, port, folder / "front.log", cores)


def _site(folder: Path, upstream: str, port: int) -> str:
    """The shipped file with what it says to change changed; and its ports. Raises ValueError."""
    certificate = "/etc/letsencrypt/live/comments.example"
    changes = {
        "unix:/run/commentsvc/commentsvc.sock": upstream,
        f"{certificate}/fullchain.pem": str(folder / "front.crt"),
        f"{certificate}/privkey.pem": str(folder / "front.key"),
        "server_name comments.example": "server_name localhost",
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "    listen 80;\n    listen [::]:80;\n": "",
        "    listen [::]:443 ssl http2;\n": "",
        "/var/log/nginx": str(folder),
    }
    text = SHIPPED.read_text()
    for old, new in changes.items():
        if old not in text:
            raise ValueError(f"{SHIPPED.name} has no {old!r} any more")
        text = text.replace(old, new)
    return text


def _certificate(folder: Path) -> Path:
    """A certificate for localhost that signs itself, made once in a folder."""
    path, key = folder / "front.crt", folder / "front.key"
    if not path.exists():
        words = ["openssl", "req", "-x509", *_KEY, *_NAME, "-keyout", str(key), "-out", str(path)]
        try:
            subprocess.run(words, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise AbsentError(
                f"no certificate ({error}). Run: apt-get install -y openssl"
            ) from error
    return path
