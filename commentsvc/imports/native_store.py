"""Storing what only our own export has: history, votes one by one, bans, aliases, training.

Ids, and what the spam filter has learned of all comments together, are taken over into an empty
service only: elsewhere ids are in use, and some of the comments may have been counted before.
"""

import struct
from typing import Final

import msgspec

from commentsvc.comments import statements
from commentsvc.comments.create import ThreadRef
from commentsvc.db.sqlite import Transaction
from commentsvc.exports import records as exported
from commentsvc.exports.records import (
    BanRecord,
    CommentRecord,
    SubscriberRecord,
    ThreadRecord,
    TrainingTokenRecord,
    TrainingTotalRecord,
)
from commentsvc.imports import dates
from commentsvc.model import AGING, site_tag, thread_tag

_decode = msgspec.json.Decoder(exported.Record).decode

_CHANGE: Final = (
    "INSERT INTO change (id, decision_id, comment_id, field, old, new, old_at, created_at, actor,"
    " undone_at, undone_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_VOTE: Final = (
    "INSERT INTO vote (comment_id, voter, value, network, created_at) VALUES (?, ?, ?, ?, ?)"
)
_SUBSCRIBER: Final = (
    "INSERT INTO subscriber (site_id, email, consent, asked_at) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (email, site_id) DO UPDATE SET consent = excluded.consent,"
    " asked_at = excluded.asked_at WHERE asked_at = 0"
)
_SUBSCRIPTION: Final = (
    "INSERT INTO subscription (comment_id, subscriber_id)"
    " SELECT ?, id FROM subscriber WHERE site_id = ? AND email = ?"
)


def is_free(tx: Transaction, comment_id: int) -> bool:
    """Return whether no comment has that id."""
    return not tx.execute("SELECT 1 FROM comment WHERE id = ?", (comment_id,)).fetchone()


def add_details(
    tx: Transaction, line: bytes, comment_id: int, ref: ThreadRef, *, keeps_ids: bool
) -> None:
    """Store what the record `line` of the comment, which is stored already, has besides."""
    record = _decode(line)
    assert isinstance(record, CommentRecord), "the parser has read it before"
    tx.execute(
        "UPDATE comment SET score = ?, network = ? WHERE id = ?",
        (record.score, _digest(record.network), comment_id),
    )
    if record.proposed_title:
        tx.execute(
            "INSERT INTO proposed_title (comment_id, title) VALUES (?, ?)",
            (comment_id, record.proposed_title),
        )
    _add_history(tx, record, comment_id, keeps_ids=keeps_ids)
    tx.execute_many(
        _VOTE,
        [
            (comment_id, bytes.fromhex(each.voter), each.value, _digest(each.network),
             dates.moment(each.created))
            for each in record.voters
        ],
    )  # fmt: skip
    if record.training and keeps_ids:
        tokens = record.training.tokens
        tx.execute(
            "INSERT INTO training_comment (comment_id, label, tokens) VALUES (?, ?, ?)",
            (comment_id, record.training.label, struct.pack(f"<{len(tokens)}I", *tokens)),
        )
    if record.subscribed and record.email:
        tx.execute(_SUBSCRIBER, (ref.site_id, record.email, "asked", 0))
        tx.execute(_SUBSCRIPTION, (comment_id, ref.site_id, record.email))


def _digest(text: str | None) -> bytes | None:
    return bytes.fromhex(text) if text else None


def _moment(text: str | None) -> int | None:
    return dates.moment(text) if text else None


def _add_history(
    tx: Transaction, record: CommentRecord, comment_id: int, *, keeps_ids: bool
) -> None:
    if not record.history:
        return
    [(act,)] = tx.execute(statements.NEXT_ACT).fetchall()
    decisions: dict[int, int] = {}
    rows = []
    for each in record.history:
        decision = decisions.setdefault(each.decision, act + len(decisions))
        rows.append(
            (
                each.id if keeps_ids else None,
                each.decision if keeps_ids else decision,
                comment_id,
                each.field,
                each.old,
                each.new,
                _moment(each.old_at),
                dates.moment(each.created),
                each.actor,
                _moment(each.undone),
                each.undone_by,
            )
        )
    tx.execute_many(_CHANGE, rows)


def add_other(tx: Transaction, line: bytes, site: str, *, keeps_ids: bool) -> None:
    """Store a record that is no comment, if it is not there; of the site `site`, "" for its own."""
    record = _decode(line)
    match record:
        case ThreadRecord():
            _add_thread(tx, record, site or record.site)
        case SubscriberRecord():
            rows = tx.execute("SELECT id FROM site WHERE name = ?", (site or record.site,))
            for (site_id,) in rows.fetchall():
                asked = _moment(record.asked) or 0
                tx.execute(_SUBSCRIBER, (site_id, record.email, record.consent, asked))
        case BanRecord():
            tx.execute(
                "INSERT INTO ban (kind, value, created_at, actor, expires_at)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT (kind, value) DO NOTHING",
                (
                    record.kind,
                    record.value,
                    dates.moment(record.created),
                    record.actor,
                    _moment(record.expires),
                ),
            )
        case TrainingTotalRecord() if keeps_ids:
            tx.execute(
                "INSERT INTO training_total (id, spam, good, version) VALUES (1, ?, ?, 1)"
                " ON CONFLICT DO NOTHING",
                (record.spam, record.good),
            )
        case TrainingTokenRecord() if keeps_ids:
            tx.execute(
                "INSERT INTO training_token (hash, spam, good) VALUES (?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (record.hash, record.spam, record.good),
            )


def _add_thread(tx: Transaction, record: ThreadRecord, site: str) -> None:
    """Give a thread its state and aliases, also where it has no comments."""
    row = tx.execute(statements.FIND_THREAD, (record.url, site)).fetchone()
    if row is None or row[5] is not None:
        return  # there is no such site, or the page has moved here
    site_id, _, thread_id, title, state, _ = row
    if thread_id is None:
        thread_id = tx.execute(statements.INSERT_THREAD, (site_id, record.url)).lastrowid
        title, state = "", AGING
    if state == AGING:
        state = record.state
    tx.execute(
        "UPDATE thread SET title = ?, state = ? WHERE id = ?",
        (title or record.title, state, thread_id),
    )
    tx.execute_many(
        "INSERT INTO thread (site_id, url, title, alias_id) VALUES (?, ?, '', ?)"
        " ON CONFLICT DO NOTHING",
        [(site_id, alias, thread_id) for alias in record.aliases],
    )
    tx.purge(thread_tag(site, record.url), site_tag(site), *(
        thread_tag(site, alias) for alias in record.aliases
    ))  # fmt: skip
