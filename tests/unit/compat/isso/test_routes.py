"""The API for Isso's clients, compared with the recorded answers of a real Isso."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from commentsvc.comments import pagination
from commentsvc.comments.submission import avatar
from commentsvc.compat.isso import messages, routes
from commentsvc.db.schema.comments import CommentTable
from commentsvc.http.messages import Response
from commentsvc.model import DELETED, PENDING, SPAM
from commentsvc.settings.schema import (
    CommentsSettings,
    MailSettings,
    PrivacySettings,
    Site,
)
from commentsvc.util.timestamps import MINUTE_MS
from docs.generate import operations
from tests.unit.admin_client import employ
from tests.unit.app_fixture import SETTINGS, Served, data, served, waiting
from tests.unit.compat.isso.pairs import Player, Reply, recorded
from tests.unit.database_fixture import decide

BLOG = "https://blog.example"
SITES = (
    Site(name="blog", origins=(BLOG,), isso=True),
    Site(name="2017", origins=("https://old.example", "https://www.example"), isso=True),
    Site(name="without"),
)
SETTINGS_OF_ISSO = msgspec.structs.replace(
    SETTINGS, sites=SITES, comments=CommentsSettings(votes="both", list_limit=50)
)
GOOD = {"text": "A *text*", "author": "Tom", "title": "A title"}
ELSEWHERE = "203.0.113.9"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    """Return a service with two sites that answer Isso's clients, and one that does not."""
    with served(tmp_path, SETTINGS_OF_ISSO) as service:
        yield service


def fields(response: Response) -> dict[str, str]:
    return dict(response.headers)


def new(service: Served, text: str = "A *text*", page: str = "/p/", **more: Any) -> Response:
    return service.post(f"/isso/new?uri={page}", GOOD | {"text": text} | more, origin=BLOG)


def written(service: Served, text: str = "A *text*", **more: Any) -> tuple[int, str]:
    """Write a comment; return its id, and the cookie that its author gets."""
    answer = new(service, text, **more)
    assert answer.status == 201
    return data(answer)["id"], fields(answer)["Set-Cookie"].partition(";")[0]


def listed(service: Served, query: str = "") -> Any:
    return data(service.get(f"/isso/?uri=/p/&offset=0{query}"))


def change(service: Served, method: str, number: int, cookie: str = "", **more: str) -> Response:
    body = b'{"text": "Changed"}' if method == "PUT" else b""
    headers = {"cookie": cookie, "content_type": "application/json", **more}
    return service.ask(method, f"/isso/id/{number}", body, **headers)


def test_what_a_real_isso_answered_is_answered_alike(tmp_path: Path) -> None:
    site = Site(name="blog", origins=("http://blog.example",), isso=True)
    settings = msgspec.structs.replace(
        SETTINGS,
        sites=(site,),
        comments=CommentsSettings(votes="both"),
        moderation=msgspec.structs.replace(SETTINGS.moderation, policy="none"),
    )
    pairs = recorded()
    assert len(pairs) >= 200
    with served(tmp_path, settings) as service:

        def send(method: str, target: str, body: bytes, headers: dict[str, str]) -> Reply:
            peer = headers.pop("X-Forwarded-For")
            names = {name.lower().replace("-", "_"): value for name, value in headers.items()}
            service.now += 1
            answer = service.ask(method, f"/isso{target}", body, peer, **names)
            return Reply(answer.status, fields(answer), answer.body)

        player = Player(send)
        different = [
            (step, answer, ours) for step, answer in pairs if (ours := player.play(step)) != answer
        ]
    assert different == []


def test_a_reply_to_a_reply_hangs_under_the_top_comment(service: Served) -> None:
    top, _ = written(service)
    reply, _ = written(service, "A reply", parent=top)
    deep = data(service.submit("By our own widget", parent=reply))["comment"]["id"]
    assert data(new(service, "A reply to it", parent=deep))["parent"] == top
    [shown] = listed(service)["replies"]
    assert [each["parent"] for each in shown["replies"]] == [top] * 3
    assert data(service.get("/isso/latest?limit=2"))[1]["parent"] == top


