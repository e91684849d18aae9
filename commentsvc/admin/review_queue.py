"""The review queue: the lists of comments, and the decisions on them.

One form contains a whole list: each comment has its own buttons, and those above the list are for
all ticked comments. So decisions work without JavaScript. The answer redirects the browser to the
list, with the result of the decision in the address. The page makes a notice of it, with an undo
button for the decision's id. A form says with `seen` which changes its moderator knows of, so that
nobody decides on what another moderator, or the author's edit, has changed meanwhile. The next page
of a list begins after a comment, not at a number, so no comment is skipped when others leave the
list.
"""

import re
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.api.queue_stream import QueueStream
from commentsvc.admin.comment_view import Viewer, views
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import redirect, target
from commentsvc.auth import sessions
from commentsvc.db.connection import Snapshot
from commentsvc.http.messages import HttpError, Response
from commentsvc.model import APPROVED, DELETED, PENDING, SPAM, STATUSES
from commentsvc.moderation import authorized, history, permissions, review, statements
from commentsvc.moderation.authorized import TAKE_BACK, Decision
from commentsvc.moderation.changes import ChangeResult
from commentsvc.moderation.history import LastChange
from commentsvc.moderation.lists import ReviewFilter
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.moderation.review import MANY, ReviewQuery
from commentsvc.moderation.statements import Reasons
from commentsvc.settings.schema import origins
from commentsvc.util.i18n import gettext as _
from commentsvc.util.text import whole_number

MOST: Final = 50  # comments on one page
EXPLAINED: Final = 5  # comments of a decision that a notice says more about
FILTER_LENGTH: Final = 200  # characters of a filter that are used
HIGHEST: Final = 1_000  # the highest score to filter by
# The status for each verb of a button.
VERBS: Final = {"approve": APPROVED, "spam": SPAM, "delete": DELETED, "restore": TAKE_BACK}
# The result of a decision in a page's address, see `done_text`.
_DONE: Final = re.compile(
    r"(approved|spam|deleted|undone|edited|answered)\.([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,18})"
)
_ONE: Final = re.compile(r"([a-z]+)\.([0-9]{1,18})")


class FlashMessage(msgspec.Struct, frozen=True):
    """The result of a decision: how many comments it changed, and how many it left alone.

    Of those, `kept` had been reported and stay what they are; `left` says what happened to some of
    the others. `act` is the decision's id for undoing it, 0 if it cannot be undone.
    """

    what: str
    changed: int
    unchanged: int
    act: int
    kept: int = 0
    left: tuple[LastChange, ...] = ()


