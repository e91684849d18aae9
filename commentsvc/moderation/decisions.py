"""Decisions: what an account does with comments and pages, on its own sites only.

The moderation pages and the interface for programs both call these. What they name on another site
is as unknown as what does not exist.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from commentsvc.comments import queries, threads
from commentsvc.comments.errors import NothingToUndo, NotPermitted, UnknownComment, UnknownThread
from commentsvc.comments.threads import ThreadSummary
from commentsvc.comments.urls import Sites, UrlError
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.model import Entry
from commentsvc.moderation import actions, answers, lists, permissions, pins, profiles
from commentsvc.moderation.actions import ChangeResult
from commentsvc.moderation.answers import AnswerResult
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.spam import bans
from commentsvc.util.i18n import gettext as _

# Taking back leads wherever the comment was.
TAKE_BACK: Final = "undone"


class ThreadChange(msgspec.Struct, frozen=True):
    """What becomes of a page: a verb, and its state, title or other canonical url."""

    verb: str
    value: str


def decide(tx: Transaction, who: Actor, ids: Sequence[int], to: str, now: int) -> ChangeResult:
    """Give comments the status `to`, or take back the last change of each (TAKE_BACK).

    `now` is in Unix milliseconds. Raise UnknownComment, NothingToUndo.
    """
    permissions.confine(tx, who, ids)
    if to == TAKE_BACK:
        return actions.undo_last(tx, ids, who.name, now)
    return actions.change(tx, ids, to, who.name, now)


def undo(tx: Transaction, who: Actor, decision_id: int, now: int) -> ChangeResult:
    """Take back a decision. Raise NothingToUndo."""
    ids = tx.query(
        ChangeTable.select(ChangeTable.comment).where(ChangeTable.decision_id == decision_id)
    )
    try:
        permissions.confine(tx, who, [comment_id for (comment_id,) in ids])
    except UnknownComment as error:
        raise NothingToUndo(
            _("decision %(number)s does not exist, or is undone", number=decision_id)
        ) from error
    return actions.undo(tx, decision_id, who.name, now)


def edit(tx: Transaction, who: Actor, comment_id: int, message: str, now: int) -> ChangeResult:
    """Replace the text of a comment. Raise UnknownComment."""
    permissions.confine(tx, who, [comment_id])
    return actions.edit(tx, comment_id, message, who.name, now)


def answer(tx: Transaction, who: Actor, comment_id: int, message: str, now: int) -> AnswerResult:
    """Publish an answer to a comment. Raise UnknownComment, NotAnswerable, NotPermitted."""
    if not who.may(Permission.DECIDE):  # by a link or a command, which no route guards
        raise NotPermitted(f"{who.name} may only read")
    permissions.confine(tx, who, [comment_id])
    profile = profiles.find(tx, who.account_id)
    assert profile is not None, "who asks has an account"
    return answers.answer(tx, comment_id, message, profile, now)


def pin(tx: Transaction, who: Actor, comment_id: int, *, pinned: bool) -> None:
    """Let a comment stand first on its page, or no more. Raise UnknownComment, NotPinnable."""
    permissions.confine(tx, who, [comment_id])
    (pins.pin if pinned else pins.unpin)(tx, comment_id)


def ban_comments(tx: Transaction, who: Actor, ban_id: int, limit: int, now: int) -> ChangeResult:
    """Mark what a ban covers, at most `limit` comments, as spam. Raise UnknownBan."""
    ids = lists.ids_of_banned(tx, bans.find(tx, ban_id), limit)
    return decide(tx, who, ids, "spam", now)


def find_comment(reader: Reader, who: Actor, comment_id: int) -> Entry:
    """Return a comment. Raise UnknownComment."""
    entry = queries.find(reader, comment_id)
    if entry is None or not who.sees(entry.site):
        raise UnknownComment([comment_id])
    return entry


def find_thread(reader: Reader, who: Actor, thread_id: int) -> ThreadSummary:
    """Return the thread of that id. Raise UnknownThread."""
    rows = threads.listing(reader, "", 1, thread_id + 1, who.sites)
    if not rows or rows[0].id != thread_id:
        raise UnknownThread(_("no page has the id %(id)s", id=thread_id))
    return rows[0]


def thread_change(sites: Sites, thread: ThreadSummary, verb: str, value: str) -> ThreadChange:
    """Return what is to become of a page. Raise UrlError.

    A url is brought to its canonical form here, so that it names what readers see.
    """
    if verb in ("state", "title", "unalias"):
        return ThreadChange(verb, value)
    place = sites.locate(value, thread.site)
    if place.site != thread.site:
        raise UrlError(_("That address belongs to another site."))
    return ThreadChange(verb, place.url)


def change_thread(
    tx: Transaction, who: Actor, thread_id: int, change: ThreadChange, now: int
) -> int:
    """Do a verb of THREAD_VERBS with a thread; return the id of the thread to show then.

    Raise UnknownThread, UrlTaken.
    """
    thread = find_thread(tx, who, thread_id)
    site, url, value = thread.site, thread.url, change.value
    match change.verb:
        case "state":
            threads.set_state(tx, site, url, value)
        case "title":
            threads.set_title(tx, site, url, value)
        case "move":
            threads.move(tx, site, url, value)
        case "alias":
            threads.add_alias(tx, site, url, value)
        case "unalias":
            threads.remove_alias(tx, site, value)
        case _:
            threads.merge(tx, site, url, value, who.name, now)
            return threads.find(tx, site, value).thread_id
    return thread_id
