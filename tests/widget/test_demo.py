"""The demo blog builds, does what its pages say, and loads nothing from other hosts."""

import re
from pathlib import Path

import pytest

from tests.conftest import invalid_html
from tests.widget.browser import build_blog

REDIRECT = "page/1/index.html"
HOST = "https://comments.example.org"


@pytest.fixture(scope="module")
def pages(hugo: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return path and HTML of each page."""
    folder = build_blog(hugo, HOST, tmp_path_factory.mktemp("demo"))
    files = folder.rglob("*.html")
    return {str(file.relative_to(folder)): file.read_text() for file in files}


def posts(pages: dict[str, str]) -> list[str]:
    return [html for path, html in pages.items() if re.fullmatch(r"posts/[^/]+/index.html", path)]


def test_there_are_enough_posts_to_turn_a_page(pages: dict[str, str]) -> None:
    assert len(posts(pages)) >= 12
    assert pages["index.html"].count("<comment-count ") == 10
    assert pages["page/2/index.html"].count("<comment-count ") >= 2


def test_the_front_page_loads_the_count_alone(pages: dict[str, str]) -> None:
    assert f'src="{HOST}/static/count.js"' in pages["index.html"]
    assert "comments.js" not in pages["index.html"]


def test_each_post_has_its_thread_and_a_link_for_readers_without_scripts(
    pages: dict[str, str],
) -> None:
    for html in posts(pages):
        [url] = re.findall(r'<comment-thread id="comments" url="(/posts/[^"]+/)">', html)
        [link] = re.findall(r'<noscript><a hreflang="en" href="([^"]+)">', html)
        path = url.replace("/", "%2f")
        assert link.lower() == f"{HOST}/embed/thread?url={path}&amp;view=page"
        assert f'src="{HOST}/static/comments.js"' in html


def test_the_html_of_each_page_is_valid(pages: dict[str, str]) -> None:
    """But that of page/1, with which Hugo leads to the front page."""
    assert not invalid_html({path: each for path, each in pages.items() if path != REDIRECT})


def test_the_service_may_be_where_the_blog_is(hugo: str, tmp_path: Path) -> None:
    build_blog(hugo, "", tmp_path)
    assert 'src="/static/count.js"' in (tmp_path / "index.html").read_text()


def test_no_page_has_inline_code_or_foreign_files(pages: dict[str, str]) -> None:
    for path, html in pages.items():
        assert not re.search(r"<script(?![^>]* src=)|<style| style=| on[a-z]+=", html), path
        for address in re.findall(r'(?:src|href)="([^"]*)"', html):
            assert address.startswith(("/", "#", HOST)), (path, address)
