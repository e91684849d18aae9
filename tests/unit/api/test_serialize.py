"""Which fields of a comment are in an answer, and which are not."""

import json

import msgspec
import pytest
from msgspec.structs import replace

from commentsvc.api.serialize import Answer, CommentSerializer, Moment, answer_of, status
from commentsvc.comments.page_urls import Sites
from commentsvc.comments.submission import avatar
from commentsvc.http.messages import encode
from commentsvc.model import Comment
from commentsvc.settings.schema import Site
from commentsvc.util.timestamps import local
from tests.unit import database_fixture

COMMENT = replace(
    database_fixture.COMMENT,
    avatar=avatar(database_fixture.COMMENT.email),
    source="*Hi*",
    html="<p><em>Hi</em></p>\n",
    votes=2,
)


SITES = Sites([Site(name="blog"), Site(name="faces", avatar_url="https://faces.example")])
SERIALIZER = CommentSerializer(SITES, b"secret")


def shown(comment: Comment, site: str = "blog") -> dict[str, object]:
    data = json.loads(encode(SERIALIZER.item(comment, site)))
    assert isinstance(data, dict)
    return data


def test_an_item_shows_the_comment_without_its_email() -> None:
    data = shown(COMMENT)
    assert COMMENT.email not in str(data)
    del data["avatar"]
    assert data == {
        "id": 7,
        "parent": None,
        "author": "Ann",
        "content": "*Hi*",
        "html": "<p><em>Hi</em></p>\n",
        "date": local(1_500_000_060_000),
        "published": "2017-07-14T02:41:00Z",
        "votes": 2,
    }


def test_the_md5_of_an_address_is_shown_only_where_there_are_pictures() -> None:
    data = shown(COMMENT, "faces")
    assert data["avatar"] == COMMENT.avatar
    assert data["picture"] == f"api/avatar/{COMMENT.avatar}?site=faces"
    data = shown(COMMENT)
    assert COMMENT.avatar not in str(data)
    assert "picture" not in data


def test_a_keyed_digest_tells_authors_apart_but_not_by_guessing_addresses() -> None:
    digest = shown(COMMENT)["avatar"]
    assert len(str(digest)) == 32
    assert shown(replace(COMMENT, email=f" {COMMENT.email.upper()}"))["avatar"] == digest
    assert shown(replace(COMMENT, email="bob@blog.example"))["avatar"] != digest
    other = CommentSerializer(SITES, b"of another service")
    assert other.item(COMMENT, "blog").avatar not in (digest, "")


def test_a_digest_that_a_client_sent_is_nobodys_without_pictures() -> None:
    """Stacosys' clients send an MD5 digest, which may be that of somebody else's address."""
    sent = replace(COMMENT, email="")
    assert shown(sent)["avatar"] == ""
    assert shown(sent, "faces")["avatar"] == COMMENT.avatar


def test_site_and_edited_are_shown_only_where_there_are_any() -> None:
    data = shown(replace(COMMENT, site="https://ann.example/", edited_at=1_500_000_120_000))
    assert data["site"] == "https://ann.example/"
    assert data["edited"] == "2017-07-14T02:42:00Z"


def test_a_pending_comment_has_the_date_of_its_creation() -> None:
    data = shown(replace(COMMENT, status="pending", published_at=None))
    assert (data["date"], data["published"]) == (local(1_500_000_000_000), None)


@pytest.mark.parametrize("real", ["pending", "spam", "deleted"])
def test_an_author_is_told_approved_or_pending(real: str) -> None:
    assert status(replace(COMMENT, status=real)) == "pending"
    assert status(COMMENT) == "approved"


class Row(msgspec.Struct):
    id: int = 4
    comment_id: int | None = None
    sites: str = "blog\nnotes"
    created_at: int = 1_000
    used_at: int = 0


class Shown(Answer, frozen=True):
    id: int
    comment: int | None
    sites: list[str]
    created: Moment
    used: Moment | None
    name: str


def test_an_answer_has_the_values_of_a_row_and_of_others() -> None:
    answer = answer_of(Shown, Row(), name="Ann")
    assert answer == Shown(4, None, ["blog", "notes"], "1970-01-01T00:00:01Z", None, "Ann")
    assert answer_of(Shown, Row(sites=""), name="").sites == []
