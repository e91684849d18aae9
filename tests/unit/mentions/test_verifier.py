"""Webmentions from another site's pages become comments, as webmention.rocks tests it."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from commentsvc.db.schema.mentions import MentionTable
from commentsvc.markup.foreign_html import UnreadablePage
from commentsvc.mentions import endpoint, html_page, store, verifier
from commentsvc.mentions.verifier import MentionVerifier
from commentsvc.model import APPROVED, DELETED, PENDING, Comment
from commentsvc.settings.schema import (
    CommentsSettings,
    MentionsSettings,
    ModerationSettings,
    ServerSettings,
    Site,
    SpamSettings,
)
from commentsvc.util.http_client import Fetched
from commentsvc.util.timestamps import DAY_MS
from tests.unit.app_fixture import SETTINGS, Served, data, served
from tests.unit.database_fixture import decide
from tests.unit.markup.test_markdown import ATTACKS
from tests.unit.mentions.hostile import HOSTILE, assert_harmless
from tests.unit.other_site import OtherSite, Page, other_site
from tests.unit.processor_time import assert_quick

WITH_MENTIONS = replace(
    SETTINGS,
    moderation=ModerationSettings(policy="all"),
    mentions=MentionsSettings(allowed_networks=("127.0.0.0/8",)),
    sites=(
        Site(name="blog", origins=("https://blog.example",), webmentions=True),
        Site(name="notes", origins=("https://notes.example",)),
    ),
)
TARGET = "https://blog.example/post/"
REPLY = """<body class="h-entry"><a class="u-in-reply-to" href="https://blog.example/post/">re</a>
<a class="p-author h-card" href="https://rosa.example/">Rosa Weber</a>
<time class="dt-published" datetime="2026-01-02">2 January</time>
<div class="e-content">It <b>rained</b> here, too.</div>"""


@pytest.fixture(scope="module")
def other() -> Iterator[OtherSite]:
    with other_site() as site:
        yield site


@pytest.fixture
def service(tmp_path: Path, other: OtherSite) -> Iterator[Served]:
    other.pages.clear()
    other.got.clear()
    with served(tmp_path, WITH_MENTIONS) as running:
        yield running


def send(service: Served, source: str, target: str = TARGET) -> int:
    body = f"source={quote(source, safe='')}&target={quote(target, safe='')}"
    return service.form("/webmention", body).status


def check(service: Served) -> None:
    """Verify all webmentions that wait."""
    checked = MentionVerifier(service.service, service.submissions)

    async def work() -> None:
        while await checked.check_due():
            pass

    asyncio.run(work())


def mentioned(service: Served, source: str, target: str = TARGET) -> list[Comment]:
    """Send a webmention, verify it, and return all comments, the oldest first."""
    assert send(service, source, target) == 202
    check(service)
    return comments(service)


def comments(service: Served) -> list[Comment]:
    return [entry.comment for entry in service.stored()][::-1]


def waiting(service: Served) -> int:
    query = MentionTable.select().where(MentionTable.next_at <= service.clock.now_ms())
    return len(service.database.read_now(lambda snapshot: snapshot.query(query)))


def card(name: str, url: str) -> str:
    return REPLY.replace("https://rosa.example/", url).replace("Rosa Weber", name)


@pytest.mark.parametrize(
    "url",
    ["https://ann.example/", "https://127.0.0.1@ann.example/", "http://127.0.0.1.ann.example/"],
)
@pytest.mark.parametrize("base", ["", '<base href="https://ann.example/">'])
def test_a_page_does_not_speak_for_another_host(
    service: Served, other: OtherSite, url: str, base: str
) -> None:
    """The name has no link to somebody else's site, and a base does not change whose page it is."""
    other.pages["/1"] = Page(base + card("Ann", url))
    [comment] = mentioned(service, other.url("/1"))
    assert (comment.author, comment.site) == ("Ann", "")
    other.pages["/2"] = Page(f"{base}{card('', url)}{'<p>more</p>' * 900}")
    [_, comment] = mentioned(service, other.url("/2"))
    assert (comment.author, comment.site) == ("127.0.0.1", "")


