"""Files of Debian packages that this system does not have: of another release or processor.

Nothing is installed: the packages are unpacked into a folder. apt fetches them as this machine
does, with a state of its own, and checks their signatures.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class PackagesError(Exception):
    """The packages cannot be had here; the text says why."""


def unpack(suite: str, architecture: str, names: Sequence[str], folder: Path) -> Path:
    """Unpack packages of Debian, without what they depend on, and return their root folder.

    `suite` is a release such as "trixie", `architecture` a processor such as "arm64"; `folder` is
    where all files go. Raise PackagesError.
    """
    state, root = folder / "apt", folder / "root"
    for path in (state / "lists/partial", state / "archives/partial", root):
        path.mkdir(parents=True, exist_ok=True)
    mirror = _mirror()
    (state / "sources").write_text(
        f"deb [arch={architecture} signed-by={KEYRING}] {mirror} {suite} main\n"
    )
    (state / "apt.conf").write_text(
        f'Dir::State "{state}"; Dir::State::Lists "{state}/lists";\n'
        f'Dir::State::status "/dev/null"; Dir::Cache "{state}";\n'
        f'Dir::Etc::SourceList "{state}/sources"; Dir::Etc::SourceParts "/dev/null";\n'
        f'APT::Architecture "{architecture}"; APT::Architectures {{ "{architecture}"; }};\n'
        'Acquire::Languages "none"; APT::Sandbox::User "root";\n'
        'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";\n'
    )
    environ = {**os.environ, "APT_CONFIG": str(state / "apt.conf")}
    _run(["apt-get", "-qq", "update"], state, environ)
    _run(["apt-get", "-qq", "download", *names], state, environ)
    for package in sorted(state.glob("*.deb")):
        _run(["dpkg-deb", "--extract", str(package), str(root)], state, environ)
    return root


def own_architecture() -> str:
    """Return Debian's name of this machine's kind of processor. Raise PackagesError."""
    return _run(["dpkg", "--print-architecture"], Path("/"), dict(os.environ)).strip()


def _mirror() -> str:
    """Return the address from which this system gets Debian's packages."""
    words = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)"]
    said = _run([*words, "Created-By: Packages"], Path("/"), dict(os.environ))
    found = [line.split()[2] for line in said.splitlines() if line.startswith("Debian Debian ")]
    if not found:
        raise PackagesError("this system gets no packages of Debian")
    return found[0]


def _run(words: Sequence[str], folder: Path, environ: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            words, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=300
        )
    except OSError as error:
        raise PackagesError(f"{words[0]}: {error}") from error
    if done.returncode != 0:
        raise PackagesError(f"{' '.join(words)}: {done.stderr.strip()[-300:]}")
    return done.stdout
