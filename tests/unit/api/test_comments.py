"""The API's counts, lists, submissions, previews and feeds, and their errors."""

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import altcha
import msgspec
import pytest

from commentsvc.api import feeds
from commentsvc.comments import create, pagination, queries
from commentsvc.db.connection import Transaction
from commentsvc.markup.markdown import render
from commentsvc.model import stored_counts
from commentsvc.moderation import threads
from commentsvc.settings.schema import CommentsSettings, ModerationSettings, Site
from tests.unit import public_reads
from tests.unit.app_fixture import SETTINGS, Served, data, faults, served
from tests.unit.database_fixture import NOW, new


@pytest.fixture
def moderated(tmp_path: Path) -> Iterator[Served]:
    settings = msgspec.structs.replace(SETTINGS, moderation=ModerationSettings(policy="all"))
    with served(tmp_path, settings) as running:
        yield running


def test_ping_says_ok(service: Served) -> None:
    answer = service.get("/api/ping")
    assert (answer.status, answer.body, answer.tags) == (200, b"OK", ())


def test_a_count_is_of_the_page_or_of_the_site(service: Served) -> None:
    for url in ("/p/", "/p/", "/q/"):
        service.submit(f"on {url} {len(service.stored())}", url)
    for target, number in [
        ("?url=/p/", 2),
        ("?url=https://blog.example/p/%23x", 2),
        ("?url=/q/&token=x", 1),
        ("?url=/unknown/", 0),
        ("", 3),
        ("?url=", 3),
        ("?site=notes", 0),
        ("?site=notes&url=/p/", 0),
    ]:
        assert data(service.get("/api/comments/count" + target)) == {"count": number}


def test_a_count_is_stored_under_its_page_or_site(service: Served) -> None:
    assert service.get("/api/comments/count?url=//p/").tags == ("thread:blog:/p/",)
    assert service.get("/api/comments/count?site=notes").tags == ("site:notes",)


LISTS = (
    "/api/comments?url=/p/",
    "/api/comments?url=/p/&sort=top",
    "/api/comments?url=/p/&limit=100",
    "/api/comments?url=/p/&since=2017-07-14T02:40:00Z",
    "/comments?url=/p/",
    "/embed/thread?url=/p/",
    "/embed/thread?url=/p/&view=page",
    "/isso/?uri=/p/",
    "/isso/feed?uri=/p/",
    "/artalk/api/v2/comments?page_key=/p/&limit=1000",
    "/artalk/api/v2/comments?page_key=/p/&limit=1000&flat_mode=true",
    "/waline/api/comment?path=/p/&pageSize=1000",
    "/feed.atom",
    "/feed.rss",
    "/feed.json",
)


def test_no_list_of_long_comments_is_long(tmp_path: Path) -> None:
    site = Site(name="blog", origins=("https://blog.example",), isso=True, artalk=True, waline=True)
    settings = msgspec.structs.replace(SETTINGS, sites=(site,), comments=CommentsSettings())
    number = 4 * pagination.TEXTS // 50_000

    def fill(tx: Transaction) -> None:
        for _ in range(number):
            create.add(tx, new(url="/p/", source="x" * 24_000, html="y" * 26_000), NOW)

    with served(tmp_path, settings) as service:
        service.database.write_now(fill)
        for target in LISTS:
            answer = service.get(target)
            assert answer.status == 200
            assert 0.4 * pagination.TEXTS < len(answer.body) < 1.5 * pagination.TEXTS, target


