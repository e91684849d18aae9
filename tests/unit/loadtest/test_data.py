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

from commentsvc.comments.markdown import render
from commentsvc.comments.submission import SubmissionFields, check
from commentsvc.settings.schema import CommentsSettings
from loadtest.data import bulk
from loadtest.data.blog import COMMENTS, PAGES, draw, pages, shares, texts, visits
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


def test_visits_name_each_page_as_often_as_it_has_comments() -> None:
    order = visits(pages())
    assert len(order) == COMMENTS
    assert order.count(pages()[4]) == pages()[4].count
    assert order != sorted(order, key=lambda page: page.url)


def test_draws_and_texts_are_the_same_every_time() -> None:
    assert draw(1_000, 100, seed=1) == draw(1_000, 100, seed=1) != draw(1_000, 100, seed=2)
    assert [*itertools.islice(texts(1), 50)] == [*itertools.islice(texts(1), 50)]


def test_the_first_rank_is_drawn_most_often() -> None:
    drawn = draw(10_000, 100, seed=1)
    assert 0.15 < drawn.count(0) / len(drawn) < 0.25
    assert set(drawn) <= set(range(100))


def test_the_html_is_what_the_renderer_makes_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "comments.sqlite"
    bulk.make(path, 5_000, 5)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT source, html FROM comment").fetchall()
    assert len(rows) == 5_000
    assert all(html == render(source) for source, html in rows)


SORTS = (person, spammer)


@pytest.mark.parametrize("sort", SORTS)
def test_the_same_seed_gives_the_same_texts(sort: Callable[[random.Random], FormFields]) -> None:
    first, again, other = (random.Random(seed) for seed in (1, 1, 2))
    assert [sort(first) for _ in range(20)] == [sort(again) for _ in range(20)]
    assert sort(first) != sort(other)


@pytest.mark.parametrize("sort", SORTS)
def test_every_one_can_be_sent(sort: Callable[[random.Random], FormFields]) -> None:
    source = random.Random(3)
    for _ in range(500):
        fields = SubmissionFields(url="/p/", **sort(source)._asdict())
        check(fields, CommentsSettings(), lambda url: ("blog", url))


def test_no_spammer_says_a_thing_twice() -> None:
    source = random.Random(4)
    texts = [spammer(source).message for _ in range(10_000)]
    assert len(set(texts)) > 9_990
    linked = sum("https://" in text for text in texts)
    assert 5_000 < linked < 8_000, "the others praise, and have their link in the name"
