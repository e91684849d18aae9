"""Moderators in a data folder, each signed in by a browser of its own.

The rows are those that making accounts and signing in write, but all accounts have the same
password hash, so that it is computed once.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commentsvc.auth import accounts, edit_tokens, passwords, sessions
from commentsvc.auth.sessions import Cookies
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.db.engine import Location
from commentsvc.settings import data_dir
from commentsvc.settings.schema import DatabaseSettings

PASSWORD = "correct horse battery"


@dataclass(frozen=True, slots=True)
class Browser:
    """A moderator's browser: its Cookie header, and the CSRF token of its forms."""

    name: str
    cookie: str
    csrf_token: str


def sign_in(data: Path, browsers: int = 1, url: str = "") -> list[Browser]:
    """Return so many signed-in browsers, each of another moderator.

    They are in the data folder, or in PostgreSQL at `url` with the secret key of the folder.
    """
    return _browsers(data, browsers, url or data / data_dir.DATABASE, signed_in=True)


def sign_out(data: Path, browsers: int) -> list[Browser]:
    """Return so many signed-out browsers, in each of which a moderator has signed in before."""
    return _browsers(data, browsers, data / data_dir.DATABASE, signed_in=False)


def _browsers(data: Path, number: int, location: Location, *, signed_in: bool) -> list[Browser]:
    keys = edit_tokens.load_keys(data / data_dir.SECRET_KEY, "")
    stored = passwords.hash_password(PASSWORD)
    mark = os.urandom(4).hex()
    names = [f"{mark}-{index}" for index in range(number)]
    settings = DatabaseSettings(synchronous="normal")
    database = Database(location, settings, purge=lambda tags: None)
    database.open()
    try:
        return database.write_now(_add, names, stored, Cookies(keys), signed_in)
    finally:
        database.close_now()


def _add(
    tx: Transaction, names: Sequence[str], stored: str, cookies: Cookies, signed_in: bool
) -> list[Browser]:
    now, made = int(time.time() * 1_000), []
    for name in names:
        accounts.add(tx, name, stored, now)
        moderator = accounts.find(tx, name)
        assert moderator is not None
        token, visit = cookies.visit(os.urandom(sessions.TOKEN_SIZE))
        if signed_in:
            sessions.begin(tx, token, moderator, "load test", now)
        pairs = (given.partition(";")[0] for given in (visit, cookies.known(moderator)))
        made.append(Browser(name, "; ".join(pairs), sessions.csrf_token(token)))
    return made
