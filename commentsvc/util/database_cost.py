"""How long the database worked for a request: `db.database` adds to it, `http.miss_limit` charges.

Each task has its own number. The time in queues does not count, since others cause it.
"""

from contextvars import ContextVar

# Milliseconds.
database_ms: ContextVar[float] = ContextVar("database_ms", default=0.0)
