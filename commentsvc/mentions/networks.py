"""Reads posts on Mastodon, Bluesky and other ActivityPub servers, and the replies to them.

The servers are not trusted. Values of the wrong type are left out. A reply names its parent by an
id, which may be wrong or part of a cycle. An ActivityPub object is only accepted from the
origin that its id names, and if its author is of that origin, too. Links to replies are built here
and lead to the server that delivered them.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from html import escape, unescape
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from commentsvc.comments.submission import is_site
from commentsvc.markup import html_to_markdown
from commentsvc.markup.html_to_markdown import Markup
from commentsvc.util.http_client import RemoteError
from commentsvc.util.origin import origin
from commentsvc.util.polite_client import MEMORY, JsonAnswer, PoliteClient
from commentsvc.util.text import is_visible, one_line
from commentsvc.util.threads import FOREIGN, run_in

NAME_LENGTH: Final = 80
REPLIES: Final = 300  # the most replies to a post that are read
DEPTH: Final = 20  # levels of a Bluesky thread that are read
REQUESTS: Final = 60  # the most requests to ActivityPub servers for one post
TEXT: Final = 20_000  # characters of a reply's HTML
WARNING: Final = 200  # characters of a content warning
FACETS: Final = 100  # links of a post on Bluesky
EMOJI: Final = 100  # custom emoji of a text

ACTIVITY: Final = "application/activity+json"
_MASTODON: Final = re.compile(r"(https?://[^/?#]+)/@[\w.@-]+/([0-9]{1,30})/?").fullmatch
_BLUESKY: Final = re.compile(r"https://bsky\.app/profile/([\w.:-]+)/post/([\w.~-]+)/?").fullmatch
_AT: Final = re.compile(r"at://([\w.:%-]+)/app\.bsky\.feed\.post/([\w.~-]+)").fullmatch

# Labels of Bluesky with which a post is not for the public, or for adults alone; and those of its
# moderation service, whose posts its own site folds or covers:
# https://docs.bsky.app/docs/advanced-guides/moderation.
HIDING: Final = frozenset(
    [
        *("!hide", "!warn", "!takedown", "!no-unauthenticated", "porn", "sexual", "nudity", "gore"),
        *("sexual-figurative", "graphic-media", "corpse", "self-harm", "sensitive", "spam", "scam"),
        *("impersonation", "inauthentic", "engagement-farming", "security", "unsafe-link"),
        *("illicit", "threat", "extremist", "intolerant", "rude", "misleading", "misinformation"),
        "rumor",
    ]
)
# Who may read an object (ActivityPub, section 5.6), and what actors ask on Misskey:
# https://misskey-hub.net/ns.
_PUBLIC: Final = ("https://www.w3.org/ns/activitystreams#Public", "as:Public", "Public")
_SIGNED_IN: Final = "_misskey_requireSigninToViewContents"
_PASSING: Final = ("_misskey_makeNotesFollowersOnlyBefore", "_misskey_makeNotesHiddenBefore")
_MARKUP: Final[dict[str, Markup]] = {"text/markdown": "markdown", "text/plain": "text"}
# What Bluesky's programs put into a post as a link, and show as a picture.
_GIF: Final = re.compile(r"https://(?:media\.tenor\.com|static\.klipy\.com)/").match
_TAG: Final = re.compile("<[^>]*(?:>|$)").sub
_MENTION: Final = re.compile(r"@[\w.-]+(?:@[\w.-]+)?").sub

Json = dict[str, Any]  # Any: JSON of others


class RemoteReply(NamedTuple):
    """A reply: its address, that of the reply that it answers or "", its author and its text."""

    url: str
    parent: str
    author: str
    author_site: str
    text: str


class RemotePost(NamedTuple):
    """A post; its `replies` come parents first, and are None if they have not changed."""

    likes: int
    reposts: int
    replies: list[RemoteReply] | None


class SocialNetworks:
    """Reads posts of all supported networks."""

    def __init__(self, client: PoliteClient, service: PoliteClient, bluesky: str) -> None:
        """Take the client for all servers, and that for Bluesky's service and its address."""
        self._client = client
        self._service = service
        self._bluesky = bluesky.rstrip("/")

    async def read(self, address: str, etag: str = "") -> tuple[RemotePost | None, str]:
        """Return the post at `address` and an ETag; None if it has not changed since `etag`.

        Raise PostGone or RemoteError.
        """
        if match := _MASTODON(address):
            return await self._mastodon(match[1], match[2], etag)
        if match := _BLUESKY(address):
            return await self._bluesky_thread(match[1], match[2], etag)
        return await self._activity(address), ""

    async def is_gone(self, url: str) -> bool:
        """Return whether a reply that `read` once returned is deleted. Raise RemoteError."""
        if match := _MASTODON(url):
            answer = await self._client.get(f"{match[1]}/api/v1/statuses/{match[2]}")
        elif match := _BLUESKY(url):
            answer = await self._service.get(self._thread_url(match[1], match[2], 0))
            return answer.status != 200 or "post" not in _dict(_dict(answer.body).get("thread"))
        else:
            answer = await self._client.get(url, ACTIVITY)
        return answer.status != 200 or _dict(answer.body).get("type") == "Tombstone"

    async def recent(self, account: str) -> list[tuple[str, list[str]]]:
        """Return the latest posts of an account, and the links in each.

        An account is a Mastodon address or a Bluesky handle. Raise PostGone or RemoteError.
        """
        if match := re.fullmatch(r"(https?://[^/?#]+)/@([\w.-]+)/?", account):
            found = _present(
                await self._client.get(f"{match[1]}/api/v1/accounts/lookup?acct={match[2]}")
            )
            number = quote(_text(found.get("id")), safe="")
            answer = await self._client.get(
                f"{match[1]}/api/v1/accounts/{number}/statuses"
                "?exclude_replies=true&exclude_reblogs=true"
            )
            return [
                (f"{match[1]}/@{match[2]}/{each['id']}", list(links(each)))
                for each in _dicts(answer.body)
                if re.fullmatch("[0-9]{1,30}", _text(each.get("id")))
            ]
        answer = await self._service.get(
            f"{self._bluesky}/xrpc/app.bsky.feed.getAuthorFeed?actor={quote(account)}"
            "&filter=posts_no_replies"
        )
        posts = [(each, _dict(each.get("post"))) for each in _dicts(_present(answer).get("feed"))]
        return [
            (f"https://bsky.app/profile/{uri[1]}/post/{uri[2]}", list(links(each)))
            for each, post in posts
            if (uri := _AT(_text(post.get("uri")))) and "reason" not in each
        ]

    async def _mastodon(self, server: str, number: str, etag: str) -> tuple[RemotePost | None, str]:
        """Read a status and its context: https://docs.joinmastodon.org/methods/statuses/."""
        status = await self._client.get(f"{server}/api/v1/statuses/{number}")
        post = _present(status)
        context = await self._client.get(
            f"{server}/api/v1/statuses/{number}/context", "application/json", etag
        )
        counts = (_number(post.get("favourites_count")), _number(post.get("reblogs_count")))
        if context.status == 304:
            return RemotePost(*counts, None), etag
        found = {}
        for each in _dicts(_present(context).get("descendants"))[:REPLIES]:
            account = _dict(each.get("account"))
            own, name = _text(each.get("id")), _text(account.get("acct"))
            if each.get("visibility") not in ("public", "unlisted"):
                continue
            if account.get("limited") is True or account.get("suspended") is True:
                continue  # its own moderators hide it
            if re.fullmatch("[0-9]{1,30}", own) and re.fullmatch(r"[\w.@-]{1,300}", name):
                found[own] = (each, account, f"{server}/@{name}/{own}")
        replies = [
            RemoteReply(
                url,
                found[parent][2] if (parent := _text(each.get("in_reply_to_id"))) in found else "",
                *_author(
                    _without_emoji(_text(account.get("display_name")), account.get("emojis")),
                    account.get("acct"),
                    account.get("url"),
                ),
                await _words(each, each.get("spoiler_text"), each.get("emojis"), url),
            )
            for each, account, url in found.values()
        ]
        return RemotePost(*counts, _ordered(replies)), context.etag

    def _thread_url(self, actor: str, key: str, depth: int) -> str:
        uri = quote(f"at://{actor}/app.bsky.feed.post/{key}", safe="")
        method = "xrpc/app.bsky.feed.getPostThread"
        return f"{self._bluesky}/{method}?uri={uri}&depth={depth}&parentHeight=0"

    async def _bluesky_thread(
        self, actor: str, key: str, etag: str
    ) -> tuple[RemotePost | None, str]:
        """Read a thread: https://docs.bsky.app/docs/api/app-bsky-feed-get-post-thread."""
        answer = await self._service.get(
            self._thread_url(actor, key, DEPTH), "application/json", etag
        )
        if answer.status == 304:
            return None, etag
        body = _present(answer)
        thread = _dict(body.get("thread"))
        post = _dict(thread.get("post"))
        if not post:
            raise PostGone
        hidden = [uri for each in (body, post) for uri in _hidden_replies(each)]
        replies: list[RemoteReply] = []
        waiting = [("", each) for each in _dicts(thread.get("replies"))]
        for parent, each in waiting:
            if len(replies) == REPLIES:
                break
            if _dict(each.get("post")).get("uri") in hidden:
                continue
            if reply := await _bluesky_reply(_dict(each.get("post")), parent):
                replies.append(reply)
                waiting += [(reply.url, answer) for answer in _dicts(each.get("replies"))]
        counts = (_number(post.get("likeCount")), _number(post.get("repostCount")))
        return RemotePost(*counts, _ordered(replies)), answer.etag

    async def _activity(self, address: str) -> RemotePost:
        """Read an ActivityPub object and its collection of replies (ActivityPub, section 5)."""
        reading = _ActivityClient(self._client.get)
        post = await reading.object(address)
        if post is None:
            raise PostGone
        likes, reposts = (_dict(post.get(name)) for name in ("likes", "shares"))
        replies: list[RemoteReply] = []
        waiting = [("", item) async for item in reading.items(post.get("replies"))]
        for parent, item in waiting:
            found = await reading.object(item)
            if found and is_site(_text(found.get("id"))) and _is_public(found):
                url = _text(found["id"])
                author = await reading.author(found)
                if author is None or _is_withdrawn(author):
                    continue
                name = _without_emoji(_text(author.get("name")), author.get("tag"))
                names = (name, author.get("preferredUsername"), author.get("id"))
                text = await _words(found, found.get("summary"), found.get("tag"), url)
                replies.append(RemoteReply(url, parent, *_author(*names), text))
                waiting += [(url, each) async for each in reading.items(found.get("replies"))]
        counts = (_number(likes.get("totalItems")), _number(reposts.get("totalItems")))
        return RemotePost(*counts, _ordered(replies))


