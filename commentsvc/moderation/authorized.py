"""What an account does with comments and pages, on its own sites only.

Both the moderation pages and the JSON API call these functions. A comment or page of another site
is treated like one that does not exist.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from commentsvc.comments import queries
from commentsvc.comments.page_urls import Sites, UrlError
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.schema.moderation import ChangeTable
from commentsvc.errors import (
    NothingToUndo,
    NotPermitted,
    UnknownComment,
    UnknownReader,
    UnknownThread,
)
from commentsvc.feedback import reactions, views
from commentsvc.model import APPROVED, SPAM, Entry
from commentsvc.moderation import (
    answers,
    changes,
    lists,
    permissions,
    pins,
    profiles,
    statements,
    threads,
    undo,
)
from commentsvc.moderation.answers import AnswerResult
from commentsvc.moderation.changes import ChangeResult
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.moderation.statements import Reasons
from commentsvc.moderation.threads import ThreadSummary
from commentsvc.readers import accounts
from commentsvc.spam import bans
from commentsvc.util.i18n import gettext as _

# Stands for a status: the one that each comment had before.
TAKE_BACK: Final = "undone"


class ThreadChange(msgspec.Struct, frozen=True):
    """A change of a page: a verb, and its new state, title or canonical url."""

    verb: str
    value: str


class Decision(NamedTuple):
    """What to do with comments: set their status `to`, or take back their last change (TAKE_BACK).

    For `seen` see `changes.change`. `reasons` are those for comments that have some.
    """

    ids: Sequence[int]
    to: str
    seen: int | None = None
    reasons: Mapping[int, Reasons] = MappingProxyType({})


def decide(tx: Transaction, who: Actor, decision: Decision, now: int) -> ChangeResult:
    """Make a decision at `now` (Unix milliseconds). Raise UnknownComment, NothingToUndo."""
    permissions.confine(tx, who, decision.ids)
    if decision.to == TAKE_BACK:
        result = undo.last(tx, decision.ids, who.name, now)
    else:
        result = changes.change(tx, decision.ids, decision.to, who.name, now, decision.seen)
    statements.add(tx, (*result.changed, *result.kept), decision.reasons, who.name, now)
    return result


def undo_decision(tx: Transaction, who: Actor, decision_id: int, now: int) -> ChangeResult:
    """Take back a decision. Raise NothingToUndo."""
    ids = tx.query(
        ChangeTable.select(ChangeTable.comment).where(ChangeTable.decision_id == decision_id)
    )
    try:
        permissions.confine(tx, who, [comment_id for (comment_id,) in ids])
    except UnknownComment as error:
        raise NothingToUndo(
            _("decision %(number)s does not exist, or has been undone", number=decision_id)
        ) from error
    return undo.decision(tx, decision_id, who.name, now)


def edit(tx: Transaction, who: Actor, comment_id: int, message: str, now: int) -> ChangeResult:
    """Replace the text of a comment. Raise UnknownComment."""
    permissions.confine(tx, who, [comment_id])
    return changes.edit(tx, comment_id, message, who.name, now)


def correct_language(
    tx: Transaction, who: Actor, comment_id: int, lang: str, now: int
) -> ChangeResult:
    """Set the language of a comment to the tag `lang`. Raise UnknownComment."""
    permissions.confine(tx, who, [comment_id])
    return changes.correct_language(tx, comment_id, lang, who.name, now)


def answer(
    tx: Transaction,
    who: Actor,
    comment_id: int,
    message: str,
    now: int,
    *,
    status: str = APPROVED,
) -> AnswerResult:
    """Publish an answer to a comment, or let it wait (PENDING).

    Raise UnknownComment, NotAnswerable, NotPermitted.
    """
    if not who.may(Permission.DECIDE):  # for links and commands, where no route checks it
        raise NotPermitted(f"{who.name} may only read")
    permissions.confine(tx, who, [comment_id])
    profile = profiles.find(tx, who.account_id)
    assert profile is not None, "who asks has an account"
    return answers.answer(tx, comment_id, message, profile, now, status=status)


def pin(tx: Transaction, who: Actor, comment_id: int, *, pinned: bool) -> None:
    """Pin a comment on its page, or unpin it. Raise UnknownComment, NotPinnable."""
    permissions.confine(tx, who, [comment_id])
    (pins.pin if pinned else pins.unpin)(tx, comment_id)


def trust(tx: Transaction, who: Actor, reader_id: int, now: int, *, trusted: bool) -> None:
    """Trust a reader who has signed in, or no longer. Raise UnknownReader."""
    reader = accounts.find(tx, reader_id)
    if reader is None or not who.sees(reader.site):
        raise UnknownReader(_("There is no such reader."))
    accounts.set_trust(tx, reader_id, who.name if trusted else "", now)


def ban_comments(tx: Transaction, who: Actor, ban_id: int, limit: int, now: int) -> ChangeResult:
    """Mark at most `limit` comments that a ban covers as spam. Raise UnknownBan."""
    ids = lists.ids_of_banned(tx, bans.find(tx, ban_id), limit)
    return decide(tx, who, Decision(ids, SPAM), now)


def find_comment(snapshot: Snapshot, who: Actor, comment_id: int) -> Entry:
    """Return a comment. Raise UnknownComment."""
    entry = queries.find(snapshot, comment_id)
    if entry is None or not who.sees(entry.site):
        raise UnknownComment([comment_id])
    return entry


def find_thread(snapshot: Snapshot, who: Actor, thread_id: int) -> ThreadSummary:
    """Return the thread of that id. Raise UnknownThread."""
    rows = threads.listing(snapshot, "", 1, thread_id + 1, who.sites)
    if not rows or rows[0].id != thread_id:
        raise UnknownThread(_("no page has the id %(id)s", id=thread_id))
    return rows[0]


def thread_change(sites: Sites, thread: ThreadSummary, verb: str, value: str) -> ThreadChange:
    """Return the change of a page that was asked for. Raise UrlError.

    A url is made canonical here, so that it names the page that readers see.
    """
    if verb in ("state", "title", "unalias", "remove_reactions", "remove_views"):
        return ThreadChange(verb, value)
    page = sites.locate(value, thread.site)
    if page.site != thread.site:
        raise UrlError(_("That address belongs to another site."))
    return ThreadChange(verb, page.url)


def change_thread(
    tx: Transaction, who: Actor, thread_id: int, change: ThreadChange, now: int
) -> int:
    """Change a thread; return its id, or that of the thread that it was merged into.

    Raise UnknownThread, UrlTaken, and ValueError for an unknown verb.
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
        case "remove_reactions":
            reactions.remove(tx, threads.find(tx, site, url))
        case "remove_views":
            views.remove(tx, threads.find(tx, site, url))
        case "merge":  # cannot be undone
            threads.merge(tx, site, url, value, who.name, now)
            return threads.find(tx, site, value).thread_id
        case verb:
            raise ValueError(verb)
    return thread_id
