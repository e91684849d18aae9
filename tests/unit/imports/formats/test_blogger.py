"""Blogger's two files: "Back up content", which was Atom, and that of Takeout."""

import zipfile
from pathlib import Path

import pytest

from commentsvc.imports.records import ImportFailed
from commentsvc.markup import html_to_markdown
from tests.unit.imports.import_samples import BLOGGER, DISQUS, TAKEOUT, comments, pages, parsed
from tests.unit.imports.test_detect import MAY_2013, written


@pytest.mark.parametrize("text", [BLOGGER, TAKEOUT], ids=["backup", "takeout"])
def test_comments_of_blogger_are_read_from_both_files(tmp_path: Path, text: str) -> None:
    records = parsed(written(tmp_path, "feed.atom", text))
    [page] = pages(records)
    assert (page.key, page.title) == ("70", "A & B")
    assert page.url.removeprefix("http://blog.example") == "/2013/05/a.html"
    second, first, *others = comments(records)
    assert (first.id, first.parent, first.page, first.status) == ("101", "", "70", "deleted")
    assert first.drop == "it was deleted at Blogger"
    assert (second.id, second.parent, second.page, second.status) == (
        "102",
        "101",
        "70",
        "approved",
    )
    assert (first.created, second.created) == (MAY_2013, MAY_2013 + 1_000)
    assert (second.author, second.email, second.anchor) == ("Bob", "", "c102")
    assert second.site == "http://www.blogger.com/profile/9"
    assert html_to_markdown.read(second.text, second.markup).source == (
        "Two\nb [x](<https://x.example/>)"
    )
    assert [each.status for each in others] == ["pending"] * (text == TAKEOUT)


def test_the_other_files_of_takeout_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "takeout.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Takeout/archive_browser.html", "<html>")
        archive.writestr("Takeout/Blogger/Blogs/B/feed.atom", TAKEOUT)
        archive.writestr("Takeout/Blogger/Blogs/B/settings.csv", "a,b")
        archive.writestr("Takeout/Blogger/Blogs/B/theme-layouts.xml", "<?xml version='1.0'?><a>")
        archive.writestr("Takeout/Blogger/Albums/B/a.jpg", b"\xff\xd8\xff")
    assert parsed(path) == parsed(path, "blogger")
    assert len(comments(parsed(path))) == 3
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("other.xml", DISQUS)
    with pytest.raises(ImportFailed, match="blogger and disqus"):
        parsed(path)
