"""SVG: charts of results, as pictures that stand by themselves.

DESIGN. Two kinds: bars on one scale, with their figures beside them, and lines over a logarithmic
scale, named at their ends. They have a title, units, and the colours of the reader's scheme; text
is text, so it can be searched and read aloud. Nothing is drawn that is not needed to compare.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH: Final = 720
EDGE: Final = 20
ROW: Final = 26
HEAD: Final = 64  # title and subtitle
FOOT: Final = 34
FIGURES: Final = 185  # for what stands behind a bar
CHARACTER: Final = 7.7  # the width of one, on average, at 14 px

STYLE: Final = """<style>
svg { background: #ffffff; font: 14px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif }
text { fill: #1f2328 } .title { font-size: 16px; font-weight: 600 } .quiet { fill: #59636e }
.bar { fill: #9aa4af } .bar.ours { fill: #1a7f5a } .strong { font-weight: 600 }
.axis { stroke: #d1d9e0; stroke-width: 1 } .line { fill: none; stroke-width: 2.25 }
.s0 { stroke: #1a7f5a } .s1 { stroke: #0969da } .s2 { stroke: #bc4c00 }
.s3 { stroke: #8250df } .s4 { stroke: #59636e } .s5 { stroke: #cf222e }
.dot { stroke-width: 6; stroke-linecap: round }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117 } text { fill: #f0f6fc } .quiet { fill: #9198a1 }
.bar { fill: #656c76 } .bar.ours { fill: #3fb68b } .axis { stroke: #3d444d }
.s0 { stroke: #3fb68b } .s1 { stroke: #58a6ff } .s2 { stroke: #f0883e }
.s3 { stroke: #bc8cff } .s4 { stroke: #9198a1 } .s5 { stroke: #ff7b72 }
}
</style>"""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: what it stands for, how long it is, the words behind it, and whether it is ours."""

    label: str
    value: float
    text: str
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A curve: its name, and its points from left to right."""

    label: str
    points: Sequence[tuple[float, float]]


def bars(title: str, subtitle: str, foot: str, rows: Sequence[Bar], *, steps: bool = False) -> str:
    """Horizontal bars; with `steps` the scale is logarithmic, from a power below the least on."""
    left = EDGE + max(len(row.label) for row in rows) * CHARACTER + 12
    room = WIDTH - left - FIGURES - EDGE
    most, least = max(row.value for row in rows), min(row.value for row in rows if row.value > 0)
    low = math.log10(least) - 1

    def length(value: float) -> float:
        if value <= 0:
            return 0
        part = (math.log10(value) - low) / (math.log10(most) - low) if steps else value / most
        return max(1.5, part * room)

    drawn = []
    for index, row in enumerate(rows):
        y = HEAD + index * ROW
        kind = " ours" * row.ours
        drawn += [
            _text(left - 10, y + 17, row.label, "strong" * row.ours, "end"),
            f'<rect class="bar{kind}" x="{left:.1f}" y="{y + 4}" width="{length(row.value):.1f}"'
            f' height="{ROW - 8}" rx="2"/>',
            _text(left + length(row.value) + 8, y + 17, row.text, "strong" * row.ours),
        ]
    return _picture(title, subtitle, foot, HEAD + len(rows) * ROW + FOOT, drawn)


def lines(title: str, subtitle: str, foot: str, rows: Sequence[Line]) -> str:
    """Curves over two logarithmic scales."""
    names = max(len(row.label) for row in rows) * CHARACTER
    left, right, top, bottom = EDGE + 54.0, WIDTH - EDGE - names - 12, float(HEAD) + 6, 380.0
    xs = [x for row in rows for x, _ in row.points]
    ys = [y for row in rows for _, y in row.points]
    x_low, x_high = math.log10(min(xs)), math.log10(max(xs))
    y_low, y_high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def x_at(x: float) -> float:
        return left + (math.log10(x) - x_low) / (x_high - x_low) * (right - left)

    def y_at(y: float) -> float:
        return bottom - (math.log10(y) - y_low) / (y_high - y_low) * (bottom - top)

    drawn = []
    for power in range(y_low, y_high + 1):
        y = y_at(10**power)
        drawn.append(f'<path class="axis" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
        drawn.append(_text(left - 8, y + 4, f"{10**power:,g}", "quiet", "end"))
    drawn += [_text(x_at(x), bottom + 20, f"{x:,.0f}", "quiet", "middle") for x in sorted(set(xs))]
    ends = _apart([y_at(row.points[-1][1]) for row in rows])
    for index, (row, end) in enumerate(zip(rows, ends, strict=True)):
        path = "L".join(f"{x_at(x):.1f} {y_at(y):.1f}" for x, y in row.points)
        drawn.append(f'<path class="line s{index % 6}" d="M{path}"/>')
        dots = "".join(f"M{x_at(x):.1f} {y_at(y):.1f}h0" for x, y in row.points)
        drawn.append(f'<path class="dot s{index % 6}" d="{dots}"/>')
        drawn.append(_text(right + 12, end + 4, row.label))
    return _picture(title, subtitle, foot, int(bottom) + 36 + FOOT, drawn)


def _apart(wanted: Sequence[float], least: float = 17) -> list[float]:
    """The same heights, moved down as far as is needed to have `least` between any two."""
    placed = list(wanted)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for before, after in itertools.pairwise(order):
        placed[after] = max(placed[after], placed[before] + least)
    return placed


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    about = f' class="{kind}"' if kind else ""
    return f'<text{about} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _picture(title: str, subtitle: str, foot: str, height: int, drawn: Sequence[str]) -> str:
    """The whole file; `subtitle` tells what is shown and its unit, `foot` where it is from."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"'
        f' height="{height}" role="img" aria-label="{escape(f"{title}. {subtitle}")}">',
        STYLE,
        f"<title>{escape(title)}</title>",
        _text(EDGE, 28, title, "title"),
        _text(EDGE, 48, subtitle, "quiet"),
        *drawn,
        _text(EDGE, height - 12, foot, "quiet"),
        "</svg>\n",
    ]
    return "\n".join(parts)
