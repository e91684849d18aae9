"""A temporary staging database in which an import is prepared.

Parsers add what they read, in the order of the file. `resolve` then decides what no parser can know
about each row: its page by our rules, duplicates, parents that come later or never, cycles, and the
order of storing: by date, and parents before replies. So the server only inserts rows, and a file
that turns out to be invalid changes nothing.
"""

# ruff: noqa: S608 - the SQL is built from constants only

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from commentsvc.db.connection import Snapshot
from commentsvc.db.schema.comments import CommentTable
from commentsvc.db.schema.imports import ImportedCommentTable
from commentsvc.exports.records import ThreadRecord
from commentsvc.imports.records import COUNTED, DIGITS
from commentsvc.imports.staging import writing
from commentsvc.imports.staging.convert import Converter
from commentsvc.imports.staging.reading import COLUMNS
from commentsvc.imports.staging.writing import StagingWriter, decode_reactions

CACHE: Final = 16_384  # KiB, for the decisions about all rows; sorting them takes as much again

_SCHEMA: Final = """
CREATE TABLE file (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE page (id INTEGER PRIMARY KEY, site TEXT, url TEXT, title TEXT, closed INTEGER,
    UNIQUE (site, url));
CREATE TABLE thread (id INTEGER PRIMARY KEY, file INTEGER, position TEXT, url TEXT, title TEXT,
    closed INTEGER, site TEXT, page INTEGER, reason TEXT, note TEXT, reactions BLOB);
CREATE TABLE item (n INTEGER PRIMARY KEY, file INTEGER, position TEXT, source_id TEXT, parent TEXT,
    thread INTEGER, rank INTEGER, status TEXT, dropped TEXT, key BLOB, anchor TEXT, is_html INTEGER,
    pinned INTEGER, up INTEGER, outcome TEXT, reason TEXT);
CREATE TABLE other (number INTEGER PRIMARY KEY, file INTEGER, line BLOB, site TEXT);
CREATE TABLE skipped (file INTEGER, position TEXT, problem TEXT);
CREATE TABLE note (n INTEGER, text TEXT);
CREATE TABLE twin (n INTEGER PRIMARY KEY, key BLOB);
CREATE TABLE placed (n INTEGER PRIMARY KEY, rank INTEGER, depth INTEGER);
CREATE TABLE ready (number INTEGER PRIMARY KEY, n INTEGER, page INTEGER, up INTEGER,
    status TEXT, key BLOB, anchor TEXT, is_html INTEGER, pinned INTEGER);
CREATE TABLE imported (key BLOB PRIMARY KEY, comment_id INTEGER) WITHOUT ROWID;
CREATE TABLE present (id INTEGER PRIMARY KEY, created INTEGER);
"""
_BODY: Final = f"CREATE TABLE body (n INTEGER PRIMARY KEY, ours BLOB, {', '.join(COLUMNS)});"
# Why an item is not stored; `outcome` is NULL for one that will be.
MERGED: Final = "merged"
LEFT_OUT: Final = "left out"
PRESENT: Final = "already there"
NO_PAGE: Final = "its page is not in the file"

# The items of the first level, then the replies to them; cycles of replies are never reached. Items
# that are already there count, so that an import that continues has the order of the first one.
_THERE: Final = f"(outcome IS NULL OR outcome = '{PRESENT}')"
_ORDER: Final = "INSERT INTO placed SELECT n, rank, 0 FROM item WHERE {which}"
_ROOTS: Final = f"up IS NULL AND {_THERE}"
_ORDER_REPLIES: Final = (
    "WITH RECURSIVE tree (n, rank, depth) AS (SELECT n, rank, depth FROM placed WHERE {below}"
    " UNION ALL SELECT i.n, max(i.rank, t.rank), t.depth + 1 FROM tree AS t JOIN item AS i"
    f" ON i.up = t.n WHERE {_THERE}) INSERT INTO placed SELECT n, rank, depth FROM tree"
    " WHERE depth > 0"
)
_ANSWERED: Final = "n IN (SELECT up FROM item WHERE up IS NOT NULL)"
_CIRCLE: Final = (
    f"SELECT n, outcome IS NULL FROM item WHERE {_THERE} AND n > ?"
    " AND n NOT IN (SELECT n FROM placed) ORDER BY n LIMIT 1"
)
_READY: Final = (
    "INSERT INTO ready (n, page, up, status, key, anchor, is_html, pinned) SELECT p.n, t.page,"
    " i.up, i.status, i.key, i.anchor, i.is_html, i.pinned FROM placed AS p JOIN item AS i"
    " ON i.n = p.n JOIN thread AS t ON t.id = i.thread WHERE i.outcome IS NULL"
    " ORDER BY p.rank, p.depth, p.n"
)


