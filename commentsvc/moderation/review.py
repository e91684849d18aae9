"""A page of the queue or another list, with everything that a moderator needs to decide."""

from typing import Final

import msgspec

from commentsvc.comments import search
from commentsvc.db.connection import Snapshot
from commentsvc.feedback import reports
from commentsvc.feedback.reports import Reports
from commentsvc.model import APPROVED, PENDING, Entry
from commentsvc.moderation import lists, undo
from commentsvc.moderation.lists import ParentQuote, ReviewFilter, StoredVerdict
from commentsvc.moderation.permissions import Actor

MANY: Final = 1_000  # the most comments that are selected at once: deciding on them takes 63 ms


class ReviewQuery(msgspec.Struct, frozen=True):
    """The comments to list: their status, the words of `query`, and their `site`; "" means any.

    `after` is the cursor of the previous page. `wanted` is for lists of comments that are not
    approved, and without a query. With `reported`, only comments with reports are listed.
    """

    status: str = ""
    query: str = ""
    site: str = ""
    after: str = ""
    wanted: ReviewFilter = ReviewFilter()
    reported: bool = False

    @property
    def is_filtered(self) -> bool:
        """Whether `wanted` applies."""
        is_other = self.wanted != ReviewFilter()
        return is_other and self.status not in ("", APPROVED) and not self.query


class ReviewPiece(msgspec.Struct, frozen=True):
    """A page of a list, with the verdicts on its comments; `next` is "" at the end.

    `unindexed` is how many comments are not in the search index yet. `last_decision` is the
    account's own; `last_change` is the id of the last change of any comment, and
    `newest` that of the newest one that waits. The first page of the queue begins with published
    comments that were `reported`; `reports` are by the id of a comment.
    """

    reported: list[Entry]
    reports: dict[int, Reports]
    items: list[Entry]
    next: str
    unindexed: int
    verdicts: dict[int, StoredVerdict]
    parents: dict[int, ParentQuote]
    last_decision: int
    last_change: int
    newest: int


def piece(snapshot: Snapshot, who: Actor, chosen: ReviewQuery, limit: int) -> ReviewPiece:
    """Return at most `limit` comments of a list, on the sites of `who`. Raise BadCursor."""
    status, query, sites = chosen.status, chosen.query, who.narrowed(chosen.site)
    if query:
        before = lists.position(chosen.after)[1] if chosen.after else None
        found = search.find(snapshot, query, status=status, sites=sites, limit=limit, before=before)
        items, unindexed = found.items, found.unindexed
        more = "" if found.next is None else f"0.{found.next}"
    elif chosen.reported:
        items, more, unindexed = [], "", 0
    else:
        asked = (snapshot, status, sites, limit, chosen.after or None)
        filtered = chosen.is_filtered
        page = lists.filtered_page(*asked, chosen.wanted) if filtered else lists.list_page(*asked)
        items, more, unindexed = page.items, page.next or "", 0
    is_queue = status == PENDING and not query and not chosen.after
    reported = reports.reported(snapshot, sites, limit) if is_queue else []
    if chosen.wanted.leaves_out:
        # They are published whatever their score, so none is wanted for it.
        ids = [] if chosen.wanted.score else [entry.comment.id for entry in reported]
        among = lists.wanted_ids(snapshot, ids, chosen.wanted)
        reported = [entry for entry in reported if entry.comment.id in among]
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
        snapshot.last_id("change"),
        next(iter(lists.newest_ids(snapshot, PENDING, who.sites, 1)), 0),
    )


def whole(snapshot: Snapshot, who: Actor, chosen: ReviewQuery) -> list[int]:
    """Return the ids of a whole list, at most MANY + 1."""
    sites = who.narrowed(chosen.site)
    if chosen.query:
        return search.find_ids(
            snapshot, chosen.query, status=chosen.status, sites=sites, limit=MANY + 1
        )
    if chosen.is_filtered:
        return lists.filtered_ids(snapshot, chosen.status, sites, MANY + 1, chosen.wanted)
    return lists.newest_ids(snapshot, chosen.status, sites, MANY + 1)
