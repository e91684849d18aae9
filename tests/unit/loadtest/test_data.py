"""loadtest/data: the generated blog, its texts, and rows written in bulk."""

import itertools
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.comments.submission import Rules, SubmissionFields, check
from commentsvc.markup.markdown import render
from commentsvc.settings.schema import CommentsSettings
from loadtest.data import bulk
from loadtest.data.blog import COMMENTS, PAGES, pages, shares
from loadtest.data.texts import FormFields, person, spammer


@given(total=st.integers(0, 100_000), ranks=st.integers(1, 2_000))
def test_shares_sum_up_and_fall_with_the_rank(total: int, ranks: int) -> None:
    parts = shares(total, ranks)
    assert sum(parts) == total
    assert len(parts) == ranks
    assert all(first >= second - 1 for first, second in itertools.pairwise(parts))


def test_the_blog_has_its_pages_and_all_its_comments() -> None:
    ranked = pages()
    assert len({page.url for page in ranked}) == PAGES
    assert sum(page.count for page in ranked) == COMMENTS
    assert ranked[0].count > 100 * ranked[-1].count


def test_the_html_is_what_the_renderer_makes_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "comments.sqlite"
    bulk.make(path, 5_000, 5)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT source, html FROM comment").fetchall()
    assert len(rows) == 5_000
    assert all(html == render(source) for source, html in rows)


SORTS = (person, spammer)


@pytest.mark.parametrize("sort", SORTS)
def test_every_one_can_be_sent(sort: Callable[[random.Random], FormFields]) -> None:
    source = random.Random(3)
    for _ in range(500):
        fields = SubmissionFields(url="/p/", **sort(source)._asdict())
        check(fields, Rules(CommentsSettings(), lambda url: ("blog", url)))
