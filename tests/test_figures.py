"""The figures of the README are those of loadtest/results, and each ratio is theirs."""

import json
import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
# By its command: the result, and what in it is the figure of commentsvc and of the other.
SOURCES: Final = {
    "front-page --way isso": ("isso", "isso: ours", "isso: isso", "rate"),
    "instances": (
        "instances",
        "1 instances, 64 clients, strict",
        "Waline 1.39.3, 64 clients",
        "rate",
    ),
    "page-view": ("page-view", "ours", "isso", "bytes"),
}
ROWS: Final = re.findall(
    r"^\| [^|]+ \| ([\d,.]+) \| ([\d,.]+), [^|]+ \| ([\d.]+) \| `([^`]+)` \|$",
    (ROOT / "README.md").read_text(),
    re.MULTILINE,
)


def test_each_figure_has_a_source() -> None:
    assert [row[3] for row in ROWS] == list(SOURCES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[3])
def test_a_figure_is_the_median_that_was_measured(row: tuple[str, str, str, str]) -> None:
    name, *entries, kind = SOURCES[row[3]]
    result = json.loads((ROOT / f"loadtest/results/{name}.json").read_text())
    assert result["about"]["command"].startswith(f"python -m loadtest {row[3]}")
    values = [result["entries"][entry][kind] for entry in entries]
    ours, other = [value[0] if isinstance(value, list) else value for value in values]
    assert [float(cell.replace(",", "")) for cell in row[:2]] == [round(ours), round(other)]
    assert float(row[2]) == pytest.approx(ours / other, rel=0.02)