class PostGone(Exception):
    """The post is deleted, or never existed."""


class _ActivityClient:
    """Reads ActivityPub objects and collections, each address once, so that cycles end.

    Together they may take as much memory as one answer.
    """

    def __init__(self, get: Callable[[str, str], Awaitable[JsonAnswer]]) -> None:
        self._get = get
        self._known: dict[str, Json | None] = {}
        self._room = MEMORY
        self._members: set[str] = set()

    async def object(self, address: Any) -> Json | None:  # Any: JSON of others
        """Return the object with that id, from its own host; None if it cannot be read."""
        if isinstance(address, dict):  # only the object's own host is trusted
            address = address.get("id")
        if not isinstance(address, str) or not is_site(address):
            return None
        if address in self._known or len(self._known) >= REQUESTS:
            return self._known.get(address)
        self._known[address] = None
        try:
            answer = await self._get(address, ACTIVITY)
        except RemoteError:
            return None
        found = _dict(answer.body)
        stated, asked = origin(_text(found.get("id"))), origin(answer.url)
        is_there = answer.status == 200 and found.get("type") != "Tombstone"
        self._room -= answer.memory
        if is_there and stated and stated == asked and self._room >= 0:
            self._known[address] = found
        return self._known[address]

    async def author(self, found: Json) -> Json | None:
        """Return the actor to whom an object is attributed, {} for none that can be read.

        Return None if one of several is of another origin than the object: a server must not speak
        in the name of people elsewhere (ActivityPub, section B.1).
        """
        home = origin(_text(found.get("id")))
        actors = [_text(_dict(each).get("id", each)) for each in _list(found.get("attributedTo"))]
        if any(origin(each) != home for each in actors):
            return None
        actor = await self.object(actors[0]) if actors else None
        return actor if actor and origin(_text(actor.get("id"))) == home else {}

    async def items(self, collection: Any) -> AsyncIterator[str]:  # Any: JSON of others
        """Yield the ids of a collection's members, page by page: each once, REPLIES at most."""
        page = collection
        for _ in range(REQUESTS):
            found = page if isinstance(page, dict) and "items" in page else await self.object(page)
            if not isinstance(found, dict):
                return
            members = (
                _list(found.get("items"))[:REPLIES] + _list(found.get("orderedItems"))[:REPLIES]
            )
            for each in members:
                address = _text(_dict(each).get("id", each))
                if address not in self._members and len(self._members) < REPLIES:
                    self._members.add(address)
                    yield address
            page = found.get("first") or found.get("next")


