"""Live updates: how a stream begins, and the events sent to those who follow a page."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from commentsvc import model
from commentsvc.api import stream
from commentsvc.db.errors import DatabaseBusy
from commentsvc.settings.schema import ServerSettings
from tests.unit.app_fixture import Served

TAG = "thread:blog:/p/"


def begin(
    service: Served, target: str = "/api/comments/stream?url=/p/", last_event_id: str = ""
) -> bytes:
    answer = service.ask("GET", target, last_event_id=last_event_id)
    assert answer.status == 200
    fields = dict(answer.headers)
    assert fields["Content-Type"] == "text/event-stream"
    assert (fields["Cache-Control"], fields["X-Accel-Buffering"]) == ("no-store", "no")
    assert fields["Access-Control-Allow-Origin"] == "*"
    assert (answer.follows, answer.tags) == (TAG, ())
    return answer.body


def test_a_stream_begins_with_the_count_and_an_id(service: Served) -> None:
    assert begin(service) == b'retry: 3999\n\nid: 0-0\ndata: {"count":0}\n\n'
    service.submit()
    assert begin(service) == b'retry: 3999\n\nid: 1-1\ndata: {"count":1}\n\n'


def test_who_knows_what_is_true_is_told_only_of_changes(service: Served) -> None:
    service.submit()
    assert begin(service, last_event_id="1-1") == b"retry: 3999\n\n"
    assert b"data" in begin(service, last_event_id="1-0")
    assert b"data" in begin(service, last_event_id="another-1")


def test_the_url_is_made_canonical_and_a_bad_one_refused(service: Served) -> None:
    begin(service, "/api/comments/stream?url=https://blog.example/p/?utm_source=x")
    assert service.get("/api/comments/stream?url=https://evil.example/").status == 400
    assert service.get("/api/comments/stream").status == 400
    assert service.get("/api/comments/stream?url=/p/&site=none").status == 400


def test_a_tag_leads_back_to_its_thread() -> None:
    for page in (("blog", "/p/"), ("notes", "/a:b/?c=d:e")):
        assert model.thread_of(model.thread_tag(*page)) == page
    assert model.thread_of(model.site_tag("blog")) is None
    assert model.thread_of("bans") is None


def test_a_change_concerns_a_stream_from_before_its_read_on(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    concerned, read = list[bool](), service.database.read_now

    def spied(*call: Any) -> Any:  # Any: what `read_now` takes and returns
        concerned.append(service.publisher.concerns(["site:blog", TAG]))
        return read(*call)

    monkeypatch.setattr(service.database, "read_now", spied)
    begin(service)
    assert (concerned[0], concerned[-1]) == (False, True)
    assert not service.publisher.concerns(["site:blog", "thread:blog:/other/"])


def on_a_loop(work: Callable[[], None], comes_about: Callable[[], bool] = lambda: True) -> None:
    """Do `work`, then run the event loop until something `comes_about`."""

    async def run() -> None:
        work()
        async with asyncio.timeout(120):
            while not comes_about():  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.001)

    asyncio.run(run())


def test_a_change_is_told_under_its_tag_where_it_is_followed(service: Served) -> None:
    service.submit()
    on_a_loop(lambda: service.publisher.purge([TAG]))
    assert service.publisher.sent == []
    service.publisher.followed.add(TAG)
    on_a_loop(lambda: service.publisher.purge(["site:blog", TAG, "thread:blog:/other/"]))
    assert service.publisher.sent == [(TAG, b'id: 1-1\ndata: {"count":1}\n\n')]


def test_if_it_is_not_known_what_changed_all_open_pages_are_told(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.live, "_most", 1)
    begin(service)
    service.publisher.followed.add(TAG)
    service.get("/api/comments/stream?url=/closed/")
    on_a_loop(lambda: service.publisher.purge([]))
    assert service.publisher.sent == [(TAG, b'id: 0-0\ndata: {"count":0}\n\n')]


def test_many_changes_are_told_as_one_after_a_pause(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "PAUSE", 0.01)
    service.publisher.followed.add(TAG)

    def change() -> None:
        for _ in range(20):
            service.publisher.purge([TAG])
        assert len(service.publisher.sent) == 1, "the first one is told at once"

    on_a_loop(change, lambda: len(service.publisher.sent) == 2)
    changes = [data for _, data in service.publisher.sent]
    assert changes == [b'id: 0-0\ndata: {"count":0}\n\n'] * 2


@pytest.mark.parametrize("fault", ["behind", "database"])
def test_what_cannot_be_told_now_is_told_later(
    service: Served, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(stream, "PAUSE", 0.01)
    service.publisher.followed.add(TAG)
    publisher, execute = service.publisher, service.database.read_now

    def busy(_: object) -> None:
        raise DatabaseBusy("locked")

    def change() -> None:
        publisher.behind = fault == "behind"
        if fault == "database":
            monkeypatch.setattr(service.database, "read_now", lambda *_: execute(busy))
        publisher.purge([TAG])
        assert publisher.sent == []
        publisher.behind = False
        monkeypatch.setattr(service.database, "read_now", execute)

    on_a_loop(change, lambda: bool(publisher.sent))
    assert [tag for tag, _ in publisher.sent] == [TAG]


def test_a_network_has_a_part_of_the_streams(service: Served) -> None:
    def group(peer: str) -> tuple[int, int]:
        return service.ask("GET", "/api/comments/stream?url=/p/", b"", peer).group

    assert group("192.0.2.1") == group("192.0.2.200")
    assert group("192.0.2.1")[1] == ServerSettings().max_network_streams == 500
    assert group("198.51.100.1")[0] != group("192.0.2.1")[0]
    assert group("2001:db8:1:1::1") == group("2001:db8:1:ffff::1")
    assert group("2001:db8:2::1")[0] != group("2001:db8:1::1")[0]
