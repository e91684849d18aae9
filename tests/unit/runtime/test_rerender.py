"""Stored HTML that the renderer would no longer produce is rendered anew, once and in batches."""

import asyncio
from pathlib import Path

import pytest

from commentsvc.comments import queries
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.errors import DatabaseFull
from commentsvc.markup.markdown import render
from commentsvc.runtime import rerender
from commentsvc.runtime.rerender import Outdated, find_outdated, store
from tests.unit.database_fixture import add, opened

TABLE = "|a" * 210 + "|\n" + "|:-:" * 210 + "|\n" + "a\n" * 3_000


def stored(database: Database) -> list[tuple[str, str]]:
    """Return source and HTML of all comments, the oldest first."""
    entries = database.read_now(queries.listing, None, 1_000)
    return [(entry.comment.source, entry.comment.html) for entry in reversed(entries)]


def is_right(database: Database) -> bool:
    return all(render(source) == html for source, html in stored(database))


def test_all_that_differs_is_stored_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerender, "SMALL_PIECE", 1)
    monkeypatch.setattr(rerender, "PIECE", 2)
    with opened(tmp_path) as database:
        for html in (render("*a*"), "<i>a</i>", "", "<script>", "<td>" * 100_000):
            add(database, source="*a*", html=html)
        add(database, source=TABLE, html="<td></td>\n" * 500_000)
        asyncio.run(asyncio.wait_for(rerender.run(database, 0), 120))
        assert is_right(database)
        assert len(stored(database)) == 6


def test_html_of_another_system_is_only_sanitised_again(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        for number, html in enumerate(("<p>a<br>b</p>", "<p>a</p><script>x</script>"), 1):
            add(database, source="*a*", html=html)
            database.write_now(
                lambda tx, number: tx.execute(
                    "INSERT INTO imported_comment VALUES (?, 1, ?, '', 1)", (number, b"%d" % number)
                ),
                number,
            )
        asyncio.run(asyncio.wait_for(rerender.run(database, 0), 120))
        assert stored(database) == [("*a*", "<p>a<br>b</p>"), ("*a*", "<p>a</p>")]


def test_what_was_right_is_not_written(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        for source in ("*a*", "b", TABLE):
            add(database, source=source, html=render(source))
        outdated = database.read_now(find_outdated, 0, 3, 100)
    assert outdated == ([], 3)


def test_what_comes_after_the_start_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[str] = []

    def renders(_snapshot: Snapshot, _thread: int, source: str, _before: int) -> str:
        rendered.append(source)
        add(database, source="new", html=render("new"))
        return render(source)

    monkeypatch.setattr(rerender, "render", renders)
    monkeypatch.setattr(rerender, "SMALL_PIECE", 1)
    with opened(tmp_path) as database:
        for source in ("a", "b"):
            add(database, source=source, html=render(source))
        asyncio.run(asyncio.wait_for(rerender.run(database, 0), 120))
    assert rendered == ["a", "b"]


def test_a_text_that_was_edited_meanwhile_keeps_its_html(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        add(database, source="new", html="<p>new</p>\n")
        database.write_now(store, [Outdated(1, "old", "<p>old</p>\n")])
        assert stored(database) == [("new", "<p>new</p>\n")]


def test_a_full_disk_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, failures = rerender.store, iter([True, True])

    def fails(*values: object, **named: object) -> None:
        if next(failures, False):
            raise DatabaseFull("no space")
        real(*values, **named)  # type: ignore[arg-type] # passed on unchanged

    monkeypatch.setattr(rerender, "store", fails)
    with opened(tmp_path) as database:
        add(database, source="*a*", html="")
        asyncio.run(asyncio.wait_for(rerender.run(database, 0), 120))
        assert is_right(database)


def test_a_comment_that_cannot_be_rendered_is_logged_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_snapshot: Snapshot, _thread: int, source: str, _before: int) -> str:
        if source == "bad":
            raise ValueError("no")
        return render(source)

    monkeypatch.setattr(rerender, "render", fails)
    with opened(tmp_path) as database:
        for source in ("bad", "*a*"):
            add(database, source=source, html="")
        asyncio.run(asyncio.wait_for(rerender.run(database, 0), 120))
        assert stored(database)[1] == ("*a*", render("*a*"))
    assert "comment 1 cannot be rendered again" in caplog.text


def test_a_damaged_comment_ends_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        for _ in range(2):
            add(database, source="*a*", html="")
        database.write_now(
            lambda tx: tx.execute("UPDATE comment SET html = CAST(x'ff' AS TEXT) WHERE id = 1")
        )
        asyncio.run(asyncio.wait_for(rerender.run(database, 0), 120))
        assert is_right(database)


def test_an_unforeseen_end_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(rerender, "find_outdated", fails)
    with opened(tmp_path) as database:
        asyncio.run(asyncio.wait_for(rerender.run(database, 0), 120))
    assert "not rendered again after comment 0" in caplog.text
