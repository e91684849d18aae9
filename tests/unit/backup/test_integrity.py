"""Counts always equal the rows, and a difference is found and named."""

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from commentsvc import errors
from commentsvc.backup import integrity
from commentsvc.comments import create, queries, site_rows
from commentsvc.comments.create import NewComment
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from tests.unit.database_fixture import HOUR, NOW, add, connected, decide, new, opened


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        add(database)
        yield database


def faults_after(database: Database, sql: str) -> list[str]:
    """Return what the check finds after `sql` has changed the file."""
    database.write_now(lambda tx: tx.execute(sql))
    return database.read_now(integrity.check)


def test_a_sound_database_has_no_faults(database: Database) -> None:
    assert database.read_now(integrity.check) == []


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        (
            "UPDATE thread SET count = 5",
            "the thread /post/ says that it has 5 approved comments, but it has 1",
        ),
        (
            "UPDATE site SET count = 5",
            "the site blog says that it has 5 approved comments, but it has 1",
        ),
        (
            "UPDATE comment SET published_at = NULL",
            "comment 1 is approved, but has no moment of publication",
        ),
    ],
)
def test_a_difference_is_named(database: Database, sql: str, fault: str) -> None:
    assert faults_after(database, sql) == [fault]


NOT_UTF8 = "PostgreSQL accepts no text that is not UTF-8"


@pytest.mark.sqlite_only(NOT_UTF8)
@pytest.mark.parametrize("column", ["source", "html", "author", "email", "author_site"])
def test_a_damaged_text_is_named(database: Database, column: str) -> None:
    sql = f"UPDATE comment SET {column} = CAST(x'61ff' AS TEXT)"
    assert faults_after(database, sql) == [f"comment 1 is damaged: its {column} is not UTF-8"]


@pytest.mark.sqlite_only("pg_restore runs what a dump contains")
@pytest.mark.parametrize(
    ("sql", "named"),
    [
        (
            "CREATE TRIGGER kind AFTER INSERT ON comment BEGIN UPDATE comment SET status ="
            " 'approved'; END",
            "trigger kind",
        ),
        ("CREATE VIEW endless AS SELECT 1", "view endless"),
    ],
)
def test_a_trigger_that_is_not_ours_is_named(database: Database, sql: str, named: str) -> None:
    fault = f"the {named} is not of this program, and may change what is stored"
    assert faults_after(database, sql) == [fault]
    if "TRIGGER" in sql:
        database.write_now(lambda tx: tx.execute("DROP TRIGGER comment_erased"))
        database.write_now(lambda tx: tx.execute(sql.replace("kind", "comment_erased")))
        assert len(database.read_now(integrity.check)) == 2


@pytest.mark.sqlite_only(NOT_UTF8)
def test_a_damaged_text_of_another_table_is_named(database: Database) -> None:
    sql = "UPDATE thread SET title = CAST(x'61ff' AS TEXT)"
    assert faults_after(database, sql) == ["thread 1 is damaged: its title is not UTF-8"]


def test_a_comment_at_the_wrong_position_is_named(database: Database) -> None:
    parent = add(database, url="/other/", status="pending").comment.id
    database.write_now(site_rows.sync, ["other"])
    database.write_now(lambda tx: tx.execute("UPDATE comment SET parent_id = ?", (parent,)))
    found = faults_after(database, "UPDATE comment SET site_id = 2 WHERE status = 'pending'")
    assert found == [
        f"comment {parent} is filed under another site than its thread",
        f"comment 1 answers comment {parent}, which is in another thread",
    ]


@pytest.mark.sqlite_only("PostgreSQL always keeps references whole")
def test_a_reference_to_nothing_is_named(tmp_path: Path, database: Database) -> None:
    with contextlib.closing(connected(tmp_path)) as other:  # foreign keys are off here
        other.execute("DELETE FROM thread")
    found = database.read_now(integrity.check)
    assert "comment 1 refers to a thread that does not exist" in found


