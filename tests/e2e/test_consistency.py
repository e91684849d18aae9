"""After any sequence of changes all answers agree, as soon as the last one is acknowledged.

Hypothesis drives a running server over HTTP: readers use the API, and a signed-in moderator sends
the forms of the pages, for one or many comments at a time. After each step, the count, the batch
count, the list, the feed and the site's count are requested, mostly from the cache, and compared
with a model and with the rows of the database.
"""

import http.client
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from commentsvc.model import MOVES
from loadtest.workloads.admin_browser import AdminBrowser
from tests.e2e.model import Done, Model, Said
from tests.e2e.program import Service, command, serving

PAGES = st.sampled_from(["a", "b", "c", "d"])
VERBS = {"approved": "approve", "spam": "spam", "deleted": "delete"}
DECISIONS = st.sampled_from([*VERBS])
PASSWORD = "correct horse battery"
LINKS = " ".join(f"https://{number}.example/" for number in range(5))
_numbers = count(1)


class Agreement(RuleBasedStateMachine):
    """A blog with four pages and a moderator, on a server that is shared by all examples."""

    service: ClassVar[Service]
    moderator: ClassVar[AdminBrowser]

    @initialize()
    def begin(self) -> None:
        self.prefix = f"/{next(_numbers)}/"
        self.model = Model()
        self.http = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=120)
        self.rows = self.service.rows()
        self.before = self.ask("/api/comments/count")["count"]

    def teardown(self) -> None:
        if hasattr(self, "http"):
            self.http.close()
            self.rows.close()

    def url(self, page: str) -> str:
        return self.prefix + page

    def read(self, target: str, body: dict[str, Any] | None = None) -> tuple[int, bytes]:
        return self.call("GET" if body is None else "POST", target, body)

    def call(
        self, method: str, target: str, body: dict[str, Any] | None, token: str = ""
    ) -> tuple[int, bytes]:
        fields = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None:
            fields["Content-Type"] = "application/json"
        self.http.request(method, target, None if body is None else json.dumps(body), fields)
        answer = self.http.getresponse()
        return answer.status, answer.read()

    def ask(self, target: str) -> Any:  # Any: it is JSON
        status, body = self.read(target)
        assert status == 200, body
        return json.loads(body)

    def send(self, page: str, **fields: object) -> str:
        """Send one of the moderator's forms; return where it redirects, "" if it is refused."""
        shown = self.moderator.post(page, fields)
        assert shown.status == 303 or shown.status in (400, 404, 409), shown
        return shown.location

    def act(self, page: str, changed: int, unchanged: int, **fields: object) -> int:
        """Send a form that changes and skips so many comments; return the action's id."""
        location = self.send(page, **fields)
        found = re.search(
            r"done=[a-z]+\.([0-9]+)\.([0-9]+)\.([0-9]+)(?:&left=[0-9.]+)?(#c[0-9]+)?$", location
        )
        assert found, location
        assert (int(found[1]), int(found[2])) == (changed, unchanged)
        return int(found[3])

    def thread(self, page: str) -> int:
        """Return the id of the thread that an address leads to; 0 if there is none."""
        sql = "SELECT coalesce(alias_id, id) FROM thread WHERE url = ?"
        row = self.rows.execute(sql, (self.url(page),)).fetchone()
        assert (row is not None) == self.model.known(page)
        return row[0] if row else 0

    def change_thread(self, page: str, do: str, value: str, **fields: str) -> bool:
        """Send a form about a page's thread; return False if there is none or it is refused."""
        number = self.thread(page)
        return bool(number) and bool(self.send("thread", id=number, do=do, value=value, **fields))

    # Rules for readers.

    @rule(page=PAGES, suspicious=st.booleans(), answers=st.booleans())
    def submit(self, page: str, suspicious: bool, answers: bool) -> None:
        number = next(_numbers)
        text = f"Comment {number} {LINKS if suspicious else ''}".strip()
        sent: dict[str, Any] = {"url": self.url(page), "author": "Ann", "message": text}
        sent["key"] = f"key-{number:08}"
        seen = self.model.shown(page)
        if answers and seen:
            sent["parent"] = min(seen)
        status, body = self.read("/api/comments", sent)
        if self.model.root(page) in self.model.closed:
            assert json.loads(body)["error"]["code"] == "closed"
            return
        assert status == (202 if suspicious else 201), body
        answer = json.loads(body)
        self.model.comments[answer["comment"]["id"]] = Said(
            self.model.root(page), answer["status"], text, sent, answer["token"]
        )

    @precondition(lambda self: self.model.comments)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        number = self.choose(data)
        said = self.model.comments[number]
        if said.text != said.sent["message"]:
            return  # a moderator has changed it: the texts differ, which is a conflict
        status, body = self.read("/api/comments", said.sent)
        assert status == (201 if said.status == "approved" else 202), body
        assert json.loads(body)["comment"]["id"] == number
        said.token = json.loads(body)["token"]

    @precondition(lambda self: self.model.comments)
    @rule(data=st.data(), suspicious=st.booleans())
    def revise(self, data: st.DataObject, suspicious: bool) -> None:
        number = self.choose(data)
        said, text = self.model.comments[number], f"Revised {next(_numbers)}"
        text = f"{text} {LINKS}" if suspicious else text
        target = f"/api/comments/{number}"
        status, body = self.call("PATCH", target, {"message": text}, said.token)
        if said.status == "deleted":
            assert status == 404, body
            return
        assert status == 200, body
        self.note(number, "text", said.text)
        said.text = text
        if suspicious and said.status == "approved":
            self.note(number, "status", said.status)
            said.status = "pending"

    @precondition(lambda self: self.model.comments)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        number = self.choose(data)
        said = self.model.comments[number]
        assert self.call("DELETE", f"/api/comments/{number}", None, said.token) == (204, b"")
        if said.status != "deleted":
            self.note(number, "status", said.status)
            said.status = "deleted"

    def note(self, number: int, what: str, was: str) -> None:
        """Record an author's change in the model; the action's number comes from the history."""
        sql = "SELECT max(decision_id) FROM change WHERE comment_id = ? AND field = ? AND old = ?"
        [(act,)] = self.rows.execute(sql, (number, what, was)).fetchall()
        self.model.changes.append(Done(act, number, what, was))

    @precondition(lambda self: self.model.comments)
    @rule(data=st.data(), voter=st.sampled_from(["anns-word", "bobs-word"]), value=st.booleans())
    def vote(self, data: st.DataObject, voter: str, value: bool) -> None:
        number = self.choose(data)
        said = self.model.comments[number]
        sent = {"vote": int(value), "voter": voter}
        status, body = self.read(f"/api/comments/{number}/votes", sent)
        if said.status != "approved":
            assert status == 404, body
            return
        said.votes[voter] = int(value)
        votes = sum(said.votes.values())
        assert json.loads(body) == {"votes": votes, "vote": int(value)}

    # Rules for moderators.

    def choose(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(sorted(self.model.comments)))

    @precondition(lambda self: self.model.comments)
    @rule(data=st.data(), to=DECISIONS)
    def decide(self, data: st.DataObject, to: Any) -> None:
        some = st.lists(st.sampled_from(sorted(self.model.comments)), min_size=1, unique=True)
        ids = data.draw(some)
        changed = [n for n in ids if self.model.comments[n].status in MOVES[to]]
        act = self.act(
            "decide", len(changed), len(ids) - len(changed), all=VERBS[to], id=ids, back="queue"
        )
        for number in changed:
            said = self.model.comments[number]
            self.model.changes.append(Done(act, number, "status", said.status))
            said.status = to

    @precondition(lambda self: self.model.comments)
    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        number = self.choose(data)
        said, text = self.model.comments[number], f"Edited {next(_numbers)}"
        act = self.act("edit", 1, 0, id=number, message=text)
        self.model.changes.append(Done(act, number, "text", said.text))
        said.text = text

    @precondition(lambda self: any(not done.undone for done in self.model.changes))
    @rule()
    def undo(self) -> None:
        act = max(done.act for done in self.model.changes if not done.undone)
        todo = [done for done in self.model.changes if done.act == act and not done.undone]
        changed = [done.comment for done in todo if self.model.take_back(done)]
        self.act("undo", len(changed), len(todo) - len(changed), act=act, back="queue")

    @precondition(lambda self: self.model.comments)
    @rule(data=st.data())
    def undo_one(self, data: st.DataObject) -> None:
        number = self.choose(data)
        mine = [d for d in self.model.changes if d.comment == number and not d.undone]
        if mine:
            assert self.model.take_back(mine[-1])
            self.act("decide", 1, 0, one=f"restore.{number}", back="queue")
        else:
            assert not self.send("decide", one=f"restore.{number}", back="queue")

    @rule(page=PAGES, state=st.sampled_from(["closed", "open", "aging"]))
    def close(self, page: str, state: str) -> None:
        done = self.change_thread(page, "state", state)
        assert done == self.model.known(page)
        if done and state == "closed":
            self.model.closed.add(self.model.root(page))
        elif done:
            self.model.closed.discard(self.model.root(page))

    @rule(page=PAGES, into=PAGES)
    def merge(self, page: str, into: str) -> None:
        source, target = self.model.root(page), self.model.root(into)
        assert not self.change_thread(page, "merge", self.url(into)), "the box is not ticked"
        if not self.change_thread(page, "merge", self.url(into), sure="yes"):
            assert source == target or not (self.model.known(page) and self.model.known(into))
            return
        self.lead(source, target)
        self.model.closed.discard(source)

    @rule(page=PAGES, to=PAGES)
    def move(self, page: str, to: str) -> None:
        source = self.model.root(page)
        done = self.change_thread(page, "move", self.url(to))
        free = not self.model.known(to) or self.model.root(to) == source
        assert done == (self.model.known(page) and free)
        if done and source != to:
            self.model.leads.pop(to, None)
            self.lead(source, to)
            if source in self.model.closed:
                self.model.closed.remove(source)
                self.model.closed.add(to)

    @rule(page=PAGES, alias=PAGES)
    def name(self, page: str, alias: str) -> None:
        if self.change_thread(page, "alias", self.url(alias)) and alias not in self.model.leads:
            assert self.model.known(page)
            assert not self.model.known(alias)
            self.model.leads[alias] = self.model.root(page)

    def lead(self, source: str, target: str) -> None:
        """Make the address `source` lead to `target`."""
        for said in self.model.comments.values():
            if said.page == source:
                said.page = target
        for alias, root in self.model.leads.items():
            if root == source:
                self.model.leads[alias] = target
        self.model.leads[source] = target

    # Invariants: what everybody sees.

    @invariant()
    def all_answers_agree(self) -> None:
        if not hasattr(self, "model"):
            return
        pages = ["a", "b", "c", "d"]
        urls = [self.url(page) for page in pages]
        counts = {self.url(page): len(self.model.shown(page)) for page in pages}
        assert self.ask("/api/comments/counts?" + urlencode([("url", u) for u in urls])) == {
            "counts": counts
        }
        roots = {self.model.root(page) for page in pages}
        in_all = sum(len(self.model.shown(page)) for page in roots)
        assert self.ask("/api/comments/count")["count"] == self.before + in_all
        for page in pages:
            self.a_page_agrees(page, counts[self.url(page)])

    def a_page_agrees(self, page: str, number: int) -> None:
        url = quote(self.url(page))
        assert self.ask(f"/api/comments/count?url={url}") == {"count": number}
        listed = self.ask(f"/api/comments?url={url}")
        assert listed["count"] == number
        assert ("closes" in listed) == (self.model.root(page) in self.model.closed)
        for item in listed["data"]:
            assert item["votes"] == sum(self.model.comments[item["id"]].votes.values())
        in_list = [(item["id"], item["content"]) for item in listed["data"]]
        assert in_list == self.stored(page)
        expected = {(n, self.model.comments[n].text) for n in self.model.shown(page)}
        assert set(in_list) == expected
        status, feed = self.read(f"/feed.atom?url={url}")
        assert status == 200
        assert len(in_list) < 50, "the feed has no more"
        ids = {int(text) for text in re.findall(rb"#commentsvc-([0-9]+)", feed)}
        assert ids == {number for number, _ in in_list}

    def stored(self, page: str) -> list[tuple[int, str]]:
        """Return the approved rows of a page, in their order."""
        rows: list[tuple[int, str]] = self.rows.execute(
            "SELECT c.id, c.source FROM comment AS c JOIN thread AS t ON t.id = c.thread_id"
            " WHERE t.url = ? AND c.status = 'approved' ORDER BY c.published_at, c.id",
            (self.url(self.model.root(page)),),
        ).fetchall()
        return rows


