"""The review queue: the lists of comments, and the decisions on them.

One form holds a whole list: each comment has buttons of its own, and those above the list
are for all that are ticked. So a decision needs no script. It answers by sending the browser back
to the list, with what was done in the address: a notice with a button that undoes it, by the number
of the act, is made of that and of nothing else. A list goes on after a comment, not at a number, so
nothing is skipped when decided comments leave it.
"""

import re
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from commentsvc.admin.access import AccessControl, RequestContext, page_operation
from commentsvc.admin.comment_view import Viewer, views
from commentsvc.admin.layout import Layout
from commentsvc.admin.render import redirect, target
from commentsvc.comments import search
from commentsvc.context import ServiceContext
from commentsvc.db.sqlite import Reader, Transaction
from commentsvc.http.forms import Form
from commentsvc.http.messages import HttpError, Request, Response, first
from commentsvc.http.router import Route, route
from commentsvc.model import APPROVED, DELETED, PENDING, SPAM, STATUSES, Entry
from commentsvc.moderation import actions, lists
from commentsvc.moderation.actions import ChangeResult
from commentsvc.moderation.lists import ParentQuote, StoredVerdict
from commentsvc.settings.schema import origins
from commentsvc.util.i18n import gettext as _
from commentsvc.util.text import whole_number

MOST: Final = 50  # comments on one page: some screens full, and quick to send
MANY: Final = 1_000  # comments that are selected at once, at most: to decide them takes 63 ms
# What a button says, and the status that it gives. Taking back leads wherever the comment was.
TAKE_BACK: Final = "undone"
VERBS: Final = {"approve": APPROVED, "spam": SPAM, "delete": DELETED, "restore": TAKE_BACK}
# What a page says after a decision.
_DONE: Final = re.compile(
    r"(approved|spam|deleted|undone|edited|answered)\.([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,18})"
)
_ONE: Final = re.compile(r"([a-z]+)\.([0-9]{1,18})")


class FlashMessage(msgspec.Struct, frozen=True):
    """What a decision did: to how many comments, how many it left alone; `act` undoes it.

    `act` is 0 where it cannot be undone.
    """

    what: str
    changed: int
    unchanged: int
    act: int


class QueuePage(msgspec.Struct, frozen=True):
    """A piece of a list, with the verdicts on its comments; `next` is "" at its end.

    `unindexed` is how many comments are not searched yet. `every` are the ids of the whole list,
    one more than MANY where it is longer, and none where this piece is all of it.
    """

    items: list[Entry]
    next: str
    unindexed: int
    told: dict[int, StoredVerdict]
    parents: dict[int, ParentQuote]
    every: list[int]
    last_act: int


QUEUE = page_operation("GET", "/moderation/queue", "Comments that wait for approval")
COMMENTS = page_operation(
    "GET", "/moderation/comments", "All other comments, by status or by their words"
)
DECIDE = page_operation(
    "POST", "/moderation/decide", "Approve comments, mark them as spam, delete or restore them"
)
UNDO = page_operation("POST", "/moderation/undo", "Undo a decision")


class ReviewPages:
    """The handlers of lists and decisions."""

    def __init__(self, service: ServiceContext, access: AccessControl, layout: Layout) -> None:
        self._database = service.database
        self._access = access
        self._layout = layout
        self._sites = [site.name for site in service.settings.sites]
        self._origins = origins(service.settings.sites)
        self._spam_from = service.settings.spam.spam_score

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        access = self._access
        return [
            route(QUEUE, access.login_required(self.queue)),
            route(COMMENTS, access.login_required(self.comments)),
            route(DECIDE, access.login_required_form(self.decide)),
            route(UNDO, access.login_required_form(self.undo)),
        ]

    async def queue(self, request: Request, context: RequestContext) -> Response:
        """GET /moderation/queue[?site=S&after=A]: 200 with the comments that wait."""
        return await self._list(request, context, "queue", PENDING, "")

    async def comments(self, request: Request, context: RequestContext) -> Response:
        """GET /moderation/comments[?status=S&q=Q&site=N&after=A]: 200 with a list or what is found.

        Without words to look for, the status is `approved` where none is given.
        """
        form = request.parameters()
        query, status = first(form, "q").strip(), first(form, "status")
        if status not in STATUSES:
            status = "" if query else APPROVED
        return await self._list(request, context, "comments", status, query)

    async def _list(
        self, request: Request, context: RequestContext, here: str, status: str, query: str
    ) -> Response:
        form = request.parameters()
        site, after = first(form, "site"), first(form, "after")
        place = {"status": "" if here == "queue" else status, "q": query, "site": site}
        part = await self._database.read(_part, status, query, site, after, context.moderator.name)
        tick = first(form, "tick")
        others = set(part.every[:MANY]) if tick == "every" else set()
        viewer = Viewer(
            now=context.now,
            origins=self._origins,
            verdicts=part.told,
            parents=part.parents,
            spam_from=self._spam_from,
            several=len(self._sites) > 1,
            found=bool(query),
            ticked=bool(tick),
        )
        return await self._layout.render(
            "comments.html",
            context,
            here=here if here == "queue" or query else f"comments?status={status}",
            cards=views(map(viewer.view, part.items)),
            unindexed=part.unindexed,
            status=status,
            query=query,
            site=site,
            sites=self._sites,
            done=flash_message(first(form, "done"), part.last_act),
            back=address(here, **place, after=after),
            older=address(here, **place, after=part.next) if part.next else "",
            newest=address(here, **place) if after else "",
            tick_page=address(here, **place, after=after, tick="all"),
            tick_every=address(here, **place, after=after, tick="every") if part.every else "",
            shown=len(part.items),
            most=MANY,
            every=len(part.every),
            others=sorted(others.difference(entry.comment.id for entry in part.items)),
        )

    async def decide(self, request: Request, context: RequestContext, form: Form) -> Response:
        """POST /moderation/decide: 303 back, with what was done.

        `one` is a verb and an id, as in ``spam.5``; `all` a verb for each `id` and for all in
        `others`. 400 for anything else, 404 for ids that do not exist.
        """
        verb, ids = _decision(form)
        who = context.moderator.name

        def work(tx: Transaction) -> ChangeResult:
            if verb == TAKE_BACK:
                return actions.undo_last(tx, ids, who, context.now)
            return actions.change(tx, ids, verb, who, context.now)

        if not ids:
            return redirect(target(first(form, "back")))
        return _back(form, verb, await self._database.write(work))

    async def undo(self, request: Request, context: RequestContext, form: Form) -> Response:
        """POST /moderation/undo: 303 back; what the act `act` changed is as it was before. 400."""
        act, who = whole_number(first(form, "act")), context.moderator.name
        if act is None:
            raise unreadable_decision()
        outcome = await self._database.write(actions.undo, act, who, context.now)
        return _back(form, TAKE_BACK, outcome)


