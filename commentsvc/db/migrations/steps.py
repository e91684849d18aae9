"""The statements that each migration step runs on SQLite.

`upgrade` names a step and runs it once, in a transaction. The first makes the schema of the models.
So the others find their columns in a new database, and add them only to one that an earlier version
made. The schema of each release is stored; a test upgrades it and compares it with that of a new
database. Never edit a released step: existing databases were made by it. Append a further one, and
name it there.
"""

# ruff: noqa: S608 - put together from constants only

from collections.abc import Iterator
from typing import Any, Final

import peewee

from commentsvc.db.schema import search
from commentsvc.db.schema.tables import TABLES

HISTORY: Final = "schema_migration"  # playhouse's table of the steps that were applied


def creation() -> Iterator[str]:
    """Give the statements that make the tables of the models, and what peewee cannot express."""
    for table in TABLES:
        made: Any = peewee.SchemaManager(table)  # Any: peewee's stubs do not know it
        yield made._create_table(safe=False).query()[0]
        yield from (index.query()[0] for index in made._create_indexes(safe=False))
    yield from search.EXTRAS


# Addresses that were stored before were not verified: anybody with a token could have set them.
VERIFIED_ADDRESS: Final = (
    "ALTER TABLE moderator ADD COLUMN verified_email TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE moderator ADD COLUMN may_link INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE moderator ADD COLUMN asked_email TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE moderator ADD COLUMN asked_at INTEGER NOT NULL DEFAULT 0",
)

ANSWERS_BY_MAIL: Final = (
    """
    ALTER TABLE received_mail ADD COLUMN doubt TEXT NOT NULL DEFAULT ''
        CHECK (doubt = '' OR doubt = 'quoting' OR doubt = 'uncertain'
            OR doubt = 'unreadable')
    """,
    """
    CREATE TABLE IF NOT EXISTS mailbox (
        place TEXT NOT NULL PRIMARY KEY,
        validity INTEGER NOT NULL,
        uid INTEGER NOT NULL,
        read_at INTEGER NOT NULL
    ) STRICT
    """,
)

UPLOADERS: Final = (
    "ALTER TABLE image ADD COLUMN network BLOB",
    "CREATE INDEX IF NOT EXISTS image_by_network ON image (created_at, network)"
    " WHERE network IS NOT NULL",
)

ADDRESSED: Final = ("comment", "subscriber", "follower", "reader", "sign_in_link")
# Addresses are compared by their `address_key`, which the connection has as a function. The trigger
# adds it to the search index.
EMAIL_KEYS: Final = (
    *(f"ALTER TABLE {each} ADD COLUMN email_key TEXT NOT NULL DEFAULT ''" for each in ADDRESSED),
    "DROP TRIGGER comment_reworded",
    search.REWORDED,
    *(f"UPDATE {each} SET email_key = address_key(email) WHERE email <> ''" for each in ADDRESSED),
)


FORMER_IDS: Final = """
    CREATE TABLE IF NOT EXISTS former_id (
        kind TEXT NOT NULL,
        former INTEGER NOT NULL,
        kept INTEGER NOT NULL,
        PRIMARY KEY (kind, former)
    ) STRICT
    """


def _found_alike(table: str, group: str, first: str, where: str = "true") -> Iterator[str]:
    """Give the statements that note which rows of `table` become one.

    The first row of each `group`, in the order of `first`, is kept.
    """
    yield (
        "CREATE TABLE merging AS SELECT id AS former, first_value(id) OVER"
        f" (PARTITION BY email_key, {group} ORDER BY {first}, id) AS kept"
        f" FROM {table} WHERE email_key <> '' AND {where}"
    )
    yield "DELETE FROM merging WHERE former = kept"
    yield "CREATE UNIQUE INDEX merging_former ON merging (former)"
    yield "CREATE INDEX merging_kept ON merging (kept)"


def _pointing(table: str, column: str) -> str:
    """Return the statement that lets the rows of `table` name the kept rows."""
    return (
        f"UPDATE {table} SET {column} = (SELECT kept FROM merging WHERE former = {column})"
        f" WHERE {column} IN (SELECT former FROM merging)"
    )


