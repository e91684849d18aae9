"""Polling posts on Mastodon, Bluesky and plain ActivityPub servers; fakes answer like real ones."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from commentsvc.db.schema.mentions import FollowedPostTable
from commentsvc.markup.html_to_markdown import CommentText
from commentsvc.mentions.poller import PostPoller
from commentsvc.model import APPROVED, DELETED, PENDING, Comment
from commentsvc.settings.schema import (
    CommentsSettings,
    HooksSettings,
    MentionsSettings,
    ModerationSettings,
    ServerSettings,
    Settings,
    Site,
    SpamSettings,
)
from commentsvc.util.http_client import Fetched, RemoteError, StrangerClient
from commentsvc.util.polite_client import PoliteClient
from commentsvc.util.timestamps import DAY_MS, HOUR_MS
from tests.unit.app_fixture import SETTINGS, Served, data, served
from tests.unit.database_fixture import decide
from tests.unit.mentions.hostile import HOSTILE, assert_harmless
from tests.unit.other_site import OtherSite, Page, other_site
from tests.unit.settable_clock import SettableClock

Json = dict[str, Any]  # Any: as the servers answer
CONTEXT = "/api/v1/statuses/1/context"
ACTIVITY = "application/activity+json"


@pytest.fixture(scope="module")
def server() -> Iterator[OtherSite]:
    with other_site() as site:
        yield site


def settings(server: OtherSite, **of_site: Any) -> Settings:  # Any: fields of Site
    return replace(
        SETTINGS,
        moderation=ModerationSettings(policy="all"),
        hooks=HooksSettings(allowed_networks=("127.0.0.0/8",)),
        mentions=MentionsSettings(
            bluesky_service=server.url(""), allowed_networks=("127.0.0.0/8",)
        ),
        sites=(Site(name="blog", origins=("https://blog.example",), **of_site),),
    )


class Following:
    """A service that follows one account or post, and its poller."""

    def __init__(self, service: Served) -> None:
        self.service = service
        self._poller = PostPoller(service.service, service.submissions)

    def poll(self, hours: float = 3) -> list[Comment]:
        """Poll for posts and replies after some time; return all comments, the oldest first."""
        self.service.clock.now += hours * 3_600
        self.service.clock.elapsed += round(hours * HOUR_MS)

        async def work() -> None:
            await self._poller.discover()
            await self._poller.poll_due()

        asyncio.run(work())
        return [entry.comment for entry in self.service.stored()][::-1]


@pytest.fixture
def mastodon(tmp_path: Path, server: OtherSite) -> Iterator[Following]:
    """A service that follows a Mastodon account, whose one post links to a page."""
    server.pages.clear()
    server.got.clear()
    link = '<p>New: <a href="https://blog.example/wet-wood/">wet wood</a></p>'
    query = link.replace("/wet-wood/", "/?page=1&amp;lang=en")
    posts = [
        {"id": "1", "content": link},
        {"id": "x", "content": link},
        {"id": "2"},
        {"id": "3", "content": query},
    ]
    put(server, "/api/v1/accounts/lookup?acct=ann", {"id": "7"})
    statuses = "/api/v1/accounts/7/statuses?exclude_replies=true&exclude_reblogs=true"
    put(server, statuses, posts)
    put(server, "/api/v1/statuses/1", {"id": "1", "favourites_count": 4, "reblogs_count": 2})
    put(server, CONTEXT, {"ancestors": [], "descendants": []})
    with served(tmp_path, settings(server, social_accounts=(server.url("/@ann"),))) as service:
        yield Following(service)


def put(server: OtherSite, path: str, body: object, kind: str = "application/json") -> None:
    etag = (("ETag", f'"{hash(json.dumps(body))}"'),)
    server.pages[path] = Page(json.dumps(body), type=kind, headers=etag)


def toot(number: str, text: str, parent: str = "1", **more: object) -> Json:
    """Return a reply as a Mastodon server describes it."""
    account = {"acct": "rosa@far.example", "display_name": "Rosa", "url": "https://far.example/@r"}
    fixed = {"id": number, "in_reply_to_id": parent, "visibility": "public", "account": account}
    return {"content": f"<p>{text}</p>", "url": "https://bank.example/", **fixed, **more}


def reply_with(server: OtherSite, *toots: Json) -> None:
    put(server, CONTEXT, {"ancestors": [], "descendants": toots})


def test_replies_to_a_post_that_links_to_a_page_become_its_comments(
    mastodon: Following, server: OtherSite
) -> None:
    reply_with(server, toot("12", "Not <b>here</b>", "11"), toot("11", "It rained"))
    first, second = mastodon.poll()
    assert (first.source, second.source) == ("It rained", "Not **here**")
    assert (first.author, first.site, first.status) == ("Rosa", "https://far.example/@r", PENDING)
    assert second.parent_id == first.id
    assert first.permalink == server.url("/@rosa@far.example/11"), "not where the answer says"
    shown = data(mastodon.service.get("/api/comments?url=/wet-wood/"))
    assert (shown["likes"], shown["reposts"]) == (4, 2)


def test_the_address_in_a_post_is_read_as_in_a_browser(
    mastodon: Following, server: OtherSite
) -> None:
    mastodon.poll()
    post = FollowedPostTable.select(FollowedPostTable.url).where(
        FollowedPostTable.address == server.url("/@ann/3")
    )
    database = mastodon.service.database
    assert database.read_now(lambda snapshot: snapshot.query(post)) == [("/?lang=en&page=1",)]


def test_each_reply_comes_once_and_is_followed_when_it_changes(
    mastodon: Following, server: OtherSite
) -> None:
    reply_with(server, *(toot(str(number), f"reply {number}") for number in range(10, 310)))
    assert len(mastodon.poll()) == 300
    found = mastodon.poll()
    assert len(found) == 300
    decide(mastodon.service.database, APPROVED, found[0].id)
    reply_with(server, toot("10", "edited"), toot("11", "reply 11"))
    put(server, "/api/v1/statuses/12", {"id": "12"})
    found = mastodon.poll()
    assert (found[0].source, found[0].status) == ("edited", PENDING)
    assert found[2].status == PENDING, "a long thread was shortened"
    assert found[3].status == DELETED, "its server does not have it any more"


def test_a_post_that_is_gone_takes_its_replies_and_likes_with_it(
    mastodon: Following, server: OtherSite
) -> None:
    reply_with(server, toot("11", "It rained"))
    mastodon.poll()
    server.pages["/api/v1/statuses/1"] = Page(status=410)
    [comment] = mastodon.poll()
    assert comment.status == DELETED
    assert "likes" not in data(mastodon.service.get("/api/comments?url=/wet-wood/"))


def test_lies_and_circles_do_no_harm(mastodon: Following, server: OtherSite) -> None:
    reply_with(
        server,
        toot("11", "in a circle", "12"),
        toot("12", "in a circle, too", "11"),
        toot("13", "its own parent", "13"),
        toot("../../x", "no number"),
        toot("14", "for friends", visibility="direct"),
        toot("15", "with a strange name", account={"acct": "a/../b", "url": "javascript:x"}),
        toot("16", "without a name", account={"acct": "bo", "display_name": 7, "url": ["x"]}),
        {"id": 17, "content": None},
        toot("18", ""),
    )
    server.pages["/api/v1/statuses/1"] = Page('{"favourites_count": "many"}')
    found = mastodon.poll()
    texts = ["in a circle", "in a circle, too", "its own parent", "without a name"]
    assert sorted(each.source for each in found) == texts
    assert {each.author for each in found} == {"Rosa", "bo"}


@pytest.mark.parametrize("body", ["", "[]", "7", '{"descendants": 7}', "[" * 100_000, "\xff"])
def test_answers_of_no_sense_are_survived(
    mastodon: Following, server: OtherSite, body: str
) -> None:
    server.pages[CONTEXT] = Page(body)
    assert mastodon.poll() == []


@pytest.fixture
def open_service(tmp_path: Path, server: OtherSite) -> Iterator[Served]:
    """A service that follows a post of each network, and shows replies to all clients."""
    server.pages.clear()
    posts = (
        f"/mastodon/ {server.url('/@ann/1')}",
        f"/bluesky/ https://bsky.app/profile/{DID}/post/k1",
        f"/activity/ {server.url('/note')}",
    )
    clients = {"isso": True, "waline": True, "artalk": True}
    open_settings = replace(
        settings(server, social_posts=posts, **clients),
        comments=CommentsSettings(list_limit=1_000),
        server=ServerSettings(public_url="https://c.example"),
    )
    with served(tmp_path, open_settings) as service:
        yield service


def test_hostile_replies_of_every_network_show_nothing_but_text(
    open_service: Served, server: OtherSite
) -> None:
    put(server, "/api/v1/statuses/1", {"id": "1"})
    accounts = ({"acct": "a", "display_name": text, "url": text} for text in HOSTILE)
    reply_with(
        server,
        *(
            toot(str(10 + number), f"x {text}", account=account, spoiler_text=text)
            for number, (text, account) in enumerate(zip(HOSTILE, accounts, strict=True))
        ),
    )
    threads = [post_of(f"k{number}", text) for number, text in enumerate(HOSTILE, 2)]
    for thread, text in zip(threads, HOSTILE, strict=True):
        thread["post"]["author"] |= {"displayName": text, "handle": text}
    put(server, thread_path(DID, "k1", 20), {"thread": post_of("k1", "x", *threads)})
    items = []
    for number in range(0, len(HOSTILE), 4):
        address = server.url(f"/note/{number}")
        text = "\n\n".join(["x", *HOSTILE[number : number + 4]])
        body: Json = {"id": address, "content": text, "attributedTo": f"{address}/author"}
        body["attachment"] = [{"type": "Image", "url": "https://evil.example/x.png", "name": text}]
        put(server, f"/note/{number}", body, ACTIVITY)
        name = {"id": f"{address}/author", "name": text, "preferredUsername": text}
        put(server, f"/note/{number}/author", name | {"url": text}, ACTIVITY)
        items.append(address)
    put(server, "/note", {"id": server.url("/note"), "replies": {"items": items}}, ACTIVITY)
    found = Following(open_service).poll()
    decide(open_service.database, APPROVED, *(each.id for each in found))
    assert assert_harmless(open_service, "/mastodon/") == len(HOSTILE)
    assert assert_harmless(open_service, "/bluesky/") == len(HOSTILE)
    assert assert_harmless(open_service, "/activity/") == len(items)


def test_who_writes_too_much_holds_up_nobody(tmp_path: Path, server: OtherSite) -> None:
    server.pages.clear()
    put(server, "/api/v1/statuses/1", {"id": "1"})
    bo = {"acct": "bo", "display_name": "Bo", "url": "https://bo.example/"}
    many = [toot(str(number), f"reply {number}") for number in range(10, 15)]
    reply_with(server, *many, toot("99", "one", account=bo))
    post = f"/wet-wood/ {server.url('/@ann/1')}"
    limited = replace(
        settings(server, social_posts=(post,)), spam=SpamSettings(pending_limit="3/day")
    )
    with served(tmp_path, limited) as service:
        following = Following(service)
        assert [each.author for each in following.poll()] == ["Rosa", "Rosa", "Rosa", "Bo"]
        assert len(following.poll(30)) == 6, "a day later, there is room"


def asked(server: OtherSite, path: str) -> int:
    return server.asked().count(path)


def test_servers_are_asked_politely(mastodon: Following, server: OtherSite) -> None:
    mastodon.poll()
    etag = dict(server.pages[CONTEXT].headers)["ETag"]
    mastodon.poll()
    [_, again] = [fields for _, path, fields, _ in server.got if path == CONTEXT]
    assert again["If-None-Match"] == etag
    mastodon.poll(0.01)
    assert asked(server, CONTEXT) == 2, "not again at once"
    server.pages[CONTEXT] = Page(status=429, headers=(("Retry-After", "36000"),))
    mastodon.poll()
    mastodon.poll()
    assert asked(server, CONTEXT) == 3, "ten hours are not over"
    server.pages["/robots.txt"] = Page("User-agent: *\nDisallow: /api/", type="text/plain")
    mastodon.poll(48)
    before = len(server.got)
    mastodon.poll(48)
    assert {path for _, path, _, _ in server.got[before:]} <= {"/robots.txt"}


def test_a_server_that_fails_is_left_alone_longer_and_longer(
    mastodon: Following, server: OtherSite
) -> None:
    server.pages[CONTEXT] = Page(status=500)
    for _ in range(48):
        mastodon.poll(1)
    assert 4 < asked(server, CONTEXT) < 16
    for _ in range(100):
        mastodon.poll(DAY_MS / HOUR_MS)
    before = asked(server, CONTEXT)
    mastodon.poll(24)
    assert asked(server, CONTEXT) == before, "an old post is followed no more"


DID = "did:plc:abc"


def post_of(key: str, text: str, *replies: Json, did: str = DID) -> Json:
    """Return a part of a thread as Bluesky describes it."""
    uri = f"at://{did}/app.bsky.feed.post/{key}"
    author = {"did": DID, "handle": "rosa.example", "displayName": "Rosa"}
    post = {"uri": uri, "author": author, "record": {"text": text}, "likeCount": 3}
    kind = "app.bsky.feed.defs#threadViewPost"
    return {"$type": kind, "post": post | {"repostCount": 1}, "replies": list(replies)}


def thread_path(actor: str, key: str, depth: int) -> str:
    uri = quote(f"at://{actor}/app.bsky.feed.post/{key}", safe="")
    return f"/xrpc/app.bsky.feed.getPostThread?uri={uri}&depth={depth}&parentHeight=0"


def test_a_thread_of_bluesky_is_followed(tmp_path: Path, server: OtherSite) -> None:
    server.pages.clear()
    external = {"embed": {"external": {"uri": "https://blog.example/wet-wood/"}}}
    uri = f"at://{DID}/app.bsky.feed.post/k1"
    feed = [{"post": {"uri": uri, "record": external}}, {"post": {"uri": uri}, "reason": {}}]
    author_feed = "/xrpc/app.bsky.feed.getAuthorFeed?actor=ann.example&filter=posts_no_replies"
    put(server, author_feed, {"feed": feed})
    blocked = {"$type": "app.bsky.feed.defs#blockedPost", "blocked": True}
    liar = post_of("k9", "of somebody else", did="did:plc:other")
    inner = post_of("k3", "an *answer* to that")
    outer = post_of("k2", "It rained", inner)
    put(server, thread_path(DID, "k1", 20), {"thread": post_of("k1", "x", outer, blocked, liar)})
    with served(tmp_path, settings(server, social_accounts=("ann.example",))) as service:
        following = Following(service)
        first, second = following.poll()
        assert (first.source, second.source) == ("It rained", "an \\*answer\\* to that")
        assert second.parent_id == first.id
        assert first.permalink == f"https://bsky.app/profile/{DID}/post/k2"
        assert data(service.get("/api/comments?url=/wet-wood/"))["likes"] == 3
        put(server, thread_path(DID, "k1", 20), {"thread": post_of("k1", "x", outer)})
        server.pages[thread_path(DID, "k3", 0)] = Page('{"error": "NotFound"}', status=400)
        outer["replies"] = []
        put(server, thread_path(DID, "k1", 20), {"thread": post_of("k1", "x", outer)})
        assert [each.status for each in following.poll()] == [PENDING, DELETED]


def test_of_a_long_thread_of_bluesky_300_replies_are_taken(
    tmp_path: Path, server: OtherSite
) -> None:
    server.pages.clear()
    many = [post_of(f"k{number}", f"reply {number}") for number in range(2, 307)]
    put(server, thread_path(DID, "k1", 20), {"thread": post_of("k1", "x", *many)})
    post = f"/wet-wood/ https://bsky.app/profile/{DID}/post/k1"
    with served(tmp_path, settings(server, social_posts=(post,))) as service:
        assert len(Following(service).poll()) == 300


def test_a_reply_that_answers_itself_many_times_is_read_once(
    tmp_path: Path, server: OtherSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pages.clear()
    note, reply = server.url("/note"), server.url("/reply")
    items = [reply, note] * 5_000
    again = {"items": items, "next": server.url("/page")}
    put(server, "/page", again | {"id": server.url("/page")}, ACTIVITY)
    for address, path in ((note, "/note"), (reply, "/reply")):
        put(server, path, {"id": address, "content": "It rained", "replies": again}, ACTIVITY)
    texts = Mock(return_value=CommentText("x", "x", False))
    monkeypatch.setattr("commentsvc.markup.html_to_markdown.read", texts)
    with served(tmp_path, settings(server, social_posts=(f"/wet-wood/ {note}",))) as service:
        assert {each.permalink for each in Following(service).poll()} == {note, reply}
    assert texts.call_count == 2


def test_replies_of_all_servers_together_have_a_bound(tmp_path: Path, server: OtherSite) -> None:
    server.pages.clear()
    items = [server.url(f"/{number}") for number in range(20)]
    for number, address in enumerate(items):
        long = {"id": address, "content": f"reply {number}", "summary": "x" * 2_000_000}
        put(server, f"/{number}", long, ACTIVITY)
    note = server.url("/note")
    put(server, "/note", {"id": note, "replies": {"items": items}}, ACTIVITY)
    with served(tmp_path, settings(server, social_posts=(f"/wet-wood/ {note}",))) as service:
        assert 1 < len(Following(service).poll()) < 10


def client() -> PoliteClient:
    return PoliteClient(StrangerClient(("127.0.0.0/8",)), SettableClock(0, 0))


def test_json_with_millions_of_values_is_not_decoded(server: OtherSite) -> None:
    server.pages.clear()
    put(server, "/deep", [[]] * 500_000)
    with pytest.raises(RemoteError, match="too many values"):
        asyncio.run(client().get(server.url("/deep")))


def test_long_robots_txt_of_many_hosts_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = b"User-agent: *\n" + b"Disallow: /private/\n" * 20_000
    asked: list[str] = []

    async def fetch(_client: StrangerClient, url: str, *_more: object) -> Fetched:
        asked.append(url)
        return Fetched(200, "text/plain", rules if url.endswith(".txt") else b"{}", (), url)

    monkeypatch.setattr(StrangerClient, "fetch", fetch)
    asking = client()
    for host in "abccba":
        asyncio.run(asking.get(f"https://{host}.example/note"))
    found = [url[8] for url in asked if url.endswith("/robots.txt")]
    assert found == ["a", "b", "c", "a"], "the third one takes the place of the first"


def test_a_post_of_another_activitypub_server_is_followed(
    tmp_path: Path, server: OtherSite
) -> None:
    server.pages.clear()

    def thing(path: str, **fields: object) -> str:
        put(server, path, {"id": server.url(path), **fields}, ACTIVITY)
        return server.url(path)

    rosa = thing("/rosa", type="Person", name="Rosa")
    page_two = thing("/note/replies/2", items=[])
    inner = thing("/inner", type="Note", content="<p>And here</p>", attributedTo=rosa)
    replies = {"items": [inner], "next": None}
    outer = thing(
        "/outer", type="Note", content="<p>It rained</p>", attributedTo=rosa, replies=replies
    )
    put(server, "/liar", {"id": "http://127.0.0.2/x", "content": "of another host"}, ACTIVITY)
    forged = {"id": server.url("/missing"), "content": "said by somebody else", "type": "Note"}
    put(server, "/broken", {"id": "http://[", "content": "of no host"}, ACTIVITY)
    items = [
        outer,
        outer,
        server.url("/liar"),
        server.url("/broken"),
        forged,
        server.url("/note"),
        7,
        None,
    ]
    post = server.url("/note")
    put(
        server,
        "/note/replies/2",
        {"id": page_two, "items": items, "next": server.url("/note/replies/2")},
        ACTIVITY,
    )
    thing(
        "/note",
        type="Note",
        likes={"totalItems": 5},
        shares={"totalItems": 1},
        replies={"type": "Collection", "id": f"{post}/replies", "items": [], "first": page_two},
    )
    with served(tmp_path, settings(server, social_posts=(f"/wet-wood/ {post}",))) as service:
        following = Following(service)
        first, second = following.poll()
        assert (first.source, second.source) == ("It rained", "And here")
        assert (first.author, first.permalink) == ("Rosa", outer)
        assert second.parent_id == first.id
        assert data(service.get("/api/comments?url=/wet-wood/"))["likes"] == 5
        thing("/inner", type="Tombstone")
        assert [each.status for each in following.poll()] == [PENDING, DELETED]


def test_a_note_in_the_name_of_an_actor_elsewhere_is_refused(
    tmp_path: Path, server: OtherSite
) -> None:
    """The address, the id and everybody to whom it is attributed are of one origin."""
    server.pages.clear()
    with other_site("127.0.0.2") as victim:
        famous = {"id": victim.url("/ann"), "name": "Ann", "type": "Person"}
        put(victim, "/ann", famous, ACTIVITY)
        own = {"id": server.url("/rosa"), "name": "Rosa", "type": "Person"}
        put(server, "/rosa", own, ACTIVITY)
        # An address here that leads there, and an actor here who says to be the one there.
        server.pages["/ann"] = Page("", 302, (("Location", victim.url("/ann")),))
        put(server, "/other", famous, ACTIVITY)
        host = victim.url("").partition("://")[2]
        here = server.url("").partition("://")[2]
        names: list[Any] = [  # Any: as servers write it
            victim.url("/ann"),
            {"id": victim.url("/ann")},
            famous,
            [server.url("/rosa"), victim.url("/ann")],
            [famous, own],
            f"http://{here}@{host}/ann",
            f"HTTP://{host.upper()}/ann",
            f"https://{here}/rosa",
            server.url("/rosa").replace(f":{server.server_address[1]}", ":81"),
            "//[",
            [[victim.url("/ann")]],
            {"@id": victim.url("/ann"), "name": "Ann"},
            7,
        ]
        items = []
        for number, name in enumerate(names):
            address = server.url(f"/{number}")
            body = {"id": address, "content": f"forged {number}", "attributedTo": name}
            put(server, f"/{number}", body, ACTIVITY)
            items.append(address)
        shown = {"right": own, "leads away": server.url("/ann"), "lies": server.url("/other")}
        for text, name in shown.items():
            address = server.url(f"/{text.replace(' ', '-')}")
            body = {"id": address, "content": text, "attributedTo": name}
            put(server, f"/{text.replace(' ', '-')}", body, ACTIVITY)
            items.append(address)
        post = server.url("/note")
        put(server, "/note", {"id": post, "replies": {"items": items}}, ACTIVITY)
        with served(tmp_path, settings(server, social_posts=(f"/wet-wood/ {post}",))) as service:
            found = {each.source: (each.author, each.site) for each in Following(service).poll()}
        assert found.pop("right") == ("Rosa", server.url("/rosa"))
        assert found == {"leads away": ("?", ""), "lies": ("?", "")}


def test_a_content_warning_is_shown_as_a_link_to_the_reply(
    mastodon: Following, server: OtherSite
) -> None:
    reply_with(server, toot("11", "<p>they all die</p>", spoiler_text="the [end] of *Dune*"))
    [found] = mastodon.poll()
    assert "die" not in found.source + found.html
    assert f'href="{found.permalink}"' in found.html
    assert ">the [end] of *Dune*</a>" in found.html


def test_a_content_warning_without_words_is_one(mastodon: Following, server: OtherSite) -> None:
    reply_with(server, toot("11", "<p>they all die</p>", spoiler_text="\u200b"))
    [found] = mastodon.poll()
    assert found.source == f"[…](<{found.permalink}>)"


@pytest.mark.parametrize(
    ("field", "shown"), [("limited", 0), ("suspended", 0), ("locked", 1), ("bot", 1)]
)
def test_replies_of_accounts_that_their_server_hides_are_left_out(
    mastodon: Following, server: OtherSite, field: str, shown: int
) -> None:
    reply = toot("11", "It rained")
    reply["account"][field] = True
    reply_with(server, reply)
    assert len(mastodon.poll()) == shown


PUBLIC = "https://www.w3.org/ns/activitystreams#Public"


@pytest.mark.sqlite_only("it is about the pages of others")
@pytest.mark.parametrize(
    ("note", "actor", "text"),
    [
        ({"content": "<p>Lemmy</p>", "to": [PUBLIC], "mediaType": "text/html"}, {}, "Lemmy"),
        ({"content": "Pleroma", "to": ["https://a.example/"], "cc": "as:Public"}, {}, "Pleroma"),
        ({"content": "to friends", "to": ["https://a.example/f"], "cc": []}, {}, ""),
        ({"content": "hidden", "bto": ["https://a.example/ann"]}, {}, ""),
        ({"content": "group", "audience": "https://a.example/group"}, {}, ""),
        ({"content": "to Ann", "type": "ChatMessage", "to": "https://a.example/ann"}, {}, ""),
        ({"content": "a *b*", "mediaType": "text/markdown"}, {}, "a *b*"),
        ({"content": "a *b* <c>", "mediaType": "text/plain"}, {}, "a \\*b\\* \\<c>"),
        ({"content": "", "contentMap": {"de": "<p>Ja</p>"}}, {}, "Ja"),
        ({"content": None, "contentMap": {}, "attachment": [{"type": "Image"}]}, {}, ""),
        ({"content": "Note", "to": [PUBLIC]}, {"_misskey_makeNotesHiddenBefore": None}, "Note"),
        ({"content": "signed in"}, {"_misskey_requireSigninToViewContents": True}, ""),
        ({"content": "for a week"}, {"_misskey_makeNotesHiddenBefore": -604_800}, ""),
        ({"content": "once"}, {"_misskey_makeNotesFollowersOnlyBefore": 1_700_000_000}, ""),
        ({"content": "suspended"}, {"suspended": True}, ""),
        ({"type": "Tombstone", "formerType": "Note"}, {}, ""),
    ],
)  # fmt: skip
def test_a_reply_that_is_not_for_everybody_is_left_out(
    tmp_path: Path, server: OtherSite, note: Json, actor: Json, text: str
) -> None:
    server.pages.clear()
    bodies: dict[str, Json] = {
        "/rosa": {"type": "Person", "name": "Rosa", **actor},
        "/reply": {"type": "Note", "attributedTo": server.url("/rosa"), **note},
        "/note": {"type": "Note", "replies": {"items": [server.url("/reply")]}},
    }
    for path, body in bodies.items():
        put(server, path, {"id": server.url(path), **body}, ACTIVITY)
    post = f"/wet-wood/ {server.url('/note')}"
    with served(tmp_path, settings(server, social_posts=(post,))) as service:
        assert [each.source for each in Following(service).poll()] == [text] * bool(text)


def test_custom_emoji_and_replies_without_words_are_left_out(
    mastodon: Following, server: OtherSite
) -> None:
    emoji = [{"shortcode": "blobcat"}, {"shortcode": "blob-cat.new"}]
    mention = '<p><a class="u-url mention" href="https://a.example/@ann">@<span>ann</span></a> </p>'
    reply_with(
        server,
        toot("11", "<p>nice :blobcat: 10:30:15</p>", emojis=emoji),
        toot("12", "<p>:blobcat: :blob-cat.new:</p>", emojis=emoji),
        toot("13", mention),
        toot("14", "<p></p>", media_attachments=[{"type": "image"}]),
        toot("15", "<p>x</p>", spoiler_text="cats :blobcat:", emojis=emoji),
    )
    nice, warned = mastodon.poll()
    assert (nice.source, warned.source) == ("nice 10:30:15", f"[cats](<{warned.permalink}>)")


@pytest.mark.parametrize("where", ["post", "author", "record"])
@pytest.mark.parametrize("label", ["!hide", "porn", "!no-unauthenticated", "spam"])
def test_a_labelled_reply_on_bluesky_is_left_out(
    tmp_path: Path, server: OtherSite, where: str, label: str
) -> None:
    found = replies_on_bluesky(tmp_path, server, where, label)
    assert [each.source for each in found] == ["fine"]


def test_links_of_bluesky_lead_there(tmp_path: Path, server: OtherSite) -> None:
    text = "Grüße: see a.example/lo…"
    start = text.encode().index(b"a.example")
    link = {"$type": "app.bsky.richtext.facet#link", "uri": "https://a.example/long"}
    index = {"byteStart": start, "byteEnd": len(text.encode())}
    record = {"text": text, "facets": [{"index": index, "features": [link]}]}
    [found, _] = replies_on_bluesky(tmp_path, server, "facets", record=record)
    assert found.source == "Grüße: see [a.example/lo…](<https://a.example/long>)"


@pytest.mark.parametrize(
    ("text", "embed", "source"),
    [
        ("see", {"external": {"uri": "https://a.example/?a&b", "title": "A [b]"}},
         "see\n\n[A \\[b]](<https://a.example/?a&b>)"),
        ("see", {"media": {"external": {"uri": "https://a.example/"}}, "record": {}},
         "see\n\n[https://a.example/](<https://a.example/>)"),
        ("", {"external": {"uri": "https://a.example/", "title": "A"}}, "[A](<https://a.example/>)"),
        ("see https://a.example/x", {"external": {"uri": "https://a.example/x", "title": "A"}},
         "see https://a.example/x"),
        ("ha", {"external": {"uri": "https://media.tenor.com/a.gif", "title": "Gif"}}, "ha"),
        ("", {"external": {"uri": "https://media.tenor.com/a.gif", "title": "Gif"}}, ""),
        ("", {"record": {"uri": f"at://{DID}/app.bsky.feed.post/k9"}}, ""),
        ("ha", {"external": {"uri": "javascript:x"}}, "ha"),
    ],
)  # fmt: skip
def test_the_card_of_a_post_on_bluesky_is_a_link(
    tmp_path: Path, server: OtherSite, text: str, embed: Json, source: str
) -> None:
    found = replies_on_bluesky(tmp_path, server, "", record={"text": text, "embed": embed})
    assert sorted(each.source for each in found) == sorted(filter(None, (source, "fine")))


@pytest.mark.parametrize("where", ["thread", "post"])
def test_replies_that_the_author_hid_on_bluesky_are_left_out(
    tmp_path: Path, server: OtherSite, where: str
) -> None:
    uri = f"at://{DID}/app.bsky.feed.post/k2"
    gate = {"record": {"hiddenReplies": [uri, 7]}}
    found = replies_on_bluesky(tmp_path, server, "", gate={where: {"threadgate": gate}})
    assert [each.source for each in found] == ["fine"]


def replies_on_bluesky(
    tmp_path: Path,
    server: OtherSite,
    where: str,
    label: str = "",
    record: Json | None = None,
    gate: Json | None = None,
) -> list[Comment]:
    """Return what becomes of two replies, of which the first is labelled at `where`."""
    server.pages.clear()
    uri = f"at://{DID}/app.bsky.feed.post/k1"
    external = {"embed": {"external": {"uri": "https://blog.example/wet-wood/"}}}
    author_feed = "/xrpc/app.bsky.feed.getAuthorFeed?actor=ann.example&filter=posts_no_replies"
    put(server, author_feed, {"feed": [{"post": {"uri": uri, "record": external}}]})
    first = post_of("k2", "not for all")
    post = first["post"]
    post["record"] |= record or {}
    if label:
        labels = [{"val": label}]
        labelled = {"post": post, "author": post["author"], "record": post["record"]}[where]
        labelled["labels"] = {"values": labels} if where == "record" else labels
    thread = post_of("k1", "x", first, post_of("k3", "fine"))
    thread["post"] |= (gate or {}).get("post", {})
    put(server, thread_path(DID, "k1", 20), {"thread": thread, **(gate or {}).get("thread", {})})
    with served(tmp_path, settings(server, social_accounts=("ann.example",))) as service:
        return Following(service).poll()
