"""Moderation in a comment thread: what an account does on the blog's page, and nothing else.

It sees the comments of the page that wait; it approves these, answers, pins, and deletes them and
published ones, on the sites of the account. Nobody overrules what he did not see: as in the queue,
a decision leaves alone what another moderator, or the author's edit, has changed since `seen`.
"""

from typing import Final

import msgspec

from commentsvc.comments import queries
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.errors import NothingToUndo, NotPermitted
from commentsvc.model import APPROVED, DELETED, PENDING, TEXT, Entry
from commentsvc.moderation import authorized, changes, history, lists
from commentsvc.moderation.authorized import Decision
from commentsvc.moderation.lists import ReviewFilter
from commentsvc.moderation.notices import NO_PERSONS
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.util.i18n import gettext as _

SHOWN: Final = 100  # waiting comments of one page
# The statuses of comments that may get each status.
FROM: Final = {APPROVED: (PENDING,), DELETED: (PENDING, APPROVED)}


class WaitingComments(msgspec.Struct, frozen=True):
    """The first comments of a page that wait, and whether there are `more`.

    `seen` is the id of the last change of all comments that they have.
    """

    items: list[Entry]
    more: bool
    seen: int


class ThreadDecision(msgspec.Struct, frozen=True):
    """What a decision did: its id (0 if it changed nothing that can be undone), or why nothing.

    Unless it is `done`, the moderator `actor` has changed the comment meanwhile, or "" for its
    author or a program; its text if `edited`. `comment_id` is that of an answer, else 0.
    """

    decision_id: int
    done: bool
    actor: str = ""
    edited: bool = False
    comment_id: int = 0


def waiting(snapshot: Snapshot, who: Actor, page: PageRef) -> WaitingComments:
    """Return the comments of a page that wait, the oldest first; none on another account's site."""
    seen = snapshot.last_id("change")
    thread = queries.thread(snapshot, *page)
    if not thread.id or not who.sees(page.site):
        return WaitingComments([], False, seen)
    wanted = ReviewFilter(oldest_first=True, thread=thread.id)
    found = lists.filtered_page(snapshot, PENDING, (page.site,), SHOWN, None, wanted)
    return WaitingComments(found.items, found.next is not None, seen)


def decide(
    tx: Transaction, who: Actor, comment_id: int, to: str, seen: int, now: int
) -> ThreadDecision:
    """Approve a comment that waits, or delete one (`to` as in FROM), at `now` (Unix milliseconds).

    Raise UnknownComment, NotPermitted.
    """
    _permit(who)
    entry = authorized.find_comment(tx, who, comment_id)
    if entry.comment.status not in FROM[to]:
        return _left(tx, who, comment_id)
    made = authorized.decide(tx, who, Decision([comment_id], to, seen), now)
    if not made.changed:
        return _left(tx, who, comment_id)
    return ThreadDecision(made.decision_id, True)


def answer(
    tx: Transaction, who: Actor, comment_id: int, message: str, seen: int, now: int
) -> ThreadDecision:
    """Publish an answer, Markdown of an allowed length, and approve the comment if it waits.

    Raise UnknownComment, NotAnswerable, NotPermitted.
    """
    entry = authorized.find_comment(tx, who, comment_id)
    is_left = comment_id in changes.changed_since(tx, [comment_id], who.name, seen)
    if entry.comment.status == PENDING and is_left:
        return _left(tx, who, comment_id)
    made = authorized.answer(tx, who, comment_id, message, now)
    return ThreadDecision(made.decision_id, True, comment_id=made.comment.id)


def pin(tx: Transaction, who: Actor, comment_id: int, *, pinned: bool) -> None:
    """Pin a comment, or unpin it. Raise UnknownComment, NotPinnable, NotPermitted."""
    _permit(who)
    authorized.pin(tx, who, comment_id, pinned=pinned)


def undo(tx: Transaction, who: Actor, decision_id: int, since: int, now: int) -> ThreadDecision:
    """Take back a decision that `who` made at or after `since` (Unix milliseconds).

    Raise NothingToUndo, also for a decision of somebody else; NotPermitted.
    """
    _permit(who)
    made = ChangeTable.select(ChangeTable.id).where(
        ChangeTable.decision_id == decision_id,
        (ChangeTable.actor != who.name) | (ChangeTable.created_at < since),
    )
    if tx.first(made) is not None:
        raise NothingToUndo(
            _("decision %(number)s does not exist, or has been undone", number=decision_id)
        )
    result = authorized.undo_decision(tx, who, decision_id, now)
    if result.changed:
        return ThreadDecision(0, True)
    return _left(tx, who, next(iter(result.unchanged)))


def _permit(who: Actor) -> None:
    if not who.may(Permission.DECIDE):
        raise NotPermitted(f"{who.name} may only read")


def _left(tx: Transaction, who: Actor, comment_id: int) -> ThreadDecision:
    """Return what to say of a comment that a decision left alone."""
    [last] = history.last_of_each(tx, who, [comment_id])
    if last.change is None:
        return ThreadDecision(0, False)
    actor = "" if last.change.actor in NO_PERSONS else last.change.actor
    return ThreadDecision(0, False, actor, last.change.field == TEXT)
