"""What is told of an import: a summary for the terminal, and every row in a CSV file."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from commentsvc.imports.stage import LEFT_OUT, MERGED, PRESENT, Stage, StagedRow
from commentsvc.model import APPROVED, DELETED, PENDING, SPAM

LINES: Final = 20  # of reasons; the file of --report has all
_HEADINGS: Final = {
    "skipped": "cannot be read",
    "note": "stored, but",
    "page": "stored, and",
}


def summary(stage: Stage, *, dry: bool) -> Iterator[str]:
    """Give the lines of the summary of an import; where it is `dry`, nothing was stored."""
    counts = stage.counts()
    pages = len(stage.pages())
    yield f"read           {stage.read:>9}"
    yield f"{'would store' if dry else 'stored':<14} {counts['stored']:>9}   on {pages} pages"
    yield f"  shown        {counts[APPROVED]:>9}"
    held = counts[PENDING] + counts[SPAM]
    yield f"  held back    {held:>9}   {counts[PENDING]} pending, {counts[SPAM]} spam"
    yield f"  empty        {counts[DELETED]:>9}   places of deleted comments that were answered"
    yield f"merged         {counts[MERGED]:>9}"
    yield f"already there  {counts[PRESENT]:>9}"
    yield f"left out       {counts[LEFT_OUT]:>9}"
    reasons = stage.reasons()
    for outcome, reason, number in reasons[:LINES]:
        yield f"{number:>9} {_HEADINGS.get(outcome, outcome)}: {reason}"
    if len(reasons) > LINES:
        yield f"and {len(reasons) - LINES} other reasons; --report FILE writes all of them"


def write(path: Path, rows: Iterable[StagedRow]) -> None:
    """Write what became of each row to the CSV file `path`. Raises OSError."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(StagedRow._fields)
        writer.writerows(tuple(map(_cell, row)) for row in rows)


def _cell(value: object) -> object:
    """Keep a spreadsheet from taking a text for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "@") else value
