"""The statements that each migration step runs on SQLite.

`upgrade` names a step and runs it once, in a transaction. The first makes the schema of the models,
until it is frozen with the first release. So the others find their columns in a new database, and
add them only to one that a development version made. Never edit a released step: existing databases
were made by it. Append a further one, and name it there.
"""

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
