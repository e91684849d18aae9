"""From the staged records to the database: nothing is lost or duplicated; all can be undone."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commentsvc.auth import accounts
from commentsvc.backup import integrity
from commentsvc.comments import queries
from commentsvc.comments.submission import avatar
from commentsvc.db.database import Database
from commentsvc.errors import CommentsError, ProfileRefused
from commentsvc.imports import report
from commentsvc.imports.records import ImportedComment, ImportedPage, Record
from commentsvc.imports.staging import authors, reading, writing
from commentsvc.imports.staging.convert import Converter
from commentsvc.imports.staging.pages import PageFinder
from commentsvc.imports.staging.staging import StagingDatabase
from commentsvc.imports.store import store
from commentsvc.imports.store.store import UnknownImport
from commentsvc.moderation import profiles, retention, threads
from commentsvc.settings.schema import DatabaseSettings, Settings, Site
from tests.unit.database_fixture import NOW, add, decide, forget, opened
from tests.unit.processor_time import assert_quick

SITE = Site(name="blog", origins=("https://blog.example",))
STATUSES = ("approved", "pending", "spam")
DAY = 86_400_000


def comment(number: int | str, parent: int | str = "", **changes: Any) -> ImportedComment:
    fields: dict[str, Any] = {
        "position": f"row {number}",
        "page": "1",
        "id": str(number),
        "parent": str(parent),
        "identity": str(number),
        "created": NOW - 1_000 * DAY,
        "text": f"comment {number}",
        "markup": "markdown",
        "author": "Ann",
    }
    return ImportedComment(**fields | changes)


PAGE = ImportedPage("1", "https://blog.example/a/", "row 1", "A")


class Importer:
    """Imports records into the database of a folder."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.database = database
        self.staging_path = folder / "import.sqlite3"
        self.known: list[tuple[str, str]] = []  # which author is which moderator
        self.made: list[StagingDatabase] = []

    def close(self) -> None:
        """Close all staging databases."""
        for staging in self.made:
            staging.close()

    def staging(
        self,
        *records: Record | str,
        statuses: tuple[str, ...] = STATUSES,
        site: str = "",
        skipped: str = "",
    ) -> tuple[StagingDatabase, int]:
        rules = self.database.read_now(authors.read, Settings(), self.known)
        converter = Converter("test", statuses, rules)
        staging = StagingDatabase(self.staging_path, converter)
        self.made.append(staging)
        staging.writer.begin_file("file", NOW - DAY)
        for record in records:
            if isinstance(record, str):
                staging.writer.begin_file(record, NOW - DAY)
            else:
                staging.writer.add(record)
        if skipped:
            staging.writer.skipped(skipped, "it is broken")
        return staging, staging.resolve(PageFinder((SITE,), site, {}), self.database.read_now)

    def run(
        self, *records: Record | str, piece: int = 1_000, most: int = 10**9, **options: Any
    ) -> StagingDatabase:
        """Import the records in chunks; stop after `most` of them, as if killed."""
        staging, number = self.staging(*records, **options)
        if number:
            run = self.database.write_now(store.begin, "test", "file", b"1", NOW)
            for first in range(1, min(number, most) + 1, piece):
                last = min(first + piece - 1, number)
                pieces = reading.ready(self.staging_path, first, last)
                self.database.write_now(store.add, run, pieces, NOW)
            if most >= number:
                self.database.write_now(store.finish, run, NOW)
        return staging

    def tables(self) -> list[list[Any]]:
        """Return all rows that an import changes."""
        names = "site, thread, comment, imported_comment, imported_thread, import_run"
        return self.database.read_now(
            lambda snapshot: [
                snapshot.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()
                for name in names.split(", ")
            ]
        )

    def tree(self) -> dict[str, tuple[str, str | None]]:
        """Return status and parent of all comments, by text or, if that is empty, by id."""
        rows = self.database.read_now(
            lambda snapshot: snapshot.execute(
                "SELECT id, source, status, parent_id FROM comment ORDER BY id"
            )
        ).fetchall()
        names = {
            number: source.removeprefix("comment ") or f"#{number}" for number, source, *_ in rows
        }
        return {
            names[number]: (status, names[parent] if parent else None)
            for number, _, status, parent in rows
        }

    def faults(self) -> list[str]:
        return self.database.read_now(integrity.check)


