"""Every page of ours: its HTML is valid, and it names the blog and leads back."""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest

from tests.conftest import invalid_html
from tests.unit.every_page import (
    BLOG,
    MODERATION,
    PAGE,
    PAGES,
    REACTING,
    REACTIONS,
    THREAD,
    TITLE,
    WHOLE,
    WITHOUT,
    Visit,
    mails,
    of_errors,
    shown,
    visited,
)

AROUND = """<!DOCTYPE html>
<html lang="en">
<head><title>A page</title></head>
<body><main><h1>A page</h1><comment-thread>…</comment-thread></main></body>
</html>
"""

pytestmark = pytest.mark.sqlite_only("it is about pages")


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """Return the service for tests that change nothing in it."""
    with visited(tmp_path_factory.mktemp("visit")) as visit:
        yield visit


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the HTML of each page in each state."""
    with visited(tmp_path_factory.mktemp("pages")) as visit:
        return dict(shown(visit, PAGES | MODERATION))


def of_readers(pages: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield those of `pages` that are for readers."""
    yield from ((name, html) for name, html in pages.items() if name.rpartition(" ")[0] in PAGES)


def test_each_route_with_pages_is_in_the_tables(visit: Visit) -> None:
    routes = {
        f"{each.method} {each.pattern}"
        for each in (*visit.service.routes, *visit.service.pages)
        if each.operation is None
        or each.operation.for_moderators
        or any(content.media_type == "text/html" for content in each.operation.answers.values())
    }
    assert routes == {*PAGES, *MODERATION, *WITHOUT}


@pytest.mark.locked_only("the other tests show each page")
def test_the_html_of_each_page_is_valid(visit: Visit, pages: dict[str, str]) -> None:
    """html-validate's recommended rules, but those in config/html/validate.mjs."""
    parts = dict[str, str]()
    for query in ("", "&lang=ar", "&closed=yes"):  # as builds put it into a page
        part = visit.get(f"/embed/thread?url={PAGE}&site=blog{query}").body.decode()
        parts[f"fragment {query}"] = AROUND.replace("…", part)
    assert not invalid_html(pages | of_errors(WHOLE) | parts)


def test_each_field_for_words_says_how_long_they_may_be(pages: dict[str, str]) -> None:
    """A browser then takes no longer ones. What was refused is shown whole, to be shortened."""
    field = re.compile(
        r'<textarea[^>]*>|<input(?=[^>]*type="(?:text|email|url|password|search)")[^>]*>'
    )
    for name, html in pages.items():
        for found in field.findall(html):
            is_typed = not re.search(r' (hidden|tabindex="-1"|aria-label="You wrote:")', found)
            assert not is_typed or re.search(r' maxlength="[1-9]\d*"', found), (name, found)


def test_each_page_for_readers_names_the_blog_and_leads_back(pages: dict[str, str]) -> None:
    """Or names all blogs, where nobody knows which one the reader comes from."""
    for name, html in of_readers(pages):
        assert f'<a href="{BLOG}/"' in html, name
        assert escape(TITLE) in html, name


def test_a_page_names_no_fields_of_the_api_and_asks_to_try_again_only_where_one_can(
    visit: Visit, pages: dict[str, str]
) -> None:
    for name, html in of_readers(pages):
        assert "Please look at" not in html, name
        if "Try again</h1>" in html:
            assert "<textarea" in html, name
        for field in re.findall(r'role="alert"[^>]*><a href="#([^"]+)"', html):
            assert f' id="{field}"' in html, name
    assert b"This did not work</h1>" in visit.get("/comment/9").body


def test_what_a_reader_asks_for_on_a_page_names_its_blog_alone(visit: Visit) -> None:
    page = visit.get(f"/embed/thread?{THREAD}").body.decode()
    [own] = re.findall(r'href="\.\.(/mail/own[^"]*)"', page)
    for answer in (visit.get(own), visit.form(own, "email=x@home.example")):
        assert BLOG.encode() in answer.body
        assert b"notes.example" not in answer.body


def test_the_headings_of_mails_begin_where_their_language_begins(visit: Visit) -> None:
    """Regression: with a Hebrew name, an English heading was shown from the right."""
    for name, html in mails(visit).items():
        for heading in re.findall("<h[12]>(.*)</h[12]>", html):
            assert not heading.startswith("<bdi"), name


def test_errors_of_moderation_pages_name_the_blogs(visit: Visit) -> None:
    html = visit.seat.get("comment?id=99").body.decode()
    assert "This did not work" in html
    assert f'<a href="{BLOG}/" dir="auto">{escape(TITLE)}</a>' in html


def test_a_link_of_a_moderator_that_is_over_leads_to_the_sign_in(visit: Visit) -> None:
    over = [f"comment?{visit.decision('approved', 7, -1)}", "comment?t=x", "answer?t=x"]
    for target in over:
        for answer in (visit.get(f"/mail/{target}"), visit.form(f"/mail/{target}", "")):
            assert answer.status in (404, 410)
            html = answer.body.decode()
            assert 'href="../moderation">Sign in to moderate</a>' in html
    for target in ("stop?t=x", "export?t=x", "follow?t=x"):
        assert b"moderation" not in visit.get(f"/mail/{target}").body


def test_the_pages_of_reactions_to_comments_are_valid_and_lead_back(tmp_path: Path) -> None:
    with visited(tmp_path, REACTING) as visit:
        pages = dict(shown(visit, REACTIONS))
    assert any("commentsvc-emoji" in html for html in pages.values())
    assert not invalid_html(pages)
    for name, html in pages.items():
        assert f'<a href="{BLOG}/"' in html, name
        assert escape(TITLE) in html, name
