"""loadtest/harness/rounds.py and seed.py: what was acknowledged is in the database."""

from pathlib import Path

import pytest

from commentsvc.settings import data_dir
from loadtest.data.blog import Page
from loadtest.data.seed import seed
from loadtest.harness.rounds import verify
from loadtest.harness.service import ServiceError

PAGES = (Page("/a/", 3), Page("/b/", 1))


def test_a_seeded_database_is_whole_and_has_all_comments(tmp_path: Path) -> None:
    told: list[int] = []
    seed(tmp_path / "data", PAGES, told.append)
    assert told == [4]
    verify(tmp_path / "data" / data_dir.DATABASE, 4)


def test_a_lost_comment_is_found(tmp_path: Path) -> None:
    seed(tmp_path / "data", PAGES, lambda done: None)
    with pytest.raises(ServiceError, match="5 comments were acknowledged, 4 are stored"):
        verify(tmp_path / "data" / data_dir.DATABASE, 5)
