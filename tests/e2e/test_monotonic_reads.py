"""No client ever reads a lower count than it has read before, whichever address it uses."""

import http.client
import json
import threading
from collections.abc import Iterator
from itertools import count

import pytest

from tests.e2e.program import PATIENCE, Service, serving, wait_for

SUBMISSIONS = 300
SETTINGS = {
    "COMMENTSVC_MODERATION_POLICY": "none",
    "COMMENTSVC_SPAM_RATE_LIMIT": "off",
    "COMMENTSVC_SERVER_MISS_LIMIT": "off",  # where submissions are slow, the readers would reach it
    "COMMENTSVC_SERVER_WORKERS": "2",
}
_numbers = count(1)


@pytest.fixture(scope="module")
def service(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("monotonic") / "data", SETTINGS) as running:
        yield running


class Reader(threading.Thread):
    """Reads one count from the cache and uncached in turn, until it is told to end."""

    def __init__(self, service: Service, ended: threading.Event) -> None:
        super().__init__()
        self.back: list[tuple[int, int]] = []  # a count, and a lower one read later
        self.read = 0
        self.failures: list[bytes] = []  # answers of another kind
        self._connection = service.connection()
        self._ended = ended

    def run(self) -> None:
        newest = 0
        while not self._ended.is_set():
            for target in (
                f"/api/comments/counts?url=/p/&url=/{next(_numbers)}/",
                "/api/comments/count?url=/p/",
            ):
                self._connection.request("GET", target)
                response = self._connection.getresponse()
                body = response.read()
                if response.status != 200:
                    self.failures.append(body)
                    continue
                answer = json.loads(body)
                number = answer["counts"]["/p/"] if "counts" in answer else answer["count"]
                if number < newest:
                    self.back.append((newest, number))
                newest = max(newest, number)
                self.read += 1
        self._connection.close()


def test_counts_never_go_back(service: Service) -> None:
    ended = threading.Event()
    readers = [Reader(service, ended) for _ in range(3)]
    for reader in readers:
        reader.start()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    try:
        wait_for(lambda: all(reader.read for reader in readers), "each reader's first count")
        for number in range(SUBMISSIONS):
            body = json.dumps({"url": "/p/", "author": "Ann", "message": f"Hi {number}"})
            connection.request("POST", "/api/comments", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 201
    finally:
        ended.set()
        for reader in readers:
            reader.join(PATIENCE)
        connection.close()
    assert [reader.failures for reader in readers] == [[]] * len(readers)
    assert [reader.back for reader in readers] == [[]] * len(readers)