def _merging(table: str, group: str, *moments: str) -> Iterator[str]:
    """Give the statements that keep of each group the row with the last consent.

    It gets the latest of all `moments`. Links in mails that name another row find it.
    """
    yield from _found_alike(table, group, "consent DESC")
    latest = ", ".join(f"max(o.{each})" for each in moments)
    yield (
        f"UPDATE {table} SET ({', '.join(moments)}) = (SELECT {latest} FROM {table} AS o"
        f" WHERE o.id = {table}.id OR o.id IN (SELECT former FROM merging WHERE kept = {table}.id))"
        " WHERE id IN (SELECT kept FROM merging)"
    )
    yield (
        f"INSERT INTO former_id (kind, former, kept) SELECT '{table}', former, kept FROM merging"
    )
    if table == "subscriber":
        yield _pointing("subscription", "subscriber_id")
    yield f"DELETE FROM {table} WHERE id IN (SELECT former FROM merging)"
    yield "DROP TABLE merging"


# One mailbox is one subscriber and one follower. "asked", "confirmed", "stopped" are in this order.
ONE_ROW_FOR_A_MAILBOX: Final = (
    "DROP INDEX IF EXISTS comment_by_email",
    "DROP INDEX IF EXISTS subscriber_email_site_id",
    "DROP INDEX IF EXISTS follower_email_site_id_thread_id",
    *_merging("subscriber", "site_id", "asked_at"),
    "DELETE FROM subscription WHERE subscriber_id IN"
    " (SELECT id FROM subscriber WHERE consent = 'stopped')",
    *_merging("follower", "site_id, thread_id", "asked_at", "since_at", "until_at", "mailed_at"),
    "CREATE INDEX IF NOT EXISTS comment_by_email_key ON comment (email_key, site_id)"
    " WHERE status = 'approved' AND email_key <> ''",
    "CREATE UNIQUE INDEX IF NOT EXISTS subscriber_email_key_site_id"
    " ON subscriber (email_key, site_id)",
    "CREATE UNIQUE INDEX IF NOT EXISTS follower_email_key_site_id_thread_id"
    " ON follower (email_key, site_id, thread_id)",
)

REPORT_REASONS: Final = (
    """
    ALTER TABLE report ADD COLUMN reason TEXT NOT NULL DEFAULT ''
        CHECK (reason = '' OR reason = 'illegal' OR reason = 'abuse' OR reason = 'spam'
            OR reason = 'other')
    """,
    "ALTER TABLE report ADD COLUMN explanation TEXT NOT NULL DEFAULT ''",
)

# One mailbox is one reader of a site, who signs in by mail. Its names stay reserved, and the
# subject, which was the address in lower case, becomes the key. Here nothing cascades.
ONE_READER_FOR_A_MAILBOX: Final = (
    *_found_alike("reader", "site_id", "name = ''", "issuer = 'mail'"),
    _pointing("comment", "reader_id"),
    _pointing("reader_session", "reader_id"),
    "INSERT INTO reader_look (site_id, look, reader_id)"
    " SELECT site_id, look, kept FROM reader_look JOIN merging ON former = reader_id WHERE true"
    " ON CONFLICT DO NOTHING",
    "DELETE FROM reader_look WHERE reader_id IN (SELECT former FROM merging)",
    "DELETE FROM reader WHERE id IN (SELECT former FROM merging)",
    "DROP TABLE merging",
    "UPDATE reader SET subject = email_key WHERE issuer = 'mail' AND email_key <> ''",
)

