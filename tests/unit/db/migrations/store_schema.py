"""Store the schema of a release, for the test that upgrades from each of them for ever.

    python -m tests.unit.db.migrations.store_schema VERSION     writes released/VERSION.*

A release whose schema is that of a stored one needs no files of its own. Those of a release that is
published are never written again.
"""

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

from tests import postgresql_server
from tests.e2e.program import ROOT
from tests.unit import database_fixture
from tests.unit.db.migrations.stored import POSTGRESQL, RELEASED, SQLITE


def write(version: str) -> None:
    """Write the files of a version."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fill(folder)
        packed = gzip.compress((folder / "comments.sqlite3").read_bytes(), mtime=0)
        (RELEASED / f"{version}{SQLITE}").write_bytes(packed)
    with postgresql_server.server() as server, tempfile.TemporaryDirectory() as name:
        database_fixture.in_use.append(server)
        _fill(Path(name))
        words = [str(postgresql_server.programs() / "pg_dump"), "--inserts", "--no-owner"]
        url = server.location(Path(name))
        done = subprocess.run([*words, url], capture_output=True, text=True, check=True)
        lines = done.stdout.splitlines()
        # Lines that only psql reads.
        kept = [line for line in lines if line and not line.startswith(("--", "\\"))]
        (RELEASED / f"{version}{POSTGRESQL}").write_text("\n".join([*kept, ""]))


def _fill(folder: Path) -> None:
    """Make a database with a comment and a reply, which a moderator has taken for spam."""
    with database_fixture.opened(folder) as database:
        parent = database_fixture.add(database).comment.id
        reply = database_fixture.add(database, author="Ben", parent=parent).comment.id
        database_fixture.decide(database, "spam", reply)


def main(version: str) -> None:
    """Store the schema of a version that is not published yet."""
    words = ["git", "rev-parse", "--quiet", "--verify", f"refs/tags/v{version}"]
    if subprocess.run(words, cwd=ROOT, capture_output=True).returncode == 0:
        sys.exit(f"{version} is published: its schema stays as it is")
    write(version)
    print(f"stored the schema of {version} in {RELEASED.relative_to(ROOT)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
