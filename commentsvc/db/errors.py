"""What fails in a database, of either engine.

DatabaseError
  DatabaseBusy       the queue is full, or another program holds a lock: try again soon
    DatabaseClosed   the database was closed, or never opened
  DatabaseUnwritable I/O error, read-only or replaced file, no memory: nothing was stored
    DatabaseFull     no space: nothing was stored
  DatabaseUnusable   missing, damaged, foreign or newer file: for the operator, at start
"""


class DatabaseError(Exception):
    """The database cannot do what was asked. The message is one line for the operator."""


class DatabaseBusy(DatabaseError):
    """The same request may succeed a moment later."""


class DatabaseClosed(DatabaseBusy):
    """The database is not open: the program is stopping, or never started it."""


class DatabaseUnwritable(DatabaseError):
    """The database cannot be written: an I/O error, a read-only or replaced file, no memory."""


class DatabaseFull(DatabaseUnwritable):
    """The disk of the database has no space."""


class DatabaseUnusable(DatabaseError):
    """The file cannot be used; the operator has to act."""