class ReviewPages:
    """The handlers of lists and decisions."""

    def __init__(self, context: AdminContext, queue: QueueStream) -> None:
        service = context.service
        self._queue = queue
        self._lifetime = context.authentication.lifetime
        self._database = service.database
        self._clock = service.clock
        self._layout = context.layout
        self._sites = [site.name for site in service.settings.sites]
        self._origins = origins(service.settings.sites)
        self._spam_from = service.settings.spam.spam_score
        self._longest = service.settings.comments.message_length
        self._mailing = service.settings.mailing_decisions

    @get("/queue", Permission.READ)
    async def queue(self, context: RequestContext) -> Response:
        """Comments that wait for approval.

        `?site=S&after=A` names the site and where the list goes on.
        """
        return await self._list(context, "queue", PENDING, "")

    @get("/comments", Permission.READ)
    async def comments(self, context: RequestContext) -> Response:
        """All other comments, by status or by their words.

        `?status=S&q=Q&site=N&after=A`: 200 with a list of comments. With words in `q`, it is the
        result of a search; without, the default status is `approved`.
        """
        query, status = context.first("q").strip(), context.first("status")
        if status not in STATUSES:
            status = "" if query else APPROVED
        return await self._list(context, "comments", status, query)

    async def _list(self, context: RequestContext, here: str, status: str, query: str) -> Response:
        after = context.first("after")
        chosen = _chosen(context, status, query)
        site, wanted = chosen.site, chosen.wanted
        where = {
            "status": "" if here == "queue" else status,
            "q": query,
            "site": site,
            "order": "oldest" if wanted.oldest_first else "",
            "page": wanted.page,
            "author": wanted.author,
            "score": wanted.score,
            "language": wanted.language,
            "only": "reported" if chosen.reported else "",
        }
        who = context.actor
        part = await self._database.read(review.piece, who, chosen, MOST)
        every = []
        if part.next or after:
            every = await self._database.read(review.whole, who, chosen)
        tick = context.first("tick")
        others = set(every[:MANY]) if tick == "every" else set()
        sites = [name for name in self._sites if who.sees(name)]
        viewer = Viewer(
            now=context.now,
            origins=self._origins,
            verdicts=part.verdicts,
            parents=part.parents,
            reports=part.reports,
            spam_from=self._spam_from,
            longest=self._longest,
            mailing=self._mailing,
            several=len(sites) > 1,
            found=bool(query),
            ticked=bool(tick),
            decides=context.may(Permission.DECIDE),
        )
        cards = [viewer.view(entry) for entry in (*part.reported, *part.items)]
        return await self._layout.render(
            "comments.html",
            context,
            here=here if here == "queue" or query else f"comments?status={status}",
            cards=views(cards),
            statement=max((card.statement for card in cards), default=0),
            unindexed=part.unindexed,
            status=status,
            query=query,
            site=site,
            sites=sites,
            done=await self._database.read(result_message, context, part.last_decision),
            filters=status != APPROVED and not query,
            chosen=chosen,
            is_filtered=chosen.reported or wanted.leaves_out,
            seen=part.last_change,
            waits_until=part.newest,
            back=address(here, **where, after=after),
            older=address(here, **where, after=part.next) if part.next else "",
            newest=address(here, **where) if after else "",
            tick_page=address(here, **where, after=after, tick="all"),
            tick_every=address(here, **where, after=after, tick="every") if every else "",
            shown=len(part.reported) + len(part.items),
            most=MANY,
            every=len(every) and len(every) + len(part.reported),
            others=sorted(others.difference(entry.comment.id for entry in part.items)),
        )

    @get("/stream", Permission.READ)
    async def stream(self, context: RequestContext) -> Response:
        """Stream the state of the queue to a page (Server-Sent Events).

        200 ``text/event-stream`` that stays open until the session ends.
        """
        token, clock = context.token, self._clock

        def actor(snapshot: Snapshot) -> Actor | None:
            found = sessions.find(snapshot, token, self._lifetime, clock.now_ms())
            if found is None:
                return None
            return permissions.actor(found.moderator_id, found.name, found.role, found.sites)

        return self._queue.for_session(context.moderator.id, actor)

    @post("/decide", Permission.DECIDE)
    async def decide(self, context: RequestContext) -> Response:
        """Approve comments, mark them as spam, delete or restore them.

        303 back, with the result in the address. `one` is a verb and an id, as in ``spam.5``; `all`
        is a verb for each `id` and for all in `others`. The reasons are in `ground.N` and
        `reason.N` for the comment N; for all others of `all`, in `ground` and `reason`. 400 for
        anything else, 404 for ids that do not exist.
        """
        verb, ids = _decision(context)
        if not ids:
            return redirect(target(context.first("back")))
        decision = Decision(ids, verb, seen_by(context), _reasons(context, ids))
        outcome = await self._database.write(
            authorized.decide, context.actor, decision, context.now
        )
        return _back(context, verb, outcome)

    @post("/undo", Permission.DECIDE)
    async def undo(self, context: RequestContext) -> Response:
        """Undo a decision.

        303 back; undoes the decision `act`. 400.
        """
        act = whole_number(context.first("act"))
        if act is None:
            raise unreadable_decision()
        outcome = await self._database.write(
            authorized.undo_decision, context.actor, act, context.now
        )
        return _back(context, TAKE_BACK, outcome)


def unreadable_decision() -> HttpError:
    """Return the error for a form whose decision cannot be read."""
    message = _("This decision cannot be read. Open the page again and repeat it.")
    return HttpError(400, "invalid", message)


