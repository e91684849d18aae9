"""Lay out the files of the Debian and RPM packages: tree.py WHEEL FOLDER, run by build.sh.

The program is in a virtual environment, /usr/lib/commentsvc, which belongs to the package manager
alone. It is for each Python of PYTHONS: their folders of packages are one folder, which has each
extension once for every version, with the version in the file's name, as in Debian's own packages.
So a new minor version of the system's Python finds everything that it needs, and nothing is
installed on the user's machine.
"""

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

# The oldest release of each that a distribution has.
PYTHONS: Final = ("3.11.2", "3.12.3", "3.13.0", "3.14.0")
HOME: Final = "usr/lib/commentsvc"
LOCK: Final = Path("config/requirements/full.txt")
STARTER: Final = f"""#!/{HOME}/bin/python3
import sys

from commentsvc.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
"""
# What pip and uv note about an installation, and what only developers use.
UNUSED: Final = (
    *("bin", "share", ".lock", "*.dist-info/RECORD", "*.dist-info/INSTALLER"),
    "**/__pycache__",
)


def fetch(python: str, folder: Path) -> None:
    """Install all locked packages for a version of Python, as wheels, into `folder`."""
    target = ["--python-version", python]
    target += ["--python-platform", f"{platform.machine()}-manylinux_2_28"]
    words = ["uv", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--no-config"]
    words += ["--only-binary", ":all:", *target, "--target", str(folder), "-r", str(LOCK)]
    subprocess.run(words, check=True)


def extensions(folder: Path, python: str) -> Iterator[Path]:
    """Give what only that version of Python imports, and the libraries that it needs."""
    major, minor, _ = python.split(".")
    yield from folder.rglob(f"*.cpython-{major}{minor}-*.so")
    yield from folder.glob("*.libs/*")


def merge(packages: Path, others: Path, python: str) -> None:
    """Add the extensions for one more version of Python to `packages`."""
    for path in extensions(others, python):
        target = packages / path.relative_to(others)
        target.parent.mkdir(exist_ok=True)
        if not target.exists():
            shutil.copy(path, target)


def unpack(wheel: Path, home: Path, packages: Path) -> None:
    """Add our own wheel; what it has for `share` is beside the packages."""
    with TemporaryDirectory() as name, zipfile.ZipFile(wheel) as packed:
        packed.extractall(name)
        [data] = Path(name).glob("*.data")
        shutil.copytree(data / "data/share", home / "share")
        shutil.rmtree(data)
        shutil.copytree(name, packages, dirs_exist_ok=True)


def main(wheel: Path, root: Path) -> None:
    """Write the tree below `root`, which is a new folder."""
    home = root / HOME
    packages = home / "lib/python3/site-packages"
    with TemporaryDirectory() as name:
        for python in PYTHONS:
            fetch(python, Path(name, python))
        packages.parent.mkdir(parents=True)
        shutil.move(Path(name, PYTHONS[0]), packages)
        for python in PYTHONS[1:]:
            merge(packages, Path(name, python), python)
    unpack(wheel, home, packages)
    for pattern in UNUSED:
        for path in [*packages.glob(pattern)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for python in PYTHONS:
        (home / f"lib/python{python.rpartition('.')[0]}").symlink_to("python3")
    (home / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    (home / "bin").mkdir()
    (home / "bin/python3").symlink_to("/usr/bin/python3")
    starter = home / "bin/commentsvc"
    starter.write_text(STARTER)
    starter.chmod(0o755)
    for path in root.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path == starter else 0o644)


if __name__ == "__main__":
    os.umask(0o022)
    main(*map(Path, sys.argv[1:]))
