"""loadtest/data/blog.py: the same blog every time, with a few popular pages and many quiet ones."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from loadtest.data.blog import COMMENTS, PAGES, draw, pages, shares, texts, visits


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
