"""The page of readers' search: results lead to their comments without JavaScript."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from commentsvc.comments import search
from tests.unit.app_fixture import SETTINGS, Served, served
from tests.unit.database_fixture import add


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, SETTINGS) as running:
        yield running


def fill(service: Served, number: int) -> None:
    for each in range(number):
        add(service.database, url="/p/", source=f"word n{each}", html=f"<p>word n{each}</p>")
    service.database.write_now(search.index_pending, 1_000)


@pytest.mark.parametrize(("number", "is_offered"), [(50, False), (51, True)])
def test_the_page_of_a_long_thread_has_a_search(
    service: Served, number: int, is_offered: bool
) -> None:
    fill(service, number)
    page = service.get("/embed/thread?url=/p/&view=page").body
    assert (b'role="search"' in page) == is_offered
    assert b'role="search"' not in service.get("/embed/thread?url=/p/").body


def test_each_result_leads_to_its_comment_in_the_thread(service: Served) -> None:
    """Also in one that has several parts."""
    fill(service, 120)
    for word in ("n0", "n60", "n119"):
        page = service.get(f"/embed/search?q={word}&url=/p/&site=blog&lang=de").body.decode()
        [link] = re.findall(r'<li>.*?<a href="(thread[^"]*)"', page, re.DOTALL)
        target, _, fragment = unescape(link).partition("#")
        assert f' id="{fragment}"' in service.get(f"/embed/{target}").body.decode()
        assert "lang=de" in target
        assert "site=blog" in target


def test_the_page_goes_on_and_says_where_nothing_is_found(service: Served) -> None:
    fill(service, 12)
    page = service.get("/embed/search?q=word").body.decode()
    assert page.count("<li>") == 10
    [more] = re.findall(r'<a class="commentsvc-button" href="([^"]*)"', page)
    assert service.get(f"/embed/{unescape(more)}").body.decode().count("<li>") == 2
    assert "No comment has these words." in service.get("/embed/search?q=none").body.decode()
    assert "No comment" not in service.get("/embed/search").body.decode()
    page = service.get('/embed/search?q="><script>x').body.decode()
    assert "<script" not in page
    assert "&#34;&gt;&lt;script&gt;x" in page


def test_too_long_words_are_searched_by_their_beginning_and_an_error_is_a_page(
    service: Served,
) -> None:
    page = service.get(f"/embed/search?q={'a' * 100_000}").body
    assert b'value="' + b"a" * 100 + b'"' in page
    assert len(page) < 5_000
    answer = service.get("/embed/search?before=0")
    assert answer.status == 400
    assert b"<!DOCTYPE html>" in answer.body
