"""The build backend of pyproject.toml: meson-python, with a source distribution that needs no git.

meson-python takes the files of a source distribution from git. This one takes all files below
SOURCES, which makes the same archive from a clone and from an unpacked archive. Its config/VERSION
has the version that config/version.sh prints, so wheels that are built from it have that too.
"""

import gzip
import io
import os
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from mesonpy import (
    build_editable,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_wheel,
)
from packaging.version import Version
from pyproject_metadata import StandardMetadata

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_wheel",
]

# What a build takes, and what somebody needs who installs it.
SOURCES: Final = (
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "commentsvc",
    "config",
    "core",
    "docs",
    "meson.build",
    "meson.options",
    "po",
    "pyproject.toml",
    "static",
)
VERSION: Final = Path("config/VERSION")
_MADE: Final = ("__pycache__", "public", "resources")  # by Python and Hugo


def build_sdist(sdist_directory: str, config_settings: Mapping[str, object] | None = None) -> str:
    """Write the archive NAME-VERSION.tar.gz into a folder; return its name. No settings matter.

    Its files have the moment SOURCE_DATE_EPOCH (Unix seconds), so that two builds are the same.
    """
    version = subprocess.run(
        ["sh", "config/version.sh"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    project = tomllib.loads(Path("pyproject.toml").read_text())
    metadata = StandardMetadata.from_pyproject(project, Path.cwd())
    metadata.version = Version(version.strip())
    top = f"{metadata.canonical_name}-{metadata.version}"
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = moment
        return entry

    name = f"{top}.tar.gz"
    with (
        Path(sdist_directory, name).open("wb") as file,
        gzip.GzipFile("", fileobj=file, mode="wb", mtime=moment) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in _files():
            if path != VERSION:
                archive.add(path, f"{top}/{path}", filter=plain)
        for made, text in (
            (VERSION, version.encode()),
            ("PKG-INFO", bytes(metadata.as_rfc822())),
        ):
            entry = tarfile.TarInfo(f"{top}/{made}")
            entry.size = len(text)
            archive.addfile(plain(entry), io.BytesIO(text))
    return name


def _files() -> Iterator[Path]:
    """Give all files of SOURCES by their paths, in a fixed order."""
    for source in map(Path, SOURCES):
        paths = sorted(source.rglob("*")) if source.is_dir() else [source]
        yield from (path for path in paths if path.is_file() and not set(path.parts) & {*_MADE})