UNLISTED_PAGES: Final = (
    """
    CREATE TABLE IF NOT EXISTS unlisted_page (
        thread_id INTEGER NOT NULL PRIMARY KEY REFERENCES thread (id) ON DELETE CASCADE,
        url TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state = 'moved' OR state = 'gone' OR state = 'there'
            OR state = 'followed' OR state = 'stayed'),
        target TEXT NOT NULL,
        next_at INTEGER NOT NULL,
        answered_at INTEGER NOT NULL DEFAULT 0,
        actor TEXT NOT NULL DEFAULT '',
        decision_id INTEGER NOT NULL DEFAULT 0,
        aliases TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    "CREATE INDEX IF NOT EXISTS unlisted_page_by_state ON unlisted_page (state, answered_at)",
)

LANGUAGES: Final = (
    "ALTER TABLE thread ADD COLUMN lang TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE thread ADD COLUMN ask_at INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE comment ADD COLUMN lang TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX IF NOT EXISTS thread_to_ask ON thread (site_id, ask_at)"
    " WHERE count > 0 AND alias_id IS NULL",
)

PRIVATE_NOTES: Final = (
    """
    CREATE TABLE IF NOT EXISTS note (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        site_id INTEGER NOT NULL REFERENCES site (id),
        url TEXT NOT NULL,
        title TEXT NOT NULL,
        author TEXT NOT NULL,
        email TEXT NOT NULL,
        email_key TEXT NOT NULL,
        quote TEXT NOT NULL,
        message TEXT NOT NULL,
        language TEXT NOT NULL,
        may_thank INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state = 'new' OR state = 'done' OR state = 'spam'),
        key BLOB NOT NULL,
        network BLOB,
        created_at INTEGER NOT NULL,
        decided_at INTEGER NOT NULL DEFAULT 0,
        actor TEXT NOT NULL DEFAULT '',
        answer TEXT NOT NULL DEFAULT '',
        thanks INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE UNIQUE INDEX IF NOT EXISTS note_key ON note (key)",
    "CREATE INDEX IF NOT EXISTS note_by_state ON note (state, site_id, id)",
    "CREATE INDEX IF NOT EXISTS note_by_email ON note (email_key) WHERE email_key <> ''",
    "CREATE INDEX IF NOT EXISTS note_by_network ON note (created_at) WHERE network IS NOT NULL",
    "ALTER TABLE outbox ADD COLUMN note_id INTEGER REFERENCES note (id) ON DELETE CASCADE",
    "CREATE INDEX IF NOT EXISTS outbox_by_note ON outbox (note_id) WHERE note_id IS NOT NULL",
)

MAILED_COMMENTS: Final = (
    """
    CREATE TABLE IF NOT EXISTS mailed_comment (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        digest BLOB NOT NULL,
        sender BLOB NOT NULL,
        site_id INTEGER NOT NULL REFERENCES site (id),
        url TEXT NOT NULL,
        email TEXT NOT NULL,
        author TEXT NOT NULL,
        words TEXT NOT NULL,
        received_at INTEGER NOT NULL,
        sent_at INTEGER
    ) STRICT
    """,
    "CREATE UNIQUE INDEX IF NOT EXISTS mailed_comment_digest ON mailed_comment (digest)",
    "CREATE INDEX IF NOT EXISTS mailed_comment_sender_received_at"
    " ON mailed_comment (sender, received_at)",
    "CREATE INDEX IF NOT EXISTS mailed_comment_received_at ON mailed_comment (received_at)",
)

TRUST_IN_AUTHORS: Final = (
    "ALTER TABLE reader ADD COLUMN trusted_by TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE reader ADD COLUMN trusted_at INTEGER NOT NULL DEFAULT 0",
)