def test_the_card_of_the_own_host_keeps_its_link(service: Served, other: OtherSite) -> None:
    other.pages["/1"] = Page(card("Rosa", other.url("/")))
    [comment] = mentioned(service, other.url("/1"))
    assert (comment.author, comment.site) == ("Rosa", other.url("/"))


def test_a_reply_becomes_a_comment_that_waits_and_says_where_it_is_from(
    service: Served, other: OtherSite
) -> None:
    other.pages["/1"] = Page(REPLY)
    [comment] = mentioned(service, other.url("/1"))
    assert (comment.author, comment.site) == ("Rosa Weber", "")
    assert comment.source == "It **rained** here, too."
    assert comment.permalink == other.url("/1")
    assert comment.status == PENDING
    decide(service.database, APPROVED, comment.id)
    [item] = data(service.get("/api/comments?url=/post/"))["data"]
    assert item["permalink"] == other.url("/1")
    plain = service.get("/embed/thread?url=/post/").body.decode()
    mark = f'<a class="commentsvc-badge" href="{other.url("/1")}" rel="nofollow ugc noopener">'
    assert f"{mark}127.0.0.1</a>" in plain
    assert f'<link rel="via" href="{other.url("/1")}"/>' in service.get("/feed.atom").body.decode()


def test_300_of_the_same_are_one(service: Served, other: OtherSite) -> None:
    other.pages["/1"] = Page(REPLY)
    for _ in range(150):
        assert send(service, other.url("/1")) == 202
    check(service)
    for _ in range(150):
        assert send(service, other.url("/1")) == 202
    check(service)
    assert len(comments(service)) == 1
    assert other.asked() == ["/1", "/1"], "one look for each time, not for each of them"


@pytest.mark.parametrize(
    ("source", "target", "field"),
    [
        (TARGET, TARGET, "source"),
        (f"{TARGET}#1", f"{TARGET}#2", "source"),
        ("ftp://rosa.example/", TARGET, "source"),
        ("javascript:alert(1)", TARGET, "source"),
        ("", TARGET, "source"),
        ("https://user@rosa.example/", TARGET, "source"),
        ("http://[1.2.3]/", TARGET, "source"),
        ("http://℀.example/", TARGET, "source"),
        (f"https://rosa.example/{'a' * 300}", TARGET, "source"),
        ("https://rosa.example/", "https://other.example/post/", "target"),
        ("https://rosa.example/", "https://notes.example/", "target"),
        ("https://rosa.example/", "/post/", "target"),
        ("https://rosa.example/", "", "target"),
    ],
)
def test_what_cannot_be_a_webmention_is_refused_at_once(
    service: Served, source: str, target: str, field: str
) -> None:
    response = service.form("/webmention", f"source={quote(source)}&target={quote(target)}")
    assert response.status == 400
    assert field in data(response)["error"]["fields"]
    assert waiting(service) == 0


def test_a_service_without_webmentions_has_no_endpoint(tmp_path: Path) -> None:
    with served(tmp_path) as running:
        assert send(running, "https://rosa.example/") == 404


@pytest.mark.parametrize(
    "html",
    [
        "<p>nothing about it</p>",
        f"<!-- <a href='{TARGET}'>in an HTML comment</a> -->",
        f"<code>&lt;a href='{TARGET}'&gt;escaped&lt;/a&gt;</code>",
        f"<p>only as text: {TARGET}</p>",
        f"<a href='{TARGET}more/'>another page</a>",
        f"<script>location = '<a href={TARGET}>'</script>",
        f"<textarea><a href='{TARGET}'></textarea>",
    ],
)
def test_a_page_without_a_link_gives_no_comment(
    service: Served, other: OtherSite, html: str
) -> None:
    other.pages["/1"] = Page(html)
    assert mentioned(service, other.url("/1")) == []
    assert waiting(service) == 0