@pytest.fixture
def importer(tmp_path: Path, purged: list[str]) -> Any:
    with (
        opened(tmp_path, purge=purged.extend) as database,
        closing(Importer(tmp_path, database)) as importer,
    ):
        yield importer


def test_comments_are_stored_with_what_they_had(importer: Importer, purged: list[str]) -> None:
    importer.run(
        PAGE,
        comment(
            1,
            email="ann@blog.example",
            site="ann.example",
            votes=-3,
            edited=NOW,
            text="<p>a <b>b</b></p>",
            markup="html",
        ),
        comment(2, 1, status="pending", avatar="0" * 32, site="javascript:x", email="none"),
    )
    first, second = (importer.database.read_now(queries.find, number) for number in (1, 2))
    assert first
    assert second
    assert (first.site, first.url, first.title) == ("blog", "/a/", "A")
    shown = first.comment
    assert (shown.status, shown.created_at, shown.published_at) == (
        "approved",
        NOW - 1_000 * DAY,
        NOW - 1_000 * DAY,
    )
    assert (shown.source, shown.html) == ("a **b**", "<p>a <strong>b</strong></p>")
    assert (shown.email, shown.site) == ("ann@blog.example", "http://ann.example")
    assert (shown.votes, shown.edited_at) == (-3, NOW)
    held = second.comment
    assert (held.status, held.published_at, held.parent_id) == ("pending", None, 1)
    assert (held.avatar, held.email, held.site) == ("0" * 32, "", "")
    assert importer.database.read_now(queries.site_count, "blog") == 1
    assert {"thread:blog:/a/", "site:blog"} <= {*purged}
    assert importer.faults() == []


def test_a_second_run_changes_nothing(importer: Importer) -> None:
    records = (PAGE, comment(1), comment(2, 1), comment(3, status="spam"))
    importer.run(*records).close()
    before = importer.tree()
    staging = importer.run(*records)
    assert staging.counts()["already there"] == 3
    assert staging.counts()["stored"] == 0
    assert importer.tree() == before


def test_what_was_erased_or_removed_since_does_not_come_back(importer: Importer) -> None:
    records = (PAGE, comment(1, email="ann@blog.example"), comment(2, status="spam"))
    importer.run(*records).close()
    importer.database.write_now(retention.forget, "ann@blog.example", "Mo", NOW)
    importer.database.write_now(retention.drop_spam, NOW, 10, NOW)
    importer.run(*records)
    assert importer.tree() == {"#1": ("deleted", None)}


def test_parents_may_come_later_or_never(importer: Importer) -> None:
    staging = importer.run(PAGE, comment(3, 2), comment(2, 1), comment(1), comment(4, 99))
    assert importer.tree() == {
        "1": ("approved", None),
        "2": ("approved", "1"),
        "3": ("approved", "2"),
        "4": ("approved", None),
    }
    reasons = [reason for _, reason, _ in staging.reasons()]
    assert reasons == ["what it answers (99) is not in the file: it stands on the first level"]


def test_a_reply_may_name_the_number_of_a_comment_on_its_page(importer: Importer) -> None:
    """Staticman's `replying_to` counts the comments of the first level, from 1."""
    staging = importer.run(
        PAGE,
        ImportedPage("2", "https://blog.example/b/", "row 9", "B"),
        *(comment("a"), comment("x", page="2"), comment("b"), comment("b1", "#2"), comment("c")),
        *(comment("c1", "#3"), comment("d", "#4"), comment("x1", "#1", page="2")),
        "the same file again",
        PAGE,
        comment("a"),
    )
    parents = {name: parent for name, (_, parent) in importer.tree().items() if parent}
    assert parents == {"b1": "b", "c1": "c", "x1": "x"}
    assert sorted(staging.reasons()) == [
        ("merged", "it is in the files twice", 1),
        ("note", "what it answers (#4) is not in the file: it stands on the first level", 1),
        ("note", "what it answers was found by its number among the first level of its page", 3),
    ]