def test_a_deleted_comment_with_replies_is_answered_and_voted_for_as_in_isso(
    service: Served,
) -> None:
    top, cookie = written(service)
    reply, reply_cookie = written(service, "A reply", parent=top)
    assert change(service, "DELETE", top, cookie).status == 200
    assert data(new(service, "A late reply", parent=top))["parent"] == top
    vote = data(service.ask("POST", f"/isso/id/{top}/like", peer=ELSEWHERE))
    assert vote == {"likes": 1, "dislikes": 0}
    [shown] = listed(service)["replies"]
    assert (shown["mode"], shown["likes"], shown["total_replies"]) == (4, 1, 2)
    assert change(service, "DELETE", reply, reply_cookie).status == 200
    assert data(new(service, "To a deleted reply", parent=reply))["parent"] is None


def test_a_reply_to_a_comment_that_is_gone_becomes_a_comment_as_in_isso(service: Served) -> None:
    top, cookie = written(service)
    elsewhere = data(new(service, page="/elsewhere/"))["id"]
    assert change(service, "DELETE", top, cookie).status == 200
    for parent in (top, elsewhere, 999, 0, -1, 10**30):
        answer = new(service, f"A reply to {parent}", parent=parent)
        assert (answer.status, data(answer)["parent"]) == (201, None)
    assert listed(service)["total_replies"] == 6


def test_names_and_addresses_that_isso_takes_lose_no_comment(service: Served) -> None:
    for number, (author, email) in enumerate(
        (("x" * 500, "a@mail.example"), ("Ann", "no address"), ("B" * 81, "a@b"), ("C", "x" * 254))
    ):
        answer = new(service, f"Text {number}", author=author, email=email, notification=1)
        assert (answer.status, data(answer)["author"]) == (201, author[:80])
    for number, (email, website, shown) in enumerate(
        (
            ("a@mail.example", "http://[2001:db8::1", None),
            ("a@mail.example", "Https://ann.example", "https://ann.example"),
            ("a@mail.example", "http://user@ann.example", None),
        )
    ):
        answer = new(service, f"Other {number}", email=email, website=website)
        assert (answer.status, data(answer)["website"]) == (201, shown)
    assert new(service, "Text", email="x" * 255).status == 400
    assert {each.comment.email for each in service.stored()} == {"a@mail.example", ""}


def test_sort_or_offset_ask_for_the_number_of_all_comments(service: Served) -> None:
    for number in range(3):
        top, _ = written(service, f"Comment {number}")
    written(service, "A reply", parent=top)
    for query, total in (("", 3), ("&limit=2", 3), ("&sort=newest", 4), ("&offset=0", 4)):
        assert data(service.get(f"/isso/?uri=/p/{query}"))["total_replies"] == total
    skipped = data(service.get("/isso/?uri=/p/&offset=2"))
    assert (len(skipped["replies"]), skipped["hidden_replies"]) == (3, 0), "there is no limit"
    assert len(data(service.get("/isso/?uri=/p/&offset=2&limit=5"))["replies"]) == 1