def _part(reader: Reader, status: str, query: str, site: str, after: str, who: str) -> QueuePage:
    """What a list shows after `after`, "" for its beginning. Raises BadCursor."""
    if query:
        before = whole_number(after)
        found = search.find(reader, query, status=status, site=site, limit=MOST, before=before)
        items, unindexed = found.items, found.unindexed
        more = "" if found.next is None else str(found.next)
    else:
        page = lists.list_page(reader, status, site, MOST, after or None)
        items, more, unindexed = page.items, page.next or "", 0
    told = lists.verdicts_of(reader, [entry.comment.id for entry in items])
    parents = lists.parents_of(reader, (entry.comment for entry in items))
    every = _every(reader, status, query, site) if more or after else []
    return QueuePage(items, more, unindexed, told, parents, every, actions.last_act(reader, who))


def _every(reader: Reader, status: str, query: str, site: str) -> list[int]:
    """Return the ids of a whole list, of more than MANY one more."""
    if query:
        return search.find_ids(reader, query, status=status, site=site, limit=MANY + 1)
    return lists.newest_ids(reader, status, site, MANY + 1)


def unreadable_decision() -> HttpError:
    """Return the error for a form whose decision cannot be read."""
    message = _("This decision cannot be read. Open the page again and repeat it.")
    return HttpError(400, "invalid", message)


def _decision(form: Form) -> tuple[str, list[int]]:
    """The status to give, or TAKE_BACK, and the ids. Raises HttpError 400."""
    one = _ONE.fullmatch(first(form, "one"))
    verb, texts = (one[1], [one[2]]) if one else (first(form, "all"), _selected(form))
    ids = [number for text in texts if (number := whole_number(text)) is not None]
    if verb not in VERBS or len(ids) < len(texts):
        raise unreadable_decision()
    return VERBS[verb], ids


def _selected(form: Form) -> list[str]:
    return [*form.get("id", []), *first(form, "others").split()]


def _back(form: Form, what: str, outcome: ChangeResult) -> Response:
    """Send the browser back to where it decided, with what was done.

    What was undone is in the list again: the browser goes to the newest of it.
    """
    back = with_flash(target(first(form, "back")), done_text(what, outcome))
    place = f"#c{max(outcome.changed)}" if what == TAKE_BACK and outcome.changed else ""
    return redirect(back + place)


def with_flash(back: str, done: str) -> str:
    """The page `back` of ours, which then says what was `done`; see `flash_message`."""
    return f"{back}{'&' if '?' in back else '?'}done={done}"


def done_text(what: str, outcome: ChangeResult) -> str:
    """Return what `flash_message` reads: what a decision did."""
    return f"{what}.{len(outcome.changed)}.{len(outcome.unchanged)}.{outcome.decision_id}"


def flash_message(text: str, last_act: int) -> FlashMessage | None:
    """What the address of a page says was done; None where it says nothing that we wrote.

    Anybody can make a moderator open an address, so only the moderator's own last act is offered
    to be undone.
    """
    found = _DONE.fullmatch(text)
    if found is None:
        return None
    act = int(found[4])
    return FlashMessage(found[1], int(found[2]), int(found[3]), act if act == last_act else 0)


def address(page: str, **parameters: Any) -> str:  # Any: whatever has a text
    """A page of ours with those parameters that are not empty."""
    query = urlencode({name: value for name, value in parameters.items() if value})
    return f"{page}?{query}" if query else page
