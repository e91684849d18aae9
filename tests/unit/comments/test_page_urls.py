"""URL normalisation: its rules, the fast path that must agree, sites by name and origin."""

import io
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from commentsvc.comments.page_urls import (
    LENGTH,
    PageRef,
    Sites,
    UnknownSiteError,
    UrlError,
    canonical,
    canonical_by_rule,
)
from commentsvc.db.connection import Snapshot
from commentsvc.delivery.channels import channels
from commentsvc.exports import contents, disqus, wordpress
from commentsvc.exports.output import Output
from commentsvc.settings.schema import HooksSettings, ModerationSettings, ServerSettings, Site
from commentsvc.util.origin import origin
from tests.unit import app_fixture
from tests.unit.admin.api.test_token_access import Program
from tests.unit.admin_client import seated, text
from tests.unit.app_fixture import Served, served, waiting
from tests.unit.mail_server import mail_settings

KEEP = [
    # rule 1: spaces around
    ("/post/", "/post/"),
    (" /post/ ", "/post/"),
    ("/post/ #top", "/post/"),
    # rule 2: fragment
    ("/post/#comments", "/post/"),
    ("/post/#a#b", "/post/"),
    ("/post/?p=1#x?y=2", "/post/?p=1"),
    # rule 3: backslash
    ("\\post\\", "/post/"),
    ("/a\\b", "/a/b"),
    ("/a?b=\\", "/a?b=%5C"),
    # rule 4 for a path: a doubled slash does not begin a host
    ("//post/", "/post/"),
    ("//blog.example/post/", "/blog.example/post/"),
    ("///", "/"),
    # rule 5: leading slash
    ("post/", "/post/"),
    ("2017/07/post", "/2017/07/post"),
    (".", "/"),
    ("?p=4", "/?p=4"),
    # rule 6: percent-encoding
    ("/%7Euser/", "/~user/"),
    ("/%41%2d%5F%2E1/", "/A-_.1/"),
    ("/caf%c3%a9/", "/caf%C3%A9/"),
    ("/café/", "/caf%C3%A9/"),
    ("/日本/", "/%E6%97%A5%E6%9C%AC/"),
    ("/a b/", "/a%20b/"),
    ("/a%20b/", "/a%20b/"),
    ("/a+b/", "/a+b/"),
    ("/a%2Bb/", "/a%2Bb/"),
    ("/a%2fb/", "/a%2Fb/"),
    ("/100%/", "/100%25/"),
    ("/100%25/", "/100%25/"),
    ("/%zz/", "/%25zz/"),
    ("/%%34%31", "/%2541"),
    ("/caf%E9/", "/caf%E9/"),
    ('/"<>^`{|}/', "/%22%3C%3E%5E%60%7B%7C%7D/"),
    ("/[1]/", "/%5B1%5D/"),
    ("/!$&'()*+,;=:@/", "/!$&'()*+,;=:@/"),
    ("/%21/", "/%21/"),
    ("/a:b", "/a:b"),
    ("/🙂", "/%F0%9F%99%82"),
    # rule 7: empty and dot segments
    ("/a//b///c/", "/a/b/c/"),
    ("/a/./b/", "/a/b/"),
    ("/a/../b/", "/b/"),
    ("/a//../b/", "/b/"),
    ("/../../a", "/a"),
    ("/a/b/..", "/a/"),
    ("/a/.", "/a/"),
    ("/a/%2e%2E/b", "/b"),
    ("/.well-known/x", "/.well-known/x"),
    ("/...", "/..."),
    ("/..", "/"),
    # rule 8: index.html
    ("/index.html", "/"),
    ("/a/index.html", "/a/"),
    ("/a/index.html/", "/a/"),
    ("/a/index.html/index.html", "/a/"),
    ("/a/index%2Ehtml", "/a/"),
    ("/a/index.html?p=1", "/a/?p=1"),
    ("/a/INDEX.html", "/a/INDEX.html"),
    ("/a/xindex.html", "/a/xindex.html"),
    ("/index.html/b", "/index.html/b"),
    ("/a/index.htm", "/a/index.htm"),
    # rule 9: keep
    ("/post", "/post"),
    ("/post.html", "/post.html"),
    ("/", "/"),
    # rule 10: query
    ("/p/?", "/p/"),
    ("/p/?&&", "/p/"),
    ("/p/?utm_source=x&utm_medium=y", "/p/"),
    ("/p/?UTM_Source=x", "/p/"),
    ("/p/?utm%5Fsource=x", "/p/"),
    ("/p/?fbclid=IwAR0", "/p/"),
    ("/p/?gclid=1&p=4&msclkid=2", "/p/?p=4"),
    ("/p/?b=2&a=1", "/p/?a=1&b=2"),
    ("/p/?a=2&b=0&a=1", "/p/?a=2&a=1&b=0"),
    ("/p/?a", "/p/?a"),
    ("/p/?a=", "/p/?a="),
    ("/p/?q=a+b&r=%7e/?", "/p/?q=a+b&r=~/?"),
    ("/p/?q=é", "/p/?q=%C3%A9"),
    ("/p?utm_source=x", "/p"),
    ("/p/?utm=1", "/p/?utm=1"),
]

