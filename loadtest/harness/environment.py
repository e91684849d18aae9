"""The environment of a run: a temporary folder with a seeded database, two cores, the machine."""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from loadtest.data import blog
from loadtest.data.blog import Page
from loadtest.data.seed import seed
from loadtest.harness import machine
from loadtest.harness.browsers import names
from loadtest.harness.measurement import Row
from loadtest.harness.programs import BUILD
from loadtest.harness.result import Result, Verdict, summarise
from loadtest.harness.rounds import Extent

Judge = Callable[[Sequence[Row]], list[Verdict]]


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a load is played: `data` in the folder has the comments of the pages."""

    folder: Path
    pages: Sequence[Page]
    extent: Extent
    cores: tuple[int, int]  # of the server, of the clients
    about: dict[str, Any]  # Any: as in Result


@contextmanager
def prepare(extent: Extent, pages: int = blog.PAGES, parent: Path = BUILD) -> Iterator[Environment]:
    """Seed a database of so many `pages` in a new folder in `parent`; remove it afterwards.

    Raise ServiceError or ProgramError.
    """
    with prepare_empty(extent, parent) as empty:
        ranked = blog.pages(pages)
        seed(empty.folder / "data", ranked, _progress())
        about = empty.about | {"pages": pages, "comments": blog.COMMENTS}
        yield Environment(empty.folder, ranked, extent, empty.cores, about)


@contextmanager
def prepare_empty(extent: Extent, parent: Path = BUILD) -> Iterator[Environment]:
    """Do as `prepare`, without a database."""
    cores = machine.choose_cores()
    parent.mkdir(parents=True, exist_ok=True)
    about = {**machine.commit(), "date": machine.now(), "machine": machine.describe()}
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        yield Environment(folder, (), extent, cores, about | asdict(extent))
    finally:
        shutil.rmtree(folder)


def _progress() -> Callable[[int], None]:
    """Return a function that shows how much is seeded, on a terminal all the time."""
    begin, terminal = time.monotonic(), sys.stdout.isatty()

    def report(done: int) -> None:
        end = f" in {time.monotonic() - begin:.1f} s\n" if done == blog.COMMENTS else ""
        if terminal or end:
            click.echo(f"{chr(13) * terminal}seeded {done:,} comments{end}", nl=False)

    return report


def sum_up(
    about: dict[str, Any],  # Any: as in Result
    texts: Mapping[str, str],
    rows: Sequence[Row],
    judge: Judge = lambda _: [],
) -> Result:
    """Return the medians of all rows, named by `texts`, and what is judged."""
    summaries = tuple(summarise(name, texts.get(name, name), rows) for name in names(rows))
    return Result(about, summaries, tuple(judge(rows)), tuple(rows))
