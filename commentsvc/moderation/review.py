"""A page of the queue or another list, with everything that a moderator needs to decide."""

from typing import Final

import msgspec

from commentsvc.comments import search
from commentsvc.db.connection import Snapshot
from commentsvc.feedback import reports
from commentsvc.feedback.reports import Reports
from commentsvc.model import PENDING, Entry
from commentsvc.moderation import lists, undo
from commentsvc.moderation.lists import ParentQuote, StoredVerdict
from commentsvc.moderation.permissions import Actor

MANY: Final = 1_000  # the most comments that are selected at once: deciding on them takes 63 ms


class ReviewQuery(msgspec.Struct, frozen=True):
    """The comments to list: their status, the words of `query`, and their `site`; "" means any.

    `after` is the cursor of the previous page.
    """

    status: str = ""
    query: str = ""
    site: str = ""
    after: str = ""


class ReviewPiece(msgspec.Struct, frozen=True):
    """A page of a list, with the verdicts on its comments; `next` is "" at the end.

    `unindexed` is how many comments are not in the search index yet. `last_decision` is the
    account's own. The first page of the queue begins with published comments that were `reported`;
    `reports` are by the id of a comment.
    """

    reported: list[Entry]
    reports: dict[int, Reports]
    items: list[Entry]
    next: str
    unindexed: int
    verdicts: dict[int, StoredVerdict]
    parents: dict[int, ParentQuote]
    last_decision: int


def piece(snapshot: Snapshot, who: Actor, chosen: ReviewQuery, limit: int) -> ReviewPiece:
    """Return at most `limit` comments of a list, on the sites of `who`. Raise BadCursor."""
    status, query, sites = chosen.status, chosen.query, who.narrowed(chosen.site)
    if query:
        before = lists.position(chosen.after)[1] if chosen.after else None
        found = search.find(snapshot, query, status=status, sites=sites, limit=limit, before=before)
        items, unindexed = found.items, found.unindexed
        more = "" if found.next is None else f"0.{found.next}"
    else:
        page = lists.list_page(snapshot, status, sites, limit, chosen.after or None)
        items, more, unindexed = page.items, page.next or "", 0
    is_queue = status == PENDING and not query and not chosen.after
    reported = reports.reported(snapshot, sites, limit) if is_queue else []
    shown = [*reported, *items]
    ids = [entry.comment.id for entry in shown]
    return ReviewPiece(
        reported,
        reports.of_comments(snapshot, ids),
        items,
        more,
        unindexed,
        lists.verdicts_of(snapshot, ids),
        lists.parents_of(snapshot, (entry.comment for entry in shown)),
        undo.last_decision(snapshot, who.name),
    )


def whole(snapshot: Snapshot, who: Actor, chosen: ReviewQuery) -> list[int]:
    """Return the ids of a whole list, at most MANY + 1."""
    sites = who.narrowed(chosen.site)
    if chosen.query:
        return search.find_ids(
            snapshot, chosen.query, status=chosen.status, sites=sites, limit=MANY + 1
        )
    return lists.newest_ids(snapshot, chosen.status, sites, MANY + 1)