INTERNAL_NOTES: Final = (
    """
    CREATE TABLE IF NOT EXISTS internal_note (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        comment_id INTEGER NOT NULL REFERENCES comment (id) ON DELETE CASCADE,
        actor TEXT NOT NULL,
        message TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX IF NOT EXISTS internal_note_comment_id ON internal_note (comment_id)",
)

SAVED_REPLIES: Final = (
    """
    CREATE TABLE IF NOT EXISTS saved_reply (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        title TEXT NOT NULL,
        message TEXT NOT NULL,
        actor TEXT NOT NULL,
        changed_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX IF NOT EXISTS saved_reply_title ON saved_reply (title)",
)

# SQLite changes the check of a column only by making the table again. Ids are never used twice, so
# the new table goes on with the number of the old one.
CORRECTED_LANGUAGES: Final = (
    """
    CREATE TABLE changed_before (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        decision_id INTEGER NOT NULL,
        comment_id INTEGER NOT NULL REFERENCES comment (id) ON DELETE CASCADE,
        field TEXT NOT NULL CHECK (field = 'status' OR field = 'text' OR field = 'thread'
            OR field = 'lang'),
        old TEXT NOT NULL,
        new TEXT NOT NULL,
        old_at INTEGER,
        created_at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        undone_at INTEGER,
        undone_by TEXT
    ) STRICT
    """,
    "INSERT INTO changed_before SELECT * FROM change ORDER BY id",
    "DELETE FROM sqlite_sequence WHERE name = 'changed_before'",
    "UPDATE sqlite_sequence SET name = 'changed_before' WHERE name = 'change'",
    "DROP TABLE change",
    "ALTER TABLE changed_before RENAME TO change",
    "CREATE INDEX change_comment_id ON change (comment_id)",
    "CREATE INDEX change_decision_id ON change (decision_id)",
    "CREATE INDEX change_by_actor ON change (actor, id) WHERE undone_at IS NULL",
)

NOTICES: Final = (
    "ALTER TABLE site ADD COLUMN notices INTEGER NOT NULL DEFAULT 0",
    *(
        f"ALTER TABLE report ADD COLUMN {name} TEXT NOT NULL DEFAULT ''"
        for name in ("name", "email", "email_key", "language")
    ),
    "ALTER TABLE report ADD COLUMN in_good_faith INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE report ADD COLUMN objects INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX IF NOT EXISTS report_by_email ON report (email_key) WHERE email_key <> ''",
)

SETTING_CHANGES: Final = (
    """
    CREATE TABLE IF NOT EXISTS setting_change (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        site TEXT,
        key TEXT NOT NULL,
        old TEXT,
        new TEXT,
        actor TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        undone_by TEXT
    ) STRICT
    """,
)

STATEMENTS_OF_REASONS: Final = (
    """
    CREATE TABLE IF NOT EXISTS statement_of_reasons (
        comment_id INTEGER NOT NULL REFERENCES comment (id) ON DELETE CASCADE,
        decided_at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        ground TEXT NOT NULL CHECK (ground = '' OR ground = 'law' OR ground = 'rules'),
        message TEXT NOT NULL,
        PRIMARY KEY (comment_id, decided_at)
    ) STRICT
    """,
)

DECISION_COUNTS: Final = (
    """
    CREATE TABLE IF NOT EXISTS decision_count (
        site_id INTEGER NOT NULL REFERENCES site (id),
        half INTEGER NOT NULL,
        kind TEXT NOT NULL CHECK (kind = 'report' OR kind = 'objection' OR kind = 'moderator'
            OR kind = 'program' OR kind = 'undone'),
        reason TEXT NOT NULL,
        outcome TEXT NOT NULL,
        hours INTEGER NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (site_id, half, kind, reason, outcome, hours)
    ) STRICT
    """,
)

BLOG_SESSIONS: Final = (
    """
    CREATE TABLE IF NOT EXISTS blog_session (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        digest BLOB NOT NULL,
        moderator_id INTEGER NOT NULL REFERENCES moderator (id) ON DELETE CASCADE,
        session_id INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
        site TEXT NOT NULL,
        origin TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        used_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX IF NOT EXISTS blog_session_digest ON blog_session (digest)",
    "CREATE INDEX IF NOT EXISTS blog_session_moderator_id ON blog_session (moderator_id)",
    "CREATE INDEX IF NOT EXISTS blog_session_session_id ON blog_session (session_id)",
)

COMMENT_REACTIONS: Final = (
    "ALTER TABLE vote ADD COLUMN emoji TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE comment ADD COLUMN reactions TEXT NOT NULL DEFAULT ''",
)
