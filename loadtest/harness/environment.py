"""The environment of a run: a temporary folder with a seeded database, two cores, the machine."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from loadtest.data import blog
from loadtest.data.blog import Page
from loadtest.data.seed import seed
from loadtest.harness import machine
from loadtest.harness.browsers import names
from loadtest.harness.measurement import Row
from loadtest.harness.programs import BUILD
from loadtest.harness.progress import progress
from loadtest.harness.result import Result, Verdict, summarise
from loadtest.harness.rounds import Extent

Entry = TypeVar("Entry")
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
        seed(empty.folder / "data", ranked, progress())
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


def rotated(entries: Sequence[Entry], number: int) -> list[Entry]:
    """Return the entries, beginning with another one in each round."""
    begin = number % len(entries)
    return [*entries[begin:], *entries[:begin]]


def sum_up(
    about: dict[str, Any],  # Any: as in Result
    texts: Mapping[str, str],
    rows: Sequence[Row],
    judge: Judge,
    before: Result | None = None,
) -> Result:
    """Return the medians of all rows; those of `before`, if any, are the first rounds."""
    every = [*(before.rounds if before else ()), *rows]
    known = {one.name: one.text for one in before.summaries} | dict(texts) if before else texts
    summaries = tuple(summarise(name, known.get(name, name), every) for name in names(every))
    if before:
        pieces = [*before.about.get("pieces", []), {k: about[k] for k in ("date", "commit")}]
        about = {**before.about, "pieces": pieces}
    return Result(about, summaries, tuple(judge(every)), tuple(every))


def first_round(before: Result | None) -> int:
    """Return the number of the next round."""
    return 1 + max((int(one["round"]) for one in before.rounds), default=0) if before else 1
