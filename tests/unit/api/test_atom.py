"""feed: an Atom document that any reader of XML can read, whatever the comments hold."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from commentsvc.api.atom import Feed, render_feed
from commentsvc.model import Entry
from tests.unit import stored

ATOM = "{http://www.w3.org/2005/Atom}"
SITE = Feed("blog", "A & B", "https://blog.example", "")
COMMENT = replace(stored.COMMENT, site="https://ann.example/?a&b", html="<p>Hi &amp; ho</p>\n")
ENTRY = Entry(COMMENT, "blog", "/p/?a&b", "A <post>")


def read(feed: Feed, *entries: Entry) -> ElementTree.Element:
    return ElementTree.fromstring(render_feed(feed, entries))


def test_an_entry_tells_who_wrote_what_where_and_when() -> None:
    document = read(SITE, ENTRY)
    assert document.findtext(ATOM + "title") == "A & B"
    assert document.findtext(ATOM + "updated") == "2017-07-14T02:41:00Z"
    [entry] = document.findall(ATOM + "entry")
    assert entry.findtext(ATOM + "title") == "Ann on A <post>"
    assert entry.findtext(f"{ATOM}author/{ATOM}name") == "Ann"
    assert entry.findtext(f"{ATOM}author/{ATOM}uri") == "https://ann.example/?a&b"
    assert entry.findtext(ATOM + "published") == "2017-07-14T02:41:00Z"
    assert entry.findtext(ATOM + "content") == "<p>Hi &amp; ho</p>\n"
    link = entry.find(ATOM + "link")
    assert link is not None
    assert link.get("href") == "https://blog.example/p/?a&b#comment-7"
    assert b"ann@" not in render_feed(SITE, [ENTRY])


def test_an_id_is_the_comments_own_for_ever() -> None:
    def ids(feed: Feed, *entries: Entry) -> list[str | None]:
        return [element.text for element in read(feed, *entries).iter(ATOM + "id")]

    assert ids(SITE, ENTRY)[1] == "urn:uuid:49aa387c-d5e4-53e8-b4c1-522b8adc42c4"
    moved = replace(SITE, origin="https://new.example", title="New", url="/p/?a&b")
    assert ids(moved, ENTRY)[1] == ids(SITE, ENTRY)[1]
    other = replace(ENTRY, comment=replace(COMMENT, id=8))
    assert len(set(ids(SITE, ENTRY, other))) == 3


def test_the_feed_of_a_page_is_called_after_it() -> None:
    page = replace(SITE, url="/p/?a&b")
    assert read(page, ENTRY).findtext(ATOM + "title") == "Comments on A <post> - A & B"
    assert read(page).findtext(ATOM + "title") == "Comments on /p/?a&b - A & B"


def test_an_edited_comment_is_updated() -> None:
    entry = replace(ENTRY, comment=replace(COMMENT, edited=1_500_000_120_000))
    assert read(SITE, entry).findtext(ATOM + "updated") == "2017-07-14T02:42:00Z"


def test_an_empty_feed_is_a_feed() -> None:
    assert read(SITE).findtext(ATOM + "updated") == "1970-01-01T00:00:00Z"


@given(st.text(), st.text(), st.text())
def test_whatever_the_texts_the_document_is_well_formed(a: str, b: str, c: str) -> None:
    entry = Entry(replace(COMMENT, author=a, html=b, site=c), "blog", "/p/", c)
    assert len(read(replace(SITE, title=a, origin=b), entry).findall(ATOM + "entry")) == 1