def test_a_number_is_an_id_where_ids_are_numbers(importer: Importer) -> None:
    staging = importer.run(PAGE, comment(7), comment(3), comment(9, "#3"), comment(10, "#7"))
    parents = {name: parent for name, (_, parent) in importer.tree().items() if parent}
    assert parents == {"9": "3", "10": "7"}
    note = "the number of what it answers is an id: ids are numbers here"
    assert staging.reasons() == [("note", note, 2)]


def test_a_time_that_is_an_id_is_no_number_of_a_comment(importer: Importer) -> None:
    first, second = 1_480_500_000, 1_480_500_001
    importer.run(PAGE, comment(first), comment(second), comment("c", "#2"))
    parents = {name: parent for name, (_, parent) in importer.tree().items() if parent}
    assert parents == {"c": str(second)}


def test_the_order_is_that_of_the_dates(importer: Importer) -> None:
    """A parent comes first even if its date is later than its reply's."""
    importer.run(
        PAGE,
        comment("c", created=3),
        comment("a", created=1),
        comment("d", "e", created=2),
        comment("e", created=4),
    )
    assert list(importer.tree()) == ["a", "c", "e", "d"]


def test_the_order_is_that_of_one_run_however_often_it_is_interrupted(importer: Importer) -> None:
    """Of comments with the same date, those of the top level come first."""
    records = (PAGE, comment("a"), comment("b", "a"), comment("c"))
    importer.run(*records, piece=1, most=1).close()
    importer.run(*records, piece=1).close()
    assert list(importer.tree()) == ["a", "c", "b"]


def test_a_deleted_comment_stays_empty_where_somebody_answers_it(importer: Importer) -> None:
    gone = {"status": "deleted", "drop": "it was deleted", "author": "Ann", "email": "a@b.example"}
    staging = importer.run(
        PAGE,
        comment(1, **gone),
        comment(2, 1, **gone),
        comment(3, 2),
        comment(4, **gone),
        comment(5, 4, **gone),
    )
    assert importer.tree() == {
        "#1": ("deleted", None),
        "#2": ("deleted", "#1"),
        "3": ("approved", "#2"),
    }
    found = importer.database.read_now(queries.find, 1)
    assert found
    assert (found.comment.author, found.comment.email, found.comment.html) == ("", "", "")
    assert staging.counts()["left out"] == 2


def test_statuses_may_be_left_out(importer: Importer) -> None:
    staging = importer.run(
        PAGE,
        comment(1, status="spam"),
        comment(2, 1),
        comment(3, status="pending"),
        statuses=("approved",),
    )
    assert importer.tree() == {"#1": ("deleted", None), "2": ("approved", "#1")}
    assert staging.reasons() == [("left out", "it is pending, which --status leaves out", 1)]


def test_circles_are_opened(importer: Importer) -> None:
    staging = importer.run(PAGE, comment(1, 3), comment(2, 1), comment(3, 2), comment(4, 4))
    assert importer.tree() == {
        "1": ("approved", None),
        "2": ("approved", "1"),
        "3": ("approved", "2"),
        "4": ("approved", None),
    }
    assert staging.reasons() == [
        ("note", "it answers itself, by others: it stands on the first level", 1),
        ("note", "it answers itself: it stands on the first level", 1),
    ]


def test_ten_thousand_levels_are_no_matter(importer: Importer) -> None:
    importer.run(PAGE, *(comment(number, number - 1 or "") for number in range(10_000, 0, -1)))
    tree = importer.tree()
    assert tree["10000"] == ("approved", "9999")
    assert len(tree) == 10_000


