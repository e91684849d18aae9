"""The API for Artalk's client: what it counts, lists and posts."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commentsvc.http.messages import Response
from commentsvc.moderation.threads import set_state
from commentsvc.settings.schema import ServerSettings
from tests.unit.app_fixture import Served, data, served
from tests.unit.compat.test_waline import BLOG, ELSEWHERE, FOREIGN, delete

HERE = "https://comments.example"
API = "/artalk/api/v2"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    settings = replace(FOREIGN, server=ServerSettings(public_url=HERE))
    with served(tmp_path, settings) as service:
        yield service


def new(service: Served, content: str = "A *text*", **more: Any) -> Response:
    fields = {"name": "Tom", "email": "tom@b.example", "content": content, "page_key": "/p/"}
    return service.post(f"{API}/comments", {**fields, "site_name": "any", **more}, origin=BLOG)


def written(service: Served, content: str = "A *text*", **more: Any) -> int:
    answer = new(service, content, **more)
    assert answer.status == 200, answer.body
    return int(data(answer)["id"])


def listed(service: Served, query: str = "") -> Any:
    return data(service.get(f"{API}/comments?page_key=/p/&site_name=any{query}"))


def pairs(answer: Any) -> list[tuple[int, int]]:
    return [(each["id"], each["rid"]) for each in answer["comments"]]


def test_a_thread_is_listed_with_all_replies_of_its_top_level_comments(service: Served) -> None:
    first = written(service, link="blog.example", page_title="A post")
    reply = written(service, rid=first)
    deep = written(service, rid=reply)
    second = written(service, "a\n\n```\nb\n\n*c*\n```")
    page = listed(service, "&limit=1&offset=1&flat_mode=false")
    assert pairs(page) == [(first, 0), (reply, first), (deep, reply)]
    assert (page["count"], page["roots_count"]) == (4, 2)
    assert page["page"]["url"] == f"{BLOG}/p/"
    assert page["page"]["admin_only"] is False
    [last] = listed(service, "&limit=1")["comments"]
    assert last["id"] == second
    assert "\n\n" not in last["content"]
    assert page["comments"][0]["link"] == "http://blog.example"
    assert "tom@b.example" not in str(page)
    flat = listed(service, "&limit=2&offset=1&flat_mode=true&sort_by=date_asc")
    assert pairs(flat) == [(reply, 0), (deep, reply)]
    assert (flat["count"], flat["roots_count"]) == (4, 4)


def test_no_line_of_a_comment_is_read_as_markdown_again(service: Served) -> None:
    """The client reads `content` as Markdown, where HTML ends at a blank line."""
    written(service, "- ```\n  a\n   \n  [x](javascript:alert(1))\n\n\n  b\n  ```")
    [comment] = listed(service)["comments"]
    assert comment["content"].count("<em></em>") == 3
    assert all(line.strip() for line in comment["content"].rstrip("\n").split("\n"))


def test_comments_are_counted_by_page_and_on_the_site(service: Served) -> None:
    written(service)
    written(service, page_key="/q/")
    counted = service.get(
        f"{API}/stats/page_comment?page_keys=/p/,https://evil.example/&site_name=x"
    )
    assert data(counted) == {"data": {"/p/": 1, "https://evil.example/": 0}}
    assert counted.tags == ("thread:blog:/p/",)
    assert data(service.get(f"{API}/stats/site_comment")) == {"data": 2}
    many = ",".join(f"/{number}/" for number in range(101))
    assert service.get(f"{API}/stats/page_comment?page_keys={many}").status == 400


def test_the_client_is_told_to_fetch_nothing_from_elsewhere(service: Served) -> None:
    answer = service.get(f"{API}/conf")
    settings = data(answer)["frontend_conf"]
    assert settings["emoticons"] is False
    assert settings["gravatar"]["mirror"] == f"{HERE}/artalk/avatar/"
    assert settings["locale"] == "en"
    assert answer.tags == ("site:blog",)
    picture = service.get("/artalk/avatar/0123?site=blog")
    assert ("Content-Type", "image/svg+xml") in picture.headers
    assert data(service.get(f"{API}/user?name=a&email=b"))["user"] is None


def test_pictures_of_authors_are_ours_where_a_site_shows_them(tmp_path: Path) -> None:
    sites = tuple(replace(each, avatar_url="https://faces.example") for each in FOREIGN.sites)
    server = ServerSettings(public_url=HERE)
    with served(tmp_path, replace(FOREIGN, sites=sites, server=server)) as service:
        settings = data(service.get("/artalk-2017/api/v2/conf"))["frontend_conf"]["gravatar"]
    assert settings == {"mirror": f"{HERE}/api/avatar/", "params": "site=2017&fallback=1"}


def test_a_deleted_comment_is_left_out_and_its_replies_stay(service: Served) -> None:
    first = written(service, "Secret")
    reply = written(service, rid=first)
    deep = written(service, rid=reply)
    delete(service, first)
    assert pairs(listed(service)) == [(reply, 0), (deep, reply)]
    delete(service, reply)
    assert pairs(listed(service)) == [(deep, 0)]


def test_a_closed_page_takes_no_comments(service: Served) -> None:
    written(service)
    service.database.write_now(set_state, site="blog", url="/p/", state="closed")
    assert listed(service)["page"]["admin_only"] is True
    refused = new(service, "Late")
    assert refused.status == 400
    assert data(refused)["msg"]


def test_errors_are_texts_for_the_client_on_every_page(service: Served) -> None:
    for fields in ({"name": ""}, {"content": " "}, {"page_key": "https://evil.example/"}):
        sent: dict[str, Any] = {"content": "Hi", **fields}
        answer = new(service, **sent)
        assert answer.status == 400
        assert data(answer)["msg"]
        assert ("Access-Control-Allow-Origin", "*") in answer.headers
    for query in ("&limit=-1", "&offset=x", "&sort_by=any", "&flat_mode=1"):
        assert service.get(f"{API}/comments?page_key=/p/{query}").status == 400


def test_each_site_has_its_own_address(service: Served) -> None:
    written(service)
    assert data(service.get("/artalk-2017/api/v2/comments?page_key=/p/"))["count"] == 0
    settings = data(service.get("/artalk-2017/api/v2/conf"))["frontend_conf"]
    assert settings["gravatar"]["mirror"] == f"{HERE}/artalk-2017/avatar/"
    assert settings["gravatar"]["params"] == "site=2017"
    assert service.get("/artalk-without/api/v2/conf").status == 404


@pytest.mark.parametrize("name", ["Artalk.js", "Artalk.css", "ArtalkLite.js", "i18n/fr.js"])
def test_files_of_the_client_are_those_of_the_blog(service: Served, name: str) -> None:
    answer = service.get(f"/artalk/dist/{name}")
    location = dict(answer.headers)["Location"]
    assert (answer.status, location) == (302, f"{BLOG}/artalk-client/{name}")
    for other in ("embed.js", "../Artalk.js", "i18n/../x.js", "i18n/f%2Fr.js", ""):
        assert service.get(f"/artalk/dist/{other}").status == 404


def test_nobody_has_notifications_or_has_signed_in(service: Served) -> None:
    none = {"notifies": [], "count": 0}
    assert data(service.get(f"{API}/notifies?name=Tom&email=tom@b.example")) == none
    assert data(service.post(f"{API}/notifies/1/abc", {})) == none
    status = data(service.get(f"{API}/user/status?name=Tom&email=tom@b.example"))
    assert status == {"is_admin": False, "is_login": False}
    assert b"<a" not in service.get("/artalk/sidebar/?pageKey=/p/").body


def test_in_place_of_notifications_there_are_mails_where_there_is_mail(tmp_path: Path) -> None:
    settings = replace(FOREIGN, mail=replace(FOREIGN.mail, host="mail.example"))
    with served(tmp_path, settings) as service:
        shown = service.get("/artalk/sidebar/?pageKey=/p/%22%3E&user=any").body.decode()
    assert '<a href="../../follow?url=%2Fp%2F%2522%253E&amp;site=blog" target="_blank">' in shown


def test_votes_are_of_networks(service: Served) -> None:
    number = written(service)
    for direction, peer, wanted in (
        ("up", ELSEWHERE, (1, 0)),
        ("up", ELSEWHERE, (1, 0)),
        ("down", "203.0.113.1", (0, 0)),
        ("down", "233.252.0.1", (0, 1)),
    ):
        target = f"{API}/votes/comment_{direction}/{number}"
        answer = service.ask("POST", target, b"{}", peer, content_type="application/json")
        assert (data(answer)["up"], data(answer)["down"]) == wanted
    assert data(service.get(f"{API}/conf"))["frontend_conf"]["voteDown"] is True
    assert service.post(f"{API}/votes/comment_up/99", {}).status == 404


def test_views_of_pages_are_counted(service: Served) -> None:
    view = service.post(f"{API}/pages/pv", {"page_key": f"{BLOG}/p/", "page_title": "A"})
    assert data(view) == {"pv": 1}
    asyncio.run(service.views.store())
    counted = service.get(f"{API}/stats/page_pv?page_keys=/p/,/q/,https://evil.example/")
    assert data(counted) == {"data": {"/p/": 1, "/q/": 0, "https://evil.example/": 0}}
    assert "views:blog" in counted.tags
    other = "/artalk-2017/api/v2"
    assert data(service.get(f"{other}/conf"))["frontend_conf"]["pvAdd"] is False
    assert data(service.post(f"{other}/pages/pv", {"page_key": "/p/"})) == {"pv": 0}


@pytest.mark.parametrize("flat", ["true", "false"])
def test_all_numbers_of_comments_agree_after_a_deletion(service: Served, flat: str) -> None:
    first = written(service)
    written(service, "Reply", rid=first)
    written(service, "Another")
    delete(service, first)
    counted = data(service.get(f"{API}/stats/page_comment?page_keys=/p/"))["data"]
    assert counted == {"/p/": listed(service, f"&flat_mode={flat}")["count"]} == {"/p/": 2}