def test_comments_that_are_too_long_for_an_answer_are_counted_as_hidden(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = pagination.AROUND + 60  # with its HTML and name
    monkeypatch.setattr(pagination, "TEXTS", 3 * one)
    first, _ = written(service, "1" * 20)
    second, _ = written(service, "2" * 20)
    for text in ("A reply of 20 chars.", "Another of 20 chars."):
        written(service, text, parent=first)
    shown = listed(service)
    assert [each["id"] for each in shown["replies"]] == [first, second]
    assert shown["hidden_replies"] == 0
    assert [each["hidden_replies"] for each in shown["replies"]] == [1, 0]
    monkeypatch.setattr(pagination, "TEXTS", one)
    shown = listed(service)
    assert [each["id"] for each in shown["replies"]] == [first]
    assert shown["hidden_replies"] == 1


def test_every_way_in_shows_the_same_comments(service: Served) -> None:
    written(service, "By Isso's client")
    service.submit("By ours")
    assert [each["text"] for each in listed(service, "&plain=1")["replies"]] == [
        each["content"] for each in data(service.get("/comments?url=/p/"))["data"]
    ]
    assert data(service.post("/isso/count", ["/p/"])) == [2]


def test_all_that_a_list_tells_is_purged_with_the_thread(service: Served) -> None:
    for target in ("/isso/?uri=/p/", "/isso/?uri=/p/&offset=0&limit=5", "/isso/feed?uri=/p/"):
        assert service.get(target).tags == ("thread:blog:/p/",)
    assert service.get("/isso/latest?limit=5").tags == ("site:blog",)
    assert service.get("/isso/?uri=/p/&anything=1").tags == ()
    service.purged.clear()
    written(service)
    assert {"thread:blog:/p/", "site:blog"} <= {*service.purged}


def test_a_long_thread_is_bounded_and_says_what_it_left_out(service: Served) -> None:
    top, _ = written(service, "Top 0")
    for number in range(3):
        written(service, f"Reply {number}", parent=top)
    for number in range(1, 60):
        written(service, f"Top {number}")
    whole = listed(service)
    assert whole["total_replies"] == 63
    assert (len(whole["replies"]), whole["hidden_replies"]) == (50, 10)
    assert whole["replies"][0]["hidden_replies"] == 3
    part = listed(service, "&limit=2&nested_limit=2")
    assert (len(part["replies"]), part["hidden_replies"]) == (2, 58)
    assert [part["replies"][0][key] for key in ("total_replies", "hidden_replies")] == [3, 1]
    assert data(service.get(f"/isso/?uri=/p/&limit={10**15}&offset={10**15}"))["replies"] == []


def test_version_0_13_counts_and_goes_on_in_its_own_way(service: Served) -> None:
    """This client adds up the replies itself, and continues after the last date it has seen."""
    top, _ = written(service, "Top 0")
    written(service, "A reply", parent=top)
    for number in range(1, 5):
        written(service, f"Top {number}")
    first = data(service.get("/isso/?uri=/p/&limit=2"))
    assert (first["total_replies"], first["hidden_replies"]) == (5, 3)
    after = first["replies"][-1]["created"]
    rest = data(service.get(f"/isso/?uri=/p/&limit=5&after={after!r}"))
    assert [each["text"] for each in rest["replies"]] == [f"<p>Top {n}</p>\n" for n in (2, 3, 4)]
    assert rest["hidden_replies"] == 0


def test_names_and_web_sites_cannot_carry_html(service: Served) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    written(service, "<script>alert(1)</script>", author=hostile, website="https://x.example/'a")
    [shown] = listed(service)["replies"]
    assert shown["author"] == "&lt;img src=x onerror=alert(1)&gt;"
    assert shown["website"] == "https://x.example/&#x27;a"
    assert "<script" not in shown["text"]
    assert new(service, website="javascript:alert(1)").status == 400
    assert "<" not in data(service.get("/isso/latest?limit=1"))[0]["author"]


def test_hashes_tell_authors_apart_and_nothing_else(service: Served) -> None:
    for author, email in (("Ann", "a@x.example"), ("Bea", " A@x.example "), ("Ann", None)):
        written(service, f"Text {author} {bool(email)}", author=author, email=email)
    hashes = [each["hash"] for each in listed(service)["replies"]]
    assert hashes[0] == hashes[1] != hashes[2]
    assert all(len(each) == 12 and int(each, 16) for each in hashes)
    assert b"x.example" not in service.get("/isso/?uri=/p/").body


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_comment_is_changed_by_the_cookie_of_its_author_alone(
    service: Served, method: str
) -> None:
    number, cookie = written(service)
    other, foreign = written(service, "Another")
    token = cookie.partition("=")[2]
    for wrong in (
        "",
        foreign,
        f"{number}={foreign.partition('=')[2]}",
        f"{number}=",
        f"isso-{cookie}",
        f"{other}={token}",
        f"{number}={token}x",
        f"{number}={token[:-1]}",
    ):
        assert change(service, method, number, wrong).status == 403, wrong
    assert change(service, method, number, cookie, origin="https://evil.example").status == 403
    assert change(service, method, 999, f"999={token}").status == (404 if method == "GET" else 403)
    service.now += 15 * MINUTE_MS / 1_000
    assert change(service, method, number, cookie).status == 403
    assert [each["text"] for each in listed(service, "&plain=1")["replies"]] == [
        "A *text*",
        "Another",
    ]


def test_a_replayed_cookie_brings_no_comment_back(service: Served) -> None:
    number, cookie = written(service)
    answer = change(service, "DELETE", number, f"a=b; {cookie}; c=d")
    assert answer.body == b"null"
    assert "Max-Age=0" in fields(answer)["Set-Cookie"]
    assert change(service, "PUT", number, cookie).status == 403
    assert change(service, "DELETE", number, cookie).status == 403
    assert change(service, "GET", number, cookie).status == 404
    assert listed(service)["replies"] == []


def test_a_cookie_is_for_the_service_alone(service: Served) -> None:
    answer = new(service)
    sent, shown = fields(answer)["Set-Cookie"], fields(answer)["X-Set-Cookie"]
    assert sent.endswith("; Max-Age=900; Path=/; HttpOnly; SameSite=Lax")
    assert shown == "isso-1=1; Max-Age=900; Path=/; SameSite=Lax"


def test_cookies_of_a_service_with_https_reach_it_from_another_site(tmp_path: Path) -> None:
    server = msgspec.structs.replace(SETTINGS.server, public_url="https://comments.example")
    with served(tmp_path, msgspec.structs.replace(SETTINGS_OF_ISSO, server=server)) as service:
        assert fields(new(service))["Set-Cookie"].endswith("; SameSite=None; Secure; Partitioned")


def test_an_edit_is_judged_as_a_submission_is(service: Served) -> None:
    number, cookie = written(service)
    body = json.dumps({"text": " ".join(f"https://{n}.example/" for n in range(9))}).encode()
    headers = {"cookie": cookie, "content_type": "application/json"}
    assert data(service.ask("PUT", f"/isso/id/{number}", body, **headers))["mode"] == 2
    assert data(service.post("/isso/count", ["/p/"])) == [0]


def test_an_author_changes_the_name_under_the_rules_for_every_comment(service: Served) -> None:
    employ(service, "mara")
    number, cookie = written(service, website="https://tom.example")
    headers = {"cookie": cookie, "content_type": "application/json"}

    def put(**changes: object) -> Response:
        body = json.dumps({"text": "A *text*"} | changes).encode()
        return service.ask("PUT", f"/isso/id/{number}", body, **headers)

    service.purged.clear()
    assert (data(put(author="  Tom\u202e T. "))["author"], put(author="").status) == ("Tom T.", 200)
    assert "thread:blog:/p/" in service.purged
    [shown] = listed(service)["replies"]
    assert (shown["author"], shown["website"]) == ("Tom T.", "https://tom.example")
    assert shown["modified"] is not None
    assert data(put(author="x" * 200))["author"] == "x" * 80, "Isso's client shows no error"
    assert data(put(author="\x07"))["author"] == "x" * 80, "as for an empty name"
    assert (data(put(author="Mara"))["mode"], listed(service)["replies"]) == (2, [])


@pytest.mark.parametrize("public_url", ["https://c.example/comments", ""])
def test_pictures_of_authors_are_ours_where_a_site_shows_them(
    tmp_path: Path, public_url: str
) -> None:
    sites = tuple(msgspec.structs.replace(s, avatar_url="https://faces.example") for s in SITES[:2])
    server = msgspec.structs.replace(SETTINGS.server, public_url=public_url)
    settings = msgspec.structs.replace(SETTINGS_OF_ISSO, sites=sites, server=server)
    with served(tmp_path, settings) as service:
        number, cookie = written(service, email="tom@blog.example")
        written(service, "A reply", parent=number)
        assert change(service, "DELETE", number, cookie).status == 200
        written(service, "Another", email=" Tom@blog.example")
        service.post("/isso-2017/new?uri=/p/", GOOD)
        top = listed(service)["replies"]
        shown = [*top, *top[0]["replies"], *data(service.get("/isso-2017/?uri=/p/"))["replies"]]
        pictures = [each.get("gravatar_image") for each in shown]
        config = data(service.get("/isso/config"))["config"]
    avatars = f"{public_url}/api/avatar"
    expected = [
        f"{avatars}/0?fallback=1",  # it is deleted
        f"{avatars}/{avatar('tom@blog.example')}?fallback=1",
        f"{avatars}/0?fallback=1",  # without an email address
        f"{avatars}/0?site=2017&fallback=1",
    ]
    assert pictures == (expected if public_url else [None] * 4)
    assert config["gravatar"] == bool(public_url)
    assert config.get("avatar", "drawn by the client") == (
        False if public_url else "drawn by the client"
    )


def test_who_has_signed_in_keeps_the_name(service: Served) -> None:
    number, cookie = written(service)
    signed = CommentTable.update(reader_id=1).where(CommentTable.id == number)
    service.database.write_now(lambda tx: tx.change(signed))
    body = b'{"text": "Mine", "author": "Eva", "website": "https://eva.example"}'
    headers = {"cookie": cookie, "content_type": "application/json"}
    answer = data(service.ask("PUT", f"/isso/id/{number}", body, **headers))
    assert [answer[key] for key in ("text", "author", "website")] == ["<p>Mine</p>\n", "Tom", None]


def test_what_ours_refuses_is_refused_here(service: Served) -> None:
    employ(service, "mara")
    assert data(new(service, author="Mara"))["mode"] == 2
    links = " ".join(f"https://{number}.example/" for number in range(9))
    held = new(service, links)
    assert (held.status, data(held)["mode"]) == (202, 2)
    assert new(service, "x" * 8_001).status == 400
    assert new(service, page="%00").status == 400
    for body in (b"", b"[]", b"{", b'"x"', b'{"text": 1}', b"\xff", b"[" * 10_000):
        headers = {"content_type": "application/json"}
        assert service.ask("POST", "/isso/new?uri=/p/", body, **headers).status == 400
    assert {each.comment.status for each in service.stored()} == {"pending"}


def test_a_closed_page_takes_no_comment_of_isso(tmp_path: Path) -> None:
    sites = (msgspec.structs.replace(SITES[0], close_days=1),)
    with served(tmp_path, msgspec.structs.replace(SETTINGS_OF_ISSO, sites=sites)) as closing:
        written(closing)
        closing.now += 2 * 86_400
        assert new(closing, "Late").status == 400


def test_requests_of_isso_count_for_the_rate_limits(tmp_path: Path) -> None:
    spam = msgspec.structs.replace(SETTINGS.spam, rate_limit="2/hour", vote_limit="1/hour")
    with served(tmp_path, msgspec.structs.replace(SETTINGS_OF_ISSO, spam=spam)) as service:
        number, cookie = written(service)
        service.submit("By ours")
        assert new(service, "A third").status == 429
        assert change(service, "PUT", number, cookie).status == 429
        assert service.ask("POST", f"/isso/id/{number}/like", peer=ELSEWHERE).status == 200
        assert service.ask("POST", "/isso/id/2/like", peer=ELSEWHERE).status == 429
        previews = [service.post("/isso/preview", {"text": "abc"}).status for _ in range(61)]
        assert previews == [200] * 60 + [429]


@pytest.mark.parametrize("days", [0, 30])
def test_a_network_votes_once(tmp_path: Path, days: int) -> None:
    privacy = PrivacySettings(keep_network_days=days)
    with served(tmp_path, msgspec.structs.replace(SETTINGS_OF_ISSO, privacy=privacy)) as service:
        number, _ = written(service)
        votes = [
            data(service.ask("POST", f"/isso/id/{number}/{vote}", peer=ELSEWHERE))
            for vote in ("like", "like", "dislike")
        ]
        assert [(each["likes"], each["dislikes"]) for each in votes] == [(1, 0)] * 3
        assert [each.get("message", "") for each in votes] == ["", routes.VOTED, routes.VOTED]
        assert (
            data(service.ask("POST", f"/isso/id/{number}/dislike", peer="198.51.100.1"))["dislikes"]
            == 1
        )
        assert [listed(service)["replies"][0][key] for key in ("likes", "dislikes")] == [1, 1]


def test_votes_are_for_comments_that_are_shown(service: Served) -> None:
    number = data(new(service, " ".join(f"https://{n}.example/" for n in range(9))))["id"]
    for unknown in (number, 999):
        assert data(service.ask("POST", f"/isso/id/{unknown}/like", peer=ELSEWHERE)) is None
    [held] = service.stored()
    assert held.comment.votes == 0
    assert (
        service.ask("POST", "/isso/id/1/like", peer=ELSEWHERE, content_type="text/plain").status
        == 403
    )
    assert service.ask("POST", "/isso/id/1/like", origin="https://evil.example").status == 403


@pytest.mark.parametrize("days", [0, 30])  # networks' hashes are kept, or their votes limited
@pytest.mark.parametrize("votes", ["off", "up", "both"])
@pytest.mark.parametrize("status", [PENDING, SPAM, DELETED])
def test_a_vote_says_nothing_of_a_comment_that_is_not_listed(
    tmp_path: Path, status: str, votes: Literal["off", "up", "both"], days: int
) -> None:
    """Whatever else would refuse it: the setting, the author's network, or a vote before."""
    settings = msgspec.structs.replace(
        SETTINGS_OF_ISSO,
        comments=CommentsSettings(votes=votes),
        privacy=PrivacySettings(keep_network_days=days),
    )
    with served(tmp_path, settings) as service:
        number, _ = written(service)
        if votes != "off":
            service.ask("POST", f"/isso/id/{number}/like", peer=ELSEWHERE)
        decide(service.database, status, number)
        for peer in (ELSEWHERE, "127.0.0.1", "198.51.100.1"):
            for vote in ("like", "dislike"):
                answer = service.ask("POST", f"/isso/id/{number}/{vote}", peer=peer)
                assert (answer.status, answer.body) == (200, b"null"), (peer, vote)


def test_only_pages_of_the_site_read_with_credentials(service: Served) -> None:
    for origin, allowed in ((BLOG, BLOG), ("https://evil.example", None), ("null", None)):
        asked = service.ask("OPTIONS", "/isso/id/5", origin=origin)
        sent = fields(asked)
        assert asked.status == 204
        assert sent.get("Access-Control-Allow-Origin") == allowed
        assert sent.get("Access-Control-Allow-Methods") == (allowed and "GET, PUT, DELETE")
        for target in ("/isso/?uri=/p/", "/isso/config"):
            read = fields(service.ask("GET", target, origin=origin))
            assert read["Access-Control-Allow-Origin"] == BLOG
    refused = service.ask("POST", "/isso/new?uri=/p/", b"{}", origin="https://evil.example")
    assert "Access-Control-Allow-Origin" not in fields(refused)


def test_a_site_with_several_origins_has_an_answer_for_each(service: Served) -> None:
    for origin in SITES[1].origins:
        answer = service.ask("GET", "/isso-2017/?uri=/p/", origin=origin)
        assert fields(answer)["Access-Control-Allow-Origin"] == origin
        assert answer.headers.count(("Vary", "Origin")) == 1
        assert answer.tags == ("thread:2017:/p/",)
    target = "/isso-2017/?uri=/p/"
    for other in (service.ask("GET", target, origin=BLOG), service.get(target)):
        assert "Access-Control-Allow-Origin" not in fields(other)
        assert fields(other)["Vary"] == "Origin"
        assert other.tags == (), "it is for no page of the site"


def test_each_site_has_its_own_comments(service: Served) -> None:
    number, cookie = written(service)
    assert data(service.post("/isso-2017/new?uri=/p/", GOOD))["mode"] == 1
    assert len(data(service.get("/isso-2017/?uri=/p/"))["replies"]) == 1
    assert service.ask("PUT", f"/isso-2017/id/{number}", b"{}", cookie=cookie).status == 403
    assert service.ask("DELETE", f"/isso-2017/id/{number}", cookie=cookie).status == 403
    assert data(service.ask("POST", f"/isso-2017/id/{number}/like", peer=ELSEWHERE)) is None
    assert listed(service)["replies"][0]["likes"] == 0
    assert service.get("/isso-without/config").status == 404


def test_a_count_of_what_is_no_page_is_0(service: Served) -> None:
    written(service)
    asked = [
        "/p/",
        "https://blog.example/p/",
        "https://evil.example/p/",
        "",
        "\0",
        "x" * 3_000,
        "/p/",
    ]
    counted = service.post("/isso/count", asked)
    assert data(counted) == [1, 1, 0, 0, 0, 0, 1]
    assert counted.tags == ("thread:blog:/p/",)
    assert data(service.post("/isso/count", [f"/{n}/" for n in range(150)])) == [0] * 150
    bodies: tuple[object, ...] = ({}, "x", [1], None, ["/"] * 1_001)
    for wrong in bodies:
        assert service.post("/isso/count", wrong).status == 400


def test_replies_are_mailed_to_who_asked_for_it(tmp_path: Path) -> None:
    mail = MailSettings(host="mail.example", sender="c@blog.example")
    with served(tmp_path, msgspec.structs.replace(SETTINGS_OF_ISSO, mail=mail)) as service:
        assert data(service.get("/isso/config"))["config"]["reply-notifications"] is True
        answer = data(new(service, email="tom@mail.example", notification=1))
        assert answer["notification"] == 1
        assert [row.kind for row in waiting(service)] == ["confirm"]
        assert data(new(service, "Without an address", notification=1))["notification"] == 0


def test_links_in_old_mails_lead_on(service: Served) -> None:
    assert fields(service.get("/isso/id/5/activate/Mg.x"))["Location"] == "../../../../moderation"
    stop = fields(service.get("/isso/id/5/unsubscribe/a%40x.example/Mg.x"))["Location"]
    assert stop == "../../../../../mail/stop?t=former"
    assert service.post("/isso/id/5/delete/Mg.x", {}).status == 404
    assert service.get("/isso/id/5/other/Mg.x").status == 404


def test_the_files_of_isso_are_asked_for_at_the_blog(service: Served) -> None:
    answer = service.get("/isso/js/embed.min.js")
    assert fields(answer)["Location"] == f"{BLOG}/isso-client/embed.min.js"
    assert fields(service.get("/isso/css/isso.css"))["Location"] == f"{BLOG}/isso-client/isso.css"
    assert service.get("/isso/js/../../x").status == 404


def test_no_hash_of_an_author_is_a_number_for_the_client(service: Served) -> None:
    """Isso's client reads `data-isso-page-author-hashes` as JSON, where it can."""
    written(service)
    [entry] = service.stored()
    serializer = messages.IssoSerializer(b"secret", "")
    for number in range(2_000):
        comment = msgspec.structs.replace(entry.comment, author=f"reader {number}")
        shown = serializer.comment(comment).hash
        assert re.fullmatch("[0-9a-f]{12}", shown)
        with pytest.raises(json.JSONDecodeError):
            json.loads(shown)


def test_an_imported_sum_of_votes_is_split_without_a_rest() -> None:
    assert [messages.tally(*each) for each in ((3, 0), (-2, 0), (1, 2))] == [
        messages.IssoVotes(3, 0),
        messages.IssoVotes(0, 2),
        messages.IssoVotes(3, 2),
    ]


def test_every_operation_has_its_route_and_is_in_the_document(service: Served) -> None:
    found = [route.operation for route in service.routes if route.pattern.startswith("/isso")]
    assert {id(each) for each in found if each} == {id(each) for each in operations((routes,))}
    document = data(service.get("/openapi.json"))
    assert {"/isso/", "/isso/id/{id}"} <= document["paths"].keys()
    assert "/isso-2017/" not in document["paths"]
