"""The widget stays small: what a reader's browser fetches, each file gzipped as servers send it."""

import gzip

from tests.widget.browser import BUILT, ON_USE, PAGE_VIEW, WIDGET

LANGUAGES = sorted(WIDGET.glob("lang/*.js"))


def compressed(*names: str) -> dict[str, int]:
    """The size of each file."""
    return {name: len(gzip.compress((WIDGET / name).read_bytes())) for name in names}


def test_a_page_view_loads_8_kib_and_the_words_of_its_language() -> None:
    sizes = compressed(*PAGE_VIEW)
    assert sum(sizes.values()) <= 8 * 1024, sizes


def test_what_readers_do_is_loaded_then_with_2100_bytes() -> None:
    sizes = compressed(*ON_USE)
    assert sum(sizes.values()) <= 2_100, sizes


def test_what_takes_a_built_thread_over_has_850_bytes() -> None:
    """It is loaded where there is one, and saves more: a comment has 500 bytes."""
    sizes = compressed(*BUILT)
    assert sum(sizes.values()) <= 850, sizes


def test_every_file_is_counted() -> None:
    found = {file.name for kind in ("*.js", "*.css") for file in WIDGET.glob(kind)}
    assert found - {"page.css"} == {*PAGE_VIEW, *ON_USE, *BUILT}  # which our own pages have


def test_a_list_page_loads_700_bytes() -> None:
    assert compressed("count.js")["count.js"] <= 700
    assert "import " not in (WIDGET / "count.js").read_text()


def test_a_language_has_no_more_than_the_words_need() -> None:
    sizes = compressed(*(f"lang/{file.name}" for file in LANGUAGES))
    assert max(sizes.values()) <= 1.25 * 1024, sizes
