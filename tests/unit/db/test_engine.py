"""Locations of databases: how they are shown to people, and which of them are the same."""

from pathlib import Path

import pytest

from commentsvc.db.engine import describe, is_same


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://c:s3cret@db.example/comments", "postgresql://c@db.example/comments"),
        ("postgresql://c:s3%40cret@db:5432/comments", "postgresql://c@db/comments"),
        ("postgres://c@db/comments?password=s3cret&sslmode=require", "postgresql://c@db/comments"),
        ("postgresql://c@/?host=/run/pg&port=5433", "postgresql://c@/c?host=/run/pg&port=5433"),
        ("postgresql://one:5432,two:5433/comments", "postgresql://one,two:5433/comments"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert describe(url) == shown
    assert is_same(url, shown)


def test_another_host_port_or_name_is_another_database() -> None:
    ours = "postgresql://c@db/comments"
    assert is_same(ours, "postgresql://root:s3cret@db:5432/comments?sslmode=require")
    for other in ("db2/comments", "db:5433/comments", "db/other"):
        assert not is_same(ours, f"postgresql://c@{other}")
    assert not is_same(ours, Path("/srv/comments.sqlite3"))
