"""A stage: the seeded database, the cores and the folder that a test of the ancestors plays on."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from loadtest.data import blog
from loadtest.data.blog import Page
from loadtest.data.seed import seed
from loadtest.harness import machine, programs
from loadtest.harness.browsers import Row, names, summarise
from loadtest.harness.programs import BUILD
from loadtest.harness.progress import progress
from loadtest.harness.result import Result, Verdict
from loadtest.harness.rounds import Extent
from loadtest.report.table import milliseconds, number

Judge = Callable[[Sequence[Row]], list[Verdict]]


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a test is played: `data` in the folder has the comments of the pages."""

    folder: Path
    pages: Sequence[Page]
    extent: Extent
    cores: tuple[int, int]
    about: dict[str, Any]  # Any: as in Result


@contextmanager
def stage(extent: Extent) -> Iterator[Stage]:
    """Seed a database, and remove it afterwards. Raises ServiceError or ProgramError."""
    cores = machine.choose_cores()
    programs.browsers()
    BUILD.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=BUILD))
    about = {**machine.commit(), "date": machine.now(), "machine": machine.describe()}
    about |= asdict(extent) | {"pages": blog.PAGES, "comments": blog.COMMENTS}
    try:
        pages = blog.pages()
        seed(place / "data", pages, progress())
        yield Stage(place, pages, extent, cores, about)
    finally:
        shutil.rmtree(place)


def told(one: Row) -> None:
    """Tell of a row to those who wait."""
    line = (
        f"round {one['round']}  {one['scenario']:<28}{number(one['rate']):>9}/s"
        f"  p99 {milliseconds(one['p99'])} ms  {one.get('errors', 0)} errors"
    )
    disturbed = f"  disturbed: others used {one['disturbance']:.0%} of a core"
    click.echo(line + disturbed * one["disturbed"])


def sum_up(
    about: dict[str, Any],  # Any: as in Result
    texts: Mapping[str, str],
    rows: Sequence[Row],
    judge: Judge,
    before: Result | None = None,
) -> Result:
    """The medians of all rows, those of `before` too, whose rounds were the first ones."""
    every = [*(before.rounds if before else ()), *rows]
    known = {one.name: one.text for one in before.summaries} | dict(texts) if before else texts
    summaries = tuple(summarise(name, known[name], every) for name in names(every))
    if before:
        pieces = [*before.about.get("pieces", []), {k: about[k] for k in ("date", "commit")}]
        about = {**before.about, "pieces": pieces}
    return Result(about, summaries, tuple(judge(every)), tuple(every))


def first_round(before: Result | None) -> int:
    """The number of the next round."""
    return 1 + max((int(one["round"]) for one in before.rounds), default=0) if before else 1
