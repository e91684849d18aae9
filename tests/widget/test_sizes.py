"""The widget stays small: what a reader's browser fetches, each file gzipped as servers send it."""

import gzip

import pytest

from commentsvc.util.i18n import languages
from tests.widget.browser import (
    ACTING,
    BLACK,
    COUNTING,
    MODERATING,
    OWNING,
    PRERENDERED,
    READING,
    SEEKING,
    STAYING,
    WIDGET,
    WRITING,
)

# Bytes. What is loaded on use comes on top of reading.
BUDGETS = {
    "counting": (COUNTING, 800),
    "reading": (READING, 8 * 1024),
    "writing": (WRITING, 7_700),
    "acting": (ACTING, 3_100),
    "staying": (STAYING, 700),
    "owning": (OWNING, 750),
    "black": (BLACK, 800),
    "seeking": (SEEKING, 600),
    "moderating": (MODERATING, 550),
    "prerendered": (PRERENDERED, 1_000),
}


def compressed(*names: str) -> dict[str, int]:
    """The size of each file."""
    return {name: len(gzip.compress((WIDGET / name).read_bytes())) for name in names}


@pytest.mark.parametrize("journey", BUDGETS)
def test_a_journey_loads_no_more_than_its_budget(journey: str) -> None:
    """tests/widget/test_work.py and test_counts.py hold which files a journey loads."""
    files, budget = BUDGETS[journey]
    sizes = compressed(*files)
    assert sum(sizes.values()) <= budget, sizes


def test_every_file_belongs_to_a_journey() -> None:
    found = {file.name for kind in ("*.js", "*.css") for file in WIDGET.glob(kind)}
    known = {name for files, _ in BUDGETS.values() for name in files}
    assert found - {"page.css"} == known  # which our own pages have


def test_a_language_has_no_more_than_the_words_need() -> None:
    sizes = {tag: len(gzip.compress(language.widget_json)) for tag, language in languages().items()}
    assert max(sizes.values()) <= 1.25 * 1024, sizes
