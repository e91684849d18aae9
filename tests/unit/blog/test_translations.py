"""Which pages are translations of each other, by what the blog, a local server, says itself."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.blog import translations
from commentsvc.blog.translations import PageTranslations, TranslationFinder
from commentsvc.comments import queries
from commentsvc.moderation.translations import Version
from commentsvc.settings.schema import HooksSettings, Site
from tests.unit.app_fixture import SETTINGS, Served, served
from tests.unit.database_fixture import add
from tests.unit.other_site import OtherSite, Page, other_site


@pytest.fixture(scope="module")
def server() -> Iterator[OtherSite]:
    with other_site() as site:
        yield site


def links(*named: tuple[str, str], lang: str = "en") -> Page:
    elements = "".join(
        f'<link rel="alternate" hreflang="{lang}" href="{href}">' for lang, href in named
    )
    return Page(f'<!doctype html><html lang="{lang}"><head>{elements}</head><body>Hi</body></html>')


@pytest.fixture
def service(tmp_path: Path, server: OtherSite) -> Iterator[Served]:
    server.pages.clear()
    server.got.clear()
    site = Site(name="blog", origins=(server.url("").rstrip("/"),), translations=True)
    hooks = HooksSettings(allowed_networks=("127.0.0.0/8",))
    with served(tmp_path, replace(SETTINGS, hooks=hooks, sites=(site,))) as service:
        yield service


def versions(service: Served, url: str) -> list[Version]:
    pages = PageTranslations(service.service)
    asking = TranslationFinder(
        pages._client, service.service.sites, service.service.settings.sites[0], 0
    )
    return asyncio.run(asking.versions(url))


def search(service: Served) -> None:
    asyncio.run(PageTranslations(service.service).search(0))


def count(service: Served, url: str) -> int:
    return service.database.read_now(queries.thread, "blog", url).count


def listed(service: Served, url: str) -> list[dict[str, object]]:
    items: list[dict[str, object]] = json.loads(service.get(f"/api/comments?url={url}").body)[
        "data"
    ]
    return items


PAIR = (("en", "/a/"), ("de", "/de/a/"), ("x-default", "/a/"))


def test_two_pages_that_name_each_other_are_translations(
    service: Served, server: OtherSite
) -> None:
    server.pages["/a/"] = links(*PAIR)
    server.pages["/de/a/"] = links(("de", server.url("/de/a/")), ("en", "../../a/?utm_source=x"))
    both = [Version("/a/", "en"), Version("/de/a/", "de")]
    assert versions(service, "/a/") == versions(service, "/de/a/") == both


@pytest.mark.parametrize(
    "theirs",
    [
        links(lang="de"),
        links(("en", "/else/"), lang="de"),
        links(("en", "https://else.example/a/"), lang="de"),
        Page("<p>&lt;link rel=alternate hreflang=en href=/a/&gt;"),
        Page('<!-- <link rel="alternate" hreflang="en" href="/a/"> -->'),
        Page('<script>"<link rel=alternate hreflang=en href=/a/>"</script>'),
        Page("<title><link rel=alternate hreflang=en href=/a/></title>"),
        Page('<a rel="alternate" hreflang="en" href="/a/">'),
        Page('<link rel="alternate" hreflang="e\nn" href="/a/"><link rel=alternate hreflang=x>'),
        Page(status=302, headers=(("Location", "/a/"),)),
        Page(status=404),
        Page(status=500),
        Page("<b>" * 90_000),
        None,
    ],
)
def test_a_page_is_no_translation_of_one_that_does_not_name_it(
    service: Served, server: OtherSite, theirs: Page | None
) -> None:
    """An author on the same host cannot take the comments of another one's page."""
    server.pages["/mine/"] = links(("en", "/mine/"), ("de", "/theirs/"))
    server.pages["/a/"] = links(("en", "/a/"))
    if theirs:
        server.pages["/theirs/"] = theirs
    assert versions(service, "/mine/") == [Version("/mine/", "en")]


def test_what_a_reader_sends_names_no_translation(service: Served, server: OtherSite) -> None:
    """A comment for an address with another query gets nothing of the page at that address."""
    server.pages["/a/?x=1"] = server.pages["/a/"] = links(*PAIR)
    server.pages["/de/a/"] = links(*PAIR)
    add(service.database, url="/a/")
    add(service.database, url="/a/?x=1")
    search(service)
    assert [count(service, url) for url in ("/a/", "/de/a/", "/a/?x=1")] == [1, 1, 1]


def test_a_thread_may_name_translations(service: Served, server: OtherSite) -> None:
    named = '<comment-thread data-translations="en /a/ de /de/a/ fr"></comment-thread>'
    server.pages["/a/"] = server.pages["/de/a/"] = Page(named)
    assert versions(service, "/de/a/") == [Version("/a/", "en"), Version("/de/a/", "de")]


@pytest.mark.parametrize(
    ("named", "first"),
    [
        ([("fr", "/fr/"), ("en", "/"), ("x-default", "/fr/")], "/fr/"),
        ([("fr", "/fr/"), ("en-GB", "/gb/"), ("en", "/")], "/"),
        ([("fr", "/fr/"), ("en-GB", "/gb/")], "/gb/"),
        ([("fr", "/fr/"), ("de", "/de/")], "/fr/"),
    ],
)
def test_the_main_one_is_for_all_or_in_the_sites_language_or_first(
    service: Served, server: OtherSite, named: list[tuple[str, str]], first: str
) -> None:
    for _, path in named:
        server.pages[path] = links(*named)
    assert {versions(service, path)[0].url for _, path in named} == {first}


def test_a_page_that_is_not_there_says_nothing(service: Served, server: OtherSite) -> None:
    server.pages["/moved/"] = Page(status=301, headers=(("Location", "/a/"),))
    server.pages["/a/"] = links(*PAIR)
    assert versions(service, "/moved/") == versions(service, "/gone/") == []


def test_the_first_comment_of_a_page_opens_the_thread_of_all_its_languages(
    service: Served, server: OtherSite
) -> None:
    server.pages["/a/"] = server.pages["/de/a/"] = links(*PAIR)
    add(service.database, url="/a/")
    assert listed(service, "/de/a/") == []
    search(service)
    [item] = listed(service, "/de/a/")
    assert item["lang"] == "en"
    server.got.clear()
    search(service)
    assert server.asked() == [], "it is not asked again soon"


def test_a_blog_that_wants_to_be_left_alone_is(service: Served, server: OtherSite) -> None:
    for url in ("/a/", "/b/"):
        add(service.database, url=url)
        server.pages[url] = Page(status=503, headers=(("Retry-After", "600"),))
    search(service)
    search(service)
    assert server.asked() == ["/robots.txt", "/a/"]


def test_many_translations_cost_a_bounded_number_of_requests(
    service: Served, server: OtherSite
) -> None:
    server.pages["/a/"] = links(*((f"de-{number}", f"/{number}/") for number in range(100)))
    versions(service, "/a/")
    assert len(server.asked()) == 2 + translations.LANGUAGES
