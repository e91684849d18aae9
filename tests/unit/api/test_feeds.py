"""Feeds are valid documents for any feed reader, whatever the comments hold."""

import json
import re
import subprocess
from collections.abc import Callable, Iterable
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import atoma
import feedparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from commentsvc.api.feeds import Feed, Source, atom, json_feed, make_feed, rss
from commentsvc.db.connection import Transaction
from commentsvc.model import Entry
from commentsvc.settings.schema import ServerSettings, Site
from commentsvc.util.timestamps import DAY_MS
from tests.conftest import find_program, node_modules
from tests.unit import database_fixture
from tests.unit.app_fixture import SETTINGS, data, served

ATOM = "{http://www.w3.org/2005/Atom}"
SERVICE = "https://comments.example"
SITE = Source("blog", "A & B", "https://blog.example", "")
COMMENT = replace(
    database_fixture.COMMENT, site="https://ann.example/?a&b", html="<p>Hi &amp; ho</p>\n"
)
ENTRY = Entry(COMMENT, "blog", "/p/?a&b", "A <post>")


def read(source: Source, *entries: Entry) -> ElementTree.Element:
    return ElementTree.fromstring(atom(make_feed(source, entries)))


def check_atom(raw: bytes) -> None:
    """Check what RFC 4287 requires of a feed and its entries (4.1.1, 4.1.2, 3.2, 3.3, 4.2.7)."""
    feed = ElementTree.fromstring(raw)
    assert feed.tag == f"{ATOM}feed"
    ids = []
    for element in (feed, *feed.iter(f"{ATOM}entry")):
        names = [child.tag.removeprefix(ATOM) for child in element]
        for once in ("id", "title", "updated"):
            assert names.count(once) == 1, (once, names)
        assert names.count("published") <= 1
        assert element is feed or "author" in names, "the feed has no author"
        for author in element.iter(f"{ATOM}author"):
            assert len(author.findall(f"{ATOM}name")) == 1
        relations = [link.get("rel") for link in element.findall(f"{ATOM}link")]
        assert len(relations) == len({*relations}), "no two links are alternates of one type"
        assert "alternate" in relations, "an entry without content needs one, and readers do too"
        for name in ("updated", "published"):
            for moment in element.findall(f"{ATOM}{name}"):
                assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", moment.text or "")
        ids.append(element.findtext(f"{ATOM}id") or "")
        assert re.match(r"[a-z]+:", ids[-1]), "an id is an IRI"
    assert len(ids) == len({*ids})


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
    assert link.get("href") == "https://blog.example/p/?a&b#commentsvc-7"
    assert b"ann@" not in atom(make_feed(SITE, [ENTRY]))


def test_an_id_is_the_comments_own_for_ever() -> None:
    def ids(source: Source, *entries: Entry) -> list[str | None]:
        return [element.text for element in read(source, *entries).iter(ATOM + "id")]

    assert ids(SITE, ENTRY)[1] == "urn:uuid:49aa387c-d5e4-53e8-b4c1-522b8adc42c4"
    moved = replace(SITE, origin="https://new.example", title="New", url="/p/?a&b")
    assert ids(moved, ENTRY)[1] == ids(SITE, ENTRY)[1]
    other = replace(ENTRY, comment=replace(COMMENT, id=8))
    assert len(set(ids(SITE, ENTRY, other))) == 3


def test_the_feed_of_a_page_is_called_after_it() -> None:
    page = replace(SITE, url="/p/?a&b")
    assert read(page, ENTRY).findtext(ATOM + "title") == "Comments on A <post> - A & B"
    assert read(page).findtext(ATOM + "title") == "Comments on /p/?a&b - A & B"


def test_titles_are_in_the_language_of_the_blog() -> None:
    page = read(replace(SITE, url="/p/?a&b", language="de"), ENTRY)
    assert page.findtext(ATOM + "title") == "Kommentare zu A <post> - A & B"
    assert page.findtext(f"{ATOM}entry/{ATOM}title") == "Ann zu A <post>"


def test_an_entry_has_the_language_of_its_comment() -> None:
    """Atom by `xml:lang` (RFC 4287, 2), RSS by Dublin Core, JSON Feed by `language`."""
    german = replace(ENTRY, comment=replace(COMMENT, lang="de"))
    feed = make_feed(SITE, [german, ENTRY])
    content = ElementTree.fromstring(atom(feed)).findall(f".//{ATOM}content")
    spoken = "{http://www.w3.org/XML/1998/namespace}lang"
    assert [each.get(spoken) for each in content] == ["de", None]
    items = ElementTree.fromstring(rss(feed)).findall(".//item")
    word = "{http://purl.org/dc/elements/1.1/}language"
    assert [each.findtext(word) for each in items] == ["de", None]
    assert [each.get("language") for each in json.loads(json_feed(feed))["items"]] == ["de", None]


