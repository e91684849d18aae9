"""Assemble the root of the image: rootfs.py FOLDER, run by the Dockerfile in its first stage.

The folder gets what the service needs at run time: Python's interpreter and library as Debian built
them, the program's virtual environment, and each shared library that one of those needs, which
`ldd` finds. Paths stay the same. Installing a list of packages would add a shell and the package
manager.

Vulnerability scanners find the contents where they expect them: Debian's packages in
/var/lib/dpkg/status, with the packages that the files come from, and Python's in .dist-info
folders.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

PROGRAM = Path("/opt/commentsvc")
USER = 10001  # nobody else's id, so that no other user owns a volume by chance
TIME_ZONES = Path("/usr/share/zoneinfo")  # dates in lists are local: TZ
# Parts of the library that only developers use, and C headers.
UNUSED = ("__pycache__", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "tkinter", "turtledemo")
UNUSED_ENDS = ("config-*", "*.a", "test", "tests")
RELEASE = (Path("/etc/os-release"), Path("/etc/debian_version"))
# Debian keeps these as links into /usr, for old paths.
MERGED = ("bin", "lib", "lib64")


def libraries(files: list[Path]) -> Iterator[Path]:
    """Yield the shared libraries that `files` need, and the loader, by their paths."""
    done = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False)
    yield from map(Path, sorted(set(re.findall(r"(/\S+\.so\S*) \(0x", done.stdout))))


def copy(path: Path, root: Path) -> None:
    """Copy the file at `path`; if it is a link, copy its target as well."""
    real = path.resolve()
    for one in {merged(path), real}:
        target = root / one.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy2(real, target)


def merged(path: Path) -> Path:
    """Return `path` below /usr if its first folder is a link to there."""
    return Path("/usr", *path.parts[1:]) if path.parts[1] in MERGED else path


def record_packages(root: Path) -> None:
    """Write the entries of the Debian packages that the files below `root` come from."""
    paths = [f"/{path.relative_to(root)}" for path in root.rglob("*") if not path.is_dir()]
    # Some packages still list their files under the old paths.
    paths += [path.removeprefix("/usr") for path in paths if path.startswith("/usr/lib")]
    words = ["dpkg-query", "--search", *paths]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    owners = sorted(set(re.findall(r"^([a-z0-9][^ ,]*): /", done.stdout, re.MULTILINE)))
    entries = subprocess.run(["dpkg-query", "--status", *owners], capture_output=True, check=True)
    status = root / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_bytes(entries.stdout)


def main(root: Path) -> None:
    """Fill the folder `root`."""
    root.mkdir()
    for name in MERGED:
        if Path("/", name).is_symlink():
            (root / "usr" / name).mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(f"usr/{name}")
    library = Path(sysconfig.get_path("stdlib"))
    for folder in (library, PROGRAM):
        shutil.copytree(
            folder,
            root / folder.relative_to("/"),
            symlinks=True,
            ignore=shutil.ignore_patterns(*UNUSED, *UNUSED_ENDS),
        )
    shutil.copytree(TIME_ZONES, root / TIME_ZONES.relative_to("/"), symlinks=True)
    interpreter = Path("/usr/bin/python3")
    copy(interpreter, root)
    loaded = [interpreter.resolve(), *library.rglob("*.so"), *PROGRAM.rglob("*.so")]
    for path in libraries(loaded):
        copy(path, root)
    for path in RELEASE:
        copy(path, root)
    record_packages(root)
    settings = {
        "passwd": f"commentsvc:x:{USER}:{USER}::/data:/nonexistent\n",
        "group": f"commentsvc:x:{USER}:\n",
        "nsswitch.conf": "hosts: files dns\n",
    }
    for name, text in settings.items():
        (root / "etc" / name).write_text(text)
    # A new volume gets the owner of the folder that it is mounted on.
    for name, mode in (("data", 0o700), ("run/commentsvc", 0o755)):
        folder = root / name
        folder.mkdir(mode, parents=True)
        shutil.chown(folder, USER, USER)
    compile_all = [sys.executable, "-m", "compileall", "-q", "-s", str(root)]
    compile_all += ["--invalidation-mode", "unchecked-hash", str(root / "usr"), str(root / "opt")]
    subprocess.run(compile_all, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