def _chosen(context: RequestContext, status: str, query: str) -> ReviewQuery:
    """Return the list that a page's address asks for; values that make no sense are left out."""
    score = whole_number(context.first("score")) or 0
    wanted = ReviewFilter(
        oldest_first=context.first("order") == "oldest",
        page=context.first("page").strip()[:FILTER_LENGTH],
        author=context.first("author").strip()[:FILTER_LENGTH],
        score=min(score, HIGHEST),
        language=context.first("language").strip()[:FILTER_LENGTH],
    )
    site, after = context.first("site"), context.first("after")
    reported = status == PENDING and context.first("only") == "reported"
    return ReviewQuery(status, query, site, after, wanted, reported)


def seen_by(context: RequestContext) -> int | None:
    """Return the id of the last change that the sender of a form has seen; None without one."""
    return whole_number(context.first("seen"))


def _decision(context: RequestContext) -> tuple[str, list[int]]:
    """Return the new status, or TAKE_BACK, and the ids. Raise HttpError 400."""
    one = _ONE.fullmatch(context.first("one"))
    verb, texts = (one[1], [one[2]]) if one else (context.first("all"), _selected(context))
    ids = [number for text in texts if (number := whole_number(text)) is not None]
    if verb not in VERBS or len(ids) < len(texts):
        raise unreadable_decision()
    return VERBS[verb], ids


def _reasons(context: RequestContext, ids: Iterable[int]) -> dict[int, Reasons]:
    """Return the reasons for a decision, for those of the comments `ids` that have some."""

    def of(suffix: str) -> Reasons | None:
        return statements.reasons(
            context.first(f"ground{suffix}"), context.first(f"reason{suffix}")
        )

    for_all = None if context.first("one") else of("")
    found = {comment_id: of(f".{comment_id}") or for_all for comment_id in ids}
    return {comment_id: given for comment_id, given in found.items() if given}


def _selected(context: RequestContext) -> list[str]:
    return [*context.form.get("id", []), *context.first("others").split()]


def _back(context: RequestContext, what: str, outcome: ChangeResult) -> Response:
    """Return a redirect to the page of the decision, with its result in the address.

    After undoing, the browser goes to the newest comment that is in the list again.
    """
    back = with_flash(target(context.first("back")), done_text(what, outcome))
    fragment = f"#c{max(outcome.changed)}" if what == TAKE_BACK and outcome.changed else ""
    return redirect(back + fragment)


def with_flash(back: str, done: str) -> str:
    """Return the address of our page `back` with the result `done`; see `flash_message`."""
    return f"{back}{'&' if '?' in back else '?'}done={done}"


def done_text(what: str, outcome: ChangeResult) -> str:
    """Return the result of a decision as parameters of an address, see `result_message`."""
    left = [str(number) for number in outcome.unchanged if number not in outcome.kept]
    text = f"{what}.{len(outcome.changed)}.{len(left)}.{outcome.decision_id}"
    text += f"&kept={len(outcome.kept)}" if outcome.kept else ""
    return text + (f"&left={'.'.join(left[:EXPLAINED])}" if left and what != TAKE_BACK else "")


def result_message(
    snapshot: Snapshot, context: RequestContext, last_decision: int
) -> FlashMessage | None:
    """Return the result of a decision from a page's address, and why it left comments alone."""
    message = flash_message(context.first("done"), last_decision)
    if message is None:
        return None
    texts = context.first("left").split(".")[:EXPLAINED]
    ids = [found for text in texts if (found := whole_number(text)) is not None]
    left = history.last_of_each(snapshot, context.actor, ids) if ids else []
    kept = min(whole_number(context.first("kept")) or 0, MANY)
    return msgspec.structs.replace(message, kept=kept, left=tuple(left))


def flash_message(text: str, last_decision: int) -> FlashMessage | None:
    """Return the result of a decision from a page's address; None if the text is not valid.

    Anybody can make a moderator open an address, so only the moderator's own last decision can be
    undone with it.
    """
    found = _DONE.fullmatch(text)
    if found is None:
        return None
    act = int(found[4])
    return FlashMessage(found[1], int(found[2]), int(found[3]), act if act == last_decision else 0)


def address(page: str, /, **parameters: Any) -> str:  # Any: whatever has a text
    """Return the address of our page with those parameters that are not empty."""
    query = urlencode({name: value for name, value in parameters.items() if value})
    return f"{page}?{query}" if query else page
