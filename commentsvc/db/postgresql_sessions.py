"""PostgreSQL for other packages: sessions for LISTEN and advisory locks, and what a server says.

Import this module only where `database.url` names PostgreSQL. It raises DatabaseUnusable if the
driver is not installed.
"""

from commentsvc.db.engine import load_postgresql

load_postgresql()

from commentsvc.db.postgresql.connection import (  # noqa: E402 - the line above has the better error
    MAY_BE_OURS,
    ask,
    dial,
    dialled,
    fault,
    stranger_with_lock,
)
from commentsvc.db.postgresql.upgrade import examine, is_current, strangers  # noqa: E402 - as above

__all__ = [
    "MAY_BE_OURS",
    "ask",
    "dial",
    "dialled",
    "examine",
    "fault",
    "is_current",
    "stranger_with_lock",
    "strangers",
]
