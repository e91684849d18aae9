"""The writer: the one OS thread that changes the database, many jobs in one transaction.

DESIGN. An acknowledged comment must survive a power cut, and an fsync takes longer than a hundred
submissions. So the writer takes what queued while its last fsync ran, gives each a SAVEPOINT inside
one transaction, commits once, purges the stored answers that the transaction made stale, and only
then resolves the futures, with a single call into each event loop. Commit, purge, answer: the order
is kept here and nowhere else.

Neighbours of one kind (see `jobs.Bulk`) share a SAVEPOINT and their statements; where that fails,
all of them are undone and each is done alone, so that one bad item never costs its neighbours.

A full disk, an I/O error or a foreign lock fails the jobs of one transaction, and the next one
tries again: the service recovers by itself.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from commentsvc.db.jobs import BatchOperation, Job, WorkQueue, hand_back
from commentsvc.db.sqlite import Transaction, fault

BATCH: Final = 512  # items per transaction: bounds what one failed COMMIT takes with it

Purge = Callable[[Sequence[str]], None]


def run(connection: sqlite3.Connection, backlog: WorkQueue, purge: Purge) -> None:
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
    """Run `jobs` in one transaction, in their order, and commit; collect their tags.

    A job that fails is undone alone. Raises when the transaction as a whole failed.
    """
    transaction = Transaction(connection, tags)
    connection.rollback()  # does nothing, unless a failure left a transaction behind
    connection.execute("BEGIN IMMEDIATE")
    for bulk, group in groupby(jobs, attrgetter("bulk")):
        neighbours = list(group)
        if bulk is None or not _do_together(connection, transaction, bulk, neighbours):
            for job in neighbours:
                job.result, job.error = _attempt(connection, transaction, job.work)
    connection.execute("COMMIT")


def _do_together(
    connection: sqlite3.Connection,
    transaction: Transaction,
    bulk: BatchOperation[Any, Any],
    jobs: Sequence[Job[Any]],
) -> bool:
    """Do `jobs` by `bulk.many`; False where each has to be done alone."""
    if len(jobs) == 1:
        return False
    items = [job.item for job in jobs]
    results, error = _attempt(connection, transaction, lambda tx: bulk.many(tx, items))
    if error is not None:
        return False
    for job, result in zip(jobs, results, strict=True):
        job.result = result
    return True


def _attempt(
    connection: sqlite3.Connection, transaction: Transaction, work: Callable[[Transaction], Any]
) -> tuple[Any, Exception | None]:
    """Run `work` in a savepoint: its outcome, or what it raised, and then it is undone.

    Raises when the transaction as a whole failed.
    """
    mark = transaction.mark()
    connection.execute("SAVEPOINT item")
    outcome, raised = None, None
    try:
        outcome = work(transaction)
    except Exception as error:
        if fault(error) or not connection.in_transaction:  # SQLite may have undone it all
            raise
        transaction.forget(mark)
        connection.execute("ROLLBACK TO item")
        raised = error
    connection.execute("RELEASE item")
    return outcome, raised