@pytest.mark.sqlite_only("it damages the file")
@pytest.mark.parametrize("pages", [20, 8])
def test_a_damaged_file_is_named(tmp_path: Path, pages: int) -> None:
    with opened(tmp_path) as database:
        for _ in range(100):
            add(database, source="x" * 500)
    with (tmp_path / "comments.sqlite3").open("r+b") as file:
        file.seek(4096 * pages)
        file.write(b"\xa5" * 2048)
    connection = sqlite3.connect(tmp_path / "comments.sqlite3")
    found = integrity.check(Snapshot(connection))
    connection.close()
    assert found
    assert all(text.startswith("the file is damaged: ") for text in found)


def test_only_the_first_faults_are_named(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrity, "FAULTS", 3)
    for number in range(5):
        add(database, url=f"/{number}/")
    assert len(faults_after(database, "UPDATE thread SET count = 9")) == 3


URLS = st.sampled_from(["/a/", "/b/", "/c/"])
STATUSES = st.sampled_from(["pending", "approved", "spam", "deleted"])


class Counting(RuleBasedStateMachine):
    """Submissions, retries, refusals and approvals in any order, compared with counts in Python."""

    submissions: Bundle[NewComment] = Bundle("submissions")

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.opening = opened(Path(self.folder.name))
        self.database = self.opening.__enter__()
        self.approved = dict.fromkeys(["/a/", "/b/", "/c/"], 0)
        self.url_of: dict[int, str] = {}
        self.made: dict[str, int] = {}  # when it was made, by key
        self.now = NOW

    def submit(self, submission: NewComment) -> create.InsertResult:
        return self.database.write_now(create.add, submission, self.now)

    @rule(url=URLS, status=STATUSES, derived=st.booleans(), target=submissions)
    def add(self, url: str, status: str, derived: bool) -> NewComment:
        submission = new(url=url, status=status, derived=derived)
        added = self.submit(submission)
        assert not added.repeated
        self.remember(submission, added.comment.id)
        return submission

    def remember(self, submission: NewComment, comment_id: int) -> None:
        self.made[submission.key] = self.now
        self.url_of[comment_id] = submission.url
        self.approved[submission.url] += submission.status == "approved"

    @rule(submission=submissions, later=st.sampled_from([0, HOUR // 2, HOUR]))
    def repeat(self, submission: NewComment, later: int) -> None:
        self.now += later
        added = self.submit(submission)
        young = self.now - self.made[submission.key] < HOUR
        assert added.repeated == (young or not submission.derived)
        if not added.repeated:
            self.remember(submission, added.comment.id)

    @rule(submission=submissions, url=URLS)
    def conflict(self, submission: NewComment, url: str) -> None:
        other = new(key=submission.key, url=url, source="another text")
        if not submission.derived:
            with pytest.raises(errors.KeyConflict):
                self.submit(other)

    @rule(url=URLS)
    def answer_nothing(self, url: str) -> None:
        with pytest.raises(errors.UnknownParent):
            self.submit(new(url=url, parent=10**9))

    @rule(unknown=st.booleans())
    def approve_all(self, unknown: bool) -> None:
        ids = self.database.read_now(queries.pending_ids)
        if unknown:
            with pytest.raises(errors.UnknownComment):
                decide(self.database, "approved", *ids, 10**9, now=self.now)
            return
        assert decide(self.database, "approved", *ids, now=self.now).changed == tuple(ids)
        for comment_id in ids:
            self.approved[self.url_of[comment_id]] += 1

    @invariant()
    def counts_equal_rows(self) -> None:
        read = self.database.read_now
        assert read(integrity.check) == []
        counted = {url: read(queries.thread, site="blog", url=url).count for url in self.approved}
        assert counted == self.approved
        in_all = sum(self.approved.values())
        assert read(lambda snapshot: queries.site_count(snapshot, "blog")) == in_all

    def teardown(self) -> None:
        self.opening.__exit__(None, None, None)
        self.folder.cleanup()


TestCounting = Counting.TestCase
TestCounting.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
