"""What a stranger's request may cost, with the worst stored comments, and what it leaves behind."""

import asyncio
import html
import io
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import markupsafe
import msgspec
import peewee
import pytest

from commentsvc import outbox
from commentsvc.api import feeds
from commentsvc.archive import static_pages
from commentsvc.auth import attempts, signed_links
from commentsvc.comments import create, images, search
from commentsvc.db.connection import Transaction
from commentsvc.db.schema.tables import TABLES
from commentsvc.delivery import mail, mail_templates
from commentsvc.exports import contents, disqus, wordpress, xml_text
from commentsvc.exports.contents import Selection
from commentsvc.exports.output import Output
from commentsvc.feedback import reactions, reports, views, votes
from commentsvc.http.compression import compressed
from commentsvc.http.messages import Response, encode
from commentsvc.inbox import inbox
from commentsvc.markup import people
from commentsvc.markup.defuse import defuse
from commentsvc.markup.markdown import absolute, links, render
from commentsvc.mentions import store as mentions
from commentsvc.model import APPROVED, SPAM
from commentsvc.moderation import private_notes, retention, threads
from commentsvc.pages import reader_sign_in
from commentsvc.readers import accounts, follows, former_ids, mailed_comments, subscriptions
from commentsvc.settings.schema import CommentsSettings, Site, SpamSettings
from commentsvc.util.text import excerpt, one_line
from tests.unit.admin_client import seated
from tests.unit.app_fixture import NOW, SETTINGS, Served, data, served
from tests.unit.database_fixture import add, decide, new
from tests.unit.markup.test_markdown import (
    ATTACKS,
    IMAGE_ATTACKS,
    LINE_ENDS,
    RENDERED,
    sanitized_again,
)
from tests.unit.processor_time import quickest
from tests.unit.public_reads import SITE, requests
from tests.unit.worst_texts import SIZE, SOURCES

ROOT = Path(__file__).parents[1]
STORED = 125  # comments of the largest size
# Milliseconds of a processor; those that the table allows a single request.
MOST = 100
# Bytes of an entry of the cache by default: a quarter of it, of which a part is left to malloc.
LARGEST_ENTRY = (8 << 20) * 77 // 100 // 4


class Cost(NamedTuple):
    """What the table allows a request."""

    ms: int
    kilobytes: int


def table() -> dict[tuple[str, str], Cost]:
    """Return the table of SECURITY.md by method and path."""
    text = (ROOT / "SECURITY.md").read_text().partition("## What a public request may cost")[2]
    costs: dict[tuple[str, str], Cost] = {}
    for routes, ms, kilobytes in re.findall(r"^\| ([A-Z].*?) \| (\d+) \| (\d+) \|", text, re.M):
        for each in routes.split("; "):
            method, _, paths = each.partition(" ")
            for path in re.findall(r"`(.*?)`", paths):
                assert (method, path) not in costs, "it stands there once"
                costs[method, path] = Cost(int(ms), int(kilobytes))
    return costs


def filled(service: Served, sources: list[str]) -> None:
    """Store comments with these texts in turn."""
    htmls = {source: render(source, math=True) for source in sources}

    def work(tx: Transaction) -> None:
        for number in range(STORED):
            source = sources[number % len(sources)]
            create.add(tx, new(url="/p/", source=source, html=htmls[source]), int(NOW * 1_000))
        search.index_pending(tx, STORED)

    service.database.write_now(work)
    assert len(json.loads(service.get("/api/search?q=Ann").body)["data"]) == 10


