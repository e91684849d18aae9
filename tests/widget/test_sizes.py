"""The widget stays small: what a reader's browser fetches, each file gzipped by itself."""

import gzip

from tests.widget.browser import WIDGET

FILES = sorted([*WIDGET.glob("*.js"), WIDGET / "comments.css"])


# What is loaded when somebody begins to write.
LATER = {"send.js", "work.js"}


def size(*names: str) -> int:
    return sum(len(gzip.compress((WIDGET / name).read_bytes(), 9)) for name in names)


def test_all_files_of_a_thread_together_have_8_kib() -> None:
    sizes = {file.name: size(file.name) for file in FILES if file.name not in LATER}
    assert sum(sizes.values()) <= 8 * 1024, sizes


def test_writing_loads_2_kib_more() -> None:
    assert size(*LATER) <= 2 * 1024


def test_a_list_page_loads_700_bytes() -> None:
    assert size("count.js") <= 700
    assert "import " not in (WIDGET / "count.js").read_text()


def test_no_script_has_more_than_180_lines() -> None:
    lines = {
        file.name: len(file.read_text().splitlines()) for file in FILES if file.suffix == ".js"
    }
    assert max(lines.values()) <= 180, lines
