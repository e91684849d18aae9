"""Sending webmentions for the links in approved comments, as webmention.rocks tests it."""

import asyncio
import re
from collections.abc import Iterator
from urllib.parse import parse_qs

import mf2py  # type: ignore[import-untyped]  # it has no types
import pytest
from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.db.schema.outbox import WEBMENTIONS
from commentsvc.delivery.worker import OutboxWorker
from commentsvc.mentions.sender import WebmentionSender
from commentsvc.model import APPROVED, DELETED, PENDING
from commentsvc.moderation import changes, history
from commentsvc.settings.schema import MentionsSettings, ServerSettings, Site
from tests.unit.app_fixture import SETTINGS, Served, served
from tests.unit.database_fixture import decide
from tests.unit.other_site import OtherSite, Page, other_site

SENDING = replace(
    SETTINGS,
    server=ServerSettings(public_url="https://c.example"),
    mentions=MentionsSettings(allowed_networks=("127.0.0.0/8",)),
    sites=(
        Site(name="blog", origins=("https://blog.example",), send_webmentions=True),
        Site(name="notes"),
    ),
)


@pytest.fixture(scope="module")
def other() -> Iterator[OtherSite]:
    with other_site() as site:
        yield site


@pytest.fixture(scope="module")
def shared(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("sending"), SENDING) as running:
        yield running


@pytest.fixture
def service(shared: Served, other: OtherSite) -> Served:
    other.pages.clear()
    other.got.clear()
    return shared


def deliver(service: Served) -> None:
    """Send what is due."""
    service.now += 3_600
    channels = {WEBMENTIONS: WebmentionSender(service.service)}
    asyncio.run(OutboxWorker(service.database, channels, service.clock).deliver(WEBMENTIONS))


def said(service: Served, text: str) -> int:
    """Publish a comment and send what is due; return its id."""
    assert service.submit(text, url="/post/").status in (201, 202)
    comment_id = service.stored()[0].comment.id
    decide(service.database, APPROVED, comment_id)
    deliver(service)
    return comment_id


def sent(other: OtherSite) -> list[tuple[str, str, str]]:
    """Return what was posted: the path of the endpoint, the source and the target."""
    found = []
    for method, path, _, body in other.got:
        if method == "POST":
            fields = parse_qs(body.decode())
            found.append((path, fields["source"][0], fields["target"][0]))
    return found


END = "/test/endpoint"
ERROR = "/test/endpoint/error"


@pytest.mark.sqlite_only("it is about the pages of others")
@pytest.mark.parametrize(
    ("links", "html", "endpoint"),
    [
        ((f"<{END}>; rel=webmention",), "", END),
        (("<{base}" + END + ">; rel=webmention",), "", END),
        ((), f'<link rel="webmention" href="{END}">', END),
        ((), f'<link href="{{base}}{END}" rel="webmention">', END),
        ((), f'<a rel="webmention" href="{END}">x</a>', END),
        ((), f'<a href="{{base}}{END}" rel="webmention">x</a>', END),
        ((f'<{END}>; rel="webmention"',), "", END),
        ((), f'<link rel="webmention somethingelse" href="{END}">', END),
        ((f'<{END}>; rel="webmention somethingelse"',), "", END),
        ((f"<{END}>; rel=webmention",), f'<link rel="webmention" href="{ERROR}">', END),
        ((), f'<link rel="not-webmention" href="{ERROR}"><a href="{END}" rel="webmention">', END),
        ((), f'<!-- <a href="{ERROR}" rel="webmention"> --><a href="{END}" rel=webmention>', END),
        (
            (),
            f'<code>&lt;a href="{ERROR}" rel="webmention"&gt;</code>'
            f'<a href="{END}" rel="webmention">',
            END,
        ),
        ((), '<link rel="webmention" href="">', "/test/page"),
        ((), f'<a href="{END}" rel=webmention></a><link rel=webmention href="{ERROR}">', END),
        ((), f'<link rel=webmention href="{END}"><a href="{ERROR}" rel=webmention></a>', END),
        ((f'<{ERROR}>; rel="other"', f'<{END}>; rel="webmention"'), "", END),
        ((f'<{ERROR}>; rel="other", <{END}>; rel="webmention"',), "", END),
        ((), f'<link rel="webmention"><a href="{END}" rel="webmention">x</a>', END),
        ((), f'<link rel="webmention" href="{END}?query=yes">', f"{END}?query=yes"),
        ((), '<link rel="webmention" href="page/webmention">', "/test/page/webmention"),
        ((), f'<b href="{ERROR}" rel="webmention">x</b><a href="{END}" rel=webmention>x</a>', END),
        ((), "<p>none</p>", ""),
    ],
)
def test_the_endpoint_of_a_page_is_found(
    service: Served, other: OtherSite, links: tuple[str, ...], html: str, endpoint: str
) -> None:
    base = other.url("")
    headers = tuple(("LinK", link.replace("{base}", base)) for link in links)
    other.pages["/test/page"] = Page(html.replace("{base}", base), headers=headers)
    target = other.url("/test/page")
    number = said(service, f"see {target}")
    source = f"https://c.example/comment/{number}"
    assert sent(other) == ([(endpoint, source, target)] if endpoint else [])


