"""Live updates: open pages are told when comments appear, change or disappear."""

import http.client
import json
import signal
from pathlib import Path

from tests.e2e.program import PATIENCE, Service, command, serving, wait_for

SETTINGS = {"COMMENTSVC_SERVER_MAX_STREAMS": "2", "COMMENTSVC_SPAM_RATE_LIMIT": "off"}


class Page:
    """An open page, as an EventSource reads its stream."""

    def __init__(self, service: Service, url: str, last: str = "") -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        headers = {"Last-Event-ID": last} if last else {}
        self.connection.request("GET", f"/api/comments/stream?url={url}", headers=headers)
        self.response = self.connection.getresponse()
        self.last = last

    def count(self) -> int:
        """Return the count in the next event; skip SSE comments and `retry` fields."""
        fields: dict[str, str] = {}
        while "data" not in fields:
            for line in iter(lambda: self.response.readline().decode().rstrip("\n"), ""):
                name, _, value = line.partition(": ")
                fields[name] = value
        self.last = fields["id"]
        return int(json.loads(fields["data"])["count"])

    def await_count(self, number: int) -> None:
        """Wait for an event with this count. With PostgreSQL, an event may be sent twice."""
        while self.count() != number:
            pass

    def close(self) -> None:
        self.response.close()
        self.connection.close()


def test_an_approval_and_a_deletion_reach_an_open_page(engine: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, SETTINGS) as service:
        number = service.submit("/p/", "Hi").json()["comment"]["id"]
        page, other = Page(service, "/p/"), Page(service, "/other/")
        assert (page.count(), other.count()) == (0, 0)
        assert command("approve", number, "--data", data).code == 0
        page.await_count(1)
        assert command("delete", number, "--data", data).code == 0
        page.await_count(0)
        known = page.last
        page.close()
        wait_for(lambda: service.figure("streams") == 1, "the server to know that it was closed")
        assert command("undo", number, "--data", data).code == 0
        again = Page(service, "/p/", known)
        assert again.count() == 1, "what was missed is told at once"
        assert again.last != known
        if engine == "sqlite":
            wait_for(lambda: service.figure("events_sent_total") == 2, "two events to be counted")
        again.close()
        other.close()


def test_without_a_slot_a_page_is_told_to_come_later(tmp_path: Path) -> None:
    with serving(tmp_path / "data", SETTINGS) as service:
        pages = [Page(service, "/p/") for _ in range(2)]
        late = Page(service, "/p/")
        assert late.response.status == 503
        assert late.response.headers["Retry-After"] == "300"
        assert json.loads(late.response.read())["error"]["code"] == "too_many_streams"
        for page in [*pages, late]:
            page.close()


def test_a_stop_ends_open_pages_at_once_and_in_good_order(engine: str, tmp_path: Path) -> None:
    with serving(tmp_path / "data", SETTINGS) as service:
        page = Page(service, "/p/")
        assert page.count() == 0
        service.process.send_signal(signal.SIGTERM)
        left = page.response.read()  # the last chunk came, else this raises
        assert engine == "postgresql" or left == b"", "PostgreSQL may send an event twice"
        page.close()
        assert service.wait() == 0
