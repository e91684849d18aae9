"""The report of an import: a summary for the terminal, and a CSV file with every row."""

import csv
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Final

from commentsvc.imports.staging.staging import (
    LEFT_OUT,
    MERGED,
    NO_PAGE,
    PRESENT,
    StagedRow,
    StagingDatabase,
)
from commentsvc.model import APPROVED, DELETED, PENDING, SPAM

LINES: Final = 20  # lines of reasons; the file of --report has all
NOT_ON_BLOG: Final = "its page is not on the blog"
_HEADINGS: Final = {
    "skipped": "cannot be read",
    "note": "stored, but",
    "page": "stored, and",
}


def summary(
    staging: StagingDatabase, *, dry: bool, on_blog: Container[str] | None = None
) -> Iterator[str]:
    """Yield the lines of the summary of an import; with `dry`, nothing was stored.

    `on_blog` are the pages of the blog, if they are known: missing ones are listed.
    """
    counts = staging.counts()
    pages = len(staging.pages())
    yield f"read           {staging.read:>9}"
    yield f"{'would store' if dry else 'stored':<14} {counts['stored']:>9}   on {pages} pages"
    yield f"  shown        {counts[APPROVED]:>9}"
    held = counts[PENDING] + counts[SPAM]
    yield f"  held back    {held:>9}   {counts[PENDING]} pending, {counts[SPAM]} spam"
    yield f"  empty        {counts[DELETED]:>9}   places of deleted comments that were answered"
    yield f"merged         {counts[MERGED]:>9}"
    yield f"already there  {counts[PRESENT]:>9}"
    yield f"left out       {counts[LEFT_OUT]:>9}"
    if staging.reactions:
        yield f"reactions      {staging.reactions:>9}   to pages"
    reasons = staging.reasons()
    for outcome, reason, number in reasons[:LINES]:
        yield f"{number:>9} {_HEADINGS.get(outcome, outcome)}: {reason}"
    if len(reasons) > LINES:
        yield f"and {len(reasons) - LINES} other reasons; --report FILE writes all of them"
    if counts[LEFT_OUT] == staging.read and any(reason == NO_PAGE for _, reason, _ in reasons):
        yield "nothing is stored: name the files that have the pages, too"
    if empty := staging.empty_files():
        more = f" and {len(empty) - LINES} other files" if len(empty) > LINES else ""
        yield f"no comments were found in {', '.join(empty[:LINES])}{more}"
    if on_blog is not None:
        yield from _missing(staging, on_blog)


def _missing(staging: StagingDatabase, on_blog: Container[str]) -> Iterator[str]:
    """Yield the pages with comments that are not on the blog, those with most comments first."""
    missing = [
        (count, url) for site, url, count in staging.pages() if f"{site}:{url}" not in on_blog
    ]
    missing.sort(key=lambda page: (-page[0], page[1]))
    yield f"not on the blog {len(missing):>8}   pages with {sum(n for n, _ in missing)} comments"
    for count, url in missing[:LINES]:
        yield f"{count:>9} on {url}"
    if len(missing) > LINES:
        yield f"and {len(missing) - LINES} other pages; --report FILE names all of them"


def write(path: Path, rows: Iterable[StagedRow], on_blog: Container[str] | None = None) -> None:
    """Write the outcome of each row to the CSV file `path`. Raise OSError."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(StagedRow._fields)
        for row in rows:
            if on_blog is not None and row.page and row.page not in on_blog:
                row = row._replace(reason="; ".join(filter(None, (row.reason, NOT_ON_BLOG))))
            writer.writerow(map(_cell, row))


def _cell(value: object) -> object:
    """Return a value that a spreadsheet does not take for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "@") else value