def test_an_edited_comment_is_updated() -> None:
    entry = replace(ENTRY, comment=replace(COMMENT, edited_at=1_500_000_120_000))
    assert read(SITE, entry).findtext(ATOM + "updated") == "2017-07-14T02:42:00Z"


def _run(tx: Transaction, sql: str) -> None:
    tx.execute(sql)


@pytest.mark.parametrize("target", ["/feed.atom", "/feed.rss", "/feed.json", "/isso/feed?uri=/p/"])
def test_a_feed_without_comments_has_the_same_date_on_each_day(tmp_path: Path, target: str) -> None:
    """That of the database, whichever process answers."""
    site = Site(name="blog", origins=("https://blog.example",), isso=True)
    settings = replace(SETTINGS, sites=(site,))
    with served(tmp_path, settings) as service:
        old = "UPDATE schema_migration SET applied = '2025-03-09 23:59:59.5'"
        service.database.write_now(_run, old)
        first = service.get(target)
        assert b"1970" not in first.body
        if target != "/feed.json":
            assert feedparser.parse(first.body).feed.updated_parsed[:3] == (2025, 3, 9)
        service.clock.moment += 40 * DAY_MS
        later = service.get(target)
        assert later.body == first.body
        assert dict(later.headers).get("Last-Modified") == dict(first.headers).get("Last-Modified")