SLASHES = [
    ("add", "/post", "/post/"),
    ("add", "/post/", "/post/"),
    ("add", "/post.html", "/post.html"),
    ("add", "/post.htm", "/post.htm"),
    ("add", "/v1.2", "/v1.2/"),
    ("add", "/post?p=1", "/post/?p=1"),
    ("add", "/", "/"),
    ("add", "/a/index.html", "/a/"),
    ("remove", "/post/", "/post"),
    ("remove", "/post", "/post"),
    ("remove", "/post/?p=1", "/post?p=1"),
    ("remove", "/", "/"),
    ("remove", "/a/index.html/", "/a"),
    ("remove", "//", "/"),
]

REFUSED = [
    "",
    "   ",
    "#top",
    "/a\x00b",
    "/a\nb",
    "/a\x7f",
    "/a\x85",
    "/a%00b",
    "/a%0d%0Ab",
    "/a%7fb",
    "/a?b=%1F",
    "/\ud800",
    "/" + "a" * LENGTH,
    "/a" + " " * LENGTH,
    " " * LENGTH + "/a",
    "/a#" + "b" * LENGTH,
    "/" + "é" * 400,
]


@pytest.mark.parametrize(("url", "expected"), KEEP)
def test_a_url_has_one_canonical_form(url: str, expected: str) -> None:
    assert canonical(url) == expected


@pytest.mark.parametrize(("setting", "url", "expected"), SLASHES)
def test_the_trailing_slash_is_as_the_setting_says(setting: str, url: str, expected: str) -> None:
    assert canonical(url, setting) == expected


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_that_cannot_name_a_page_is_refused(url: str) -> None:
    with pytest.raises(UrlError):
        canonical(url)


WORDS = (
    "/ // . .. a B ~ index.html index.htm .html % %2e %2F %41 %c3%a9 é 🙂 \\ ? & = + ; : @ utm_x= "
    "fbclid= a=1 b=2 # -"
)
URLS = st.one_of(
    st.lists(st.sampled_from(WORDS.split()), max_size=12).map("".join), st.text(max_size=30)
)
SETTINGS = st.sampled_from(["keep", "add", "remove"])


@given(URLS.map("/".__add__), SETTINGS)
@example("/index.html/index.html", "remove")
def test_a_canonical_url_is_its_own_canonical_form(url: str, setting: str) -> None:
    try:
        once = canonical(url, setting)
    except UrlError:
        return
    assert canonical(once, setting) == once
    assert once.isascii()
    assert once.startswith("/")