def test_no_list_of_comments_with_many_reactions_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page without scripts had 3.5 MB, and a list of changes was as long as the thread."""
    couple = "👩🏽‍❤️‍💋‍👨🏿"
    emoji = (*"👍👎🎉🚀👀😄😕🐛", couple)
    site = msgspec.structs.replace(SETTINGS.sites[0], reactions=emoji)
    reacting = CommentsSettings(votes="reactions", list_limit=100)
    settings = msgspec.structs.replace(SETTINGS, sites=(site,), comments=reacting)
    given = stored_counts(dict.fromkeys(emoji, 1_000))

    def fill(tx: Transaction) -> None:
        for _ in range(101):
            create.add(tx, new(url="/p/", source="x" * 200, html="y" * 210), NOW)
        tx.execute("UPDATE comment SET reactions = ?, votes = 8", (given,))

    with served(tmp_path, settings) as service:
        service.database.write_now(fill)
        monkeypatch.setattr(pagination, "TEXTS", 80_000)  # a tenth, as the comments are
        for target in (
            "/api/comments?url=/p/",
            "/api/comments?url=/p/&since=2017-07-14T02:40:00Z",
            "/api/comments?url=/p/&since=2117-07-14T02:40:00Z",
            "/embed/thread?url=/p/",
            "/embed/thread?url=/p/&view=page",
        ):
            assert len(service.get(target).body) < 1.5 * pagination.TEXTS, target


def test_public_reads_may_be_read_by_every_page(service: Served) -> None:
    for target in (
        "/api/comments?url=/",
        "/api/comments/count",
        "/feed.atom",
        "/embed/thread?url=/",
    ):
        headers = dict(service.get(target).headers)
        assert headers["Access-Control-Allow-Origin"] == "*"
        assert headers["Cache-Control"] == "no-cache"


EMBEDDED = ("text/css", "image/")  # scripts are modules, which are loaded with CORS


def test_whatever_a_blog_embeds_may_be_embedded_by_isolated_pages(tmp_path: Path) -> None:
    """With Cross-Origin-Embedder-Policy, a browser blocks other styles and pictures."""
    with served(tmp_path, msgspec.structs.replace(SETTINGS, sites=(public_reads.SITE,))) as service:
        files = [f"/static/{name}" for name in ("form.css", "rich.css", "themes/cards.css")]
        files.append("/static/comments.css")
        reads = [target for _route, target in public_reads.requests(service)]
        avatar = "/api/avatar/0?fallback=1"
        embedded = set()
        for target in [*files, *reads, avatar]:
            headers = dict(service.get(target).headers)
            if headers.get("Content-Type", "").startswith(EMBEDDED):
                embedded.add(target)
                assert headers.get("Cross-Origin-Resource-Policy") == "cross-origin", target
        for script in ("isso/js/embed.min.js", "artalk/dist/Artalk.js"):  # no modules
            answer = service.get(f"/{script}")
            assert answer.status == 302
            assert ("Cross-Origin-Resource-Policy", "cross-origin") in answer.headers
    assert {*files[3:], avatar} <= embedded


FOREIGN = "https://elsewhere.example/", "/" + "a" * 3_000, "http://[", "javascript:a", "/%00"


@pytest.mark.parametrize("what", ["", "&reactions=yes", "&views=yes", "&latest=yes&viewed=yes"])
def test_a_batch_answers_what_it_can_and_what_is_no_page_of_ours_is_null(
    tmp_path: Path, what: str
) -> None:
    site = Site(
        name="blog", origins=("https://blog.example",), views=True, reactions=("👍",),
        isso=True, artalk=True, waline=True,
    )  # fmt: skip
    with served(tmp_path, msgspec.structs.replace(SETTINGS, sites=(site,))) as service:
        service.submit("Hi")
        urls = urlencode([("url", url) for url in ("/p/", *FOREIGN, "/q/")])
        answer = service.get(f"/api/comments/counts?{urls}{what}")
        found = data(answer)
        assert found["counts"] == {"/p/": 1, **dict.fromkeys(FOREIGN), "/q/": 0}
        assert {"thread:blog:/p/", "thread:blog:/q/"} <= set(answer.tags)
        for name, none in (("reactions", {"👍": 0}), ("views", 0)):
            if name in what:
                assert found[name] == {"/p/": none, **dict.fromkeys(FOREIGN), "/q/": none}
        batch = ["/p/", *FOREIGN, "/q/"]
        isso = service.post("/isso/count", batch, origin="https://blog.example")
        assert data(isso) == [1, *[0] * len(FOREIGN), 0]
        keys = quote(",".join(batch))
        of_artalk = data(service.get(f"/artalk/api/v2/stats/page_comment?page_keys={keys}"))
        assert list(of_artalk["data"].values()) == [1, *[0] * len(FOREIGN), 0]
        of_waline = data(service.get(f"/waline/api/comment?type=count&url={keys}"))
        assert of_waline["data"] == [1, *[0] * len(FOREIGN), 0]


def test_a_batch_counts_by_the_urls_as_they_were_sent(service: Served) -> None:
    service.submit()
    answer = service.get("/api/comments/counts?url=/p/&url=/q&url=/p/%3Futm_source=x")
    assert data(answer) == {"counts": {"/p/": 1, "/q": 0, "/p/?utm_source=x": 1}}
    assert sorted(answer.tags) == ["thread:blog:/p/", "thread:blog:/q"]
    assert data(service.get("/api/comments/counts")) == {"counts": {}}


def test_a_batch_is_bounded(service: Served) -> None:
    many = "&".join(f"url=/{n}/" for n in range(101))
    assert faults(service.get("/api/comments/counts?" + many)) == ["url"]
    most = service.get("/api/comments/counts?" + many.removesuffix("&url=/100/"))
    assert len(data(most)["counts"]) == len(most.tags) == 100


@pytest.mark.sqlite_only("it asks no database")
@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("/api/comments/count?url=%ff", ["url"]),
        ("/api/comments/count?url=https://evil.example/", ["url"]),
        ("/api/comments/count?site=other", ["site"]),
        ("/api/comments/count?url=/&site=other", ["site"]),
        ("/api/comments/counts?site=other", ["site"]),
        ("/api/comments", ["url"]),
        ("/api/comments?url=/&limit=0&sort=best", ["limit", "sort"]),
        ("/api/comments?url=/&limit=-1", ["limit"]),
        ("/api/comments?url=/&limit=1.5", ["limit"]),
        ("/api/comments?url=/&after=x", ["after"]),
        ("/api/comments?url=/&since=x", ["since"]),
        ("/api/comments?url=/&since=2026-11-21T08:30:00Z&sort=top", ["since"]),
        ("/api/comments?url=/&since=2026-11-21T08:30:00Z&after=0.0.0", ["since"]),
        ("/api/comments/count?url=/&_=1", ["_"]),
        ("/api/comments/count?url=/&url=/", ["url"]),
        ("/api/comments?url=/&limit=&after=&since=", ["after", "limit", "since"]),
        ("/api/form-token?url=/&sort=top", ["sort"]),
        ("/api/comments/stream?url=/&token=x", ["token"]),
        ("/embed/thread?url=/&x=1&y=2", ["x", "y"]),
        ("/openapi.json?v=1", ["v"]),
        ("/feed.atom?url=%00", ["url"]),
        ("/feed.atom?site=other", ["site"]),
    ],
)
def test_a_read_that_asks_wrongly_is_told_what(
    service: Served, target: str, named: list[str]
) -> None:
    answer = service.get(target)
    assert (answer.status, faults(answer), answer.tags) == (400, named, ())


def test_who_asks_wrongly_is_told_what_there_is(service: Served) -> None:
    error = data(service.get("/api/comments/count?url=/&_=1"))["error"]
    assert error["fields"] == {"_": "There is no _ here. Known: url, site, token."}


@pytest.mark.parametrize("path", ["/comments", "/comments/count", "/feed.atom", "/static/count.js"])
def test_what_strangers_ask_for_may_have_more_parameters(service: Served, path: str) -> None:
    assert service.get(f"{path}?url=/p/&token=x&_=1&url=/q/").status == 200


@pytest.mark.parametrize(
    "target",
    [
        "/feed.atom?url=/p/&utm_source=x",
        "/feed.json?url=/p/&url=/q/",
        "/feed.rss?x",
        "/comments?url=/p/&x=1",
        "/comments/count?url=/p/&token=x",
        "/api/comments?url=/p/&token=x",
        "/api/comments?url=/p/&limit=1000&token=x",
        "/api/comments/count?token=x",
    ],
)
def test_answers_to_queries_without_end_are_not_stored(service: Served, target: str) -> None:
    """Otherwise anybody could fill the cache by varying a parameter that is ignored."""
    asked = service.get(target)
    assert (asked.status, asked.tags) == (200, ())
    path, _, query = target.partition("?")
    plain = "url=/p/" if "url=" in query or path == "/comments" else ""
    assert service.get(f"{path}?{plain}").tags != ()


def test_a_list_shows_a_page_oldest_first(service: Served) -> None:
    for text in ("first", "second", "third"):
        service.submit(text)
        service.now += 1
    answer = service.get("/api/comments?url=/p/")
    shown = data(answer)
    assert [item["content"] for item in shown["data"]] == ["first", "second", "third"]
    assert (shown["count"], "next" in shown) == (3, False)
    assert answer.tags == ("thread:blog:/p/",)


def test_a_list_goes_on_where_it_ended(service: Served) -> None:
    for text in "abcde":
        service.submit(text)
        service.now += 1
    texts, target = "", "/api/comments?url=/p/&sort=newest&limit=2"
    after = ""
    for _ in range(3):
        shown = data(service.get(target + after))
        texts += "".join(item["content"] for item in shown["data"])
        after = f"&after={shown.get('next')}"
    assert (texts, shown["count"], "next" in shown) == ("edcba", 5, False)


def test_a_list_tells_what_is_new_since_a_moment(service: Served) -> None:
    for text in ("first", "second"):
        service.submit(text)
        service.now += 10
    shown = data(service.get("/api/comments?url=/p/&since=2026-11-18T11:06:50Z"))
    assert [item["content"] for item in shown["data"]] == ["second"]
    assert (shown["count"], shown["votes"], "next" in shown) == (2, {}, False)


def test_usual_lists_are_read_on_the_loop_and_longer_ones_by_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: list[str] = []
    page = queries.list_comments

    def noted(*bound: Any) -> queries.CommentList:
        where.append(threading.current_thread().name.partition("-")[0])
        return page(*bound)

    monkeypatch.setattr(queries, "list_comments", noted)
    with served(
        tmp_path, msgspec.structs.replace(SETTINGS, comments=CommentsSettings())
    ) as service:
        loop = threading.current_thread().name.partition("-")[0]
        for query in ("", "&sort=newest&limit=100", "&limit=101", "&sort=top&limit=1"):
            assert service.get(f"/api/comments?url=/p/{query}").status == 200
    assert where == ["reads", loop, "reads", "reads"]


def test_a_list_never_exceeds_the_setting(service: Served) -> None:
    for n in range(52):
        service.submit(f"number {n}")
    for limit in ("", "&limit=999"):
        shown = data(service.get("/api/comments?url=/p/" + limit))
        assert (len(shown["data"]), shown["count"], bool(shown["next"])) == (50, 52, True)


def test_a_page_never_heard_of_has_no_comments(service: Served) -> None:
    answer = service.get("/api/comments?url=/never/")
    assert (answer.status, data(answer)) == (200, {"data": [], "count": 0, "voting": "up"})


def test_without_moderation_a_comment_is_shown_at_once(service: Served) -> None:
    answer = service.submit("*Hi*", email="Ann@Blog.Example", site="https://ann.example/")
    receipt = data(answer)
    assert (answer.status, receipt["status"], answer.tags) == (201, "approved", ())
    assert receipt["token_expires"] == "2026-11-18T11:21:40Z"
    assert len(receipt["token"]) == 32
    assert receipt["comment"]["html"] == "<p><em>Hi</em></p>\n"
    assert receipt["comment"]["site"] == "https://ann.example/"
    assert receipt["comment"]["avatar"] not in ("", "8667278f970b1ae1f77d3ad166620cc8")
    assert b"Blog.Example" not in answer.body
    assert data(service.get("/api/comments?url=/p/"))["data"] == [receipt["comment"]]
    assert service.purged == ["thread:blog:/p/", "site:blog"]


def test_with_moderation_a_comment_waits(moderated: Served) -> None:
    answer = moderated.submit()
    assert (answer.status, data(answer)["status"]) == (202, "pending")
    assert data(answer)["comment"]["published"] is None
    assert data(moderated.get("/api/comments/count?url=/p/")) == {"count": 0}
    assert moderated.purged == []


def test_a_comment_with_many_links_waits(service: Served) -> None:
    assert service.submit("www.a.example www.b.example").status == 201
    assert service.submit("www.a.example www.b.example www.c.example").status == 202


def test_a_reply_belongs_to_its_parent(service: Served) -> None:
    parent = data(service.submit())["comment"]["id"]
    assert data(service.submit("Ho", parent=parent))["comment"]["parent"] == parent
    for wrong in (service.submit("Ha", parent=999), service.submit("Ha", "/q/", parent=parent)):
        assert (wrong.status, faults(wrong)) == (400, ["parent"])
    assert len(service.stored()) == 2


def test_a_retry_with_a_key_is_the_same_comment_with_a_new_token(service: Served) -> None:
    first, again = (service.submit(key="0123456789abcdef") for _ in range(2))
    assert (first.status, again.status) == (201, 201)
    assert data(first)["comment"] == data(again)["comment"]
    assert data(first)["token"] != data(again)["token"] is not None
    other = service.submit("Ho", key="0123456789abcdef")
    assert (other.status, faults(other)) == (409, ["key"])
    assert len(service.stored()) == 1


def test_a_retry_without_a_key_is_the_same_comment_without_a_token(service: Served) -> None:
    first, again = service.submit(), service.submit()
    assert (again.status, data(again)["comment"]) == (201, data(first)["comment"])
    assert data(again)["token"] is data(again)["token_expires"] is None
    assert data(service.submit(author="Bob"))["comment"]["id"] != data(first)["comment"]["id"]


def test_all_faults_of_a_submission_are_named_and_nothing_is_stored(service: Served) -> None:
    answer = service.post(
        "/api/comments",
        {
            "url": "https://evil.example/",
            "author": " ",
            "message": "x" * 201,
            "mail": "a@b.example",
        },
    )
    assert (answer.status, faults(answer)) == (400, ["author", "mail", "message", "url"])
    assert service.stored() == []


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{}", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b'{"url": "\xff"}', "application/json", 400),
        (b"{}", "text/plain", 415),
        (b"url=/p/&author=Ann&message=Hi", "application/x-www-form-urlencoded", 415),
    ],
)
def test_a_body_that_is_no_submission_is_refused(
    service: Served, body: bytes, content_type: str, status: int
) -> None:
    for target in ("/api/comments", "/api/preview"):
        answer = service.ask("POST", target, body, content_type=content_type)
        assert answer.status == status
        faults(answer)
    assert service.stored() == []


def test_a_foreign_page_may_not_write(service: Served) -> None:
    fields = {"url": "/p/", "author": "Ann", "message": "Hi"}
    for target in ("/api/comments", "/api/preview"):
        sent = fields if target == "/api/comments" else {"message": "Hi"}
        assert service.post(target, sent, origin="https://evil.example").status == 403
        answer = service.post(target, sent, origin="https://blog.example")
        assert answer.status in (200, 201)
        assert dict(answer.headers)["Access-Control-Allow-Origin"] == "https://blog.example"
    assert len(service.stored()) == 1


def test_a_preview_is_what_would_be_shown_and_stores_nothing(service: Served) -> None:
    answer = service.post("/api/preview", {"message": "*a* <b>"})
    assert data(answer) == {"html": render("*a* <b>")}
    assert faults(service.post("/api/preview", {"message": "x" * 201})) == ["message"]
    assert service.stored() == []


def test_a_mention_leads_to_a_comment_on_the_page_as_its_preview_does(service: Served) -> None:
    number = data(service.submit(author="Bo Lee"))["comment"]["id"]
    link = f'<a href="#commentsvc-{number}" rel="nofollow ugc noopener">@Bo Lee</a>'
    assert link in data(service.submit("Yes, @Bo Lee."))["comment"]["html"]
    assert link in data(service.post("/api/preview?url=/p/", {"message": "@Bo Lee"}))["html"]
    for target in ("/api/preview", "/api/preview?url=/q/"):
        assert link not in data(service.post(target, {"message": "@Bo Lee"}))["html"]


def test_a_feed_is_of_the_site_or_of_a_page(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "ENTRIES", 2)
    for url in ("/p/", "/q/", "/p/"):
        service.submit(f"<on> {url} {service.now}", url)
        service.now += 1
    site, page = service.get("/feed.atom"), service.get("/feed.atom?url=/p/")
    assert (site.tags, page.tags) == (("site:blog",), ("thread:blog:/p/",))
    assert dict(site.headers)["Content-Type"] == "application/atom+xml"
    assert (site.body.count(b"<entry>"), page.body.count(b"<entry>")) == (2, 2)
    assert b'href="https://blog.example/q/#commentsvc-2"' in site.body
    assert b"/q/" not in page.body
    assert b"<title>notes</title>" in service.get("/feed.atom?site=notes").body


@pytest.mark.parametrize(
    ("target", "media_type"),
    [("/feed.rss", "application/rss+xml"), ("/feed.json", "application/feed+json")],
)
def test_a_feed_has_three_formats(service: Served, target: str, media_type: str) -> None:
    service.submit("Hello", "/p/")
    site, page = service.get(target), service.get(f"{target}?url=/p/")
    assert (site.tags, page.tags) == (("site:blog",), ("thread:blog:/p/",))
    assert dict(site.headers)["Content-Type"] == media_type
    assert b"https://blog.example/p/#commentsvc-1" in site.body
    assert faults(service.get(f"{target}?url=%00")) == ["url"]


def test_a_page_that_moved_is_answered_under_each_address_with_one_tag(service: Served) -> None:
    service.submit("Hello", "/old/")
    service.database.write_now(threads.move, site="blog", url="/old/", to="/new/")
    for url in ("/old/", "/new/"):
        for target in ("/api/comments/count", "/api/comments", "/feed.atom", "/embed/thread"):
            assert service.get(f"{target}?url={url}").tags == ("thread:blog:/new/",)
        assert data(service.get(f"/api/comments?url={url}"))["count"] == 1
        assert b"/new/#commentsvc-1" in service.get(f"/feed.atom?url={url}").body
    answer = service.get("/api/comments/counts?url=/old/&url=/new/&url=/none/")
    assert data(answer) == {"counts": {"/old/": 1, "/new/": 1, "/none/": 0}}
    assert set(answer.tags) == {"thread:blog:/new/", "thread:blog:/none/"}


def test_a_closed_page_says_so_and_takes_no_comment(tmp_path: Path) -> None:
    sites = (msgspec.structs.replace(SETTINGS.sites[0], close_days=30), *SETTINGS.sites[1:])
    with served(tmp_path, msgspec.structs.replace(SETTINGS, sites=sites)) as service:
        service.submit("Hello", "/p/")
        first = data(service.get("/api/comments?url=/p/"))
        opened = datetime.fromisoformat(first["data"][0]["published"])
        assert datetime.fromisoformat(first["closes"]) - opened == timedelta(days=30)
        service.now += 30 * 86_400
        answer = service.submit("Too late", "/p/")
        assert (answer.status, data(answer)["error"]["code"]) == (400, "closed")
        assert service.submit("In time", "/q/").status == 201
        assert "closes" not in data(service.get("/api/comments?url=/none/"))


def test_a_form_gets_a_stamp_and_work_and_sends_both(service: Served) -> None:
    answer = service.get("/api/form-token?url=/p/")
    assert dict(answer.headers)["Cache-Control"] == "no-store"
    assert answer.tags == ()
    options = data(answer)
    assert (options["length"], options["notify"]) == (200, False)
    challenge = altcha.Challenge.from_dict(options["proof_of_work"])
    solution = altcha.solve_challenge(challenge)
    assert solution
    work = altcha.Payload(challenge, solution).to_base64()
    service.now += 9
    service.submit(form_token=options["form_token"], proof_of_work=work)
    sql = "SELECT score, reasons FROM comment"
    assert service.database.read_now(lambda snapshot: snapshot.execute(sql).fetchall()) == [(0, "")]
    assert data(service.get("/api/form-token?url=/p/")) != options
    assert service.get("/api/form-token?url=https://evil.example/").status == 400


BOMB = ("|a" * 210 + "|\n" + "|:-:" * 210 + "|\n" + "a\n" * 4_000)[:8_000]


def test_a_bomb_is_shown_as_it_was_typed(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, comments=CommentsSettings(message_length=8_000))
    with served(tmp_path, settings) as service:
        answer = service.submit(BOMB)
        preview = service.post("/api/preview", {"message": BOMB})
        [entry] = service.stored()
    assert (answer.status, preview.status) == (201, 200)
    for html in (data(answer)["comment"]["html"], data(preview)["html"], entry.comment.html):
        assert html.startswith("<p>|a|a")
        assert len(html) < 24_000


def test_previews_are_limited_by_network(service: Served) -> None:
    def previews(number: int, peer: str) -> list[int]:
        body = b'{"message": "a"}'
        return [
            service.ask("POST", "/api/preview", body, peer, content_type="application/json").status
            for _ in range(number)
        ]

    assert previews(61, "192.0.2.1") == 60 * [200] + [429]
    assert previews(1, "198.51.100.1") == [200]
    service.monotonic += 1
    assert previews(2, "192.0.2.1") == [200, 429]
    assert service.submit().status == 201


@pytest.mark.sqlite_only("PostgreSQL accepts no text that is not UTF-8")
def test_a_damaged_comment_takes_no_other_with_it(service: Served) -> None:
    for message in ("one", "two"):
        service.submit(message)
    service.database.write_now(
        lambda tx: tx.execute("UPDATE comment SET source = CAST(x'6fff' AS TEXT) WHERE id = 1")
    )
    for query in ("", "&sort=top"):  # on the event loop, and in a reading thread
        listed = data(service.get(f"/api/comments?url=/p/{query}"))["data"]
        assert sorted(comment["content"] for comment in listed) == ["o\ufffd", "two"]
    for path in ("/embed/thread?url=/p/", "/feed.atom?url=/p/"):
        assert service.get(path).status == 200
    assert service.submit("three").status == 201


def test_lists_of_the_site_come_with_the_counts(service: Served) -> None:
    service.submit("First of **all**.\n\n> Quoted", "/p/", title="A page")
    service.submit("Second", "/q/")
    service.submit("word " * 39, "/q/")
    target = "/api/comments/counts?latest=yes&popular=day&popular=month&url=/p/"
    answer = service.get(target)
    assert set(answer.tags) == {"site:blog", "popular", "thread:blog:/p/"}
    answered = data(answer)
    assert answered["counts"] == {"/p/": 1}
    assert [(each["id"], each["title"]) for each in answered["latest"]] == [
        *((3, "/q/"), (2, "/q/"), (1, "A page"))
    ]
    assert answered["latest"][2]["excerpt"] == "First of all. Quoted"
    assert answered["latest"][0]["excerpt"].endswith(" word…")
    assert len(answered["latest"][0]["excerpt"]) <= 140
    assert answered["latest"][1]["link"] == "https://blog.example/q/#commentsvc-2"
    most = [
        {"link": "https://blog.example/q/", "title": "/q/", "count": 2},
        {"link": "https://blog.example/p/", "title": "A page", "count": 1},
    ]
    assert answered["popular"] == {"day": most, "month": most}
    assert set(service.get("/api/comments/counts?latest=yes").tags) == {"site:blog"}
    assert "latest" not in data(service.get("/api/comments/counts?url=/p/"))
    for wrong in ("popular=decade", "latest=no", "reactions=", "latest=yes&latest=yes"):
        assert len(faults(service.get("/api/comments/counts?" + wrong))) == 1


def test_what_was_popular_passes(service: Served) -> None:
    service.submit("On a page", "/p/")
    service.now += 8 * 86_400
    service.submit("On another", "/q/")
    target = "/api/comments/counts?popular=day&popular=week&popular=month&popular=year"
    popular = data(service.get(target))["popular"]
    assert [len(popular[period]) for period in ("day", "week", "month", "year")] == [1, 1, 2, 2]
    assert data(service.get(target + "&site=notes"))["popular"]["year"] == []
