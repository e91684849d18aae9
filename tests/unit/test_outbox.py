"""Rows of the outbox: written with their comments, postponed, given up, sent again, and deleted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc import outbox
from commentsvc.comments import create
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.db.query import Query
from commentsvc.db.schema.outbox import OutboxRow, Target
from commentsvc.outbox import PATIENCE, ChannelBacklog
from commentsvc.util.timestamps import DAY_MS, HOUR_MS
from tests.unit.database_fixture import NOW, add, new, opened, plan

MO, FLO = Target("mail", "mo@blog.example"), Target("mail", "flo@blog.example")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as opened_database:
        yield opened_database


def aim(database: Database, *targets: Target) -> None:
    database.write_now(outbox.sync_targets, targets)


def due(database: Database, now: int = NOW, limit: int = 100) -> list[OutboxRow]:
    return database.read_now(outbox.due, "mail", now, limit)


def queued(database: Database) -> list[tuple[str, str, int | None]]:
    rows = database.read_now(outbox.listing, None, 1 << 62, 1_000)
    return [(row.kind, row.recipient, row.comment_id) for row in reversed(rows)]


def test_where_nobody_wants_to_be_told_nothing_is_written(database: Database) -> None:
    add(database)
    assert queued(database) == []


def test_each_target_is_told_of_each_comment_once(database: Database) -> None:
    aim(database, MO, FLO)
    first = add(database, key="k")
    add(database, key="k")
    assert queued(database) == [
        ("submitted", "mo@blog.example", first.comment.id),
        ("submitted", "flo@blog.example", first.comment.id),
    ]


def test_many_submissions_are_told_of_like_one(database: Database) -> None:
    aim(database, MO)
    items = [(new(url=f"/{n}/"), NOW) for n in range(5)]
    added = database.write_now(create.ADD.many, items)
    assert [number for _, _, number in queued(database)] == [each.comment.id for each in added]


def test_of_spam_nobody_is_told(database: Database) -> None:
    aim(database, MO)
    add(database, status="spam")
    assert queued(database) == []


def test_what_undoes_the_submission_undoes_the_row(database: Database) -> None:
    aim(database, MO)

    def work(tx: Transaction) -> None:
        create.add(tx, new(), NOW)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.write_now(work)
    assert queued(database) == []


def test_a_digest_collects_until_it_is_due_and_then_a_new_one_begins(database: Database) -> None:
    aim(database, Target("mail", "mo@blog.example", HOUR_MS))
    ids = [add(database, NOW + minute * 60_000).comment.id for minute in range(3)]
    assert queued(database) == [("digest", "mo@blog.example", ids[0])]
    database.write_now(outbox.close_digests, NOW + HOUR_MS - 1)
    assert due(database, NOW + DAY_MS) == []
    database.write_now(outbox.close_digests, NOW + HOUR_MS)
    later = add(database, NOW + HOUR_MS).comment.id
    [row] = due(database, NOW + HOUR_MS)
    assert (row.comment_id, row.last_comment_id) == (ids[0], ids[2])
    assert queued(database)[1:] == [("digest", "mo@blog.example", later)]


def test_a_target_that_is_gone_is_not_told_any_more(database: Database) -> None:
    aim(database, MO, FLO)
    add(database)
    aim(database, FLO)
    assert [recipient for _, recipient, _ in queued(database)] == ["flo@blog.example"]
    add(database)
    assert [recipient for _, recipient, _ in queued(database)] == ["flo@blog.example"] * 2


def test_pauses_grow_up_to_six_hours_and_end_at_the_deadline(database: Database) -> None:
    aim(database, MO)
    add(database)
    now, pauses = NOW, []
    while queued := due(database, now):
        moment, row = now, queued[0]
        database.write_now(outbox.retry_later, row, "busy", moment)
        rows = database.read_now(outbox.listing, "queued", 1 << 62, 1)
        if not rows:
            break
        pauses.append(rows[0].due_at - now)
        now = rows[0].due_at
    minutes = [pause // 60_000 for pause in pauses]
    assert minutes[:11] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360]
    assert now == NOW + PATIENCE, "the last attempt is made at the deadline"
    [row] = database.read_now(outbox.listing, "failed", 1 << 62, 9)
    assert row.error == "busy"


def test_a_patience_of_seven_days_outlasts_five_days_of_silence() -> None:
    assert PATIENCE - outbox.LONGEST_PAUSE > 5 * DAY_MS


def test_all_that_is_due_is_put_off_together_each_by_its_own_pause(database: Database) -> None:
    aim(database, MO)
    add(database)
    [old] = due(database)
    database.write_now(outbox.retry_later, old, "down", NOW)
    add(database, NOW + 60_000)
    database.write_now(outbox.retry_all_later, "mail", "down", NOW + 60_000)
    assert due(database, NOW + 60_000 + 59_999) == []
    assert [row.attempts for row in due(database, NOW + 120_000)] == [1]
    assert [row.attempts for row in due(database, NOW + 180_000)] == [1, 2]


def test_what_failed_is_sent_again_on_request_with_all_its_time(database: Database) -> None:
    aim(database, MO)
    add(database)
    [row] = due(database)
    database.write_now(outbox.mark_sent, row, "550 no", NOW)
    assert due(database, NOW + DAY_MS) == []
    later = NOW + 20 * DAY_MS
    again = database.write_now(outbox.retry, [row.id, row.id, 999], later)
    assert again == [row.id]
    [row] = due(database, later)
    assert (row.expires_at, row.created_at, row.error) == (later + PATIENCE, NOW, "550 no")


def test_what_was_sent_is_not_sent_again_on_request(database: Database) -> None:
    aim(database, MO)
    add(database)
    [row] = due(database)
    database.write_now(outbox.mark_sent, row, "", NOW)
    assert database.write_now(outbox.retry, [row.id], NOW) == []


def test_an_error_is_kept_as_one_short_line(database: Database) -> None:
    aim(database, MO)
    add(database)
    [row] = due(database)
    database.write_now(outbox.mark_sent, row, "550\r\n\x1b[2J " + "x" * 9_000, NOW)
    [row] = database.read_now(outbox.listing, "failed", 1 << 62, 9)
    assert row.error.startswith("550 [2J xxx")
    assert len(row.error) == 500


def test_old_rows_are_forgotten(database: Database) -> None:
    aim(database, MO)
    for error in ("", "550 no"):
        add(database)
        [row] = due(database)
        database.write_now(outbox.mark_sent, row, error, NOW)
    database.write_now(outbox.delete_old, NOW + 30 * DAY_MS)
    assert len(queued(database)) == 2
    database.write_now(outbox.delete_old, NOW + 31 * DAY_MS)
    assert len(queued(database)) == 1
    database.write_now(outbox.delete_old, NOW + 91 * DAY_MS)
    assert queued(database) == []


def test_a_backlog_tells_how_much_waits_and_since_when(database: Database) -> None:
    aim(database, MO)
    for minute in range(3):
        add(database, NOW + minute)
    row, *_ = due(database)
    database.write_now(outbox.mark_sent, row, "550 no", NOW)
    backlogs = database.read_now(outbox.backlogs)
    assert backlogs == {"mail": ChannelBacklog(queued=2, failed=1, oldest=NOW + 1)}
    for waiting in due(database, NOW + 9):
        database.write_now(outbox.mark_sent, waiting, "", NOW)
    assert database.read_now(outbox.backlogs) == {"mail": ChannelBacklog(failed=1)}


@pytest.mark.sqlite_only("it looks at SQLite's plan")
@pytest.mark.parametrize(
    ("query", "values", "index"),
    [
        (outbox.find_due, ("mail", NOW, 9), "outbox_by_due"),
        (outbox.close_due, (NOW,), "outbox_open"),
        (outbox.find_mailed, ("mail", "", "submitted", NOW, 1), "outbox_done"),
        (outbox.done_before("sent", NOW), (), "outbox_done"),
        (outbox.count_waiting, (), "COVERING INDEX outbox_by_due"),
        (outbox.count_failed, (), "COVERING INDEX outbox_done"),
        (outbox.insert_submitted, (1, 5, NOW), "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
    ],
)
def test_every_statement_goes_by_an_index(
    database: Database, query: Query, values: tuple[object, ...], index: str
) -> None:
    assert index in " / ".join(plan(database, query, *values))


def test_what_is_held_back_waits_for_a_moderator_to_send_it(database: Database) -> None:
    aim(database, MO, Target("mail", "flo@blog.example", DAY_MS))
    last = add(database).comment.id
    assert database.write_now(outbox.hold, "held", NOW) == 2
    assert due(database, NOW + 2 * DAY_MS) == []
    add(database)
    fresh = due(database)
    assert [row.recipient for row in fresh] == ["mo@blog.example"]
    held = [1, 2]
    assert database.write_now(outbox.retry, held, NOW) == held
    [_, digest, _] = sorted(due(database), key=lambda row: row.id)
    assert (digest.kind, digest.last_comment_id) == ("digest", last)


def test_a_mail_may_be_due_later_than_its_comment(database: Database) -> None:
    aim(database, Target("mail", "mo@blog.example", delay_ms=10_000))
    add(database)
    [row] = database.read_now(outbox.listing, "queued", 1 << 62, 9)
    assert row.due_at - row.created_at == 10_000
    aim(database, MO)
    add(database)
    rows = database.read_now(outbox.listing, "queued", 1 << 62, 9)
    assert [each.due_at - each.created_at for each in rows] == [0, 10_000]
