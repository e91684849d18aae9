"""How commentsvc is installed, for messages that say what to do."""

import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

# What Docker, Podman and Kubernetes put into a container.
MARKS: Final = (
    Path("/.dockerenv"),
    Path("/run/.containerenv"),
    Path("/var/run/secrets/kubernetes.io"),
)
# Our image has no pip, since nothing can be added to it. This one has all optional packages.
BUILD: Final = "docker build --build-arg LOCK=full -t commentsvc ."


def version() -> str:
    """Return the version of this installation, or of the commit if it is a checkout."""
    from importlib.metadata import version as installed_version  # only for this, and not small

    script = Path(__file__).parents[2] / "config/version.sh"
    if not script.exists():
        return installed_version("commentsvc")
    words = ["sh", str(script)]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def how_to_install(extra: str) -> str:
    """Return the command that adds the packages of `extra` to this installation.

    An installation is a virtual environment, with or without pip (uv makes those without), one of
    pipx, the packages of a Python of the system, or an image.
    """
    if Path(sys.prefix, "pipx_metadata.json").exists():
        return f"pipx runpip {Path(sys.prefix).name} install 'commentsvc[{extra}]'"
    has_pip = find_spec("pip") is not None
    is_container = any(mark.exists() for mark in MARKS)
    if is_container and not has_pip:
        return BUILD
    python = shlex.quote(sys.executable)
    command = f"{python} -m pip install" if has_pip else f"uv pip install --python {python}"
    if Path(sys.prefix, "bin/pip").exists() and sys.prefix != sys.base_prefix:
        command = f"{shlex.quote(sys.prefix)}/bin/pip install"
    command += f" 'commentsvc[{extra}]'"
    return f"RUN {command} (in the Dockerfile of this container)" if is_container else command
