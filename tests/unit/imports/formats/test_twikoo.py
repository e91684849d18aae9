"""Twikoo's files: as its pages, the database of its server, and MongoDB's tools write them."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.unit.imports.import_samples import TWIKOO, comments, pages, parsed
from tests.unit.imports.test_detect import MAY_2013, brief, written

ROWS = json.loads(TWIKOO)
SERVER = {
    "filename": "db.json",
    "collections": [
        {"name": "comment", "data": ROWS},
        {"name": "config", "data": [{"ADMIN_PASS": "x"}]},
        {"name": "counter", "data": [{"url": "/a/", "time": 3, "created": 1}]},
    ],
}


TABLE = io.StringIO()
_WRITER = csv.DictWriter(TABLE, dict.fromkeys(name for row in ROWS for name in row))
_WRITER.writeheader()
_WRITER.writerows(
    [
        {
            name: json.dumps(value) if isinstance(value, dict) else value
            for name, value in row.items()
        }
        | {"like": len(row.get("like") or ())}
        for row in ROWS
    ]
)


@pytest.mark.parametrize(
    "text",
    [
        TWIKOO,
        json.dumps({"results": ROWS}),
        "\n".join(map(json.dumps, ROWS)),
        json.dumps(SERVER),
        json.dumps([{"results": ROWS, "success": True}]),
        TABLE.getvalue(),
    ],
    ids=["export", "results", "lines", "server", "d1", "csv"],
)
def test_comments_of_twikoo_have_their_dates_and_hide_spam(tmp_path: Path, text: str) -> None:
    records = parsed(written(tmp_path, "twikoo.json", text))
    assert [page.url for page in pages(records)] == ["https://blog.example/posts/%E8%B8%A9/"]
    first, second = comments(records)
    page = "/posts/%E8%B8%A9/"
    assert brief(first) == (page, "t1", "", "approved", "Ann", ROWS[0]["comment"])
    assert brief(second) == (page, "t2", "t1", "spam", "Bob", "<p>Two</p>")
    assert (first.created, second.created) == (MAY_2013, MAY_2013 + 1_000)
    assert (first.votes, first.is_pinned, first.is_admin, first.markup) == (2, True, True, "html")
    assert (first.avatar, second.avatar) == ("", "0123456789abcdef0123456789abcdef")


@pytest.mark.parametrize(
    ("path", "address", "url"),
    [
        ("/a/", "https://blog.example/a/?utm_id=1#x", "https://blog.example/a/"),
        ("/a/", "https://blog.example/a/b/", "/a/"),
        ("/a/", "http://localhost:4000/", "/a/"),
        ("/a/", "", "/a/"),
        ("post-1", "https://blog.example/a/", "https://blog.example/a/"),
        ("post-1", "", "post-1"),
    ],
)
def test_the_address_of_a_page_is_the_one_that_its_comments_had(
    tmp_path: Path, path: str, address: str, url: str
) -> None:
    text = json.dumps([ROWS[0] | {"url": path, "href": address}])
    [page] = pages(parsed(written(tmp_path, "twikoo.json", text)))
    assert page.url == url
