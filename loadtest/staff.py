"""Staff: a moderator of a data folder, who is signed in by as many browsers as one likes."""

import os
import time
from pathlib import Path

from commentsvc import auth, datadir, moderators, passwords, sessions
from commentsvc.database import Database, Transaction
from commentsvc.sessions import Cookies

NAME = "Mo"
PASSWORD = "correct horse battery"


def sign_in(data: Path, browsers: int = 1) -> list[tuple[str, str]]:
    """The Cookie header and the form's token of each of so many new sessions.

    The rows are written as signing in writes them, without the time that checking a password takes.
    """
    cookies = Cookies(auth.load_keys(data / datadir.SECRET_KEY, ""))
    made = [cookies.visit(os.urandom(sessions.TOKEN_SIZE)) for _ in range(browsers)]
    now = int(time.time() * 1_000)

    def work(tx: Transaction) -> None:
        if moderators.find(tx, NAME) is None:
            moderators.add(tx, NAME, passwords.new_hash(PASSWORD), now)
        moderator = moderators.find(tx, NAME)
        assert moderator is not None
        for token, _ in made:
            sessions.begin(tx, token, moderator, "load test", now)

    database = Database(data / datadir.DATABASE, synchronous="normal", purge=lambda tags: None)
    database.open()
    try:
        database.write_now(work)
    finally:
        database.close_now()
    return [(given.partition(";")[0], sessions.form_token(token)) for token, given in made]
