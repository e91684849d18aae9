"""The stored schemas of releases, in released/; `store_schema` writes them.

python -m tests.unit.db.migrations.stored VERSION     fails if that version's schema is not stored
"""

import gzip
import sys
from pathlib import Path
from typing import Final

from commentsvc.db.migrations import upgrade

RELEASED: Final = Path(__file__).parent / "released"
SQLITE: Final = ".sqlite3.gz"  # after the version: a database file, and what pg_dump writes
POSTGRESQL: Final = ".sql"


def versions() -> list[str]:
    """Return the releases whose schema is stored. One with the steps of an earlier one has none."""
    return sorted(path.name.removesuffix(POSTGRESQL) for path in RELEASED.glob(f"*{POSTGRESQL}"))


def steps(version: str) -> list[str]:
    """Return the names of the steps that a stored schema was made by."""
    text = (RELEASED / f"{version}{POSTGRESQL}").read_text()
    return [name for name in upgrade.STEPS if f"'{name}'" in text]


def load(version: str, path: Path) -> None:
    """Write the stored database file of a version to `path`."""
    path.write_bytes(gzip.decompress((RELEASED / f"{version}{SQLITE}").read_bytes()))


def main(version: str) -> None:
    """Exit with an error if no stored schema has the steps of this program."""
    if [*upgrade.STEPS] not in [steps(each) for each in versions()]:
        sys.exit(
            f"the schema of {version} is not stored. Remove the tag, run"
            f" `python -m tests.unit.db.migrations.store_schema {version}`, and commit what it"
            " writes, with the tag."
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
