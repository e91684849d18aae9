"""Finding the pages of a blog, from its sitemap or its build."""

import gzip
from pathlib import Path

import pytest

from commentsvc.imports.records import ImportFailed
from commentsvc.imports.sources import blog_pages
from commentsvc.util.http_client import Fetched, RemoteError, SettingsClient

INDEX = (
    '<?xml version="1.0"?><s:sitemapindex xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9">'
    "<s:sitemap><s:loc>https://blog.example/1.xml.gz</s:loc></s:sitemap>"
    "<s:sitemap><s:loc> https://blog.example/index.xml </s:loc></s:sitemap></s:sitemapindex>"
)
LIST = (
    "<urlset><url><loc>https://blog.example/a/?b&amp;c</loc><lastmod>2026-01-01</lastmod></url>"
    "<url><loc><![CDATA[https://blog.example/d/]]></loc></url><url/></urlset>"
)
PAGES = {"https://blog.example/a/?b&c", "https://blog.example/d/"}
SERVED = {
    "https://blog.example/index.xml": Fetched(200, "text/xml", INDEX.encode()),
    "https://blog.example/1.xml.gz": Fetched(200, "", gzip.compress(LIST.encode())),
    "https://blog.example/none": Fetched(404, "text/html", b"<p>"),
    "https://blog.example/page": Fetched(200, "text/html", b"<p>No sitemap<br>"),
}


@pytest.fixture(autouse=True)
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    async def get(_client: SettingsClient, url: str, most: int) -> Fetched:
        assert most == blog_pages.LIMIT
        if url not in SERVED:
            raise RemoteError("no route")
        return SERVED[url]

    monkeypatch.setattr(SettingsClient, "get", get)


def read(location: object) -> set[str]:
    return blog_pages.read(str(location), SettingsClient())


def test_a_list_of_sitemaps_is_followed(tmp_path: Path) -> None:
    assert read("https://blog.example/index.xml") == PAGES
    (tmp_path / "sitemap.xml").write_text(INDEX)
    assert read(tmp_path / "sitemap.xml") == PAGES


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "none answers with the status 404, and no sitemap"),
        ("page", "page is no sitemap: line 1"),
        ("other", "other cannot be read: no route"),
    ],
)
def test_what_is_no_sitemap_is_named(name: str, message: str) -> None:
    with pytest.raises(ImportFailed, match=message):
        read(f"https://blog.example/{name}")


def test_a_blog_has_a_bounded_number_of_sitemaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blog_pages, "MOST", 1)
    with pytest.raises(ImportFailed, match="lists more than 1 sitemaps"):
        read("https://blog.example/index.xml")


def test_a_sitemap_has_no_more_than_the_protocol_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compressed, a few bytes may become so many addresses that the memory is full."""
    monkeypatch.setattr(blog_pages, "ENTRIES", 2)
    address = "https://blog.example/sitemap.xml"
    url = "<url><loc>https://blog.example/</loc></url>"
    for pack in (bytes, gzip.compress):
        assert len(blog_pages.parse(pack(f"<urlset>{url * 2}</urlset>".encode()), address)) == 2
        endless = pack(f"<urlset>{url * 3}".encode())
        with pytest.raises(ImportFailed, match="lists more than 2 addresses"):
            blog_pages.parse(endless, address)
    monkeypatch.setattr(blog_pages, "LIMIT", 1_048_576)
    with pytest.raises(ImportFailed, match="is larger than 1 MiB"):
        blog_pages.parse(gzip.compress(b"<urlset>" + b" " * 1_048_576), address)


def test_the_folder_of_a_build_has_sitemaps_or_files(tmp_path: Path) -> None:
    (tmp_path / "posts/one").mkdir(parents=True)
    for name in ("index.html", "404.html", "posts/one/index.html", "posts/one/style.css"):
        (tmp_path / name).touch()
    assert read(tmp_path) == {"/", "/404.html", "/posts/one/"}
    (tmp_path / "posts/sitemap.xml").write_text(LIST)
    assert read(tmp_path) == PAGES