def test_pages_are_merged_by_our_rules(importer: Importer) -> None:
    staging = importer.run(
        ImportedPage("1", "http://www.blog.example/a/?utm_x=1", "row 1", closed=True),
        ImportedPage("2", "http://localhost:4000//a/index.html", "row 2", "Title"),
        ImportedPage("3", "", "row 3"),
        ImportedPage("4", "mailto:x", "row 4"),
        ImportedPage("5", "https://blog.example/closed/", "row 5", closed=True),
        comment(1, page="1"),
        comment(2, 1, page="2"),
        comment(3, page="3"),
        comment(4, page="4"),
        comment(5, page="5"),
        comment(6, page="6"),
    )
    assert staging.pages() == [("blog", "/a/", 2), ("blog", "/closed/", 1)]
    listed = importer.database.read_now(threads.listing, "", 10, None)
    assert [(thread.url, thread.title, thread.state) for thread in listed] == [
        ("/closed/", "", "closed"),
        ("/a/", "Title", "aging"),
    ]
    assert {reason for _, reason, _ in staging.reasons()} == {
        "pages at http://localhost:4000 were taken by their path",
        "its page has no address in the file",
        "its page has the address mailto:x: The address of the page must be a path or begin"
        " with http or https.",
        "its page is not in the file",
    }
    assert importer.tree()["2"] == ("approved", "1")


def test_comments_go_where_a_page_has_moved(importer: Importer) -> None:
    add(importer.database, url="/new/")
    importer.database.write_now(threads.add_alias, "blog", "/new/", "/a/")
    importer.run(PAGE, comment(1))
    assert importer.database.read_now(queries.thread, "blog", "/new/").count == 2
    assert importer.faults() == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"text": "x" * 300_000}, "its text is longer than 200,000 characters"),
        ({"text": " \x00"}, "it has no text"),
        ({"text": "<script>x</script>", "markup": "html"}, "it has no text"),
    ],
)
def test_what_cannot_be_shown_is_left_out(
    importer: Importer, changes: dict[str, Any], reason: str
) -> None:
    staging = importer.run(PAGE, comment(1, **changes))
    assert staging.reasons() == [("left out", reason, 1)]


def test_a_comment_without_a_good_name_or_date_is_stored(importer: Importer) -> None:
    staging = importer.run(
        PAGE,
        comment(1, created=None, author=" "),
        comment(2, created=5, author="x" * 300),
        comment(3, created=None),
        comment(4, created=NOW + DAY),
    )
    rows = importer.database.read_now(
        lambda snapshot: snapshot.execute(
            "SELECT source, created_at, author FROM comment"
        ).fetchall()
    )
    assert sorted(rows) == [
        ("comment 1", NOW - DAY, "Anonymous"),
        ("comment 2", 5, "x" * 200),
        ("comment 3", 5, "Ann"),
        ("comment 4", NOW, "Ann"),
    ]
    assert {reason for _, reason, _ in staging.reasons()} == {
        "its date cannot be read: it has that of the file",
        "its date cannot be read: it has that of the comment before it",
        "the author's name is cut to 200 characters",
    }


def test_comments_without_ids_and_dates_are_told_apart_by_their_content(importer: Importer) -> None:
    nothing: dict[str, Any] = {"id": "", "identity": " ", "created": None}
    records = [comment(1, text=text, **nothing) for text in ("One", "Two", "One")]
    assert importer.run(PAGE, *records).counts()["merged"] == 1
    assert sorted(importer.tree()) == ["One", "Two"]


def test_two_comments_of_a_file_with_one_id_are_both_stored(importer: Importer) -> None:
    """In another file, it is a later text of the same comment."""
    records = [comment(1), comment(1, text="comment 2"), comment(1), comment(1, text="comment 2")]
    for stored, there in ((2, 0), (0, 2)):
        staging, _ = importer.staging(PAGE, *records)
        counts = staging.counts()
        assert (counts["stored"], counts["already there"], counts["merged"]) == (stored, there, 2)
        staging.close()
        importer.run(PAGE, *records).close()
    assert sorted(importer.tree()) == ["1", "2"]
    later = comment(3, text="comment 4")
    assert importer.run(PAGE, comment(3), "later", PAGE, later).counts()["merged"] == 1


