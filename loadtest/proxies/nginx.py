"""nginx with config/proxy/nginx.conf in front of a server, the same for all that are compared."""

import subprocess
from collections.abc import Collection
from pathlib import Path

from loadtest.harness.programs import MissingError
from loadtest.harness.running import Running, free_ports
from loadtest.proxies.configs import Place, nginx

KINDS = {"ec": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "rsa": ["rsa:2048"]}
_NAME = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "7"]


class HttpsNginx(Running):
    """A running nginx; `trusted` is the certificate that its clients have to trust."""

    def __init__(self, folder: Path, upstream: str, cores: Collection[int]) -> None:
        """Start it before `upstream`, HOST:PORT or unix:PATH. Raise MissingError, ServiceError."""
        folder = folder.resolve()
        self.trusted, key = certificate(folder)
        ports = free_ports()
        # One worker, since it has one core.
        command = nginx(Place(folder, upstream, self.trusted, key, *ports, "localhost", 1))
        super().__init__(command.start, ports[1], folder / "front.log", cores)


def certificate(folder: Path, kind: str = "ec") -> tuple[Path, Path]:
    """Return a certificate for localhost that signs itself, made once in a folder, and its key.

    `kind` is one of KINDS. Raise MissingError.
    """
    path, key = folder / f"{kind}.crt", folder / f"{kind}.key"
    if not path.exists():
        words = ["openssl", "req", "-x509", "-nodes", "-newkey", *KINDS[kind], *_NAME]
        try:
            subprocess.run(
                [*words, "-keyout", str(key), "-out", str(path)], check=True, capture_output=True
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise MissingError(
                f"no certificate ({error}). Run: apt-get install -y openssl"
            ) from error
    return path, key