class StagedRow(NamedTuple):
    """The outcome of a row of the source; `comment_id` is None if no comment was stored."""

    file: str
    position: str
    source_id: str
    page: str
    outcome: str
    reason: str
    comment_id: int | None


class Locate(Protocol):
    """Finds the page here for a url of the source."""

    def __call__(self, url: str, site: str = "") -> "Located":
        """Return the page, or the reason why there is none; `site` is its site's name, if known."""


class Located(NamedTuple):
    """A page's site and canonical url, or the reason why there is none; and a note."""

    site: str
    url: str
    reason: str = ""
    note: str = ""


# Calls a function with a Snapshot of the service's database, which may be of either engine.
Ask = Callable[[Callable[[Snapshot], None]], None]


class StagingDatabase:
    """The staging database at `path`, which is created, in the data folder or a temporary one."""

    def __init__(self, path: Path, converter: Converter) -> None:
        """Take how comments are converted."""
        path.unlink(missing_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self.path = path
        self._db = writing.connect(path)
        self._db.executescript(f"{_SCHEMA}{_BODY}")
        self._db.execute("BEGIN")
        self.writer = StagingWriter(self._db, converter)
        self.reactions = 0  # of other systems
        self._ready = 0  # comments to store

    @property
    def read(self) -> int:
        """The number of comments in the files, so far."""
        return self.writer.comments

    def resolve(self, locate: Locate, ask: Ask) -> int:
        """Decide about all rows; return how many will be stored.

        `ask` is for finding out which of them are stored already.
        """
        self._db.execute("COMMIT")
        self._db.execute(f"PRAGMA cache_size=-{CACHE}")
        self._db.execute("BEGIN")
        self._find_pages(locate)
        run = self._db.execute
        run(
            "UPDATE item SET outcome = ?, reason = t.reason FROM thread AS t"
            " WHERE t.id = item.thread AND t.page IS NULL",
            (LEFT_OUT,),
        )
        run(
            "UPDATE item SET outcome = ?, reason = ? WHERE thread NOT IN (SELECT id FROM thread)",
            (LEFT_OUT, NO_PAGE),
        )
        run(
            "INSERT INTO twin SELECT n, key FROM (SELECT n, key, row_number() OVER (PARTITION BY"
            " key ORDER BY n) AS nth FROM item WHERE outcome IS NULL AND key IN (SELECT key"
            " FROM item WHERE outcome IS NULL GROUP BY key HAVING count(*) > 1)) WHERE nth > 1"
        )
        if self._any("twin"):
            self._tell_apart()
            run(
                "UPDATE item SET outcome = ?, reason = 'it is in the files twice'"
                " WHERE n IN (SELECT n FROM twin)",
                (MERGED,),
            )
        if self._any("item WHERE parent <> ''"):
            self._find_parents()
        self._drop()
        self._find_present(ask)
        self._order()
        run("COMMIT")
        run("PRAGMA shrink_memory")
        return self._ready

    def _any(self, rows: str) -> bool:
        """Return whether there are such rows, given as what follows FROM."""
        return bool(self._db.execute(f"SELECT EXISTS (SELECT 1 FROM {rows})").fetchone()[0])

    def _find_pages(self, locate: Locate) -> None:
        pages: dict[tuple[str, str], int] = {}
        found: list[tuple[int | None, str | None, str | None, int]] = []
        rows = self._db.execute(
            "SELECT id, url, site, title, closed FROM thread ORDER BY id"
        ).fetchall()
        for thread, url, site, title, closed in rows:
            located = locate(url, site)
            if located.reason:
                found.append((None, located.reason, None, thread))
                continue
            page = pages.setdefault((located.site, located.url), len(pages) + 1)
            self._db.execute(
                "INSERT INTO page VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " closed = min(closed, excluded.closed),"
                " title = CASE title WHEN '' THEN excluded.title ELSE title END",
                (page, located.site, located.url, title, closed),
            )
            found.append((page, None, located.note or None, thread))
        self._db.executemany("UPDATE thread SET page = ?, reason = ?, note = ? WHERE id = ?", found)
        self._find_sites(locate)
        self._find_reactions()

    def _find_sites(self, locate: Locate) -> None:
        """Note the records that are not comments and whose site does not exist here."""
        for file, site, number in self._db.execute(
            "SELECT file, site, count(*) FROM other WHERE site <> '' GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall():
            if locate("/", site).reason:
                problem = f"{number} records are of the site {site}, which is not in the settings"
                self._db.execute("INSERT INTO skipped VALUES (?, '', ?)", (file, problem))

    def _find_reactions(self) -> None:
        """Add a record with the reactions of each page, in the form of our own export.

        Of several threads of a page, the most count: they may be the same one in several files.
        """
        pages: dict[tuple[str, str], Counter[str]] = {}
        for site, url, reactions in self._db.execute(
            "SELECT p.site, p.url, t.reactions FROM thread AS t JOIN page AS p ON p.id = t.page"
            " WHERE t.reactions IS NOT NULL ORDER BY t.id"
        ):
            counts = pages.setdefault((site, url), Counter())
            counts |= Counter(decode_reactions(reactions))
        for (site, url), counts in pages.items():
            self.reactions += counts.total()
            line = msgspec.json.encode(ThreadRecord(site, url, reactions=counts))
            self._db.execute("INSERT INTO other (line) VALUES (?)", (line,))

    def _tell_apart(self) -> None:
        """Give comments with the same id and time, but another text or page, keys of their own.

        Only within one file: another file may have a later text of the same comment.
        """
        rows = self._db.execute(
            "SELECT i.n, i.key, i.file, b.author, b.source, p.site || ':' || p.url FROM item AS i"
            " JOIN body AS b ON b.n = i.n JOIN thread AS t ON t.id = i.thread JOIN page AS p"
            " ON p.id = t.page WHERE i.outcome IS NULL AND i.key IN (SELECT key FROM twin)"
            " ORDER BY i.n"
        ).fetchall()
        firsts: dict[bytes, tuple[int, str]] = {}
        known: set[bytes] = set()
        for number, key, file, *texts in rows:
            content = (file, "\0".join(texts))
            first = firsts.setdefault(key, content)
            if file != first[0] or content == first:
                continue
            own = hashlib.blake2b(key + content[1].encode(), digest_size=len(key)).digest()
            self._db.execute("UPDATE item SET key = ? WHERE n = ?", (own, number))
            if own in known:
                continue
            known.add(own)
            self._db.execute("DELETE FROM twin WHERE n = ?", (number,))
            self._db.execute(
                "INSERT INTO note VALUES (?, 'another comment has the same id and time')",
                (number,),
            )

    def _find_parents(self) -> None:
        run = self._db.execute
        self._find_counted()
        run(
            "CREATE TEMP TABLE named (id TEXT, page INTEGER, n INTEGER, PRIMARY KEY (id, page))"
            " WITHOUT ROWID"
        )  # the first comment with each id on each page: thousands may have the same id
        run(
            "INSERT INTO named SELECT i.source_id, t.page, min(i.n) FROM item AS i JOIN thread AS t"
            " ON t.id = i.thread WHERE i.source_id <> '' AND i.outcome IS NULL GROUP BY 1, 2"
        )
        run(
            "UPDATE item SET up = (SELECT named.n FROM thread AS t JOIN named ON named.page ="
            " t.page WHERE t.id = item.thread AND named.id = item.parent)"
            " WHERE parent <> '' AND outcome IS NULL AND up IS NULL"
        )
        run("DROP TABLE named")
        run(
            "INSERT INTO note SELECT n, 'what it answers (' || parent || ') is not in the file: it"
            " stands on the first level' FROM item"
            " WHERE parent <> '' AND outcome IS NULL AND up IS NULL"
        )
        run("CREATE INDEX item_by_parent ON item (up) WHERE up IS NOT NULL")

    def _find_counted(self) -> None:
        """Find the comments that replies name by a number, see `records.COUNTED`."""
        counted = f"parent GLOB '{COUNTED}[1-9]*' AND outcome IS NULL"
        short = f"length(source_id) <= {DIGITS}"  # unlike a time that is an id
        if not self._any(f"item WHERE {counted}"):
            return
        run = self._db.execute
        if self._any(f"item WHERE source_id <> '' AND source_id NOT GLOB '*[^0-9]*' AND {short}"):
            run(
                "INSERT INTO note SELECT n, 'the number of what it answers is an id: ids are"
                f" numbers here' FROM item WHERE {counted}"
            )
            run(f"UPDATE item SET parent = substr(parent, {len(COUNTED) + 1}) WHERE {counted}")
            return
        run("CREATE TEMP TABLE top (page INTEGER, number TEXT, n INTEGER)")
        run(
            "INSERT INTO top SELECT t.page, ? || row_number() OVER (PARTITION BY t.page ORDER BY"
            " i.n), i.n FROM item AS i JOIN thread AS t ON t.id = i.thread WHERE i.parent = ''"
            " AND i.outcome IS NOT ?",
            (COUNTED, MERGED),
        )
        run("CREATE INDEX top_by_number ON top (page, number)")
        run(
            "UPDATE item SET up = (SELECT top.n FROM thread AS t JOIN top ON top.page = t.page"
            f" WHERE t.id = item.thread AND top.number = item.parent) WHERE {counted}"
        )
        run(
            "INSERT INTO note SELECT n, 'what it answers was found by its number among the first"
            f" level of its page' FROM item WHERE {counted} AND up IS NOT NULL"
        )
        run("DROP TABLE top")

    def _drop(self) -> None:
        """Exclude dropped comments; those with replies that are stored stay, empty."""
        self._db.execute(
            "WITH RECURSIVE needed (n) AS (SELECT up FROM item WHERE dropped IS NULL AND outcome"
            " IS NULL AND up IS NOT NULL UNION SELECT i.up FROM needed AS d JOIN item AS i"
            " ON i.n = d.n WHERE i.dropped IS NOT NULL AND i.up IS NOT NULL)"
            " UPDATE item SET outcome = ?, reason = dropped WHERE dropped IS NOT NULL"
            " AND outcome IS NULL AND n NOT IN (SELECT n FROM needed)",
            (LEFT_OUT,),
        )

    def _find_present(self, ask: Ask) -> None:
        ask(self._note_imported)
        self._db.execute(
            "UPDATE item SET outcome = ? WHERE outcome IS NULL"
            " AND key IN (SELECT key FROM imported)",
            (PRESENT,),
        )
        if not self._any("body WHERE length(ours) > 0"):
            return
        ask(self._note_present)
        self._db.execute(
            "UPDATE item SET outcome = ? WHERE outcome IS NULL AND n IN (SELECT i.n FROM item AS i"
            " JOIN body AS b ON b.n = i.n JOIN present AS c ON c.id = i.rank"
            " WHERE length(b.ours) > 0 AND c.created = b.created_at)",
            (PRESENT,),
        )  # our own export, imported where it was made

    def _note_imported(self, snapshot: Snapshot) -> None:
        """Copy the keys of imported comments: PostgreSQL cannot read our file, nor we its."""
        imported = ImportedCommentTable.select(
            ImportedCommentTable.key, ImportedCommentTable.comment_id
        )
        self._db.execute("DELETE FROM imported")
        self._db.executemany("INSERT INTO imported VALUES (?, ?)", snapshot.each(imported))

    def _note_present(self, snapshot: Snapshot) -> None:
        """Copy the ids and times of all comments."""
        comments = CommentTable.select(CommentTable.id, CommentTable.created_at)
        self._db.executemany("INSERT INTO present VALUES (?, ?)", snapshot.each(comments))

    def _order(self) -> None:
        run = self._db.execute
        run(
            "INSERT INTO note SELECT n, 'it answers itself: it stands on the first level' FROM item"
            " WHERE up = n AND outcome IS NULL"
        )
        run("UPDATE item SET up = NULL WHERE up = n")
        if not self._any("item WHERE outcome IS NULL"):
            return
        run(_ORDER.format(which=_ROOTS))
        run(_ORDER_REPLIES.format(below=_ANSWERED))
        last = 0
        while circle := run(_CIRCLE, (last,)).fetchone():
            last, is_new = circle
            run("UPDATE item SET up = NULL WHERE n = ?", (last,))
            if is_new:
                run(
                    "INSERT INTO note VALUES (?, 'it answers itself, by others: it stands on the"
                    " first level')",
                    (last,),
                )
            run(_ORDER.format(which="n = ?"), (last,))
            run(_ORDER_REPLIES.format(below="n = ?"), (last,))
        self._ready = run(_READY).rowcount
        if self._any("ready WHERE up IS NOT NULL"):
            run("CREATE UNIQUE INDEX ready_by_n ON ready (n)")  # to find parents

    def ready_count(self) -> int:
        """Return how many comments will be stored, after `resolve`."""
        return self._ready

    def other_count(self) -> int:
        """Return how many records are not comments."""
        return int(self._db.execute("SELECT count(*) FROM other").fetchone()[0])

    def counts(self) -> Counter[str]:
        """Return how many comments have each outcome; "stored" are those that will be stored.

        Stored comments that are not published are also counted by their status.
        """
        counts: Counter[str] = Counter(
            dict(
                self._db.execute(
                    "SELECT coalesce(outcome, 'stored'), count(*) FROM item GROUP BY 1"
                ).fetchall()
            )
        )
        for status, number in self._db.execute(
            "SELECT status, count(*) FROM item WHERE outcome IS NULL GROUP BY status"
        ).fetchall():
            counts[status] += number
        return counts

    def reasons(self) -> list[tuple[str, str, int]]:
        """Return outcomes, reasons and their numbers of comments, the most frequent first."""
        rows = self._db.execute(
            "SELECT outcome, reason, count(*) FROM item WHERE reason IS NOT NULL GROUP BY 1, 2"
            " UNION ALL SELECT 'note', o.text, count(*) FROM note AS o JOIN item AS i ON i.n = o.n"
            " WHERE i.outcome IS NULL GROUP BY 2"
            " UNION ALL SELECT 'skipped', problem, count(*) FROM skipped GROUP BY 2"
            " UNION ALL SELECT 'page', t.note, count(*) FROM thread AS t JOIN item AS i"
            " ON i.thread = t.id WHERE t.note IS NOT NULL AND i.outcome IS NULL GROUP BY 2"
            " ORDER BY 3 DESC, 1, 2"
        )
        return rows.fetchall()

    def empty_files(self) -> list[str]:
        """Return the names of the files in which no comment was found."""
        rows = self._db.execute(
            "SELECT name FROM file WHERE id NOT IN (SELECT file FROM item) ORDER BY id"
        )
        return [name for (name,) in rows]

    def pages(self) -> list[tuple[str, str, int]]:
        """Return the site, url and number of comments of each page with stored comments."""
        return self._db.execute(
            "SELECT p.site, p.url, sum(i.number) FROM (SELECT thread, count(*) AS number FROM item"
            " WHERE outcome IS NULL GROUP BY thread) AS i JOIN thread AS t ON t.id = i.thread"
            " JOIN page AS p ON p.id = t.page GROUP BY p.id ORDER BY p.site, p.url"
        ).fetchall()

    def rows(self, ask: Ask) -> Iterator[StagedRow]:
        """Yield the outcome of each row of the source, in its order."""
        self._db.execute("BEGIN")
        ask(self._note_imported)
        self._db.execute("CREATE INDEX IF NOT EXISTS note_by_item ON note (n)")
        self._db.execute("COMMIT")
        for row in self._db.execute(
            "SELECT f.name, i.position, i.source_id, coalesce(p.site || ':' || p.url, ''),"
            " coalesce(i.outcome, 'stored'), coalesce(i.reason, '') ||"
            " coalesce((SELECT group_concat(o.text, '; ') FROM note AS o WHERE o.n = i.n"
            " AND i.outcome IS NULL), ''),"
            " c.comment_id FROM item AS i JOIN file AS f ON f.id = i.file"
            " LEFT JOIN thread AS t ON t.id = i.thread LEFT JOIN page AS p ON p.id = t.page"
            " LEFT JOIN imported AS c ON c.key = i.key ORDER BY i.n"
        ):
            yield StagedRow(*row)
        for row in self._db.execute(
            "SELECT f.name, s.position, '', '', 'left out', s.problem, NULL FROM skipped AS s"
            " JOIN file AS f ON f.id = s.file ORDER BY s.rowid"
        ):
            yield StagedRow(*row)

    def close(self) -> None:
        """Delete the staging database."""
        self._db.close()
        self.path.unlink(missing_ok=True)
