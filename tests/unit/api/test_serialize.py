"""items: what of a comment stands in an answer, and what does not."""

import json

import pytest
from msgspec.structs import replace

from commentsvc.api.serialize import item, status
from commentsvc.http.messages import encode
from commentsvc.model import Comment
from commentsvc.util.timestamps import local
from tests.unit import database_fixture

COMMENT = replace(
    database_fixture.COMMENT,
    avatar="8667278f970b1ae1f77d3ad166620cc8",
    source="*Hi*",
    html="<p><em>Hi</em></p>\n",
    votes=2,
)


def shown(comment: Comment) -> dict[str, object]:
    data = json.loads(encode(item(comment)))
    assert isinstance(data, dict)
    return data


def test_an_item_shows_the_comment_without_its_email() -> None:
    assert shown(COMMENT) == {
        "id": 7,
        "parent": None,
        "author": "Ann",
        "avatar": "8667278f970b1ae1f77d3ad166620cc8",
        "content": "*Hi*",
        "html": "<p><em>Hi</em></p>\n",
        "date": local(1_500_000_060_000),
        "published": "2017-07-14T02:41:00Z",
        "votes": 2,
    }


def test_site_and_edited_are_shown_only_where_there_are_any() -> None:
    data = shown(replace(COMMENT, site="https://ann.example/", edited=1_500_000_120_000))
    assert data["site"] == "https://ann.example/"
    assert data["edited"] == "2017-07-14T02:42:00Z"


def test_a_pending_comment_has_the_date_of_its_creation() -> None:
    data = shown(replace(COMMENT, status="pending", published=None))
    assert (data["date"], data["published"]) == (local(1_500_000_000_000), None)


@pytest.mark.parametrize("real", ["pending", "spam", "deleted"])
def test_an_author_is_told_approved_or_pending(real: str) -> None:
    assert status(replace(COMMENT, status=real)) == "pending"
    assert status(COMMENT) == "approved"
