"""The seed corpus of each fuzz target: an archive TARGET_seed_corpus.zip, as OSS-Fuzz expects it.

    python -m tests.fuzz.seed_corpus add TARGET FILE...       add inputs
    python -m tests.fuzz.seed_corpus replace TARGET FOLDER    hold the files of FOLDER alone

An input keeps its file's name; libFuzzer names files by the SHA-1 of their bytes. The same inputs
make the same archive: sorted, dated 1980, compressed (another zlib may pack them in other bytes).
"""

import shutil
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
BUILD = HERE.parent.parent / "build"
TARGETS = ("fuzz_head", "fuzz_proxy_header", "fuzz_body", "fuzz_conn")


def archive(target: str) -> Path:
    """Return the path of the target's archive."""
    return HERE / f"{target}_seed_corpus.zip"


def read(target: str) -> dict[str, bytes]:
    """Return the inputs of the target by name, sorted by name."""
    with zipfile.ZipFile(archive(target)) as file:
        return {name: file.read(name) for name in sorted(file.namelist())}


def write(path: Path, inputs: dict[str, bytes]) -> None:
    """Write `inputs` to the archive at `path`; of several identical inputs, keep the first."""
    with zipfile.ZipFile(path, "w") as file:
        held = set()
        for name, data in sorted(inputs.items()):
            if data not in held:
                entry = zipfile.ZipInfo(name)
                entry.create_system = 3  # Unix, on every system
                file.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
                held.add(data)


def unpack(target: str) -> Path:
    """Return a folder below build/ that holds the target's inputs and nothing else."""
    folder = BUILD / "seed_corpus" / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in read(target).items():
        (folder / name).write_bytes(data)
    return folder


def main(command: str, target: str, *paths: str) -> None:
    """Run the command line that the module's docstring describes."""
    if target not in TARGETS:
        sys.exit(f"no fuzz target {target}; there are {', '.join(TARGETS)}")
    match command:
        case "add":
            held, files = read(target), [Path(path) for path in paths]
        case "replace":
            held, files = {}, [*Path(paths[0]).iterdir()]
        case _:
            sys.exit(__doc__)
    write(archive(target), held | {file.name: file.read_bytes() for file in files})
    print(f"{archive(target).name}: {len(read(target))} inputs")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