def _is_public(found: Json) -> bool:
    """Return whether an object is for everybody; one that does not say for whom is."""
    fields = ("to", "cc", "bto", "bcc", "audience")
    audience = [each for name in fields for each in _list(found.get(name))]
    return not audience or any(each in _PUBLIC for each in audience)


def _is_withdrawn(actor: Json) -> bool:
    """Return whether an actor's objects are not, or not for ever, for visitors who are nobody."""
    is_closed = actor.get("suspended") is True or actor.get(_SIGNED_IN) is True
    return is_closed or any(actor.get(name) not in (None, False) for name in _PASSING)


def _hidden_replies(gated: Json) -> list[Any]:  # Any: JSON of others
    """Return the addresses of the replies that the author of a thread on Bluesky has hidden."""
    gate = _dict(_dict(gated.get("threadgate")).get("record"))
    return _list(gate.get("hiddenReplies"))[:REPLIES]


async def _bluesky_reply(post: Json, parent: str) -> RemoteReply | None:
    author, record = _dict(post.get("author")), _dict(post.get("record"))
    uri = _AT(_text(post.get("uri")))
    did = _text(author.get("did"))
    if uri is None or did != uri[1] or not is_site(f"https://bsky.app/profile/{did}"):
        return None
    labels = _labels(post, author, record)
    if any(_text(each.get("val")) in HIDING and not each.get("neg") for each in labels):
        return None
    text = await _markdown(_with_card(_linked(record), record), "html_lines")
    profile = f"https://bsky.app/profile/{did}"
    names = _author(author.get("displayName"), author.get("handle"), profile)
    url = f"{profile}/post/{uri[2]}"
    return RemoteReply(url, parent, *names, text)


