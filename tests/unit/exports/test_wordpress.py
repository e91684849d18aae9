"""Exports for WordPress, Disqus and Isso, read as the importers of other programs read them.

Isso's own importer reads them in imports/formats/test_isso.py. Remark42's importer was compared
with the same files by hand.
"""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from commentsvc.comments.page_urls import UrlError
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.exports import contents, disqus, wordpress
from commentsvc.exports.contents import Page, Selection
from commentsvc.exports.output import Output
from commentsvc.model import SPAM
from commentsvc.moderation import threads
from tests.unit.database_fixture import HOUR, NOW, add, decide, opened

ORIGINS = {"blog": "https://blog.example"}
WP = "{http://wordpress.org/export/1.0/}"
DISQUS = "{http://disqus.com}"
ID = "{http://disqus.com/disqus-internals}id"
HOSTILE = "a ]]> b <script> \x0b\x00\ufffe & \U0001f600"


@pytest.fixture(scope="module")
def database(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Pages with one comment each, and one with a chain of replies, of which one becomes spam."""
    with opened(tmp_path_factory.mktemp("data")) as database:
        add(database, title="Wet & wood", email="ann@blog.example", author_site="https://a.example")
        add(database, now=NOW + HOUR, parent=1, author="<Bob>", source="*2*", html="<p>2</p>\n")
        add(database, now=NOW + 2 * HOUR, parent=2, author="Cleo")
        add(database, url="/other/", author="", html=f"<p>{HOSTILE}</p>", source=HOSTILE)
        add(database, now=NOW + 3 * HOUR, parent=1, status="pending")
        add(database, url="/waits/", status="pending")
        decide(database, SPAM, 2)
        database.write_now(threads.set_state, "blog", "/other/", "closed")
        yield database


def written(
    database: Database,
    write: Callable[[Iterator[Page], Output], None],
    *,
    pending: bool = False,
    **selection: str | int | bool,
) -> bytes:
    file = io.BytesIO()
    output = Output(file)
    wanted = msgspec.convert(selection, Selection)

    def work(snapshot: Snapshot) -> None:
        write(contents.pages(snapshot, wanted, pending=pending), output)

    database.read_now(work)
    output.flush()
    return file.getvalue()


def as_wordpress(pages: Iterator[Page], output: Output) -> None:
    wordpress.write(pages, ORIGINS, output)


def as_disqus(pages: Iterator[Page], output: Output) -> None:
    disqus.write(pages, ORIGINS, output)


def texts(element: ElementTree.Element, space: str, *names: str) -> list[str]:
    return [element.findtext(f"{space}{name}", "missing") for name in names]


def test_wxr_has_what_wordpress_and_disqus_ask_for(database: Database) -> None:
    root = ElementTree.fromstring(written(database, as_wordpress, pending=True))
    first, other, waiting = root.findall("channel/item")
    assert texts(first, "", "title", "link") == ["Wet & wood", "https://blog.example/post/"]
    assert texts(other, "", "title", "link") == ["/other/", "https://blog.example/other/"]
    assert first.findtext("{http://www.disqus.com/}thread_identifier") == "/post/"
    assert texts(first, WP, "post_date_gmt", "comment_status") == ["2026-11-18 11:06:40", "open"]
    assert texts(other, WP, "comment_status") == ["closed"]
    fields = [
        "comment_id",
        "comment_author",
        "comment_parent",
        "comment_approved",
        "comment_date_gmt",
    ]
    assert [texts(each, WP, *fields) for each in first.findall(f"{WP}comment")] == [
        ["1", "Ann", "0", "1", "2026-11-18 11:06:40"],
        ["3", "Cleo", "0", "1", "2026-11-18 13:06:40"],  # its parent is spam by now
        ["5", "Ann", "1", "0", "2026-11-18 14:06:40"],
    ]
    fields = ["comment_author_email", "comment_author_url", "comment_content", "comment_author_IP"]
    assert texts(first.findall(f"{WP}comment")[0], WP, *fields) == [
        "ann@blog.example",
        "https://a.example",
        "<p>Hello <em>you</em></p>",
        "0.0.0.0",
    ]
    assert len(waiting.findall(f"{WP}comment")) == 1


def test_hostile_texts_are_well_formed_xml(database: Database) -> None:
    root = ElementTree.fromstring(written(database, as_wordpress))
    [comment] = root.findall("channel/item")[1].findall(f"{WP}comment")
    mended = HOSTILE.replace("\x0b\x00\ufffe", 3 * "\ufffd")
    assert texts(comment, WP, "comment_content") == [f"<p>{mended}</p>"]
    assert texts(comment, WP, "comment_author") == ["Anonymous"]


def test_disqus_xml_has_threads_and_posts_that_are_shown(database: Database) -> None:
    root = ElementTree.fromstring(written(database, as_disqus))
    pages = {
        page.get(ID): page
        for page in root.findall(f"{DISQUS}thread")
        if page.find(f"{DISQUS}link") is not None
    }
    assert [texts(page, DISQUS, "id", "link", "isClosed") for page in pages.values()] == [
        ["/post/", "https://blog.example/post/", "false"],
        ["/other/", "https://blog.example/other/", "true"],
    ]
    posts = root.findall(f"{DISQUS}post")
    fields = ["createdAt", "isDeleted", "isSpam", "author/{http://disqus.com}name"]
    assert [texts(post, DISQUS, *fields) for post in posts] == [
        ["2026-11-18T11:06:40Z", "false", "false", "Ann"],
        ["2026-11-18T13:06:40Z", "false", "false", "Cleo"],
        ["2026-11-18T11:06:40Z", "false", "false", "Anonymous"],
    ]
    assert [post.find(f"{DISQUS}thread").get(ID) for post in posts] == ["1", "1", "2"]  # type: ignore[union-attr]  # otherwise the test fails


def test_a_post_of_disqus_names_its_parent(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        add(database)
        add(database, parent=1)
        root = ElementTree.fromstring(written(database, as_disqus))
    first, second = root.findall(f"{DISQUS}post")
    assert first.find(f"{DISQUS}parent") is None
    assert [each.get(ID) for each in second.findall(f"{DISQUS}parent")] == [first.get(ID)]


def test_no_page_is_a_valid_file_too(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        for write in (as_wordpress, as_disqus):
            ElementTree.fromstring(written(database, write))


def test_a_site_without_an_origin_has_no_links(database: Database) -> None:
    with pytest.raises(UrlError, match="blog has no origins"):
        written(database, lambda pages, output: wordpress.write(pages, {}, output))


def test_pages_are_selected_as_records_are(database: Database) -> None:
    later = ElementTree.fromstring(written(database, as_wordpress, since=NOW + 2 * HOUR))
    assert [each.text for each in later.iter(f"{WP}comment_id")] == ["3", "4"]
    anonymous = written(database, as_wordpress, anonymous=True)
    assert b"Ann" not in anonymous
    assert b"ann@" not in anonymous
