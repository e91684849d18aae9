"""Lists of commands: what fits a terminal, and what a pipe gets."""

import os
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.cli import tables
from commentsvc.cli.tables import Moment, age
from commentsvc.util.timestamps import DAY_MS, HOUR_MS, MINUTE_MS

NOW = 1_790_000_000_000
HEADER = ("ID", "AGE", "TEXT")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: NOW * 1_000_000)
    monkeypatch.setattr(time, "localtime", time.gmtime)
    terminal = SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(tables, "sys", terminal)
    monkeypatch.setattr(
        tables.shutil,  # type: ignore[attr-defined] # mypy sees no re-export of shutil
        "get_terminal_size",
        lambda: os.terminal_size((30, 24)),
    )


def test_a_terminal_gets_a_header_ages_and_lines_that_fit(
    terminal: None, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(7, Moment(NOW - 3 * HOUR_MS), "a" * 40), (12, Moment(None), "\u6f22\u5b57" * 20)]
    tables.show(HEADER, rows, "none")
    assert capsys.readouterr().out == (
        "ID  AGE      TEXT\n"
        f"7   3 hours  {'a' * 16}\u2026\n"
        "12  never    \u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u2026\n"
    )


def test_a_pipe_gets_whole_values_and_no_header(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(time, "localtime", time.gmtime)
    tables.show(HEADER, [(7, Moment(NOW), "a" * 200), (12, Moment(None, "-"), "b")], "none")
    assert capsys.readouterr().out == (
        f"7   2026-09-21 14:13:20  {'a' * 200}\n12  -                    b\n"
    )
    tables.show(HEADER, [], "none")
    assert capsys.readouterr().out == "none\n"


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        (0, "now"),
        (MINUTE_MS - 1, "now"),
        (MINUTE_MS, "1 minute"),
        (59 * MINUTE_MS, "59 minutes"),
        (HOUR_MS, "1 hour"),
        (DAY_MS - 1, "23 hours"),
        (59 * DAY_MS, "59 days"),
        (60 * DAY_MS, "2026-07-23"),
        (-2 * DAY_MS, "in 2 days"),
        (-90 * DAY_MS, "2026-12-20"),
    ],
)
def test_an_age_is_said_in_one_unit(
    monkeypatch: pytest.MonkeyPatch, passed: int, said: str
) -> None:
    monkeypatch.setattr(time, "localtime", time.gmtime)
    assert age(NOW - passed, NOW) == said


@given(st.lists(st.tuples(st.text(), st.text(), st.text()), min_size=1), st.integers(1, 300))
def test_no_text_commands_the_terminal_or_is_wider_than_its_column(
    rows: list[tuple[str, ...]], columns: int
) -> None:
    """A column is never narrower than NARROWEST, so a tiny terminal wraps lines."""
    cells = [[tables._text(cell, NOW) for cell in row] for row in rows]
    widths = tables._fitted(
        [max(map(tables._width, each)) for each in zip(*cells, strict=True)], columns
    )
    assert sum(widths) + 4 <= max(columns, 3 * tables.NARROWEST + 4)
    for row in cells:
        for cell, width in zip(row, widths, strict=True):
            assert cell.isprintable()
            assert tables._width(tables._cut(cell, width)) <= max(width, 1)


def test_turned_text_and_escapes_are_shown_as_such() -> None:
    assert tables.printable("\x1b[31mA\u202eb") == "\ufffd[31mA\ufffdb"
