"""What backups of both engines have in common: errors, and what `restore` returns."""

from pathlib import Path
from typing import Final, NamedTuple

# The first bytes of an archive that pg_dump has made.
ARCHIVE: Final = b"PGDMP"
# The error that moderators see at a mail that waited in the outbox of a restored backup.
HELD: Final = "held back: it came with a backup, and may have been sent since that was made"


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