@pytest.mark.parametrize(
    ("page", "author", "text"),
    [
        (Page(f"<title>My day</title><a href='{TARGET}'>x</a>"), "127.0.0.1", "[My day](<{}>)"),
        (Page(f"<img src='{TARGET}'>"), "127.0.0.1", "[127.0.0.1](<{}>)"),
        (Page(f"see {TARGET}, it is nice", type="text/plain"), "127.0.0.1", "<{}>"),
        (Page(f'{{"a": [{{"b": "{TARGET}"}}]}}', type="application/json"), "127.0.0.1", "<{}>"),
        (
            Page(f"<div class=h-entry><p class=e-content>Nice: <a href='{TARGET}'>it</a></div>"),
            "127.0.0.1",
            "Nice: [it](<https://blog.example/post/>)",
        ),
        (
            Page(
                f"<div class=h-entry><h1 class=p-name>Long [one]</h1><div class=e-content>"
                f"{'word ' * 400}<a href='{TARGET}'>it</a></div></div>"
            ),
            "127.0.0.1",
            "[Long \\[one\\]](<{}>)",
        ),
    ],
)
def test_other_links_become_comments_that_name_the_page(
    service: Served, other: OtherSite, page: Page, author: str, text: str
) -> None:
    other.pages["/1"] = page
    [comment] = mentioned(service, other.url("/1"))
    assert (comment.author, comment.source) == (author, text.format(other.url("/1")))


def test_a_reply_to_a_comment_answers_it(service: Served, other: OtherSite) -> None:
    service.submit(url="/post/")
    [first] = comments(service)
    target = f"{TARGET}#commentsvc-{first.id}"
    other.pages["/1"] = Page(REPLY.replace(TARGET, target))
    assert mentioned(service, other.url("/1"), target)[1].parent_id == first.id
    unknown = f"{TARGET}#commentsvc-999"
    other.pages["/2"] = Page(REPLY.replace(TARGET, unknown))
    assert mentioned(service, other.url("/2"), unknown)[2].parent_id is None


def test_likes_and_reposts_are_counted(service: Served, other: OtherSite) -> None:
    for name, kind in (("/1", "like-of"), ("/2", "like-of"), ("/3", "repost-of")):
        other.pages[name] = Page(REPLY.replace("in-reply-to", kind))
        assert mentioned(service, other.url(name)) == []
    shown = data(service.get("/api/comments?url=/post/"))
    assert (shown["count"], shown["likes"], shown["reposts"]) == (0, 2, 1)
    assert "♥ 2 ↻ 1" in service.get("/embed/thread?url=/post/").body.decode()
    other.pages["/1"] = Page(status=410)
    service.purged.clear()
    mentioned(service, other.url("/1"))
    assert data(service.get("/api/comments?url=/post/"))["likes"] == 1
    assert "thread:blog:/post/" in service.purged


def test_an_edit_is_followed_and_judged_anew(service: Served, other: OtherSite) -> None:
    other.pages["/1"] = Page(REPLY)
    [comment] = mentioned(service, other.url("/1"))
    decide(service.database, APPROVED, comment.id)
    other.pages["/1"] = Page(REPLY.replace("rained", "snowed"))
    [comment] = mentioned(service, other.url("/1"))
    assert comment.source == "It **snowed** here, too."
    assert comment.edited_at
    assert comment.status == PENDING, "as that of any author"


@pytest.mark.parametrize("gone", [Page(status=404), Page(status=410), Page("<p>no link</p>")])
def test_what_is_gone_there_is_gone_here_after_the_next_look(
    service: Served, other: OtherSite, gone: Page
) -> None:
    other.pages["/1"] = Page(REPLY)
    [comment] = mentioned(service, other.url("/1"))
    decide(service.database, APPROVED, comment.id)
    other.pages["/1"] = gone
    service.now += 8 * DAY_MS / 1_000
    check(service)
    assert [each.status for each in comments(service)] == [DELETED]
    assert data(service.get("/api/comments?url=/post/"))["count"] == 0
    other.pages["/1"] = Page(REPLY)
    assert [each.status for each in mentioned(service, other.url("/1"))] == [DELETED, PENDING]


def test_a_moderators_no_is_not_overruled(service: Served, other: OtherSite) -> None:
    other.pages["/1"] = Page(REPLY)
    [comment] = mentioned(service, other.url("/1"))
    decide(service.database, DELETED, comment.id)
    other.pages["/1"] = Page(REPLY.replace("rained", "snowed"))
    [again] = mentioned(service, other.url("/1"))
    assert (again.status, again.source) == (DELETED, comment.source)