# What changes or searches stored texts when they are read.
TRANSFORMS: dict[str, Callable[[str], object]] = {
    "for Stacosys": defuse,
    "an excerpt": lambda text: excerpt(text, 140),
    "a feed": feeds._text,
    "a template": markupsafe.escape,
    "Isso": lambda text: html.escape(text, quote=False),
    "JSON": encode,
    "a mail": mail_templates._quoted,
    "a mail's gaps": lambda text: mail._GAPS.sub("\n\n", text),
    "XML": lambda text: xml_text.cdata("a", text),
    "mentions": people.names,
    "links": links,
    "absolute links": lambda text: absolute(text, "https://blog.example/p/"),
    "a line": lambda text: one_line(text[:80]),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_what_reads_a_stored_text_is_quick_and_takes_time_in_proportion(name: str) -> None:
    transform, slow = TRANSFORMS[name], []
    for shape, source in SOURCES.items():
        for text in (source, source * 4):
            share = MOST / STORED * len(text) / SIZE
            if (took := quickest(partial(transform, text), share)[0]) > share:
                slow.append(f"{shape}: {took:.2f} ms of {share:.2f}")
    assert slow == []


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    settings = msgspec.structs.replace(SETTINGS, sites=(SITE,), comments=CommentsSettings())
    with served(tmp_path, settings) as service:
        yield service


def milliseconds(service: Served, asked: str, most: float) -> tuple[float, Response]:
    """Return the least CPU time of some attempts, and the answer as it is stored."""
    return quickest(lambda: compressed(service.get(asked)), most)


def is_within_bounds(service: Served) -> list[str]:
    """Ask every public read; return those that cost more than the table allows."""
    costs, dear = table(), []
    for route, asked in requests(service):
        allowed = costs["GET", route.pattern]
        took, answer = milliseconds(service, asked, allowed.ms)
        if route.operation and route.operation.cached and "replies" not in route.pattern:
            assert answer.status == 200, route.pattern
        stored = len(answer.body) + len(answer.gzip) + len(answer.brotli)
        if took > allowed.ms or len(answer.body) > allowed.kilobytes * 1_000:
            dear.append(f"{route.pattern}: {took:.0f} ms, {len(answer.body)} bytes")
        if answer.tags and stored > LARGEST_ENTRY:
            dear.append(f"{route.pattern}: {stored} bytes are not cached")
    return dear


def test_the_table_has_every_public_route(service: Served) -> None:
    routes = {
        (each.method, each.pattern)
        for each in service.routes
        if each.method != "OPTIONS" and not (each.operation and each.operation.permission)
    }
    assert {*table()} == routes


def test_no_public_read_is_dear_with_all_worst_comments(service: Served) -> None:
    filled(service, [*SOURCES.values()])
    assert is_within_bounds(service) == []


@pytest.mark.parametrize(
    "name",
    [
        "the links of the report",
        "entities in a definition",
        "ampersands",
        "nearly entities",
        "links within the site and tags",
    ],
)
def test_no_public_read_is_dear_with_the_worst_comment(service: Served, name: str) -> None:
    filled(service, [SOURCES[name]])
    assert is_within_bounds(service) == []


NAMES = {"author": "&" * 80, "author_site": "https://a.example/" + "&" * 182}


@pytest.mark.parametrize("shape", ["a list", "a chain", "a star"])
@pytest.mark.parametrize("names", [{}, NAMES], ids=["short names", "long names"])
def test_no_public_read_is_dear_with_many_short_comments(
    service: Served, shape: str, names: dict[str, str]
) -> None:
    """What stands around the texts counts, too, and no order of replies is dear."""

    def work(tx: Transaction) -> None:
        parent = None
        for number in range(CommentsSettings().list_limit + 1):
            stored = create.add(
                tx,
                new(url="/p/", source="a", html="<p>a</p>\n", parent=parent, **names),
                int(NOW * 1_000),
            )
            if shape == "a chain" or (shape == "a star" and not number):
                parent = stored.comment.id

    service.database.write_now(work)
    assert is_within_bounds(service) == []


# Hostile texts of every kind, and what people write.
WRITTEN = [*ATTACKS, *IMAGE_ATTACKS, *LINE_ENDS, *dict(RENDERED)]
WRITTEN += [source[:800] for source in SOURCES.values()]
ORIGINS = {SITE.name: SITE.origins[0]}
ATOM = "{http://www.w3.org/2005/Atom}"
CONTENT = "{http://purl.org/rss/1.0/modules/content/}encoded"
DISQUS = "{http://disqus.com}"
WORDPRESS = "{http://wordpress.org/export/1.0/}"


def outputs(service: Served) -> dict[str, list[str]]:
    """Return the HTML of comments that each way out contains."""

    def read(asked: str) -> Any:  # Any: JSON of any shape
        return json.loads(service.get(asked).body)

    def xml(asked: str) -> Element:
        return ElementTree.fromstring(service.get(asked).body)

    def exported(write: Callable[..., None]) -> Element:
        file = io.BytesIO()
        output = Output(file)
        pages = partial(contents.pages, selection=Selection())
        service.database.read_now(lambda snapshot: write(pages(snapshot), ORIGINS, output))
        output.flush()
        return ElementTree.fromstring(file.getvalue())

    artalk = read("/artalk/api/v2/comments?page_key=/p/&limit=1000&flat_mode=true")["comments"]
    waline = read("/waline/api/comment?path=/p/&pageSize=1000")["data"]["data"]
    atom, rss = xml("/feed.atom").iter(f"{ATOM}entry"), xml("/feed.rss").iter("item")
    posts = exported(disqus.write).iter(f"{DISQUS}post")
    wxr = exported(wordpress.write).iter(f"{WORDPRESS}comment")
    return {
        "api": [each["html"] for each in read("/api/comments?url=/p/&limit=1000")["data"]],
        "stacosys": [each["html"] for each in read("/comments?url=/p/")["data"]],
        "isso": [each["text"] for each in read("/isso/?uri=/p/&limit=1000")["replies"]],
        "waline": [each["comment"] for each in waline],
        "artalk": [each["content"] for each in artalk],
        "artalk, marked": [each["content_marked"] for each in artalk],
        "feed.json": [each["content_html"] for each in read("/feed.json?url=/p/")["items"]],
        "atom": [each.findtext(f"{ATOM}content", "") for each in atom],
        "rss": [each.findtext(CONTENT, each.findtext("description", "")) for each in rss],
        "disqus": [each.findtext(f"{DISQUS}message", "") for each in posts],
        "wordpress": [each.findtext(f"{WORDPRESS}comment_content", "") for each in wxr],
    }


def test_every_way_out_has_exactly_what_the_sanitizer_wrote(
    service: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """XML leaves out characters that it cannot contain, and an export the line end at the end.

    What is read elsewhere than on the comment's page differs in where relative links lead, and the
    archive in where its pictures are.
    """
    monkeypatch.setattr(feeds, "ENTRIES", len(WRITTEN))
    stored: list[str] = []
    for source in WRITTEN:
        html = render(source, math=True, service="https://comments.example")
        assert sanitized_again(html, "https://comments.example") == html
        add(service.database, url="/p/", source=source, html=html)
        stored.append(html)

    def comparable(html: str) -> str:
        return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffd\ufffe\uffff]", "", html).strip()

    def without_targets(html: str) -> str:
        return re.sub('href="[^"]*"', "href", html)

    elsewhere = {"feed.json", "atom", "rss", "disqus", "wordpress"}
    expected = {comparable(html) for html in stored}
    for name, htmls in outputs(service).items():
        shown = {*map(comparable, htmls)}
        if name in elsewhere:
            assert {*map(without_targets, shown)} == {*map(without_targets, expected)}, name
        else:
            assert not shown ^ expected, name
    text = service.get("/embed/thread?url=/p/").body.decode()
    assert [html for html in stored if html not in text] == []
    text = without_targets(service.get("/embed/thread?url=/p/&view=page").body.decode())
    assert [html for html in stored if without_targets(html) not in text] == []

    def without_addresses(html: str) -> str:
        return re.sub('src="[^"]*"', "src", without_targets(html))

    service.database.read_now(static_pages.write, [SITE], tmp_path / "archive")
    [page] = [*(tmp_path / "archive").glob("site-*/p-*.html")]
    text = without_addresses(page.read_text())
    assert [html for html in stored if without_addresses(html) not in text] == []
    assert "https://comments.example/images/" not in page.read_text()


def test_no_template_changes_the_html_of_a_comment() -> None:
    used = [
        match
        for path in (ROOT / "commentsvc/templates").rglob("*.*")
        for match in re.findall(r"\{\{[^{}]*\.html\b[^{}]*\}\}", path.read_text())
    ]
    assert len(used) > 5
    as_it_is = re.compile(
        r"\{\{ ((?:[a-z.]*comment|card|quotation)\.html\|safe|entry\.html) \}\}"
    ).fullmatch
    assert [each for each in used if not as_it_is(each)] == []


def test_moderators_remove_each_word_of_a_stranger_from_each_public_answer(tmp_path: Path) -> None:
    """Whatever a comment named was approved by mistake; its page is known by nothing else."""
    word, settings = "zyxwv", msgspec.structs.replace(SETTINGS, sites=(SITE,))
    with served(tmp_path, settings) as service:
        seat = seated(service)
        for url in ("/p/", f"/{word}/"):
            said = {"author": word, "title": word, "site": f"https://{word}.example/"}
            assert service.submit(f"{word} on {url}", url, **said).status == 201
            service.post(f"/api/reactions?url={url}", {"emoji": "👍", "reader": "r" * 22})
            service.ask("POST", f"/api/views?url={url}", b"")
        asyncio.run(service.views.store())
        decide(service.database, APPROVED, 1, 2)
        targets = [asked for _, asked in requests(service)]
        targets += [asked.replace("?url=/p/", "?site=blog") for asked in targets if "feed" in asked]
        shown = {
            asked: answer.tags
            for asked in targets
            if word.encode() in (answer := service.get(asked)).body
        }
        # One of each kind: a thread, a list of a site, a feed, counts, and the foreign interfaces.
        assert {urlsplit(asked).path for asked in shown} >= {
            *("/api/comments", "/feed.atom", "/feed.json", "/api/comments/counts"),
            *("/isso/latest", "/waline/api/comment", "/artalk/api/v2/comments", "/embed/thread"),
        }
        service.purged.clear()
        decide(service.database, SPAM, 1, 2)
        for thread in ("1", "2"):
            for verb in ("remove_views", "remove_reactions"):
                assert seat.send("thread", id=thread, do=verb).status == 303
        assert [asked for asked in targets if word.encode() in service.get(asked).body] == []
        assert [asked for asked, tags in shown.items() if not {*tags} & {*service.purged}] == []
        numbers = data(service.get("/api/comments/counts?url=/p/&views=yes&reactions=yes"))
        assert (numbers["views"], numbers["reactions"]) == ({"/p/": 0}, {"/p/": {"👍": 0}})


# What bounds the rows that a stranger's requests, mails and pages add to a table, and what removes
# them. The name of a table stands for its rows: those that refer to one are deleted with it.
STRANGERS: dict[str, tuple[object, object]] = {
    "comment": (SpamSettings.pending_limit, retention.drop_spam),
    "proposed_title": ("comment", "comment"),
    "vote": (votes.NETWORK_VOTES, "comment"),
    "report": (reports.MOST, "comment"),
    "comment_image": ("comment", "comment"),
    "subscription": ("comment", "comment"),
    "follow_wish": ("comment", "comment"),
    "former_id": (former_ids.replace, former_ids.forget),  # at most one for each row that went
    "training_comment": ("comment", "comment"),
    # Not public without a title or an approved comment.
    "thread": (SpamSettings.vote_limit, threads.merge),
    "reaction": (votes.NETWORK_VOTES, reactions.remove),
    "reaction_count": (Site.reactions, reactions.remove),
    "page_view": (views.STORED, views.remove),
    "image": (images.SHARE, images.drop_unused),
    "mention": (mentions.MOST_WAITING, mentions.remove),
    "reader": (reader_sign_in.PER_ADDRESS, accounts.forget),
    "reader_look": ("reader", "reader"),
    "reader_session": (accounts.SESSIONS, "reader"),
    "sign_in_link": (reader_sign_in.PER_ADDRESS, accounts.LINK),  # deleted with later links
    "sign_in_attempt": (attempts.Rate, attempts.take),  # deletes those that are full again
    "outbox": (outbox.HOURLY, outbox.drop_expired),
    "note": (private_notes.MOST, private_notes.delete_old),
    "used_link": (signed_links.LinkExpired, signed_links.mark_used),  # deletes expired ones
    "subscriber": (subscriptions.REPEAT, retention.forget),
    "follower": (follows.DAILY, follows.forget),
    "received_mail": (inbox.HOURLY, inbox.KEPT),  # deleted with later mails
    "mailed_comment": (mailed_comments.ALL_DAILY, mailed_comments.drop_old),
}
# What the operator, moderators and the service itself write.
OURS = {
    *(
        "site",
        "moderator",
        "session",
        "blog_session",
        "two_factor",
        "recovery_code",
        "invitation",
        "api_token",
    ),
    *("passkey", "identity", "ban", "change", "training_token", "training_total", "removed_spam"),
    *("search_state", "daily_stats", "target", "mailbox", "import_run", "imported_comment"),
    *("imported_thread", "imported_record", "followed_post", "unlisted_page", "internal_note"),
    *("saved_reply", "setting_change", "statement_of_reasons", "decision_count"),
}


def test_every_table_says_what_bounds_what_strangers_write_and_what_removes_it() -> None:
    tables = {table._meta.table_name: table for table in TABLES}
    assert not STRANGERS.keys() & OURS
    assert STRANGERS.keys() | OURS == tables.keys()
    for name, rules in STRANGERS.items():
        owners = {
            field.rel_model._meta.table_name
            for field in tables[name]._meta.sorted_fields
            if isinstance(field, peewee.ForeignKeyField) and field.on_delete == "CASCADE"
        }
        assert {rule for rule in rules if isinstance(rule, str)} <= owners, name