def test_one_id_on_two_pages_of_a_file_is_that_of_two_comments(importer: Importer) -> None:
    """As where one file has several sites, which count from 1 each."""
    other = ImportedPage("2", "https://other.example/b/", "row 2")
    comments = [comment(n, n - 1 or "", page=page) for page in "12" for n in (1, 2)]
    sites: list[ImportedPage | ImportedComment] = [PAGE, other, *comments]
    staging = importer.run(*sites)
    assert staging.counts()["stored"] == 4
    assert [page[1:] for page in staging.pages()] == [("/a/", 2), ("/b/", 2)]
    staging.close()
    assert importer.run(*sites).counts()["already there"] == 4


def test_what_is_said_of_a_comment_is_of_a_stored_one(importer: Importer) -> None:
    records = [
        comment(1, parent=1),
        comment(2, created=None, text=""),
        comment(3, parent=9, page="7"),
    ]
    staging = importer.run(PAGE, *records, "another")
    assert [reason for _, reason, _ in staging.reasons()] == [
        "it has no text",
        "its page is not in the file",
        "it answers itself: it stands on the first level",
    ]
    assert [row.reason for row in staging.rows(importer.database.read_now)] == [
        "it answers itself: it stands on the first level",
        "it has no text",
        "its page is not in the file",
    ]
    assert list(report.summary(staging, dry=False))[-1] == "no comments were found in another"


def test_votes_that_no_database_can_hold_are_bounded(importer: Importer) -> None:
    importer.run(PAGE, comment(1, votes=2**64), comment(2, votes=-(2**64)))
    rows = importer.database.read_now(
        lambda snapshot: snapshot.execute("SELECT votes FROM comment ORDER BY id").fetchall()
    )
    assert rows == [(2**31,), (-(2**31),)]


def add_moderator(database: Database, name: str, email: str) -> None:
    database.write_now(accounts.add, name, "hash", NOW)
    profile = database.read_now(profiles.named, name)
    database.write_now(profiles.save, msgspec.structs.replace(profile, email=email))


WHO = ("author", "email", "avatar", "author_site", "status", "role", "moderator_id", "reasons")


def whose(database: Database) -> list[tuple[Any, ...]]:
    rows = database.read_now(
        lambda snapshot: snapshot.execute(f"SELECT {', '.join(WHO)} FROM comment ORDER BY id")
    )
    return list(rows)


def test_who_looks_like_a_moderator_waits(importer: Importer) -> None:
    add_moderator(importer.database, "Mo", "mo@blog.example")
    staging = importer.run(
        PAGE,
        comment(1),
        comment(2, author="Mо", is_admin=True),
        comment(3, email="MO@blog.example", status="pending"),
        comment(4, avatar=avatar("mo@blog.example")),
        comment(5, author="Mo", status="spam"),
    )
    address, name = "protected-address +0", "protected-name +0 Mo"
    assert [(row[4], *row[5:]) for row in whose(importer.database)] == [
        ("approved", "", None, ""),
        ("pending", "", None, name),
        ("pending", "", None, address),
        ("pending", "", None, address),
        ("spam", "", None, ""),
    ]
    assert [reason for _, reason, _ in staging.reasons()] == [
        "it has a protected address: it waits for a moderator",
        "it looks like the protected name “Mo”: it waits for a moderator",
    ]
    assert staging.counts()["pending"] == 3
    assert importer.faults() == []


