"""nginx with config/proxy/nginx.conf in front of a server, the same for all that are compared."""

import subprocess
from collections.abc import Collection
from pathlib import Path

from loadtest.harness.programs import MissingError
from loadtest.harness.running import Running, free_ports
from loadtest.proxies.configs import ProxyValues, nginx

_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
_NAME = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "7"]
_MAKE = ["openssl", "req", "-x509", "-nodes", *_KEY, *_NAME]


class HttpsNginx(Running):
    """A running nginx; `trusted` is the certificate that its clients have to trust."""

    def __init__(self, folder: Path, upstream: str, cores: Collection[int]) -> None:
        """Start it before `upstream`, HOST:PORT or unix:PATH. Raise MissingError, ServiceError."""
        folder = folder.resolve()
        self.trusted, key = certificate(folder)
        ports = free_ports()
        # One worker, since it has one core.
        command = nginx(ProxyValues(folder, upstream, self.trusted, key, *ports, "localhost", 1))
        super().__init__(command.start, ports[1], folder / "front.log", cores)


def certificate(folder: Path) -> tuple[Path, Path]:
    """Return a certificate for localhost that signs itself, made once in a folder, and its key.

    Raise MissingError.
    """
    path, key = folder / "proxy.crt", folder / "proxy.key"
    if not path.exists():
        words = [*_MAKE, "-keyout", str(key), "-out", str(path)]
        try:
            subprocess.run(words, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise MissingError(
                f"no certificate ({error}). Run: apt-get install -y openssl"
            ) from error
    return path, key