def test_a_feed_of_no_replies_has_the_date_of_the_comment(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        own = data(service.submit("Mine"))
        feed = feedparser.parse(service.get(f"/{own['replies_feed']}").body).feed
        assert feed.updated == own["comment"]["published"]


def test_each_feed_that_knows_its_address_tells_it(tmp_path: Path) -> None:
    site = Site(name="blog", origins=("https://blog.example",), isso=True)
    public = f"{SERVICE}/talk"  # a path that a proxy takes away
    settings = replace(SETTINGS, sites=(site,), server=ServerSettings(public_url=public))
    with served(tmp_path, settings) as service:
        own = data(service.submit("Mine"))["replies_feed"]
        paths = ("feed.atom?url=%2Fp%2F", "feed.rss", "comments.xml", "isso/feed?uri=%2Fp%2F", own)
        for path in paths:
            links = feedparser.parse(service.get(f"/{path}").body).feed.links
            assert {link.href for link in links if link.rel == "self"} == {f"{public}/{path}"}


# Links as the sanitizer leaves them, and where they lead from a comment on /p/?a&b.
LINKS = {
    "/about": "https://blog.example/about",
    "page.html": "https://blog.example/p/page.html",
    "../up?x=1&amp;y": "https://blog.example/up?x=1&amp;y",
    "?q": "https://blog.example/p/?q",
    "#top": "https://blog.example/p/?a&amp;b#top",
    "#commentsvc-3": "https://blog.example/p/?a&amp;b#commentsvc-3",
    "#commentsvc-note-0123456789-1": "https://blog.example/p/?a&amp;b#commentsvc-note-0123456789-1",
    "https://else.example/": "https://else.example/",
    "mailto:ann@else.example": "mailto:ann@else.example",
}


def with_links(urls: Iterable[str]) -> str:
    return "".join(f'<p><a href="{url}" rel="nofollow ugc noopener">a</a></p>\n' for url in urls)


@pytest.mark.locked_only("the feeds are made of text")
def test_feed_readers_find_the_same_in_each_feed_and_links_that_lead_to_the_blog() -> None:
    """feedparser, atoma, and feedsmith, rss-parser and feed-parser from npm."""
    entry = replace(ENTRY, comment=replace(COMMENT, html=with_links(LINKS)))
    feed = make_feed(SITE, [entry])
    wanted, link = with_links(LINKS.values()).strip(), "https://blog.example/p/?a&b#commentsvc-7"
    raw = {"atom": atom(feed), "rss": rss(feed), "json": json_feed(feed)}
    for name in ("atom", "rss"):
        [item] = parsed(atom if name == "atom" else rss, SITE, entry).entries
        assert (item.link, item.summary) == (link, wanted)
    of_atom = atoma.parse_atom_bytes(raw["atom"]).entries[0]
    assert (of_atom.links[0].href, of_atom.content.value.strip()) == (link, wanted)
    of_rss = atoma.parse_rss_bytes(raw["rss"]).items[0]
    assert (of_rss.link, of_rss.description) == (link, wanted)
    of_json = atoma.parse_json_feed_bytes(raw["json"]).items[0]
    assert (of_json.url, of_json.content_html.strip()) == (link, wanted)

    reader = node_modules("feeds").parent / "read.mjs"
    texts = json.dumps([each.decode() for each in raw.values()])
    words = [find_program("node"), str(reader)]
    done = subprocess.run(words, input=texts, capture_output=True, text=True, check=True)
    for readers in json.loads(done.stdout):
        for name, items in readers.items():
            [item] = items
            assert (item["link"], unescape(item["html"].strip())) == (link, unescape(wanted)), name
            assert "2017" in item["published"], name


def test_a_feed_that_knows_its_address_tells_it() -> None:
    source = replace(SITE, address="https://c.example/feed.atom?url=/p/&site=blog")
    for render in (atom, rss):
        assert parsed(render, source, ENTRY).feed.links[-1].href == source.address
        assert all(link.rel != "self" for link in parsed(render, SITE, ENTRY).feed.links)
    assert json.loads(json_feed(make_feed(source, [])))["feed_url"] == source.address


def parsed(render: Callable[[Feed], bytes], source: Source, *entries: Entry) -> Any:
    """Return what a feed reader makes of a feed; it must find no error.

    Any: feedparser has no types.
    """
    raw = render(make_feed(source, entries))
    if render is atom:
        check_atom(raw)
    found = feedparser.parse(raw, sanitize_html=False)
    assert not found.bozo, found.bozo_exception
    return found


@pytest.mark.parametrize(("render", "version"), [(atom, "atom10"), (rss, "rss20")])
def test_a_feed_reader_reads_all_of_it(render: Callable[[Feed], bytes], version: str) -> None:
    entry = replace(ENTRY, comment=replace(COMMENT, html='<p>]]> &amp; "</p>', author="<b>'&]]>"))
    found = parsed(render, SITE, entry)
    assert found.version == version
    assert (found.feed.title, found.feed.link) == ("A & B", "https://blog.example/")
    [item] = found.entries
    assert item.link == "https://blog.example/p/?a&b#commentsvc-7"
    assert item.id == "urn:uuid:49aa387c-d5e4-53e8-b4c1-522b8adc42c4"
    assert item.author == "<b>'&]]>"
    assert item.summary == '<p>]]> &amp; "</p>'
    assert item.published_parsed[:6] == (2017, 7, 14, 2, 41, 0)


def test_a_json_feed_holds_the_same() -> None:
    document = json.loads(json_feed(make_feed(SITE, [ENTRY])))
    assert document == {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "A & B",
        "home_page_url": "https://blog.example/",
        "items": [
            {
                "id": "urn:uuid:49aa387c-d5e4-53e8-b4c1-522b8adc42c4",
                "url": "https://blog.example/p/?a&b#commentsvc-7",
                "title": "Ann on A <post>",
                "content_html": "<p>Hi &amp; ho</p>\n",
                "date_published": "2017-07-14T02:41:00Z",
                "date_modified": "2017-07-14T02:41:00Z",
                "authors": [{"name": "Ann", "url": "https://ann.example/?a&b"}],
            }
        ],
    }


@pytest.mark.locked_only("the feeds are made of text")
@given(st.text(), st.text(), st.text())
def test_whatever_the_texts_the_documents_are_well_formed(a: str, b: str, c: str) -> None:
    entry = Entry(replace(COMMENT, author=a, html=b, site=c), "blog", "/p/", c)
    feed = make_feed(replace(SITE, title=a, origin=b), [entry])
    assert len(ElementTree.fromstring(atom(feed)).findall(ATOM + "entry")) == 1
    assert len(ElementTree.fromstring(rss(feed)).findall("channel/item")) == 1
    assert len(json.loads(json_feed(feed))["items"]) == 1


def test_an_author_has_a_feed_of_the_replies_and_nobody_else_can_find_it(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        own = data(service.submit("Mine", author="Rosa"))["replies_feed"]
        check_atom(service.get(f"/{own}").body)
        service.submit("Another's", author="Bob")
        service.submit("*First* reply", author="Bob", parent=1)
        service.submit("Second reply", author="Eva", parent=1)
        service.submit("Not to Rosa", author="Eva", parent=2)
        answer = service.get(f"/{own}")
        assert dict(answer.headers)["Content-Type"] == "application/atom+xml"
        assert answer.tags == ("thread:blog:/p/",)
        check_atom(answer.body)
        parsed = feedparser.parse(answer.body)
        assert not parsed.bozo
        assert parsed.feed.title == "Replies: Rosa - A blog"
        assert [entry.author for entry in parsed.entries] == ["Eva", "Bob"]
        assert parsed.entries[1].content[0].value.startswith("<p><em>First")
        assert parsed.entries[1].link == "https://blog.example/p/#commentsvc-3"
        assert parsed.feed.link == "https://blog.example/p/#commentsvc-1"
        word = own.partition("=")[2]
        other = word.replace("1-", "2-", 1)
        for wrong in ("", "1", "1-", other, word[:-1], word + "0", "x", "9" * 30 + "-a"):
            assert service.get(f"/feed/replies.atom?t={wrong}").status == 404, wrong


def test_the_plain_form_shows_the_feed_of_replies(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        page = service.form("/embed/thread", "url=/p/&author=Ann&message=Hi").body.decode()
        [link] = re.findall(r'href="\.\./(feed/replies[^"]+)"', page)
        assert service.get(f"/{link}").status == 200
