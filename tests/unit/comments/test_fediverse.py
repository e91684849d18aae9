"""The posts about a page that readers are told of: who is told, and that no answer is stale."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.comments import fediverse
from commentsvc.comments.page_urls import PageRef
from commentsvc.mentions import store
from tests.unit.app_fixture import SETTINGS, Served, data, served

POST = "https://mastodon.example/@ann/1"
BLOG = replace(SETTINGS.sites[0], social_accounts=("https://mastodon.example/@ann",))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, replace(SETTINGS, sites=(BLOG, SETTINGS.sites[1]))) as running:
        yield running


def follow(service: Served, address: str, site: str = "blog") -> None:
    service.database.write_now(store.follow, PageRef(site, "/p/"), address, 1)


def test_readers_are_told_of_the_posts_about_a_page(service: Served) -> None:
    assert "posts" not in data(service.get("/api/comments?url=/p/"))
    follow(service, POST)
    assert "thread:blog:/p/" in service.purged
    service.purged.clear()
    follow(service, POST)
    assert not service.purged, "it is known"
    answer = service.get("/api/comments?url=/p/")
    assert data(answer)["posts"] == [POST]
    assert answer.tags == ("thread:blog:/p/",)
    assert "posts" not in data(service.get("/api/comments?url=/q/"))
    for query in ("", "&view=page"):
        page = service.get(f"/embed/thread?url=/p/{query}").body.decode()
        assert f'<a href="{POST}" rel="nofollow">Reply from your Mastodon account</a>' in page


def test_no_account_on_mastodon_can_reply_to_these_posts(service: Served) -> None:
    for each in ("https://bsky.app/profile/a.example/post/1", "at://a/app.bsky.feed.post/1"):
        follow(service, each)
    follow(service, POST, "notes")
    assert "posts" not in data(service.get("/api/comments?url=/p/"))
    assert "posts" not in data(service.get("/api/comments?url=/p/&site=notes")), "it has no posts"


def test_an_answer_names_few_posts(service: Served) -> None:
    for number in range(9):
        follow(service, f"https://mastodon.example/@ann/{number}")
    assert len(data(service.get("/api/comments?url=/p/"))["posts"]) == fediverse.MOST_POSTS
