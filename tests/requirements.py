"""Read the lock files in config/requirements."""

import re
from pathlib import Path

from packaging.requirements import Requirement

FOLDER = Path(__file__).parent.parent / "config/requirements"
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")


def entries(name: str) -> list[tuple[Requirement, list[str]]]:
    """Return the requirements of NAME.txt, each with the SHA-256 hashes of its allowed files."""
    text = (FOLDER / f"{name}.txt").read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(Requirement(line.partition(" --hash")[0]), _HASH.findall(line)) for line in lines]


def versions(name: str) -> dict[str, str]:
    """Return the version of each package in NAME.txt."""
    return {one.name: str(one.specifier).removeprefix("==") for one, _ in entries(name)}