@given(URLS, SETTINGS)
@example("/a/index.html", "keep")
@example("/post", "add")
@example("", "keep")
def test_the_short_cut_gives_what_the_rules_give(url: str, setting: str) -> None:
    def outcome(function: Callable[[str, str], str]) -> str:
        try:
            return function(url, setting)
        except UrlError as error:
            return repr(error)

    assert outcome(canonical) == outcome(canonical_by_rule)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://Blog.Example/x", "https://blog.example"),
        ("HTTPS://blog.example:443", "https://blog.example"),
        ("http://blog.example:0080/", "http://blog.example"),
        ("http://blog.example:8080?x", "http://blog.example:8080"),
        ("http://blog.example./", "http://blog.example"),
        ("http://bücher.example/", "http://xn--bcher-kva.example"),
        ("http://[::1]:1313/", "http://[::1]:1313"),
        ("https://blog.example", "https://blog.example"),
        # fass.de and faß.de have different owners: browsers tell them apart (UTS 46).
        ("https://faß.de/", "https://xn--fa-hia.de"),
        ("https://FASS.de/", "https://fass.de"),
        ("https://βόλος.example/", "https://xn--nxasmm1c.example"),
        ("https://日本。example/", "https://xn--wgv71a.example"),
        ("https://ｂｌｏｇ.example/", "https://blog.example"),
        ("https://my_blog.example/", "https://my_blog.example"),
        ("https://a\u200db.example/", ""),
        ("https://user@blog.example/", ""),
        ("https://blog.example@evil.example/", ""),
        ("https://", ""),
        ("https:///path", ""),
        ("https://blog.example:80x/", ""),
        ("https://" + "é" * 300 + "/", ""),
        ("https://" + "é" * 80 + "/", ""),
        ("https://" + "a" * 254 + "/", ""),
        ("ftp://blog.example/", ""),
        ("null", ""),
        ("", ""),
    ],
)
def test_an_origin_is_read_as_browsers_write_it(address: str, expected: str) -> None:
    assert origin(address) == expected


BLOG = Site(name="blog", origins=("https://blog.example",))
NOTES = Site(name="notes", origins=("http://localhost:1313",), trailing_slash="add")
SITES = Sites([BLOG, NOTES])


@pytest.mark.parametrize(
    ("url", "name", "expected"),
    [
        ("/p/", "", PageRef("blog", "/p/")),
        ("/p", "notes", PageRef("notes", "/p/")),
        ("https://blog.example/p/", "", PageRef("blog", "/p/")),
        ("https://blog.example/p/", "blog", PageRef("blog", "/p/")),
        ("http://blog.example/p/", "", PageRef("blog", "/p/")),
        ("https://www.blog.example/p/", "", PageRef("blog", "/p/")),
        ("HTTPS://BLOG.EXAMPLE:443/p/?utm_source=x#y", "", PageRef("blog", "/p/")),
        ("https://blog.example", "", PageRef("blog", "/")),
        ("https://blog.example?p=4", "", PageRef("blog", "/?p=4")),
        ("https:\\\\blog.example\\p", "", PageRef("blog", "/p")),
        (" https://blog.example//p//", "", PageRef("blog", "/p/")),
        ("http://localhost:1313/p", "", PageRef("notes", "/p/")),
        ("https://localhost:1313/p#c", "", PageRef("notes", "/p/")),
    ],
)
def test_a_url_finds_its_site(url: str, name: str, expected: PageRef) -> None:
    assert SITES.locate(url, name) == expected


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://evil.example/p/", ""),
        ("https://blog.example.evil.example/p/", ""),
        ("https://faß.example/p/", ""),
        ("https://blog.example:8443/p/", ""),
        ("https://blog.example@evil.example/", ""),
        ("https://user:pw@blog.example/", ""),
        ("https://blog.example/p/", "notes"),
        ("ftp://blog.example/p/", ""),
        ("javascript:alert(1)", ""),
        ("http:blog.example/", ""),
        ("http://localhost/p", ""),
        ("https://blog.example/\x00", ""),
    ],
)
def test_a_foreign_or_malformed_address_is_refused(url: str, name: str) -> None:
    with pytest.raises(UrlError):
        SITES.locate(url, name)


def test_an_unknown_name_of_a_site_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownSiteError, match="blog, notes"):
        SITES.locate("/p/", "other")
    with pytest.raises(UnknownSiteError):
        SITES.named("other")


