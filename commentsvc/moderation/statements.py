"""Statements of reasons: why a moderator decided so, in the moderator's words.

A statement is stored with the decision, for each comment that the decision changed, or that stays
what it is although it was reported. The mails of `notices` contain it (Digital Services Act,
articles 16 and 17), and the page of the link to object. No other public answer does. Undoing the
decision deletes it; so does all that deletes the comment, or its author's data, for good. The
author gets it with all other personal data, without the moderator's name.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Param, Select, prepared
from commentsvc.db.schema.moderation import ChangeTable, StatementOfReasonsTable
from commentsvc.model import GROUNDS
from commentsvc.util.i18n import Message
from commentsvc.util.i18n import gettext as _
from commentsvc.util.text import one_line

LENGTH: Final = 1_000  # characters of a statement
# The names of model.GROUNDS.
NAMES: Final[Mapping[str, Message]] = {
    "law": _("Against the law"),
    "rules": _("Against the rules of this blog"),
}


class Reasons(NamedTuple):
    """Why a moderator decides so: one of model.GROUNDS or "", and a text of LENGTH at most."""

    ground: str = ""
    message: str = ""


class StatementOfReasons(msgspec.Struct, frozen=True):
    """The reasons for the decision of `actor` about the comment `comment`, at `decided_at`."""

    comment: int
    decided_at: int
    actor: str
    ground: str
    message: str


_COLUMNS: Final = [
    getattr(StatementOfReasonsTable, name) for name in StatementOfReasons.__struct_fields__
]


_GIVEN: Final = ("actor", *Reasons._fields)


def reasons(ground: str, message: str) -> Reasons | None:
    """Return the reasons that a moderator chose and wrote, bounded; None without any."""
    lines = map(one_line, message[: 2 * LENGTH].splitlines())
    said = "\n".join(lines).strip()[:LENGTH]
    known = ground if ground in GROUNDS else ""
    return Reasons(known, said) if known or said else None


def add(
    tx: Transaction, ids: Iterable[int], given: Mapping[int, Reasons], who: str, now: int
) -> None:
    """Store the reasons `given` for those of the comments `ids` about which `who` decided `now`."""
    for comment_id in ids:
        if comment_id in given:
            row = {
                "comment": comment_id,
                "decided_at": now,
                "actor": who,
                **given[comment_id]._asdict(),
            }
            stored = StatementOfReasonsTable.insert(row)
            key = [StatementOfReasonsTable.comment, StatementOfReasonsTable.decided_at]
            tx.change(stored.on_conflict(conflict_target=key, preserve=_GIVEN))


def withdraw(tx: Transaction, undone: Collection[tuple[int, int]]) -> None:
    """Delete the statements for decisions that are undone: comments, and when it was decided."""
    for comment_id, moment in undone:
        is_its = StatementOfReasonsTable.comment == comment_id
        at_that = StatementOfReasonsTable.decided_at == moment
        tx.change(StatementOfReasonsTable.delete().where(is_its, at_that))


def withdraw_kept(tx: Transaction, decision_id: int) -> None:
    """Delete the statements of a decision for comments that it left as they were: see ChangeTable.

    They have its time and moderator, and no change by it.
    """
    [(moment, who), *_] = tx.query(
        ChangeTable.select(ChangeTable.created_at, ChangeTable.actor)
        .where(ChangeTable.decision_id == decision_id)
        .limit(1)
    )
    changed = ChangeTable.select(ChangeTable.comment).where(ChangeTable.decision_id == decision_id)
    tx.change(
        StatementOfReasonsTable.delete().where(
            StatementOfReasonsTable.decided_at == moment,
            StatementOfReasonsTable.actor == who,
            StatementOfReasonsTable.comment.not_in(changed),
        )
    )


@prepared
def _of_comment(comment_id: Param) -> Select:
    found = StatementOfReasonsTable.select(*_COLUMNS)
    mine = found.where(StatementOfReasonsTable.comment == comment_id)
    return mine.order_by(StatementOfReasonsTable.decided_at.desc())


def of_comment(snapshot: Snapshot, comment_id: int) -> list[StatementOfReasons]:
    """Return the statements about a comment, the newest first."""
    return [StatementOfReasons(*row) for row in snapshot.query(_of_comment, comment_id)]


def of_decision(snapshot: Snapshot, comment_id: int, moment: int) -> StatementOfReasons | None:
    """Return the statement for the decision about a comment at that time; None without one."""
    found = of_comment(snapshot, comment_id)
    return next((each for each in found if each.decided_at == moment), None)
