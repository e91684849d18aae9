"""The API for Waline's client: what it counts, lists and posts."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from commentsvc.http.messages import Response
from commentsvc.model import DELETED
from commentsvc.moderation import authorized, changes, profiles
from commentsvc.settings.schema import CommentsSettings, Site
from commentsvc.util.timestamps import rfc3339
from tests.unit.admin_client import employ
from tests.unit.app_fixture import NOW, SETTINGS, Served, data, served

BLOG = "https://blog.example"
ELSEWHERE = "198.51.100.7"
SITES = (
    Site(
        name="blog", origins=(BLOG,), waline=True, artalk=True, views=True, reactions=("👍", "🎉")
    ),
    Site(name="2017", origins=("https://old.example",), waline=True, artalk=True),
    Site(name="without"),
)
FOREIGN = msgspec.structs.replace(
    SETTINGS, sites=SITES, comments=CommentsSettings(list_limit=6, votes="both")
)
NOW_MS = int(NOW * 1_000)
READ = "/waline/api/comment?lang=en"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, FOREIGN) as service:
        yield service


def new(service: Served, comment: str = "A *text*", site: str = "", **more: Any) -> Response:
    fields = {"nick": "Tom", "comment": comment, "url": "/p/", "ua": "any", **more}
    return service.post(f"/waline{site}/api/comment?lang=en", fields, origin=BLOG)


def written(service: Served, comment: str = "A *text*", **more: Any) -> int:
    answer = data(new(service, comment, **more))
    assert (answer["errno"], answer["errmsg"]) == (0, "")
    return int(answer["data"]["objectId"])


def listed(service: Served, query: str = "", page: str = "/p/") -> Any:
    return data(service.get(f"{READ}&path={page}{query}"))["data"]


def delete(service: Served, number: int) -> None:
    service.database.write_now(changes.change, [number], DELETED, "meg", NOW_MS)


def test_a_thread_is_listed_in_two_levels(service: Served) -> None:
    first = written(service, "First", link="blog.example/ann")
    reply = written(service, "Reply", pid=first, rid=first, at="Tom")
    deep = written(service, "Deep", pid=reply, rid=first)
    second = written(service, "Second *one*")
    page = listed(service, "&pageSize=1&page=1&sortBy=insertedAt_asc")
    assert {name: page[name] for name in ("page", "totalPages", "pageSize", "count")} == {
        "page": 1,
        "totalPages": 2,
        "pageSize": 1,
        "count": 4,
    }
    [top] = page["data"]
    assert (top["objectId"], top["link"], top["sticky"]) == (
        first,
        "http://blog.example/ann",
        False,
    )
    assert [each["objectId"] for each in top["children"]] == [reply, deep]
    assert [each["pid"] for each in top["children"]] == [first, reply]
    assert {each["rid"] for each in top["children"]} == {first}
    assert top["children"][1]["reply_user"] == {"nick": "Tom", "link": "", "avatar": ""}
    [last] = listed(service, "&pageSize=1&page=2&sortBy=insertedAt_asc")["data"]
    assert (last["objectId"], last["comment"]) == (second, "<p>Second <em>one</em></p>\n")
    assert [each["objectId"] for each in listed(service)["data"]] == [second, first]
    service.post(f"/api/comments/{first}/vote", {"value": 1})
    assert listed(service, "&sortBy=like_desc")["data"][0]["objectId"] == first
    assert listed(service, "&pageSize=1&page=9")["data"] == []
    [latest, *_] = data(service.get(f"{READ}&type=recent&count=2"))["data"]
    assert (latest["objectId"], latest["url"]) == (second, "/p/")


def test_version_2_gets_the_data_alone(service: Served) -> None:
    sent = {"nick": "Ann", "comment": "First", "url": "/p/", "mail": "ann@blog.example"}
    answer = data(service.post("/waline/comment?lang=en", sent))
    assert (answer["errno"], answer["data"]["nick"]) == (0, "Ann")
    for query in (
        "?path=/p/&page=1&pageSize=10",
        "?type=count&url=/p/,/q/",
        "?type=recent&count=5",
    ):
        old, new = (
            service.get(f"/waline/comment{query}"),
            service.get(f"/waline/api/comment{query}"),
        )
        assert data(old) == data(new)["data"]
        assert old.tags == new.tags != ()
    assert data(old)[0]["insertedAt"] == rfc3339(NOW_MS)
    refused = service.get("/waline/comment?path=%00")
    assert (refused.status, data(refused)["errno"]) == (400, 1000)


def test_no_more_is_listed_than_the_settings_allow(service: Served) -> None:
    first = written(service)
    for number in range(8):
        written(service, f"Reply {number}", pid=first)
    [top] = listed(service, "&pageSize=1000")["data"]
    assert 1 + len(top["children"]) == 6
    assert listed(service)["count"] == 9


def test_pages_are_counted_in_the_order_of_the_request(service: Served) -> None:
    written(service)
    written(service, url="/q/")
    written(service, "Another")
    counted = service.get(f"{READ}&type=count&url=/p/,https://evil.example/,/q/,/none/")
    assert data(counted)["data"] == [2, 0, 1, 0]
    assert set(counted.tags) == {"thread:blog:/p/", "thread:blog:/q/", "thread:blog:/none/"}
    many = ",".join(f"/{number}/" for number in range(101))
    refused = service.get(f"{READ}&type=count&url={many}")
    assert (refused.status, data(refused)["errno"]) == (400, 1000)


def test_answers_are_cached_until_a_comment_changes_them(service: Served) -> None:
    written(service)
    assert service.get(f"{READ}&path=/p/").tags == ("thread:blog:/p/",)
    assert service.get(f"{READ}&type=recent").tags == ("site:blog",)
    assert service.get(f"{READ}&path=/p/&anything=1").tags == ()


def test_a_deleted_comment_is_left_out_and_its_replies_stay(service: Served) -> None:
    first = written(service, "Secret")
    reply = written(service, "Reply", pid=first)
    delete(service, first)
    [shown] = listed(service)["data"]
    assert (shown["objectId"], shown["children"]) == (reply, [])
    assert b"Secret" not in service.get(f"{READ}&path=/p/").body


@pytest.mark.parametrize("pid", [1, 99])
def test_a_reply_to_a_comment_that_is_gone_is_listed(service: Served, pid: int) -> None:
    delete(service, written(service, "Secret"))
    reply = written(service, "I had begun to answer", pid=pid)
    assert [each["objectId"] for each in listed(service)["data"]] == [reply]


def test_a_comment_that_waits_is_not_listed(service: Served) -> None:
    links = " ".join(f"https://{number}.example/" for number in range(5))
    assert data(new(service, links))["data"]["status"] == "waiting"
    assert listed(service)["data"] == []


def test_an_answer_of_a_moderator_has_a_mark(service: Served) -> None:
    employ(service, "meg")
    first = written(service)
    meg = service.database.read_now(profiles.named, "meg").actor
    service.database.write_now(authorized.answer, meg, first, "From the owner", NOW_MS)
    [top] = listed(service)["data"]
    assert top["children"][0]["type"] == "administrator"
    assert "type" not in top


def test_errors_are_texts_for_the_client_on_every_page(service: Served) -> None:
    for fields in ({"nick": ""}, {"comment": " "}, {"url": "https://evil.example/"}):
        sent: dict[str, Any] = {"comment": "Hi", **fields}
        answer = new(service, **sent)
        assert (answer.status, data(answer)["errno"]) == (400, 1000)
        assert data(answer)["errmsg"]
        assert ("Access-Control-Allow-Origin", "*") in answer.headers
    form = service.ask("POST", "/waline/api/comment", b"{}", content_type="text/plain")
    assert form.status == 403
    half = service.ask("POST", "/waline/api/comment", b"[", content_type="application/json")
    assert half.status == 400
    foreign = service.post("/waline/api/comment", {}, origin="https://evil.example")
    assert foreign.status == 400
    for query in ("&type=list", "&page=0", "&pageSize=x", "&sortBy=any", f"&page={10**10}"):
        assert service.get(READ + query).status == 400


def test_a_page_of_another_blog_cannot_post(service: Served) -> None:
    fields = {"nick": "Tom", "comment": "Hi", "url": "/p/"}
    answer = service.post("/waline/api/comment", fields, origin="https://evil.example")
    assert answer.status == 403
    assert listed(service)["data"] == []


def test_each_site_has_its_own_address(service: Served) -> None:
    written(service)
    assert data(service.get("/waline-2017/api/comment?path=/p/"))["data"]["data"] == []
    assert service.get("/waline-without/api/comment?path=/p/").status == 404


def change(service: Served, number: int, *, like: object, peer: str = ELSEWHERE) -> Response:
    body = json.dumps({"like": like}).encode()
    headers = {"content_type": "application/json", "authorization": "Bearer ", "origin": BLOG}
    return service.ask("PUT", f"/waline/api/comment/{number}?lang=en", body, peer, **headers)


def test_the_heart_is_a_vote_of_the_network_that_it_can_take_back(service: Served) -> None:
    number = written(service)
    for like, votes in ((True, 1), (True, 1), (False, 0), (False, 0), (True, 1)):
        answer = change(service, number, like=like)
        assert (answer.status, data(answer)["errno"]) == (200, 0)
        assert listed(service)["data"][0]["like"] == votes
    assert change(service, number, like=True, peer="203.0.113.9").status == 200
    assert change(service, number, like=False, peer="203.0.113.99").status == 200
    assert listed(service)["data"][0]["like"] == 1
    assert change(service, number, like=True, peer="192.0.2.1").status == 200
    assert listed(service)["data"][0]["like"] == 1, "nobody votes for the own comment"


def test_a_heart_for_another_site_or_of_another_blog_is_refused(service: Served) -> None:
    fields = {"nick": "Tom", "comment": "There", "url": "/p/"}
    number = int(data(service.post("/waline-2017/api/comment", fields))["data"]["objectId"])
    delete(service, gone := written(service))
    for unknown in (number, gone, 99, 0):
        assert change(service, unknown, like=True).status == 404
    assert change(service, written(service), like="yes").status == 400
    body = b'{"like": true}'
    headers = {"content_type": "application/json", "origin": "https://evil.example"}
    answer = service.ask("PUT", f"/waline/api/comment/{written(service)}", body, **headers)
    assert answer.status == 403


def test_a_heart_changes_nothing_where_votes_are_off(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(FOREIGN, comments=CommentsSettings(votes="off"))
    with served(tmp_path, settings) as service:
        number = written(service)
        assert change(service, number, like=True).status == 200
        assert listed(service)["data"][0]["like"] == 0


def numbers(service: Served, query: str, version: str = "/api") -> Any:
    answer = data(service.get(f"/waline{version}/article?{query}&lang=en"))
    return answer["data"] if version else answer


def note(service: Served, kind: str, action: str = "inc", version: str = "/api") -> Any:
    fields = {"path": "/p/", "type": kind, "action": action}
    target = f"/waline{version}/article?lang=en"
    headers = {"content_type": "application/json", "origin": BLOG}
    answer = service.ask("POST", target, json.dumps(fields).encode(), ELSEWHERE, **headers)
    assert answer.status == 200, answer.body
    return data(answer)["data"] if version else data(answer)


def test_reactions_are_the_sites_in_their_order(service: Served) -> None:
    written(service)
    assert note(service, "reaction1") == [{"reaction1": 1}]
    assert note(service, "reaction1") == [{"reaction1": 1}]
    counts = data(service.get("/api/comments/counts?url=/p/&reactions=yes"))["reactions"]
    assert counts["/p/"] == {"👍": 0, "🎉": 1}
    query = "path=/p/,/q/,https://evil.example/&type=reaction0,reaction1,reaction8"
    some, none = (
        {"reaction0": 0, "reaction1": 1, "reaction8": 0},
        dict.fromkeys(("reaction0", "reaction1", "reaction8"), 0),
    )
    assert numbers(service, query) == [some, none, none]
    assert numbers(service, query, version="") == [some, none, none]
    assert numbers(service, "path=/p/&type=reaction0,reaction1", "") == {
        "reaction0": 0,
        "reaction1": 1,
    }
    assert note(service, "reaction8") == [{"reaction8": 0}]
    assert note(service, "reaction1", "desc", version="") == 0
    assert note(service, "reaction1", "desc") == [{"reaction1": 0}]


def test_views_are_those_of_the_site(service: Served) -> None:
    assert note(service, "time") == [{"time": 1}]
    assert note(service, "time", version="") == 1
    asyncio.run(service.views.store())
    assert numbers(service, "path=/p/,/q/&type=time") == [{"time": 2}, {"time": 0}]
    assert numbers(service, "path=/p/,/q/&type=time", version="") == [2, 0]
    assert numbers(service, "path=/p/", version="") == 2
    answer = service.get("/waline/api/article?path=/p/&type=time&lang=en")
    assert set(answer.tags) == {"thread:blog:/p/", "views:blog"}
    many = ",".join(f"/{number}/" for number in range(101))
    assert service.get(f"/waline/api/article?path={many}").status == 400


def test_nothing_is_counted_where_views_and_reactions_are_off(tmp_path: Path) -> None:
    sites = tuple(msgspec.structs.replace(each, views=False, reactions=()) for each in SITES)
    with served(tmp_path, msgspec.structs.replace(FOREIGN, sites=sites)) as service:
        for kind in ("time", "reaction0"):
            assert note(service, kind) == [{kind: 0}]


def test_links_to_feeds_lead_to_ours(service: Served) -> None:
    written(service)
    for query, wanted in (("?path=/p/", "url=%2Fp%2F&site=blog"), ("", "site=blog")):
        answer = service.get(f"/waline/api/comment/rss{query}")
        assert answer.status == 302
        location = dict(answer.headers)["Location"]
        assert location == f"../../../feed.atom?{wanted}"
        assert service.get(location.removeprefix("../../..")).status == 200


def test_all_numbers_of_comments_agree_after_a_deletion(service: Served) -> None:
    first = written(service)
    written(service, "Reply", pid=first)
    written(service, "Another")
    delete(service, first)
    counted = data(service.get(f"{READ}&type=count&url=/p/"))["data"]
    assert counted == [listed(service)["count"]] == [2]
