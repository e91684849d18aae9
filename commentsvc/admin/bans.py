"""Ban page: what is not welcome, until when, and lifting it."""

from typing import Final

from commentsvc.admin.access import AccessControl, RequestContext, page_operation
from commentsvc.admin.layout import Layout
from commentsvc.admin.render import number, redirect
from commentsvc.admin.review_queue import unreadable_decision
from commentsvc.comments import errors
from commentsvc.db.database import Database
from commentsvc.http.forms import Form
from commentsvc.http.messages import Request, Response, first
from commentsvc.http.router import Route, route
from commentsvc.model import BANS
from commentsvc.spam import bans
from commentsvc.util.timestamps import DAY_MS

SPANS: Final = {"": "for good", "7": "for a week", "30": "for a month", "365": "for a year"}
VALUE_LENGTH: Final = 300  # characters of what is to be banned
DONE: Final = {"added": "Ban added.", "lifted": "Ban removed."}


BAN_LIST = page_operation("GET", "/moderation/bans", "Banned authors, networks, words and domains")
BAN = page_operation("POST", "/moderation/ban", "Ban somebody or something")
UNBAN = page_operation("POST", "/moderation/unban", "End a ban")


class BanPages:
    """The handlers of the bans' page."""

    def __init__(self, database: Database, access: AccessControl, layout: Layout) -> None:
        """Take where bans are."""
        self._database = database
        self._access = access
        self._layout = layout

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        access = self._access
        return [
            route(BAN_LIST, access.login_required(self.page)),
            route(BAN, access.login_required_form(self.add)),
            route(UNBAN, access.login_required_form(self.remove)),
        ]

    async def page(self, request: Request, context: RequestContext) -> Response:
        """GET /moderation/bans[?kind=K&value=V]: 200 with all bans, and a form for a new one."""
        form = request.parameters()
        return await self._show(context, form, done=DONE.get(first(form, "done"), ""))

    async def add(self, request: Request, context: RequestContext, form: Form) -> Response:
        """POST /moderation/ban: 303 to the bans, with a new one. 400, 422."""
        kind, value, days = first(form, "kind"), first(form, "value"), first(form, "days")
        if kind not in BANS or days not in SPANS:
            raise unreadable_decision()
        expires = context.now + int(days) * DAY_MS if days else None
        who = context.moderator.name
        try:
            await self._database.write(
                bans.add, kind, value[:VALUE_LENGTH], who, context.now, expires
            )
        except errors.BanRefused as error:
            return await self._show(context, form, 422, problem=f"That cannot be done: {error}.")
        return redirect("bans?done=added")

    async def remove(self, request: Request, context: RequestContext, form: Form) -> Response:
        """POST /moderation/unban: 303 to the bans, without the one of this `id`. 404, 409."""
        ban_id = number(first(form, "id"))
        await self._database.write(bans.remove, ban_id)
        return redirect("bans?done=lifted")

    async def _show(
        self,
        context: RequestContext,
        form: Form,
        status: int = 200,
        *,
        done: str = "",
        problem: str = "",
    ) -> Response:
        return await self._layout.render(
            "bans.html",
            context,
            status,
            here="bans",
            bans=await self._database.read(bans.listing),
            kinds=BANS,
            kind=first(form, "kind"),
            value=first(form, "value")[:VALUE_LENGTH],
            spans=SPANS,
            longest=VALUE_LENGTH,
            done=done,
            problem=problem,
        )
