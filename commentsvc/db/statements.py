"""The hot statements, as static SQL.

Compiling a query with peewee takes ten times as long as running it. So the statements that every
request runs are written here as SQL. Tests compare each statement with an equivalent peewee query,
and its plan with the index it should use. All other queries are written in peewee, where they are
used: see `db.query`.

`status = 'approved'` is always a literal: the indexes of the lists hold approved comments only, and
SQLite does not use such an index for a bound parameter.
"""

# ruff: noqa: S608 - the SQL is built from constants only

from typing import Final

# A comment's columns in the order of Comment's fields; c is the comment in every query.
COLUMNS: Final = (
    "c.id, c.thread_id, c.parent_id, c.status, c.author, c.email, c.avatar, c.author_site,"
    " c.source, c.html, c.created_at, c.published_at, c.edited_at, c.votes, c.role,"
    " c.permalink, c.reader_id"
)
# An Entry's: the comment's, then the site's name, the thread's url and title.
ENTRY: Final = f"{COLUMNS}, s.name, t.url, t.title"

# Submission. By (url, site): the site's id; then the thread's url, id, title, state and, if it is
# an alias, the id of the thread it stands for. These are NULL if there is no thread. FIND_ALIASED
# gives the same by the id of a thread.
FIND_THREAD: Final = (
    "SELECT s.id, t.url, t.id, t.title, t.state, t.alias_id FROM site AS s"
    " LEFT JOIN thread AS t ON t.site_id = s.id AND t.url = ? WHERE s.name = ?"
)
FIND_ALIASED: Final = "SELECT site_id, url, id, title, state, alias_id FROM thread WHERE id = ?"
FIRST_PUBLISHED: Final = (
    "SELECT published_at FROM comment WHERE thread_id = ? AND status = 'approved'"
    " ORDER BY published_at LIMIT 1"
)
LAST_PUBLISHED: Final = (
    "SELECT published_at FROM comment WHERE site_id = ? AND status = 'approved'"
    " ORDER BY published_at DESC LIMIT 1"
)
INSERT_THREAD: Final = "INSERT INTO thread (site_id, url, title) VALUES (?, ?, '')"
TITLE_THREAD: Final = "UPDATE thread SET title = ? WHERE id = ?"
FIND_PARENT: Final = "SELECT 1 FROM comment WHERE id = ? AND thread_id = ? AND status <> 'deleted'"
# Without RETURNING, for which SQLite builds a temporary table: 7.4 instead of 11.4 µs. The second
# is for authors whom the service knows and for replies from elsewhere: binding its four further
# columns for each comment would make a submission 1 % dearer.
_INSERT = (
    "INSERT INTO comment (site_id, thread_id, parent_id, status, author, email, avatar,"
    " author_site, source, html, created_at, published_at, key, token_hash, token_expires_at,"
    " score, reasons, network{columns}) VALUES ({values}) ON CONFLICT (key) DO NOTHING"
)
INSERT_COMMENT: Final = _INSERT.format(columns="", values=", ".join("?" * 18))
INSERT_KNOWN: Final = _INSERT.format(
    columns=", role, moderator_id, permalink, reader_id", values=", ".join("?" * 22)
)
RAISE_THREAD: Final = "UPDATE thread SET count = count + ?, version = version + 1 WHERE id = ?"
RAISE_SITE: Final = "UPDATE site SET count = count + ? WHERE id = ?"
FIND_KEY: Final = f"SELECT {COLUMNS} FROM comment AS c WHERE c.key = ?"
CLEAR_KEY: Final = "UPDATE comment SET key = NULL WHERE id = ?"
RENEW_TOKEN: Final = "UPDATE comment SET token_hash = ?, token_expires_at = ? WHERE id = ?"  # noqa: S105 - SQL

# Moderation.
FIND_COMMENT: Final = (
    "SELECT s.name, t.url, c.site_id, c.thread_id, c.status, c.published_at FROM comment AS c"
    " JOIN thread AS t ON t.id = c.thread_id JOIN site AS s ON s.id = c.site_id WHERE c.id = ?"
)
TEXT_OF: Final = "SELECT source, edited_at FROM comment WHERE id = ?"
SET_TEXT: Final = "UPDATE comment SET source = ?, html = ?, edited_at = ? WHERE id = ?"
SET_STATUS: Final = "UPDATE comment SET status = ?, published_at = ? WHERE id = ?"
INSERT_CHANGE: Final = (
    "INSERT INTO change (decision_id, comment_id, field, old, new, old_at, created_at, actor)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)

# The id of the next decision; ids are never used again.
NEXT_ACT: Final = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'change'), 0) + 1"
# Changes that can be undone, with their thread, and whether the comment was changed again later.
_CHANGES = (
    "SELECT s.name, t.url, c.site_id, c.thread_id, h.comment_id, c.status, h.id, h.field, h.old,"
    " h.old_at,"
    " EXISTS (SELECT 1 FROM change AS n WHERE n.comment_id = h.comment_id AND n.id > h.id"
    " AND n.field = h.field AND n.undone_at IS NULL)"
    " FROM change AS h JOIN comment AS c ON c.id = h.comment_id"
    " JOIN thread AS t ON t.id = c.thread_id JOIN site AS s ON s.id = c.site_id"
    " WHERE h.undone_at IS NULL AND h.field <> 'thread'"
)
CHANGES_OF_ACT: Final = f"{_CHANGES} AND h.decision_id = ? ORDER BY h.id"
LAST_CHANGE: Final = f"{_CHANGES} AND h.comment_id = ? ORDER BY h.id DESC LIMIT 1"
MARK_UNDONE: Final = "UPDATE change SET undone_at = ?, undone_by = ? WHERE id = ?"
_HISTORY: Final = (
    "SELECT id, decision_id, comment_id, field, old, new, created_at, actor, undone_at,"
    " undone_by FROM change WHERE comment_id = ?"
)
HISTORY: Final = f"{_HISTORY} ORDER BY id DESC LIMIT ?"
HISTORY_OF_FIELD: Final = f"{_HISTORY} AND field = ? ORDER BY id DESC LIMIT ?"

