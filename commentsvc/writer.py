"""The writer: the one OS thread that changes the database, many jobs in one transaction.

DESIGN. An acknowledged comment must survive a power cut, and an fsync takes longer than a hundred
submissions. So the writer takes what queued while its last fsync ran, gives each a SAVEPOINT inside
one transaction, commits once, purges the stored answers that the transaction made stale, and only
then resolves the futures, with a single call into each event loop. Commit, purge, answer: the order
is kept here and nowhere else.

A full disk, an I/O error or a foreign lock fails the jobs of one transaction, and the next one
tries again: the service recovers by itself.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final

from commentsvc.jobs import Backlog, Job, hand_back
from commentsvc.sqlite import Transaction, fault

BATCH: Final = 512  # items per transaction: bounds what one failed COMMIT takes with it

Purge = Callable[[Sequence[str]], None]


def run(connection: sqlite3.Connection, backlog: Backlog, purge: Purge) -> None:
    """Serve `backlog` until it is closed and empty."""
    while jobs := backlog.take(BATCH):
        tags: list[str] = []
        try:
            write_all(connection, jobs, tags)
            if tags:
                purge(list(dict.fromkeys(tags)))
        except Exception as error:
            with contextlib.suppress(sqlite3.Error):  # write_all tries again
                connection.rollback()
            for job in jobs:
                job.error = fault(error) or error
        hand_back(jobs)


def write_all(connection: sqlite3.Connection, jobs: Sequence[Job[Any]], tags: list[str]) -> None:
    """Run `jobs` in one transaction, a savepoint each, and commit; collect their tags.

    A job that fails is undone alone. Raises when the transaction as a whole failed.
    """
    execute = connection.execute
    transaction = Transaction(connection, tags)
    connection.rollback()  # does nothing, unless a failure left a transaction behind
    execute("BEGIN IMMEDIATE")
    for job in jobs:
        mark = len(tags)
        execute("SAVEPOINT item")
        try:
            job.result = job.work(transaction)
        except Exception as error:
            if fault(error) or not connection.in_transaction:  # SQLite may have undone it all
                raise
            del tags[mark:]
            execute("ROLLBACK TO item")
            job.error = error
        execute("RELEASE item")
    execute("COMMIT")