@pytest.fixture(scope="module")
def service(engine: str) -> Iterator[Service]:
    environ = {
        "COMMENTSVC_SPAM_RATE_LIMIT": "off",
        "COMMENTSVC_SPAM_VOTE_LIMIT": "off",
        "COMMENTSVC_SPAM_BAYES": "false",  # the spam filter must not learn from the decisions
        "COMMENTSVC_MODERATION_POLICY": "suspicious",
    }
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "data", environ) as ready:
        yield ready


def test_all_answers_agree_after_each_acknowledgement(engine: str, service: Service) -> None:
    command("moderator", "add", "eve", "--data", service.data, given=PASSWORD)
    Agreement.service, Agreement.moderator = service, AdminBrowser(service.port)
    Agreement.moderator.sign_in("eve", PASSWORD)
    machine = Agreement.TestCase
    if settings().derandomize:  # the first examples by default decide nothing
        seed(1)(Agreement)
    examples = settings().max_examples * (6 if engine == "sqlite" else 2) // 10  # 60 or 20
    machine.settings = settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    machine().runTest()
    Agreement.moderator.close()
    with closing(service.rows()) as rows:
        [(changes,)] = rows.execute("SELECT count(*) FROM change").fetchall()
    assert changes > examples, "the moderator had something to do"
