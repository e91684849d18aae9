"""Valine's comments at LeanCloud, alone and among those that Waline has added."""

import json
from pathlib import Path

import pytest

from commentsvc.markup import html_to_markdown
from tests.unit.imports.import_samples import VALINE, WALINE, comments, pages, parsed
from tests.unit.imports.test_detect import MAY_2013, WALINE_ROWS, brief, written

ROWS = json.loads(VALINE)["results"]


@pytest.mark.parametrize(
    "text",
    [
        VALINE,
        json.dumps(ROWS, indent=1),
        "\n".join(["#filetype:JSON-streaming {}", *map(json.dumps, ROWS)]),
        "\n".join(map(json.dumps, ROWS)),
        "\n".join(json.dumps({**row, "of": {"className": "Comment"}}) for row in ROWS),
    ],
    ids=["results", "array", "stream", "lines", "class"],
)
def test_comments_of_valine_are_html(tmp_path: Path, text: str) -> None:
    records = parsed(written(tmp_path, "Comment.0.jsonl", text))
    assert records == parsed(written(tmp_path, "Comment.0.jsonl", text), "valine")
    assert [page.url for page in pages(records)] == ["/a/"]
    first, second = comments(records)
    assert brief(first) == ("/a/", "v1", "", "approved", "Ann", "<p>One <em>two</em></p>\n")
    assert (second.parent, second.status) == ("v1", "spam")
    assert (first.created, second.created) == (MAY_2013, MAY_2013 + 1_000)
    assert html_to_markdown.read(first.text, first.markup).source == "One *two*"


def test_waline_reads_the_comments_that_it_took_over(tmp_path: Path) -> None:
    text = json.dumps([*ROWS, *WALINE_ROWS])
    found = comments(parsed(written(tmp_path, "waline.json", text), "waline"))
    assert [each.markup for each in found] == ["html", "html", "markdown", "markdown"]
    assert [each.status for each in found] == ["approved", "spam", "approved", "pending"]
    assert comments(parsed(written(tmp_path, "w.json", WALINE)))[0].markup == "markdown"