def test_authors_may_be_moderators_here(importer: Importer) -> None:
    for name in ("Mo", "Kim"):
        add_moderator(importer.database, name, f"{name}@blog.example")
    importer.known = [("Old@mo.example", "Mo"), ("admins", "Kim"), ("github_1", "")]
    importer.run(
        PAGE,
        comment(1, email="old@mo.example "),
        comment(2, avatar=avatar("old@mo.example")),
        comment(3, is_admin=True),
        comment(4, account="GitHub_1"),
        comment(5, author="Mo"),
    )
    mo = ("Mo", "Mo@blog.example", avatar("mo@blog.example"), "", "approved", "owner", 1, "")
    kim = ("Kim", "Kim@blog.example", avatar("kim@blog.example"), "", "approved", "moderator", 2)
    *own, other = whose(importer.database)
    assert own == [mo, mo, (*kim, ""), mo]
    assert other[4:7] == ("pending", "", None)
    importer.known = [("admins", "Nobody")]
    with pytest.raises(ProfileRefused, match="no moderator is called Nobody"):
        importer.run(PAGE)


def test_one_comment_of_a_page_stays_pinned(importer: Importer) -> None:
    importer.run(
        PAGE,
        comment(1, created=1, is_pinned=True, status="pending"),
        comment(2, created=2),
        comment(3, 2, created=3, is_pinned=True),
        comment(4, created=4, is_pinned=True),
        comment(5, created=5, is_pinned=True),
    )
    assert importer.database.read_now(queries.thread, "blog", "/a/").pinned == 4


def test_the_report_has_every_row(importer: Importer) -> None:
    staging = importer.run(
        PAGE,
        comment(1),
        comment(1, position="row 9"),
        comment(2, page="7"),
        comment(3, text=""),
        skipped="row 10",
    )
    rows = [
        (row.position, row.outcome, row.reason, row.comment_id)
        for row in staging.rows(importer.database.read_now)
    ]
    assert rows == [
        ("row 1", "stored", "", 1),
        ("row 9", "merged", "it is in the files twice", 1),
        ("row 2", "left out", "its page is not in the file", None),
        ("row 3", "left out", "it has no text", None),
        ("row 10", "left out", "it is broken", None),
    ]


def test_a_report_of_many_notes_takes_time_in_proportion(importer: Importer) -> None:
    staging, number = importer.staging(PAGE, *(comment(n, created=None) for n in range(6_000)))
    rows = assert_quick(lambda: [*staging.rows(importer.database.read_now)], 400)  # not 1,400
    assert len(rows) == number == 6_000