# Reading. THREAD is by (site, url), ALIASED by the id that an alias names, SITE_COUNT by site.
THREAD: Final = (
    "SELECT t.id, t.url, t.count, t.state, t.imported, t.pinned_id, t.likes,"
    " t.reposts, t.version, t.alias_id"
    " FROM thread AS t JOIN site AS s"
    " ON s.id = t.site_id WHERE s.name = ? AND t.url = ?"
)
ALIASED: Final = (
    "SELECT id, url, count, state, imported, pinned_id, likes, reposts, version, alias_id"
    " FROM thread"
    " WHERE id = ?"
)
# The pinned comment of a thread, if it is visible: by id and thread.
PINNED: Final = (
    f"SELECT {COLUMNS} FROM comment AS c WHERE c.id = ? AND c.thread_id = ?"
    " AND c.status = 'approved'"
)
# The fragments of links to imported comments in their old system, by a JSON list of ids.
ANCHORS: Final = (
    "SELECT i.comment_id, i.anchor FROM json_each(?) AS j JOIN imported_comment AS i"
    " ON i.comment_id = j.value WHERE i.anchor <> ''"
)
# Of the comments whose ids are bound as a JSON array, and of their ancestors, those that are not
# approved, up to the first that is. This runs only if a list lacks a parent.
DELETED_ABOVE: Final = (
    "WITH RECURSIVE above (id, parent_id) AS ("
    " SELECT c.id, c.parent_id FROM comment AS c"
    " WHERE c.id IN (SELECT value FROM json_each(?)) AND c.status <> 'approved'"
    " UNION SELECT c.id, c.parent_id FROM above JOIN comment AS c ON c.id = above.parent_id"
    " WHERE c.status <> 'approved'"
    ") SELECT id, parent_id FROM above ORDER BY id"
)
SITE_COUNT: Final = "SELECT count FROM site WHERE name = ?"

_LIST = f"SELECT {COLUMNS} FROM comment AS c WHERE c.thread_id = ? AND c.status = 'approved'"
# A list continues after the comment whose sort values are bound: published and id, and before them
# the votes twice for the top list. LIMIT is the last parameter.
LIST: Final = {
    "oldest": f"{_LIST} AND (c.published_at, c.id) > (?, ?) ORDER BY c.published_at, c.id LIMIT ?",
    "newest": (
        f"{_LIST} AND (c.published_at, c.id) < (?, ?) ORDER BY c.published_at DESC, c.id DESC"
        " LIMIT ?"
    ),
    "top": (
        f"{_LIST} AND c.votes <= ? AND (c.votes < ? OR (c.published_at, c.id) > (?, ?))"
        " ORDER BY c.votes DESC, c.published_at, c.id LIMIT ?"
    ),
}

# Comments that were published, restored or changed at a time (bound twice) or later, for a client
# that has the earlier state. Like the list, it reads each comment of the thread.
CHANGED: Final = (
    f"{_LIST} AND (c.published_at >= ? OR EXISTS (SELECT 1 FROM change AS h WHERE"
    " h.comment_id = c.id"
    " AND max(h.created_at, coalesce(h.undone_at, 0)) >= ?)) ORDER BY c.published_at, c.id LIMIT ?"
)

VOTES: Final = (
    "SELECT c.id, c.votes FROM comment AS c"
    " WHERE c.thread_id = ? AND c.status = 'approved' AND c.votes <> 0"
)

ENTRIES: Final = (
    f"SELECT {ENTRY} FROM comment AS c JOIN thread AS t ON t.id = c.thread_id"
    " JOIN site AS s ON s.id = c.site_id"
)
_LATEST = f"{ENTRIES} WHERE c.status = 'approved'"
_NEWEST = "ORDER BY c.published_at DESC, c.id DESC LIMIT ? OFFSET ?"
LATEST_OF_SITE: Final = f"{_LATEST} AND c.site_id = (SELECT id FROM site WHERE name = ?) {_NEWEST}"
LATEST_OF_THREAD: Final = (
    f"{_LATEST} AND c.thread_id = (SELECT coalesce(t.alias_id, t.id) FROM thread AS t"
    f" JOIN site AS s ON s.id = t.site_id WHERE s.name = ? AND t.url = ?) {_NEWEST}"
)
ENTRY_BY_ID: Final = f"{ENTRIES} WHERE c.id = ?"
LISTING: Final = f"{ENTRIES} ORDER BY c.id DESC LIMIT ?"
# The second condition lets SQLite use the index of the queue.
LISTING_UNAPPROVED: Final = (
    f"{ENTRIES} WHERE c.status = ? AND c.status <> 'approved' ORDER BY c.id DESC LIMIT ?"
)
LISTING_APPROVED: Final = f"{_LATEST} ORDER BY c.id DESC LIMIT ?"
