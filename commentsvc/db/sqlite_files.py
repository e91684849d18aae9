"""SQLite files for other packages: ours beside a service, those of other systems, and temporary."""

from commentsvc.db.sqlite.connection import ask, connect, connect_reading, register_adapters

__all__ = ["ask", "connect", "connect_reading", "register_adapters"]
