"""Structured data: what search engines read about comments, judged by a JSON-LD processor."""

import json

import msgspec
import pytest

from commentsvc.comments import structured_data
from commentsvc.comments.queries import DeletedComment
from commentsvc.comments.structured_data import DescribedPage, json_ld
from commentsvc.comments.tree import build_tree
from tests.unit.json_ld import Blocks, Node, described, every_comment, judge

PAGE = DescribedPage("https://blog.example/post/?a=1&b=2", "A post", 3, likes=2)
# What ends a script, or begins what does not end, in browsers or in careless programs.
HOSTILE = "</script><script>alert(1)</script><!--<script>]]>\u2028\u2029&amp;\"'\\\u0000{{ 7 }}"


class Written(msgspec.Struct, frozen=True):
    """A comment."""

    id: int
    html: str = "<p>Hello &amp; <b>welcome</b></p>"
    author: str = "Ann"
    parent: int | None = None
    published: str | None = "2026-11-18T11:06:40Z"
    edited: str | None = None
    votes: int = 0
    anchor: str = ""
    lang: str = ""


def read(comments: list[Written], page: DescribedPage = PAGE) -> Node:
    document: Node = json.loads(json_ld(page, build_tree(comments)))
    judge(document)
    return document


def test_replies_stand_in_the_comment_that_they_answer() -> None:
    edited = "2026-11-19T00:00:00Z"
    document = read(
        [Written(1, votes=4), Written(2, parent=1, edited=edited, votes=-1), Written(3)]
    )
    assert document["url"] == document["@id"] == PAGE.address
    assert (document["headline"], document["commentCount"]) == ("A post", 3)
    first, third = document["comment"]
    assert (first["text"], first["author"]["name"]) == ("Hello & welcome", "Ann")
    assert first["url"] == PAGE.address + "#commentsvc-1"
    assert [each["url"][-1] for each in (*first["comment"], third)] == ["2", "3"]
    assert first["comment"][0]["dateModified"] == edited
    assert first["interactionStatistic"][0]["userInteractionCount"] == 4
    assert "interactionStatistic" not in first["comment"][0], "Google knows no negative numbers"


def test_each_thing_that_was_done_is_counted_by_its_kind() -> None:
    document = read([Written(1)], PAGE._replace(reposts=5))
    counted = {
        each["interactionType"].rpartition("/")[2]: each["userInteractionCount"]
        for each in document["interactionStatistic"]
    }
    assert counted == {"CommentAction": 3, "LikeAction": 2, "ShareAction": 5}


def test_sums_of_votes_that_nobody_sees_are_not_told() -> None:
    text = json_ld(PAGE, build_tree([Written(1, votes=4)]), votes=False)
    assert "interactionStatistic" not in json.loads(text)["comment"][0]


def test_an_old_link_to_an_imported_comment_is_its_address() -> None:
    assert read([Written(1, anchor="isso-9")])["comment"][0]["url"] == PAGE.address + "#isso-9"


def test_a_deleted_comment_is_left_out_and_its_replies_are_not() -> None:
    tree = build_tree(
        [Written(3, parent=2), Written(4, parent=3)],
        [DeletedComment(1, None), DeletedComment(2, 1)],
    )
    document = json.loads(json_ld(PAGE, tree))
    judge(document)
    assert [each["url"][-1] for each in every_comment(document)] == ["3", "4"]


@pytest.mark.parametrize("lacking", [{"author": ""}, {"html": "<p></p>"}])
def test_a_comment_without_author_or_text_is_left_out(lacking: dict[str, str]) -> None:
    nameless = msgspec.structs.replace(Written(1), **lacking)
    [reply] = read([nameless, Written(2, parent=1)])["comment"]
    assert reply["url"].endswith("-2")


def test_a_comment_that_is_only_a_picture_is_described_by_it() -> None:
    html = '<p><img src="https://c.example/images/a.webp?a&amp;b" alt="x" width="1" /></p>'
    [comment] = read([Written(1, html)])["comment"]
    assert (comment["image"], "text" in comment) == ("https://c.example/images/a.webp?a&b", False)


@pytest.mark.parametrize("field", ["author", "html", "anchor", "title", "address"])
def test_no_field_ends_the_script_or_begins_another(field: str) -> None:
    comment, page = Written(1), PAGE
    if field in ("title", "address"):
        page = PAGE._replace(**{field: getattr(PAGE, field) + HOSTILE})
    else:
        shown = HOSTILE.replace("&", "&amp;").replace("<", "&lt;") if field == "html" else HOSTILE
        comment = msgspec.structs.replace(comment, **{field: shown})
    text = json_ld(page, build_tree([comment]))
    assert not {"<", "\u2028", "\u2029", "\u0000"} & {*text}
    html = f'<body><script type="application/ld+json">{text}</script><p>After</p>'
    assert Blocks(html).found == [text]
    assert not Blocks(html).others
    written = json.loads(text)
    known = {
        "author": written["comment"][0]["author"]["name"],
        "html": written["comment"][0]["text"],
        "anchor": written["comment"][0]["url"],
        "title": written["headline"],
        "address": written["url"],
    }
    assert "</script><script>alert(1)</script><!--<script>]]>" in known[field]


def test_the_size_is_bounded_by_what_the_answer_may_have() -> None:
    """Whatever is long: the texts, the names, the address, the number of comments."""
    long = "&lt;" * 8_000
    for page, comments in (
        (PAGE, [Written(number, long) for number in range(1, 200)]),
        (PAGE, [Written(number, author="<" * 1_000) for number in range(1, 1_001)]),
        (PAGE._replace(address=PAGE.address + "<" * 2_000), [Written(n) for n in range(1, 1_001)]),
        (PAGE, [Written(number, parent=number - 1 or None) for number in range(1, 1_001)]),
    ):
        text = json_ld(page, build_tree(comments))
        assert len(text) < 6 * structured_data.CHARACTERS + 20_000
        judge(json.loads(text) | {"commentCount": 1_000})
    assert json.loads(text)["commentCount"] == 3, "of all comments, not of those described"


def test_a_page_is_read_as_it_was_written() -> None:
    text = json_ld(PAGE, build_tree([Written(1)]))
    html = f'<script type="application/ld+json">{text}</script>'
    assert described(html)["comment"][0]["author"] == {"@type": "Person", "name": "Ann"}
