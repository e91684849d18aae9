"""loadtest/data/texts.py: texts of people and of spammers, nearly all of them different."""

import random
from collections.abc import Callable

import pytest

from commentsvc.comments.submission import SubmissionFields, check
from commentsvc.settings.schema import CommentsSettings
from loadtest.data.texts import FormFields, person, spammer

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
