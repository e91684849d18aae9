"""Thread pages: open, close, rename, move and merge the comment threads of pages."""

from typing import Final

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import number, redirect
from commentsvc.admin.review_queue import address, unreadable_decision
from commentsvc.api.errors import foreseen
from commentsvc.comments.submission import TITLE_LENGTH
from commentsvc.db.connection import Snapshot
from commentsvc.errors import UnknownThread
from commentsvc.feedback import reactions, views
from commentsvc.http.messages import HttpError, Response
from commentsvc.model import GONE, MOVED, STATES
from commentsvc.moderation import authorized, moved_pages, threads
from commentsvc.moderation.authorized import ThreadChange
from commentsvc.moderation.moved_pages import UnlistedPage
from commentsvc.moderation.permissions import Permission
from commentsvc.moderation.threads import ThreadSummary
from commentsvc.settings.schema import origins
from commentsvc.util.i18n import gettext as _

MOST: Final = 100  # threads on one page

# The message after a change, by the value of `done` in the page's address.
DONE: Final = {
    "state": _("Saved."),
    "title": _("Title saved."),
    "move": _("The page has moved; its old address still leads to its comments."),
    "merge": _("The two pages are now merged."),
    "alias": _("That address now leads to this page."),
    "unalias": _("That address no longer leads to this page."),
    "remove_reactions": _("Reactions removed."),
    "remove_views": _("The views are set to zero."),
}
# What a form about pages that have moved does, and the message after it.
ANSWERS: Final = {
    "follow": (moved_pages.follow, _("The comments have followed their pages.")),
    "stay": (moved_pages.stay, _("The comments stay where they are.")),
    "undo": (moved_pages.undo, _("Taken back.")),
}
NOTHING: Final = _("Nothing was changed.")  # all were answered before, or have moved on


class ThreadPages:
    """The handlers of the list of threads and of a thread's page."""

    def __init__(self, context: AdminContext) -> None:
        service = context.service
        sites = service.settings.sites
        self._database = service.database
        self._layout = context.layout
        self._sites = service.sites
        self._days = {site.name: site.close_days for site in sites}
        self._origins = origins(sites)

    @get("/threads", Permission.READ)
    async def listing(self, context: RequestContext) -> Response:
        """The pages of the blog that have comments.

        `?q=Q&before=N`: 200 with the newest threads that match `q`.
        """
        query, before = context.first("q").strip(), context.first("before")
        least = number(before) if before else None
        rows = await self._database.read(
            threads.listing, query, MOST + 1, least, context.actor.sites
        )
        more = len(rows) > MOST
        return await self._layout.render(
            "threads.html",
            context,
            here="threads",
            threads=rows[:MOST],
            query=query,
            missing=await self._database.read(moved_pages.count_waiting, context.actor.sites),
            sites=[name for name in self._days if context.actor.sees(name)],
            older=address("threads", q=query, before=rows[MOST - 1].id) if more else "",
        )

    @get("/moved", Permission.READ)
    async def moved(self, context: RequestContext) -> Response:
        """Pages with comments that have moved or are gone.

        200 with those that wait for an answer, and the last answers.
        """
        return await self._show_moved(context)

    @post("/moved", Permission.DECIDE)
    async def answer_moved(self, context: RequestContext) -> Response:
        """Let the comments of pages that have moved follow them, or stay; or take that back.

        303 to the list, after what `do` says with the pages `id`; without any, the last answer is
        taken back, or it is 400.
        """
        verb, ids = context.first("do"), [number(text) for text in context.form.get("id", [])]
        if verb not in ANSWERS:
            raise unreadable_decision()
        if verb == "undo" and not ids:
            ids = await self._database.read(moved_pages.last, context.actor.name)
        if not ids:
            return await self._show_moved(context.refused(400, _("Choose at least one page.")))
        who = context.actor
        work, _text = ANSWERS[verb]
        some = ids[: moved_pages.SHOWN]
        done = await self._database.write(work, some, who.sites, who.name, context.now)
        return redirect(f"moved?done={verb if done else 'nothing'}")

    async def _show_moved(self, context: RequestContext) -> Response:
        sites, since = context.actor.sites, context.now - moved_pages.KEPT

        def work(snapshot: Snapshot) -> tuple[list[UnlistedPage], ...]:
            return (
                moved_pages.waiting(snapshot, sites, MOVED),
                moved_pages.waiting(snapshot, sites, GONE),
                moved_pages.answered(snapshot, sites, since),
            )

        moved, gone, answered = await self._database.read(work)
        texts = {verb: text for verb, (_work, text) in ANSWERS.items()} | {"nothing": NOTHING}
        return await self._layout.render(
            "moved.html",
            context,
            here="threads",
            moved=moved,
            gone=gone,
            answered=answered,
            origins=self._origins,
            sites=[name for name in self._days if context.actor.sees(name)],
            done=texts.get(context.first("done"), ""),
        )

    @get("/thread", Permission.READ)
    async def page(self, context: RequestContext) -> Response:
        """One page: whether it is closed, its title and addresses.

        `?id=N`: 200 with a thread and its possible changes. 404.
        """
        return await self._show(context, await self._find(context, context.first("id")))

    @post("/thread", Permission.DECIDE)
    async def change(self, context: RequestContext) -> Response:
        """Close, move or merge a page, or change its title or addresses.

        303 to the thread, after the change `do`. 404, and 400 or 409 with the reason if it is not
        possible.
        """
        thread = await self._find(context, context.first("id"))
        try:
            change = self._change(thread, context)
            thread_id = await self._database.write(
                authorized.change_thread, context.actor, thread.id, change, context.now
            )
        except Exception as failure:
            error = foreseen(failure)
            return await self._show(context.refused(error.status, error.message), thread)
        return redirect(f"thread?id={thread_id}&done={context.first('do')}")

    def _change(self, thread: ThreadSummary, context: RequestContext) -> ThreadChange:
        """Return the change that a form asks for. Raise UrlError, HttpError."""
        verb, value = context.first("do"), context.first("value").strip()
        if verb not in DONE or (verb == "state" and value not in STATES):
            raise unreadable_decision()
        if verb == "merge" and not context.first("sure"):
            raise HttpError(400, "invalid", _("This cannot be undone. Tick the box to continue."))
        return authorized.thread_change(self._sites, thread, verb, value)

    async def _find(self, context: RequestContext, text: str) -> ThreadSummary:
        """Return the thread of that id. Raise HttpError 404."""
        try:
            return await self._database.read(authorized.find_thread, context.actor, number(text))
        except UnknownThread as error:
            gone = _("There is no such page, or it was merged.")
            raise HttpError(404, "not_found", gone) from error

    async def _show(self, context: RequestContext, thread: ThreadSummary) -> Response:
        return await self._layout.render(
            "thread.html",
            context,
            here="threads",
            thread=thread,
            title_length=TITLE_LENGTH,
            reactions=await self._database.read(reactions.counts, thread.id),
            views=await self._database.read(views.views, thread.site, thread.url),
            days=self._days.get(thread.site, 0),
            origin=self._origins.get(thread.site, ""),
            done=DONE.get(context.first("done"), ""),
        )
