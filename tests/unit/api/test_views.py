"""Page views: which requests count, what is refused, and what answers then show."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.api import views as views_api
from commentsvc.model import APPROVED, DELETED, PENDING, SPAM
from commentsvc.settings.schema import Site, SpamSettings
from tests.unit.app_fixture import SETTINGS, Served, data, faults, served
from tests.unit.database_fixture import decide

SITES = (
    replace(SETTINGS.sites[0], views=True),
    Site(name="notes", origins=("https://notes.example",)),
)
ORIGIN = "https://blog.example"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, replace(SETTINGS, sites=SITES)) as running:
        yield running


def view(service: Served, url: str = "/p/", peer: str = "192.0.2.1", **headers: str) -> int:
    return service.ask("POST", f"/api/views?url={url}", b"", peer, **headers).status


def views(service: Served, url: str = "/p/") -> object:
    asyncio.run(service.views.store())
    return data(service.get(f"/api/comments/counts?views=yes&url={url}"))["views"].get(url)


def test_a_view_is_counted_and_shown_after_it_is_stored(service: Served) -> None:
    assert views(service) == 0
    answer = service.ask("POST", "/api/views?url=https://blog.example/p/%23top", origin=ORIGIN)
    headers = dict(answer.headers)
    assert (answer.status, answer.body, answer.tags) == (204, b"", ())
    assert (headers["Access-Control-Allow-Origin"], headers["Cache-Control"]) == (
        ORIGIN,
        "no-store",
    )
    assert view(service, "/p/?utm_source=x") == 204
    assert data(service.get("/api/comments/counts?views=yes&url=/p/"))["views"] == {"/p/": 0}
    assert views(service) == 2
    assert "views:blog" in service.purged


def test_a_request_without_views_costs_no_more(service: Served) -> None:
    answer = service.get("/api/comments/counts?url=/p/")
    assert (answer.body, answer.tags) == (b'{"counts":{"/p/":0}}', ("thread:blog:/p/",))
    answer = service.get("/api/comments/counts?views=yes&url=/p/")
    assert set(answer.tags) == {"thread:blog:/p/", "views:blog"}


def test_the_most_viewed_pages_come_with_the_counts(service: Served) -> None:
    service.submit("Hi", "/q/", title="A page")
    for url in ("/p/", "/q/", "/q/"):
        view(service, url)
    asyncio.run(service.views.store())
    answer = service.get("/api/comments/counts?viewed=yes")
    shown = {"link": "https://blog.example/q/", "title": "A page", "views": 2}
    assert data(answer)["viewed"] == [shown]
    assert set(answer.tags) == {"site:blog", "views:blog"}
    assert data(service.get("/api/comments/counts?viewed=yes&site=notes"))["viewed"] == []


def test_a_stranger_puts_no_address_into_the_list_of_the_most_viewed(service: Served) -> None:
    """Anybody can name any path of the blog, and a comment that waits or is spam names one, too."""
    addresses = ("/buy-now/", "/waits/", "/spam/", "/known/")
    for url in addresses[1:]:
        service.submit(f"Hi {url}", url)
    ids = {entry.url: entry.comment.id for entry in service.stored()}
    for url in addresses:
        for _ in range(5):
            view(service, url)
    asyncio.run(service.views.store())

    def listed() -> list[str]:
        shown = data(service.get("/api/comments/counts?viewed=yes"))["viewed"]
        return [each["link"].removeprefix(ORIGIN) for each in shown]

    decide(service.database, PENDING, ids["/waits/"])
    decide(service.database, SPAM, ids["/spam/"])
    decide(service.database, APPROVED, ids["/known/"])
    assert listed() == ["/known/"]
    decide(service.database, DELETED, ids["/known/"])
    assert listed() == []


def test_a_site_without_views_counts_none(service: Served) -> None:
    answer = service.ask("POST", "/api/views?url=https://notes.example/")
    assert (answer.status, data(answer)["error"]["code"]) == (404, "not_found")
    assert views(service, "https://notes.example/") is None


def test_what_is_malformed_or_foreign_is_refused(service: Served) -> None:
    for query in ("", "url=", "url=https://elsewhere.example/", "url=/%2500", "url=/p/&more=1"):
        assert len(faults(service.ask("POST", f"/api/views?{query}"))) == 1, query
    assert view(service, origin="https://elsewhere.example") == 403
    assert views(service) == 0


def test_search_engines_are_not_counted_but_phones_are(service: Served) -> None:
    for agent in ("Mozilla/5.0 (compatible; Googlebot/2.1)", "Example Crawler", "a spider"):
        assert view(service, user_agent=agent) == 204
    assert views(service) == 0
    assert view(service, user_agent="Mozilla/5.0 (Linux; Android 9; CUBOT X19)") == 204
    assert views(service) == 1


def test_a_network_that_views_too_much_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views_api, "VIEWS", "3/hour")
    settings = replace(SETTINGS, sites=SITES, spam=SpamSettings())
    with served(tmp_path, settings) as service:
        peers = [f"2001:db8:1:{number:x}::1" for number in range(0, 5 * 256, 256)]
        assert [view(service, peer=peer) for peer in peers] == [204, 204, 204, 429, 429]
        answer = service.ask("POST", "/api/views?url=/p/", peer=peers[0])
        assert int(dict(answer.headers)["Retry-After"]) > 0
        assert view(service, peer="2001:db8:2::1") == 204
        assert views(service) == 4