def test_redirects_are_followed_and_bounded(service: Served, other: OtherSite) -> None:
    other.pages["/1"] = Page(status=302, headers=(("Location", "/2"),))
    other.pages["/2"] = Page(REPLY)
    [comment] = mentioned(service, other.url("/1"))
    assert comment.permalink == other.url("/1")
    other.pages["/loop"] = Page(status=302, headers=(("Location", "/loop"),))
    assert len(mentioned(service, other.url("/loop"))) == 1
    assert other.asked().count("/loop") == 6


@pytest.mark.parametrize(
    "to", ["http://10.0.0.1/", "http://169.254.169.254/latest/", "http://[::1]/", "file:///etc/x"]
)
def test_a_redirect_to_a_private_address_is_not_followed(
    service: Served, other: OtherSite, to: str
) -> None:
    other.pages["/1"] = Page(status=302, headers=(("Location", to),))
    assert mentioned(service, other.url("/1")) == []
    assert other.asked() == ["/1"]


def test_a_source_without_an_end_is_left(service: Served, other: OtherSite) -> None:
    other.pages["/1"] = Page(b"<p>text</p>" * 10_000, endless=True)
    assert mentioned(service, other.url("/1")) == []


def test_a_slow_server_holds_up_no_other(
    service: Served, other: OtherSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commentsvc.util.http_client.DEADLINE", 1.0)
    other.pages["/slow"] = Page(REPLY, slow=60)
    send(service, other.url("/slow"))
    with other_site("127.0.0.2") as second:
        second.pages["/1"] = Page(REPLY)
        send(service, second.url("/1"))
        check(service)
    assert len(comments(service)) == 1


def test_many_pages_of_a_slow_server_hold_up_no_other(
    service: Served, other: OtherSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round of checks was one page of the slow server, as long as its pages came first."""
    monkeypatch.setattr("commentsvc.util.http_client.DEADLINE", 1.0)
    for number in range(100):
        other.pages[f"/{number}"] = Page(REPLY, slow=60)
        send(service, other.url(f"/{number}"))
    with other_site("127.0.0.2") as second:
        second.pages["/1"] = Page(REPLY)
        send(service, second.url("/1"))
        asyncio.run(MentionVerifier(service.service, service.submissions).check_due())
    assert len(comments(service)) == 1


def test_a_server_that_fails_is_tried_again_and_left_in_the_end(
    service: Served, other: OtherSite
) -> None:
    other.pages["/1"] = Page(status=500)
    mentioned(service, other.url("/1"))
    for _ in range(20):
        service.now += DAY_MS / 1_000
        check(service)
    assert len(other.asked()) == verifier.TRIES + 1
    other.pages["/1"] = Page(REPLY)
    assert len(mentioned(service, other.url("/1"))) == 1, "whoever sends it again is heard"


def test_who_came_first_is_checked_first(service: Served, other: OtherSite) -> None:
    for number in range(verifier.AT_ONCE + 1):
        send(service, f"http://127.0.1.{number}:1/")
        service.now += 1
    checked = MentionVerifier(service.service, service.submissions)
    asyncio.run(checked.check_due())
    [left] = service.database.read_now(store.due, service.clock.now_ms(), 10)
    assert left.source == f"http://127.0.1.{verifier.AT_ONCE}:1/"


def test_one_network_and_one_host_have_a_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "RATE", "20/hour")
    limited = replace(WITH_MENTIONS, spam=SpamSettings())
    with served(tmp_path, limited) as running:
        sent = [send(running, f"https://rosa.example/{number}") for number in range(100)]
        assert sent == [202] * 20 + [429] * 80
        source = quote("https://rosa.example/new", safe="")
        other = running.ask(
            "POST",
            "/webmention",
            f"source={source}&target={quote(TARGET, safe='')}".encode(),
            "198.51.100.1",
            content_type="application/x-www-form-urlencoded",
        )
        assert other.status == 429, "the host of the pages counts, wherever they are sent from"


def test_the_queue_is_bounded(service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commentsvc.mentions.store.MOST_WAITING", 3)
    sent = [send(service, f"https://rosa.example/{number}") for number in range(5)]
    assert sent == [202, 202, 202, 503, 503]


def test_hostile_html_of_every_kind_shows_nothing_but_text(
    tmp_path: Path, other: OtherSite
) -> None:
    site = replace(WITH_MENTIONS.sites[0], isso=True, waline=True, artalk=True)
    open_settings = replace(
        WITH_MENTIONS, sites=(site,), comments=CommentsSettings(list_limit=1_000)
    )
    attacks = [*ATTACKS, *HOSTILE]
    with served(tmp_path, open_settings) as service:
        for number, attack in enumerate(attacks):
            content = f'<div class="e-content">{attack}</div>'
            other.pages[f"/{number}"] = Page(
                f'<div class="h-entry"><a class="u-in-reply-to" href="{TARGET}">x</a>'
                f'<p class="p-author h-card">{attack}</p>{content}</div>'
            )
            send(service, other.url(f"/{number}"))
        check(service)
        decide(service.database, APPROVED, *(each.id for each in comments(service)))
        assert assert_harmless(service, "/post/") > len(attacks) * 0.8


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 20_000,
        "<div class='h-entry'>" * 5_000,
        "<b><i>" * 10_000 + "</p>" * 1_000,
        "<a href='x'>" * 20_000,
        "<!--" * 50_000,
        "&" * 200_000,
        "<p class='h-entry e-content p-name'>a" * 9_000,
    ],
)
def test_deep_and_broken_html_is_survived(service: Served, other: OtherSite, html: str) -> None:
    other.pages["/1"] = Page(f"<a href='{TARGET}'>x</a>{html}")
    other.pages["/2"] = Page(REPLY)
    mentioned(service, other.url("/1"))
    assert mentioned(service, other.url("/2"))[-1].permalink == other.url("/2")


def fetched(kind: str, body: str) -> Fetched:
    link = f'<a href="{TARGET}">x</a>' if "html" in kind else f'"{TARGET}"'
    content = f"[{body}{link}]" if "json" in kind else link + body
    header = (("content-type", kind),)
    return Fetched(200, kind.partition(";")[0], content.encode(), header, "https://far.example/")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", "<ul>" * 25_000),
        ("text/html", "<a " + " ".join(map("a{}".format, range(50_000))) + ">"),
        ("text/html", "<a " + "".join(map("a{}=''".format, range(50_000))) + ">"),
        ("text/html", "<div class='h-entry p-a e-content'>" * 17),
        ("text/html", "<div class='h-entry e-a e-b'>" * 8 + "word " * 40_000),
        ("text/html", "<div class='h-entry'>" + "<p class='e-content'></p>" * 2 + "<div class="
         "'e-content'>" * 190 + "word " * 40_000),
        ("text/html", "<div class='hentry'><div class='vcard author contact'>" * 9 + "x"),
        ("text/html", "<div class='hentry'><div class='h-card author entry-content'>" * 12),
        ("application/json", "[]," * 100_000),
    ],
    ids=["tags", "attributes", "attributes with values", "doubled items", "doubled text",
         "nested text", "old", "old and new", "json"],
)  # fmt: skip
def test_a_page_that_takes_long_to_read_is_not_read(kind: str, body: str) -> None:
    """A few kilobytes of nested items would keep a thread busy for ever."""
    with pytest.raises(UnreadablePage):
        html_page.mention(fetched(kind, body), TARGET.__eq__)


def test_long_pages_of_usual_blogs_are_read() -> None:
    entry = (
        '<article class="post h-entry"><div class="e-content p-name">'
        + "<p>It rained for most of the day, and the wood got wet again.</p>" * 8
        + '</div><a class="p-author h-card u-url" href="/">Rosa</a></article>'
    )
    page = fetched("text/html", f'<div class="h-feed">{entry * 200}</div>')
    assert html_page.mention(page, TARGET.__eq__)
    old = entry.replace("h-entry", "hentry type-post status-publish").replace("e-c", "entry-c")
    assert html_page.mention(fetched("text/html", old * 200), TARGET.__eq__)


@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
def test_of_a_page_without_tags_a_bounded_number_of_links_is_looked_at(kind: str) -> None:
    """A mebibyte of short addresses took a quarter of a second."""
    asked: list[str] = []
    link = '"https://a.example"' if "json" in kind else "https://a.example"
    body = ", ".join([link] * 40_000)
    page = Fetched(200, kind, (f"[{body}]" if "json" in kind else body).encode())

    def leads(address: str) -> bool:
        asked.append(address)
        return False

    assert html_page.mention(page, leads) is None
    assert set(asked) == {"https://a.example"}
    assert len(asked) == html_page.LINKS


LINKING = f'<a href="{TARGET}">x</a>'


@pytest.mark.parametrize(
    "body",
    [
        "<div class=hentry>" + "<div>" * 190 + "<br>" * 1_200,
        "<div class=hfeed>" + "<p><b><i><s>" * 40 + "<br>" * 900,
        "<div class='vcard hreview'>" * 190 + "x",
        "<section><div class=hentry></section>" * 160,
        "<div class=hfeed>" * 100 + "<div class=vcard>" * 90 + "<span class=fn>x</span>" * 600,
        "<body a=b>" * 104_857,
        "<html c=d>x" * 95_325,
        "x<p>" * 262_144,
        "<a " + " ".join(map("a{}".format, range(39_000))) + ">",
        "<a " + " ".join(map("a{}".format, range(14_900))) + ">",
    ],
    ids=["deep", "formatting", "people", "entries", "feeds", "bodies", "roots", "paragraphs",
         "many attributes", "attributes"],
)  # fmt: skip
def test_no_page_takes_more_than_100_ms_to_read(body: str) -> None:
    """Classic microformats were copied for each rule and element: minutes for some kilobytes."""

    def work() -> None:
        with contextlib.suppress(UnreadablePage):
            assert html_page.mention(fetched("text/html", LINKING + body), TARGET.__eq__)

    assert_quick(work, 100)


@pytest.mark.parametrize(
    ("charset", "byte"), [("cp874", 0xDC), ("iso8859-8", 0xFF), ("koi8-t", 0xA8), ("utf-7", 0xD5)]
)
def test_a_page_that_is_not_in_its_encoding_is_read_as_utf_8(charset: str, byte: int) -> None:
    """To replace a mebibyte of what other decoders do not know, takes them 0.2 s."""
    page = fetched(f"text/plain; charset={charset}", TARGET)
    page = page._replace(body=page.body + b" " + bytes([byte]) * 1_000_000)
    assert assert_quick(lambda: html_page.mention(page, TARGET.__eq__), 100)
    undefined = fetched("text/plain; charset=undefined", TARGET)
    assert html_page.mention(undefined, TARGET.__eq__)


def test_a_page_in_an_encoding_for_host_names_is_read_as_utf_8() -> None:
    """Decoding 1 MiB of punycode takes a minute."""
    found = html_page.mention(fetched("text/plain; charset=punycode", " - ü"), TARGET.__eq__)
    assert found


def test_our_plain_page_tells_where_webmentions_go_and_stands_for_its_page(
    tmp_path: Path, other: OtherSite
) -> None:
    public = replace(WITH_MENTIONS, server=ServerSettings(public_url="https://c.example"))
    with served(tmp_path, public) as running:
        page = running.get("/embed/thread?url=/post/&view=page").body.decode()
        assert '<link rel="webmention" href="../webmention">' in page
        others = running.get("/embed/thread?url=/x&site=notes&view=page")
        assert b"webmention" not in others.body
        plain = "https://c.example/embed/thread?url=/post/&view=page"
        other.pages["/1"] = Page(REPLY.replace(TARGET, plain.replace("&", "&amp;")))
        mentioned(running, other.url("/1"), plain)
        assert [entry.url for entry in running.stored()] == ["/post/"]


def test_a_webmention_is_stored_with_an_address_of_usual_length_only(tmp_path: Path) -> None:
    """Our plain page takes any parameters, so 1,000 that wait could fill 250 MB."""
    public = replace(WITH_MENTIONS, server=ServerSettings(public_url="https://c.example"))
    with served(tmp_path, public) as running:
        plain = "https://c.example/embed/thread?url=/post/&view=page"
        assert send(running, "https://rosa.example/1", plain) == 202
        for more in (f"&x={'a' * 2_000}", f"#{'a' * 2_000}"):
            assert send(running, "https://rosa.example/2", plain + more) == 400
        assert waiting(running) == 1
