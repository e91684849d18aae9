"""Lists of a command: on a terminal with a header, ages and columns that fit; else whole values.

What strangers have written gets no power over the terminal.
"""

import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

import click

from commentsvc.cli.common import counted
from commentsvc.util import timestamps
from commentsvc.util.clock import SYSTEM_CLOCK
from commentsvc.util.timestamps import DAY_MS, HOUR_MS, MINUTE_MS

# Columns that a cell keeps, however narrow the terminal is.
NARROWEST: Final = 8
# Days after which a date says more than an age.
OLD: Final = 60


class Moment(NamedTuple):
    """A cell with a time in Unix milliseconds; `absent` stands there if it is None."""

    ms: int | None
    absent: str = "never"


Cell = str | int | Moment


def show(header: Sequence[str], rows: Sequence[Sequence[Cell]], empty: str) -> None:
    """Print `rows` below `header`, or `empty` if there are none."""
    if not rows:
        click.echo(empty)
        return
    is_terminal, now_ms = sys.stdout.isatty(), SYSTEM_CLOCK.now_ms()
    lines = [[_text(cell, now_ms if is_terminal else None) for cell in row] for row in rows]
    if is_terminal:
        lines.insert(0, list(header))
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    if is_terminal:
        widths = _fitted(widths, shutil.get_terminal_size().columns)
        lines = [
            [_cut(cell, width) for cell, width in zip(line, widths, strict=True)] for line in lines
        ]
    for line in lines:
        padded = (
            cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)
        )
        click.echo("  ".join(padded).rstrip())


def age(moment: int, now_ms: int) -> str:
    """Return how long ago `moment` is or how soon it comes, or its date if that is far away."""
    passed = abs(now_ms - moment)
    if passed < MINUTE_MS:
        return "now"
    if passed >= OLD * DAY_MS:
        return timestamps.local(moment).partition(" ")[0]
    units = {"day": DAY_MS, "hour": HOUR_MS, "minute": MINUTE_MS}
    unit = next(unit for unit, size in units.items() if passed >= size)
    text = counted(passed // units[unit], unit)
    return f"in {text}" if moment > now_ms else text


def printable(text: str) -> str:
    """Return `text` without terminal commands and bidirectional control characters."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def _text(cell: Cell, now_ms: int | None) -> str:
    """Return a cell as text, with an age if it is a time and it is `now_ms`."""
    if not isinstance(cell, Moment):
        return printable(str(cell))
    if cell.ms is None:
        return cell.absent
    return timestamps.local(cell.ms) if now_ms is None else age(cell.ms, now_ms)


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes (Unicode Standard Annex 11)."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def _fitted(widths: list[int], columns: int) -> list[int]:
    """Return widths that fit into `columns`: the widest become narrower."""
    widths = [min(width, columns) for width in widths]
    while sum(widths) + 2 * (len(widths) - 1) > columns and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    while text and _width(text) > width - 1:
        text = text[: max(width - 1, 0)] if len(text) >= width else text[:-1]
    return f"{text}…"