def _labels(*labelled: Json) -> Iterator[Json]:
    """Yield the labels of a post of Bluesky and its author, also those that the author has put."""
    for each in labelled:
        own = each.get("labels")
        yield from _dicts(own.get("values") if isinstance(own, dict) else own)


def _linked(record: Json) -> str:
    """Return the HTML of a post of Bluesky with the links of its facets; "" for mentions alone.

    A facet names bytes of the text: https://docs.bsky.app/docs/advanced-guides/post-richtext.
    """
    data, html, end = _text(record.get("text"))[:TEXT].encode(errors="replace"), "", 0
    if not _says_something(escape(data.decode(errors="replace"))):
        return ""
    for facet in sorted(_dicts(record.get("facets"))[:FACETS], key=_start):
        start, stop = _start(facet), _number(_dict(facet.get("index")).get("byteEnd"))
        urls = [_text(each.get("uri")) for each in _dicts(facet.get("features"))]
        url = next((each for each in urls if is_site(each)), "")
        if url and end <= start < stop <= len(data):
            before, label = (
                data[a:b].decode(errors="replace") for a, b in ((end, start), (start, stop))
            )
            html += f'{escape(before, quote=False)}<a href="{escape(url)}">{escape(label)}</a>'
            end = stop
    return html + escape(data[end:].decode(errors="replace"), quote=False)


