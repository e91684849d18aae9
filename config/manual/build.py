"""Build the manual as a site: `make site`.

    python config/manual/build.py [FOLDER]    writes into dist/manual, or FOLDER

Each version gets a folder: that of a release is its number, that of anything later `dev`. Those of
other versions stay, so that a reader can choose among all that were built into the folder. The
first page leads to the newest release.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from mkdocs.commands import build
from mkdocs.config import load_config
from packaging.version import Version

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
DEVELOPMENT: Final = "dev"


def main(folder: Path) -> None:
    """Build this version, and list all that are there."""
    words = ["sh", str(ROOT / "config/version.sh")]
    told = Version(subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip())
    name = DEVELOPMENT if told.is_devrelease else str(told)
    settings = load_config(str(HERE / "mkdocs.yml"), site_dir=str(folder / name), strict=True)
    build.build(settings)
    names = {path.name for path in folder.iterdir() if path.is_dir()}
    versions = sorted(names - {DEVELOPMENT}, key=Version, reverse=True)
    versions += names & {DEVELOPMENT}
    listed = [{"version": name, "title": name, "aliases": []} for name in versions]
    (folder / "versions.json").write_text(json.dumps(listed))
    (folder / "index.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>commentsvc</title>'
        f'<meta http-equiv="refresh" content="0; url={versions[0]}/index.html">'
        f'<a href="{versions[0]}/index.html">The manual of commentsvc</a></html>\n'
    )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist/manual").absolute())