def test_without_a_name_the_first_site_is_meant() -> None:
    assert (SITES.named(""), SITES.named("notes")) == ("blog", "notes")


def test_sites_that_differ_only_in_www_are_told_apart() -> None:
    sites = Sites(
        [
            Site(name="one", origins=("https://blog.example",)),
            Site(name="two", origins=("https://www.blog.example",)),
        ]
    )
    assert sites.locate("https://www.blog.example/").site == "two"
    assert sites.locate("https://blog.example/").site == "one"


AWAY = "[a](/about) [b](page.html) [c](#top) note[^1]\n\n[^1]: n"
EVERYWHERE = replace(
    app_fixture.SETTINGS,
    server=ServerSettings(public_url="https://comments.example"),
    mail=mail_settings(25, moderators=("mo@blog.example",)),
    hooks=HooksSettings(webhooks=("https://hook.example/",)),
    moderation=ModerationSettings(policy="none"),
    sites=(Site(name="blog", origins=("https://blog.example",), isso=True, waline=True),),
)
READ = (
    "/feed.atom", "/feed.rss", "/feed.json", "/feed.atom?url=/p/", "/comment/1",
    "/embed/thread?url=/p/&view=page", "/isso/latest?limit=5", "/isso/feed?uri=/p/",
    "/waline/api/comment?type=recent",
)  # fmt: skip


def hrefs(shown: str) -> set[str]:
    """Return where the links of HTML lead that may be escaped in another format."""
    plain = unescape(unescape(shown.replace('\\"', '"')))
    return set(re.findall('<a [^>]*?href="([^"]*)"', plain))


def exported(service: Served, write: Callable[..., None]) -> str:
    file, origins = io.BytesIO(), {"blog": "https://blog.example"}
    output = Output(file)

    def work(snapshot: Snapshot) -> None:
        write(contents.pages(snapshot, contents.Selection()), origins, output)

    service.database.read_now(work)
    output.flush()
    return file.getvalue().decode()


def sent(service: Served) -> dict[str, str]:
    """Return the HTML mail and the webhook that wait, by the channel."""
    whole = service.service
    known = channels(EVERYWHERE, service.links, service.clock, service.database, whole.lasting)
    found = {}
    for row in waiting(service):
        message: Any = service.database.read_now(known[row.channel].compose, row)
        is_mail = row.channel == "mail"
        html = message.message.get_body(("html",)).get_content() if is_mail else message.body
        found[row.channel] = html if is_mail else html.decode()
    return found


def test_wherever_a_comment_is_shown_away_from_its_page_its_links_lead_to_the_blog(
    tmp_path: Path,
) -> None:
    """Also on pages of ours; there, footnotes come along."""
    with served(tmp_path, EVERYWHERE) as service:
        service.submit(AWAY)
        seat = seated(service)
        found_at = {path: service.get(path).body.decode() for path in READ}
        found_at |= {
            page: text(seat.get(page)) for page in ("comments?status=approved", "comment?id=1")
        }
        found_at["api"] = (
            Program(service, "read", name="ann").ask("GET", "/comments/1").body.decode()
        )
        found_at |= sent(service)
        found_at |= {
            each.__module__: exported(service, each) for each in (wordpress.write, disqus.write)
        }
    assert len(found_at) == len(READ) + 2 + 1 + 2 + 2
    for name, shown in found_at.items():
        found = hrefs(shown)
        wanted = {"about", "p/page.html", "p/#top"}
        assert {f"https://blog.example/{each}" for each in wanted} <= found, name
        assert not found & {"/about", "page.html", "#top"}, name


def test_on_its_page_a_comment_keeps_its_links_as_they_were_typed(tmp_path: Path) -> None:
    with served(tmp_path, EVERYWHERE) as service:
        service.submit(AWAY)
        for path in ("/api/comments?url=/p/", "/embed/thread?url=/p/", "/isso/?uri=/p/"):
            assert {"/about", "page.html", "#top"} <= hrefs(service.get(path).body.decode()), path
