"""Chart: the comments of each day as stacked bars of an SVG picture.

This module only computes bars, lines and labels in the units of the picture. The template draws
them with CSS classes, since the pages' policy allows no inline styles. The colours follow the
page's scheme, and a table next to the picture has the same numbers for those who cannot see it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from commentsvc.admin.render import short_date
from commentsvc.model import APPROVED, DELETED, PENDING, SPAM
from commentsvc.util.i18n import pgettext

WIDTH: Final = 720
HEIGHT: Final = 220
LEFT: Final = 48  # for the numbers
RIGHT: Final = 24  # for the right half of the last date
BELOW: Final = 26  # for the dates
ABOVE: Final = 8
GAP: Final = 0.25  # share of a day's width between two bars
LINES: Final = 4  # at most, besides the one at 0

# From the bottom to the top: published comments are the lowest.
ORDER: Final = (APPROVED, PENDING, SPAM, DELETED)
NAMES: Final = {
    APPROVED: pgettext("status", "published"),
    PENDING: pgettext("status", "waiting"),
    SPAM: pgettext("status", "spam"),
    DELETED: pgettext("status", "deleted"),
}


class Box(msgspec.Struct, frozen=True):
    """A part of a bar: the comments with a status on a day."""

    status: str
    x: float
    y: float
    width: float
    height: float
    title: str


class Mark(msgspec.Struct, frozen=True):
    """A label and its position on its axis."""

    at: float
    text: str


class Chart(msgspec.Struct, frozen=True):
    """The picture: its boxes, the horizontal lines with numbers, and the dates."""

    boxes: list[Box]
    lines: list[Mark]
    dates: list[Mark]


def step(most: int) -> int:
    """Return the distance of the lines, 1, 2 or 5 times a power of ten, for bars up to `most`."""
    size = 1
    while True:
        for factor in (1, 2, 5):
            if factor * size * LINES >= most:
                return factor * size
        size *= 10


def draw(days: Sequence[tuple[int, Mapping[str, int]]]) -> Chart:
    """Return the chart of the numbers by status of consecutive days (Unix time / 86,400 s)."""
    most = max(1, *(sum(numbers.values()) for _, numbers in days))
    distance = step(most)
    top = distance * -(-most // distance)
    scale = (HEIGHT - ABOVE - BELOW) / top
    ground = float(HEIGHT - BELOW)
    wide = (WIDTH - LEFT - RIGHT) / len(days)
    boxes, dates = [], []
    every = max(1, len(days) // 6)
    for index, (day, numbers) in enumerate(days):
        x, y = LEFT + index * wide, ground
        for status in ORDER:
            if number := numbers.get(status, 0):
                height = number * scale
                y -= height
                title = f"{short_date(day)}: {number} {NAMES[status]}"
                left, width = round(x + GAP * wide / 2, 2), round(wide * (1 - GAP), 2)
                boxes.append(Box(status, left, round(y, 2), width, round(height, 2), title))
        if (len(days) - 1 - index) % every == 0:
            dates.append(Mark(round(x + wide / 2, 2), short_date(day)))
    lines = [
        Mark(round(ground - number * scale, 2), short(number))
        for number in range(0, top + 1, distance)
    ]
    return Chart(boxes, lines, dates)


def short(number: int) -> str:
    """Return a number of comments, in thousands if it is large: ``40``, ``1.5k``."""
    return str(number) if number < 1_000 else f"{number / 1_000:g}k"
