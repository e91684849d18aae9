"""Notices: those whom a decision concerns hear of it by mail, and can object to it.

These are readers who left an address with a report (Digital Services Act, article 16), and the
author of a comment that was shown until a moderator deleted it, who gets the reason (article 17).
An objection (article 20) is a report, so a person decides about it; whoever objects hears of that.
Each address is mailed once about a removed comment, and once for each report and objection.

Both are told the moderator's reasons, see `statements`, and whether automatic checks took part.

Nobody has confirmed these addresses. So the mails have no words of readers, none is sent about
spam, and `outbox.is_flooding` limits them. They are sent after UNDO_TIME, and say what is true by
then.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from commentsvc import outbox
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.query import Among, ids_text
from commentsvc.db.schema.comments import CommentTable, SiteTable
from commentsvc.db.schema.outbox import OutboxTable
from commentsvc.feedback.reports import Reason
from commentsvc.model import AKISMET, AUTHOR, CLASSIFIER, DELETED, STATUS
from commentsvc.moderation import history, statements
from commentsvc.moderation.statements import StatementOfReasons
from commentsvc.outbox import MailAddress
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import DAY_MS, MINUTE_MS

UNDO_TIME: Final = 10 * MINUTE_MS  # how long a moderator may take a decision back, unheard
OBJECTION_DAYS: Final = 183  # article 20: at least six months
OBJECTION_MS: Final = OBJECTION_DAYS * DAY_MS
NO_PERSONS: Final = (AUTHOR, AKISMET, CLASSIFIER)


def decided(
    tx: Transaction,
    taken: Mapping[int, Sequence[Reason]],
    changed: Collection[int],
    to: str,
    who: str,
    now: int,
) -> None:
    """Queue mails about a decision by `who`, at `now` (Unix milliseconds), on sites with notices.

    `taken` are the reports and objections that it closed, by comment. The comments `changed` have
    the status `to` now.
    """
    ids = {*taken, *changed}
    if who in NO_PERSONS or not ids:
        return
    author = (CommentTable.email, CommentTable.lang, CommentTable.published_at, CommentTable.role)
    mailing = (
        CommentTable.select(CommentTable.id, *author)
        .join(SiteTable, on=SiteTable.id == CommentTable.site)
        .where(Among(CommentTable.id, ids_text(ids)), SiteTable.notices == 1)
        .order_by(CommentTable.id)
    )
    for comment_id, email, language, published_at, role in tx.query(mailing):
        reports = taken.get(comment_id, ())
        for one in {address_key(each.email): each for each in reports if each.email}.values():
            kind = outbox.OBJECTION_DECIDED if one.objects else outbox.REPORT_DECIDED
            _mail(tx, kind, MailAddress(one.email, one.language), comment_id, now)
        is_removed = to == DELETED and comment_id in changed and published_at is not None
        if is_removed and email and not role and not _was_mailed(tx, comment_id):
            codes = Counter(each.code for each in reports if each.code).most_common(1)
            kind = outbox.REMOVED + "".join(f"-{code}" for code, _number in codes)
            _mail(tx, kind, MailAddress(email, language), comment_id, now)


def statement(snapshot: Snapshot, outbox_id: int) -> StatementOfReasons | None:
    """Return the reasons for the decision that a mail tells; None without, or if it is deleted.

    If the status has changed again before the mail was due, they are those for the last change.
    """
    row = outbox.find(snapshot, outbox_id)
    if row is None or row.comment_id is None:
        return None
    changes = history.last_changes(snapshot, row.comment_id, STATUS)
    moments = [each.created_at if each.undone_at is None else each.undone_at for each in changes]
    last = max((moment for moment in moments if moment <= row.due_at), default=0)
    decided_at = max(row.created_at - UNDO_TIME, last)
    return statements.of_decision(snapshot, row.comment_id, decided_at)


def _mail(tx: Transaction, kind: str, to: MailAddress, comment_id: int, now: int) -> None:
    outbox.mail(tx, kind, to, now + UNDO_TIME, lasts=outbox.PATIENCE, about=comment_id)


def _was_mailed(tx: Transaction, comment_id: int) -> bool:
    found = OutboxTable.select(OutboxTable.id).where(
        OutboxTable.comment == comment_id, OutboxTable.kind.startswith(outbox.REMOVED)
    )
    return tx.first(found.limit(1)) is not None
