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


def test_the_public_feed_of_comments_is_read_and_its_next_part_is_named(tmp_path: Path) -> None:
    page = "https://blog.example/2013/05/a.html"
    text = f"""<?xml version='1.0' encoding='UTF-8'?><feed xmlns='http://www.w3.org/2005/Atom'
    xmlns:openSearch='http://a9.com/-/spec/opensearchrss/1.0/'
    xmlns:blogger='http://schemas.google.com/blogger/2008'
    xmlns:thr='http://purl.org/syndication/thread/1.0'><id>tag:blogger.com,1999:blog-1.comments</id>
    <openSearch:totalResults>700</openSearch:totalResults><openSearch:startIndex>1</openSearch:startIndex>
    <openSearch:itemsPerPage>500</openSearch:itemsPerPage>
    <entry><id>tag:blogger.com,1999:blog-1.post-102</id><published>2013-05-01T12:00:01+02:00</published>
    <title type='text'>Two</title><content type='html'>Two &lt;b&gt;x&lt;/b&gt;</content>
    <link rel='alternate' type='text/html' href='{page}?showComment=1#c102' title=''/>
    <author><name>Bob</name><email>noreply@blogger.com</email></author>
    <thr:in-reply-to href='{page}' ref='tag:blogger.com,1999:blog-1.post-70'/>
    <link rel='related' href='http://www.blogger.com/feeds/1/70/comments/default/101'/></entry>
    <entry><id>tag:blogger.com,1999:blog-1.post-101</id><published>2013-05-01T12:00:00+02:00</published>
    <content type='html'>One</content><author><name>Ann</name></author>
    <thr:in-reply-to href='{page}' ref='tag:blogger.com,1999:blog-1.post-70'/></entry></feed>"""
    faults: list[str] = []
    records = parsed(written(tmp_path, "comments.xml", text), faults=faults)
    assert [(each.key, each.url) for each in pages(records)] == [("70", page)]
    second, first = comments(records)
    assert (second.page, second.parent, second.text) == ("70", "101", "Two <b>x</b>")
    assert (first.author, first.created, first.status) == ("Ann", MAY_2013, "approved")
    assert faults == ["the end: the feed has more of its 700 comments at start-index=501"]
