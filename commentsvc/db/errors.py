"""What fails in a database, of either engine.

DatabaseError
  DatabaseBusy       the queue is full, or another program holds a lock: try again soon
    DatabaseClosed   the database was closed, or never opened
  DatabaseFull       no space, I/O error, read-only file: nothing was stored
  DatabaseUnusable   missing, damaged, foreign or newer file: for the operator, at start
"""


class DatabaseError(Exception):
    """The database cannot do what was asked. The message is one line for the operator."""


class DatabaseBusy(DatabaseError):
    """The same request may succeed a moment later."""


class DatabaseClosed(DatabaseBusy):
    """The database is not open: the program is stopping, or never started it."""


class DatabaseFull(DatabaseError):
    """The file cannot be written: no space, an I/O error, or a read-only file."""


class DatabaseUnusable(DatabaseError):
    """The file cannot be used; the operator has to act."""
