"""Constraints of the tables for comments, and the tags of cached answers."""

import sqlite3
from pathlib import Path

import pytest

from commentsvc import model
from commentsvc.db.schema.comments import CommentTable
from commentsvc.model import Comment
from tests.unit.database_fixture import BROKEN_RULE, NOW, add, opened


def test_a_thread_and_its_site_have_their_own_tags() -> None:
    assert model.thread_tag("blog", "/a/") == "thread:blog:/a/"
    assert model.site_tag("blog") == "site:blog"


def test_no_thread_has_the_tag_of_a_site() -> None:
    assert model.thread_tag("blog", "") != model.site_tag("blog")


def test_every_status_but_itself_is_a_place_to_move_from() -> None:
    for target, sources in model.MOVES.items():
        assert {target, *sources} <= set(model.STATUSES)
        assert target not in sources


def test_the_database_refuses_an_unknown_status(tmp_path: Path) -> None:
    with opened(tmp_path) as database, pytest.raises(BROKEN_RULE, match=r"(?i)check"):
        add(database, status="lost")


@pytest.mark.parametrize("status", model.STATUSES)
def test_the_database_takes_every_status(tmp_path: Path, status: str) -> None:
    with opened(tmp_path) as database:
        assert add(database, status=status).comment.status == status


@pytest.mark.sqlite_only("PostgreSQL reads bytes as text where they are")
def test_a_column_keeps_to_its_type(tmp_path: Path) -> None:
    with opened(tmp_path) as database, pytest.raises(sqlite3.IntegrityError, match="TEXT"):
        add(database, author=b"Ann")


def test_an_id_is_never_given_twice(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        first = add(database).comment.id
        database.write_now(lambda tx: tx.execute("DELETE FROM comment"))
        assert add(database).comment.id > first


def test_a_comment_has_the_tables_columns_but_for_the_secret_ones() -> None:
    columns = {field.column_name for field in CommentTable._meta.sorted_fields}
    shown = set(Comment.__struct_fields__) - {"site"} | {"author_site"}
    assert columns - shown == {"site_id", "key", "token_hash", "token_expires_at"} | {
        "score",
        "reasons",
        "network",
        "moderator_id",
        "email_key",
    }


def test_a_comment_cannot_be_changed() -> None:
    comment = Comment(
        1, 2, None, "approved", "Ann", "", "", "", "Hi", "<p>Hi</p>", NOW, NOW, None, 0
    )
    with pytest.raises(AttributeError):
        comment.votes = 5  # type: ignore[misc]  # it is frozen, as is tested
