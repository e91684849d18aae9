"""What backups of both engines have in common: errors, their texts, what `restore` returns."""

from pathlib import Path
from typing import Final, NamedTuple

# The first bytes of an archive that pg_dump has made.
ARCHIVE: Final = b"PGDMP"
# The error that moderators see at a mail that waited in the outbox of a restored backup.
HELD: Final = "held back: it came with a backup, and may have been sent since that was made"
# What compressed files begin with, and what unpacks them.
COMPRESSED: Final = (
    ("gzip", b"\x1f\x8b", "gunzip --keep"),
    ("xz", b"\xfd7zXZ", "unxz --keep"),
    ("zstd", b"\x28\xb5\x2f\xfd", "unzstd"),
    ("bzip2", b"BZh", "bunzip2 --keep"),
    ("zip", b"PK\x03\x04", "unzip"),
)


class BackupError(Exception):
    """No copy was made, or nothing was restored; the text says why and what to do."""


class RestoreResult(NamedTuple):
    """What was restored.

    `comments` is how many comments there are now, `newest` the time of the newest (Unix
    milliseconds), `kept` where the previous database is, `faults` what `integrity` found, and
    `held` how many messages of the outbox will not be sent. With PostgreSQL, the previous tables
    are in the `schema` of that name.
    """

    comments: int
    newest: int | None
    kept: Path | None
    faults: list[str]
    held: int
    schema: str = ""


def begins_with(path: Path, magic: bytes) -> bool:
    """Return whether a path is a file with these first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def no_backup(source: Path) -> str:
    """Return what a file is that is no database, and what to do."""
    for name, magic, unpack in COMPRESSED:
        if begins_with(source, magic):
            return f"{source} is compressed with {name}. Unpack it first: {unpack} {source}"
    if source.stat().st_size == 0:
        return f"{source} is empty. Copy it again, or restore another backup."
    return (
        f"{source} is not a backup. Name a file that `commentsvc backup` has made;"
        " `commentsvc import` reads exports."
    )
