"""SIGKILL at random moments under load: nothing acknowledged is lost, nothing is stored twice.

Clients submit without pause. Each repeats a submission until it is acknowledged, even when the
server is killed meanwhile; some submissions have a key of their own and some do not. Now and then a
client sends again what was already acknowledged. At the end every submission must be stored exactly
once, under the id that was acknowledged. Some kills hit a server that has not even announced its
address.

CRASH_KILLS is the number of kills (50; a fifth of that with PostgreSQL), CRASH_SEED the seed of the
random moments.
"""

import http.client
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.e2e.program import PATIENCE, Service, command

KILLS = int(os.environ.get("CRASH_KILLS", "50"))
SEED = int(os.environ.get("CRASH_SEED", str(random.randrange(10**6))))
CLIENTS = 8
PAGES = 5
# Seconds that a server lives at most after it is ready. With PostgreSQL it acknowledges nothing in
# the first one, in which it gets to know other instances.
LONGEST = {"sqlite": 0.8, "postgresql": 2.0}
ENVIRON = {"COMMENTSVC_MODERATION_POLICY": "none", "COMMENTSVC_SPAM_RATE_LIMIT": "off"}
JSON = {"Content-Type": "application/json"}
LOST = (OSError, http.client.HTTPException)


class Load:
    """The clients' shared state: where the server is, and what it has acknowledged."""

    def __init__(self) -> None:
        self.service: Service | None = None
        self.ending = threading.Event()  # do not send another submission
        self.hopeless = threading.Event()  # do not wait for answers either: no server will come
        self.acknowledged: dict[str, int] = {}  # the id by message
        self.again = 0  # submissions that were acknowledged a second time
        self.faults: list[str] = []

    def run(self, number: int) -> None:
        """Submit one comment after the other, as client `number`, until the end."""
        choice = random.Random(f"{SEED} {number}")
        connection = None
        try:
            for count in range(10**9):
                if self.ending.is_set():
                    return
                submission = self._submission(choice, f"comment {count} of client {number}")
                connection = self._send(submission, connection)
                if choice.random() < 0.1:
                    connection = self._send(submission, connection)
        except Exception as error:
            self.faults.append(f"client {number}: {error!r}")
        finally:
            if connection:
                connection.close()

    def _submission(self, choice: random.Random, message: str) -> dict[str, str]:
        url = f"/post/{choice.randrange(PAGES)}/"
        submission = {"url": url, "author": "Ann", "message": message}
        if choice.random() < 0.5:
            submission["key"] = f"{choice.getrandbits(128):032x}"
        return submission

    def _send(
        self, submission: dict[str, str], connection: http.client.HTTPConnection | None
    ) -> http.client.HTTPConnection:
        """Send until it is acknowledged; return the connection, which can be used again."""
        end = time.monotonic() + PATIENCE
        message = submission["message"]
        while True:
            assert not self.hopeless.is_set(), "the test has failed elsewhere"
            assert time.monotonic() < end, f"waited for the acknowledgement of {message!r}"
            try:
                connection = connection or self._connect()
                connection.request("POST", "/api/comments", json.dumps(submission), JSON)
                answer = connection.getresponse()
                body = answer.read()
            except LOST:
                if connection:
                    connection.close()
                connection = None
                time.sleep(0.01)
                continue
            if answer.status != 503:
                break
        assert answer.status == 201, f"{message!r} was answered {answer.status} {body!r}"
        comment_id = json.loads(body)["comment"]["id"]
        self.again += message in self.acknowledged
        assert self.acknowledged.setdefault(message, comment_id) == comment_id, "another comment"
        return connection

    def _connect(self) -> http.client.HTTPConnection:
        if self.service is None:
            raise ConnectionRefusedError("no server")
        return self.service.connection()


@contextmanager
def clients(load: Load) -> Iterator[None]:
    """Run the clients during the block; at its end each has all its answers."""
    threads = [threading.Thread(target=load.run, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield
    except BaseException:
        load.hopeless.set()
        raise
    finally:
        load.ending.set()
        for thread in threads:
            thread.join()


def kill_at_random_moments(
    load: Load, data: Path, launch: Callable[..., Service], kills: int, longest: float
) -> None:
    """Start and kill so many servers, which live `longest` at most; leave one running."""
    moments = random.Random(SEED)
    for number in range(kills):
        service = launch(data, environ=ENVIRON)
        if number % 5 == 0:
            time.sleep(moments.uniform(0, longest))  # there may be no database yet
        else:
            load.service = service.wait_until_ready()
            time.sleep(moments.uniform(0, longest))
        service.process.kill()
        service.wait()
        assert not load.faults, load.faults
    load.service = launch(data, environ=ENVIRON).wait_until_ready()


@pytest.mark.both_engines
def test_a_killed_server_has_lost_nothing_and_stored_nothing_twice(
    engine: str, data: Path, launch: Callable[..., Service]
) -> None:
    kills = KILLS if engine == "sqlite" else KILLS // 5
    print(f"{kills} kills, CRASH_SEED={SEED}")
    load = Load()
    with clients(load):
        kill_at_random_moments(load, data, launch, kills, LONGEST[engine])
    assert not load.faults, load.faults
    print(f"{len(load.acknowledged)} acknowledged, {load.again} of them again")
    assert len(load.acknowledged) > kills
    service = load.service
    assert service is not None
    per_page = [service.count(f"/post/{n}/") for n in range(PAGES)]
    assert service.stop() == 0
    with closing(service.rows()) as stored:
        rows = stored.execute("SELECT source, id FROM comment WHERE status = 'approved'").fetchall()
    assert not load.acknowledged.keys() - dict(rows).keys(), "lost"
    assert not [source for source, n in Counter(row[0] for row in rows).items() if n > 1], "twice"
    assert dict(rows) == load.acknowledged
    assert sum(per_page) == len(rows)
    done = command("check", "--data", data)
    assert done.code == 0, done