def _with_card(html: str, record: Json) -> str:
    """Return the HTML of a post of Bluesky with the link of its card, if it has not that link."""
    embed = _dict(record.get("embed"))
    card = _dict(embed.get("external")) or _dict(_dict(embed.get("media")).get("external"))
    url = _text(card.get("uri"))
    if not is_site(url) or _GIF(url) or escape(url) in html:
        return html
    title = one_line(_text(card.get("title"))[:TEXT])[:WARNING] or url
    return f'{html}\n\n<a href="{escape(url)}">{escape(title)}</a>'


def _start(facet: Json) -> int:
    return _number(_dict(facet.get("index")).get("byteStart"))


async def _words(reply: Json, warning: Any, emoji: Any, url: str) -> str:  # Any: JSON of others
    """Return the text of a reply at `url` as Markdown, "" if it has no words.

    Of one with a content warning, that is the warning, as a link to the reply.
    """
    if _text(warning):
        said = one_line(_without_emoji(_text(warning), emoji))[:WARNING]
        said = said if is_visible(said) else "…"  # Misskey's warnings may have no words
        label = (await _markdown(said, "text")).replace("]", "\\]")
        return f"[{label}](<{url}>)"
    texts = (reply.get("content"), *_dict(reply.get("contentMap")).values())
    text = _without_emoji(next(filter(None, map(_text, texts)), "")[:TEXT], emoji)
    markup = _MARKUP.get(_text(reply.get("mediaType")), "html")
    return await _markdown(text, markup) if _says_something(text) else ""


def _says_something(html: str) -> bool:
    """Return whether HTML has words besides mentions of people."""
    return is_visible(_MENTION("", unescape(_TAG("", html))))


def _without_emoji(text: str, emoji: Any) -> str:  # Any: JSON of others
    """Return `text` without the custom `emoji` of its server, which are pictures."""
    text = text[:TEXT]
    for each in _dicts(emoji)[:EMOJI]:
        name = _text(each.get("shortcode")) or _text(each.get("name")).strip(":")
        if re.fullmatch(r"[\w.+-]{1,100}", name):
            text = re.sub(f" ?:{re.escape(name)}:", "", text)
    return text


def _ordered(replies: list[RemoteReply]) -> list[RemoteReply]:
    """Return the replies with a text, parents first; a cycle is broken at one of its replies."""
    waiting = {reply.url: reply for reply in replies if reply.text}
    ordered: dict[str, RemoteReply] = {}
    while waiting:
        ready = [each for each in waiting.values() if each.parent not in waiting]
        for each in ready or [next(iter(waiting.values()))]:
            del waiting[each.url]
            known = each.parent in ordered
            ordered[each.url] = each if known else each._replace(parent="")
    return list(ordered.values())


def _present(answer: JsonAnswer) -> Json:
    """Return the JSON object of an answer. Raise PostGone if its status is not 200."""
    if answer.status != 200:
        raise PostGone
    return _dict(answer.body)


def _author(name: Any, account: Any, site: Any) -> tuple[str, str]:  # Any: JSON of others
    shown = one_line(_text(name)) or one_line(_text(account))
    return shown[:NAME_LENGTH] or "?", _text(site) if is_site(_text(site)) else ""


async def _markdown(text: str, language: Markup) -> str:
    """Return a text as Markdown; hostile HTML may take a tenth of a second."""
    return (await run_in(FOREIGN, html_to_markdown.read, text[:TEXT], language)).source


def _text(value: Any) -> str:  # Any: JSON of others
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:  # Any: as above
    return min(max(value, 0), 10**9) if isinstance(value, int) else 0


def _dict(value: Any) -> Json:  # Any: as above
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:  # Any: as above
    return value if isinstance(value, list) else [value] if value else []


def _dicts(value: Any) -> list[Json]:  # Any: as above
    return [each for each in _list(value) if isinstance(each, dict)]


def links(status: Any) -> Iterator[str]:  # Any: as above
    """Yield the links in a Mastodon status or in an entry of Bluesky's author feed."""
    found = _dict(status)
    yield from map(unescape, re.findall(r"href=\"(https?://[^\"]+)\"", _text(found.get("content"))))
    record = _dict(_dict(found.get("post")).get("record"))
    yield _text(_dict(_dict(record.get("embed")).get("external")).get("uri"))
    for facet in _dicts(record.get("facets")):
        yield from (_text(each.get("uri")) for each in _dicts(facet.get("features")))