def test_an_endpoint_behind_a_redirect_is_relative_to_where_it_ends(
    service: Served, other: OtherSite
) -> None:
    other.pages["/23"] = Page(status=302, headers=(("Location", "/far/page"),))
    other.pages["/far/page"] = Page('<link rel="webmention" href="endpoint">')
    said(service, f"see {other.url('/23')}")
    assert [path for path, _, _ in sent(other)] == ["/far/endpoint"]


def test_an_edit_is_told_to_pages_old_and_new_and_a_deletion_to_all(
    service: Served, other: OtherSite
) -> None:
    for path in ("/1", "/2"):
        other.pages[path] = Page(f'<link rel="webmention" href="/end{path}">')
    number = said(service, f"see {other.url('/1')}")
    other.got.clear()
    service.database.write_now(
        changes.edit, number, f"see {other.url('/2')}", "Mo", service.clock.now_ms()
    )
    deliver(service)
    assert sorted(path for path, _, _ in sent(other)) == ["/end/1", "/end/2"]
    assert service.get(f"/comment/{number}").status == 200
    other.got.clear()
    decide(service.database, DELETED, number)
    deliver(service)
    assert sorted(path for path, _, _ in sent(other)) == ["/end/1", "/end/2"]
    assert service.get(f"/comment/{number}").status == 410


def test_of_many_edits_the_last_ones_are_read(
    service: Served, other: OtherSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each edit by an author keeps its former text, and each was rendered after each change."""
    monkeypatch.setattr(history, "SHOWN", 2)
    for number in range(5):
        other.pages[f"/{number}"] = Page(f'<link rel="webmention" href="/end/{number}">')
    edited = said(service, f"see {other.url('/0')}")
    for number in range(1, 5):
        text, now = f"see {other.url(f'/{number}')}", service.clock.now_ms()
        service.database.write_now(changes.edit, edited, text, "Mo", now)
    other.got.clear()
    deliver(service)
    assert sorted(path for path, _, _ in sent(other)) == ["/end/2", "/end/3", "/end/4"]


def test_the_source_says_who_wrote_it_and_links_to_the_target(
    service: Served, other: OtherSite
) -> None:
    number = said(service, f"see *{other.url('/1')}*")
    page = service.get(f"/comment/{number}")
    [entry] = mf2py.parse(page.body.decode(), url="https://c.example/comment/1")["items"]
    assert entry["type"] == ["h-entry"]
    found = entry["properties"]
    assert found["author"][0]["properties"]["name"] == ["Ann"]
    assert found["in-reply-to"] == [f"https://blog.example/post/#commentsvc-{number}"]
    assert re.search(rf'href="{re.escape(other.url("/1"))}"', found["content"][0]["html"])
    assert page.tags == ("thread:blog:/post/",)


def test_what_waits_or_links_to_ourselves_or_is_of_another_site_is_not_told(
    service: Served, other: OtherSite
) -> None:
    other.pages["/1"] = Page('<link rel="webmention" href="/end">')
    said(service, "see https://blog.example/other/ and https://c.example/comment/1")
    service.submit(f"see {other.url('/1')}" + " http://127.0.0.1:9/" * 4, url="/post/")
    waiting = service.stored()[0].comment
    assert waiting.status == PENDING
    decide(service.database, DELETED, waiting.id)
    service.database.write_now(outbox.changed, [waiting.id], service.clock.now_ms())
    other.got.clear()
    service.post(
        "/api/comments?site=notes", {"url": "/x/", "author": "Bo", "message": other.url("/1")}
    )
    deliver(service)
    assert sent(other) == []
    assert service.get("/comment/99999").status == 404


def test_an_endpoint_that_fails_is_told_again(service: Served, other: OtherSite) -> None:
    other.pages["/1"] = Page('<link rel="webmention" href="/end">')
    other.pages["/end"] = Page(status=503)
    said(service, f"see {other.url('/1')}")
    other.pages["/end"] = Page(status=202)
    deliver(service)
    deliver(service)
    assert len(sent(other)) == 2