@pytest.mark.parametrize("page", ["1", "2"])
def test_replies_are_found_in_proportion_where_many_comments_have_one_id(
    importer: Importer, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    connect, steps = writing.connect, list[int]()

    def counting(path: Path) -> sqlite3.Connection:
        database = connect(path)
        database.set_progress_handler(lambda: steps.append(1), 1_000)  # of SQLite's instructions
        return database

    monkeypatch.setattr(writing, "connect", counting)
    needed = []
    for many in (250, 1_000):
        steps.clear()
        same = (comment("x", text=f"{n}", page=page) for n in range(many))
        replies = (comment(n, parent="x") for n in range(many))
        staging, number = importer.staging(
            PAGE, msgspec.structs.replace(PAGE, key="2", url="/b/"), *same, comment("x"), *replies
        )
        assert number == 2 * many + 1
        assert not [reason for _, reason, _ in staging.reasons() if "not in the file" in reason]
        needed.append(len(steps))
    assert needed[1] < 6 * needed[0]


def test_undoing_leaves_what_was_there_before(importer: Importer) -> None:
    add(importer.database, url="/a/", source="before")
    before = importer.tree()
    importer.run(
        PAGE,
        ImportedPage("2", "/b/", "row 2", closed=True),
        comment(1),
        comment(2, 1),
        comment(3, page="2", status="spam"),
    )
    decide(importer.database, "spam", 2)
    undo = (1, 10**6, 2)
    assert importer.database.write_now(store.remove, *undo, NOW) == (2, 3)
    assert importer.database.write_now(store.remove, 1, 3, 2, NOW) == (1, 2)
    assert importer.database.write_now(store.remove, 1, 2, 2, NOW) == (0, 0)
    assert importer.tree() == before
    assert [each.url for each in importer.database.read_now(threads.listing, "", 9, None)] == [
        "/a/"
    ]
    assert importer.faults() == []
    with pytest.raises(UnknownImport):
        importer.database.write_now(store.remove, 1, 2, 2, NOW)
    importer.run(PAGE, comment(1))
    assert "1" in importer.tree()


def test_undoing_leaves_empty_what_was_answered_since(importer: Importer) -> None:
    importer.run(PAGE, comment(1))
    add(importer.database, url="/a/", parent=1, source="new")
    importer.database.write_now(store.remove, 1, 10**6, 100, NOW)
    assert importer.tree() == {"#1": ("deleted", None), "new": ("approved", "#1")}
    assert importer.faults() == []


def test_only_an_import_that_exists_is_undone(importer: Importer) -> None:
    with pytest.raises(CommentsError, match="no import 7"):
        importer.database.write_now(store.remove, 7, 10**6, 100, NOW)


def test_an_import_that_was_not_finished_is_continued(importer: Importer) -> None:
    def begin() -> int:
        return importer.database.write_now(store.begin, "test", "file", b"digest", NOW)

    first = begin()
    assert begin() == first
    importer.database.write_now(store.finish, first, NOW)
    assert begin() != first
    runs = importer.database.read_now(store.runs)
    assert [(run.id, run.finished_at) for run in runs] == [(2, None), (1, NOW)]


@st.composite
def sources(draw: st.DrawFn) -> list[ImportedComment]:
    """Generate comments with any parent: a later one, none, itself, on another page; and twins."""
    count = draw(st.integers(0, 25))
    ids = st.integers(0, count + 1)
    made = []
    for number in range(count):
        dropped = draw(st.integers(0, 4)) == 0
        made.append(
            comment(
                number,
                draw(st.one_of(st.just(""), ids)),
                page=draw(st.sampled_from("123")),
                created=draw(st.one_of(st.integers(0, 20), st.just(NOW + DAY))),
                is_pinned=draw(st.booleans()),
                anchor=draw(st.sampled_from(["", f"comment-{number}"])),
                markup=draw(st.sampled_from(["markdown", "html"])),
                status="deleted" if dropped else draw(st.sampled_from(STATUSES)),
                drop="deleted" if dropped else "",
            )
        )
    twins = draw(st.lists(st.sampled_from(made), max_size=3)) if made else []
    return [*made, *twins]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sources(), st.integers(1, 10), st.integers(1, 30))
def test_any_tree_is_stored_whole_however_often_it_is_interrupted(
    tmp_path_factory: pytest.TempPathFactory,
    made: list[ImportedComment],
    piece: int,
    most: int,
) -> None:
    records: list[Record] = [PAGE, ImportedPage("2", "/b", "row 2"), *made]
    trees = []
    forget()
    for stops in ([], [most, 2 * most]):
        folder = tmp_path_factory.mktemp("import")
        with opened(folder, settings=DatabaseSettings(synchronous="normal")) as database:
            importer = Importer(folder, database)
            for stop in stops:
                importer.run(*records, piece=piece, most=stop).close()
            staging = importer.run(*records, piece=piece)
            counts = staging.counts()
            outcomes = Counter(row.outcome for row in staging.rows(importer.database.read_now))
            staging.close()
            tree = importer.tree()
            trees.append(tree)
            assert importer.faults() == []
            assert outcomes.total() == len(made)
            assert counts["stored"] + counts["already there"] == len(tree)
    assert trees[0] == trees[1]
    ids = {each.id: each for each in made}
    for each in ids.values():
        if each.page == "3" or each.drop:
            assert each.id not in trees[0]
            continue
        status, parent = trees[0][each.id]
        assert status == each.status
        wanted = ids.get(each.parent)
        if parent is not None:
            assert wanted
            assert wanted.page == each.page
            assert wanted.drop or parent == wanted.id
