"""Bans page: list, add and remove bans; the readers whom moderators trust."""

from typing import Final

from commentsvc import errors
from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import number, redirect
from commentsvc.admin.review_queue import (
    FlashMessage,
    done_text,
    result_message,
    unreadable_decision,
)
from commentsvc.db.connection import Snapshot
from commentsvc.http.messages import Response
from commentsvc.model import BANS, SPAM
from commentsvc.moderation import authorized, lists, undo
from commentsvc.moderation.permissions import Permission
from commentsvc.moderation.review import MANY
from commentsvc.readers import accounts
from commentsvc.spam import bans
from commentsvc.spam.bans import Ban
from commentsvc.util.i18n import gettext as _
from commentsvc.util.text import whole_number
from commentsvc.util.timestamps import DAY_MS

SPANS: Final = {
    "": _("for good"),
    "7": _("for a week"),
    "30": _("for a month"),
    "365": _("for a year"),
}
VALUE_LENGTH: Final = 300  # characters of a banned value
DONE: Final = {"added": _("Ban added."), "lifted": _("Ban removed.")}


class BanPages:
    """The handlers of the bans page."""

    def __init__(self, context: AdminContext) -> None:
        self._database = context.service.database
        self._layout = context.layout

    @get("/bans", Permission.READ_SERVICE)
    async def page(self, context: RequestContext) -> Response:
        """Banned authors, networks, words and domains; trusted authors.

        `?kind=K&value=V`: 200 with all bans, and a form for a new one. After a new ban, `id`, it
        offers to mark its comments as spam.
        """
        return await self._show(context)

    @post("/ban", Permission.DECIDE_SERVICE)
    async def add(self, context: RequestContext) -> Response:
        """Ban somebody or something.

        303 to the bans, with a new one. 400, 422.
        """
        kind, value, days = context.first("kind"), context.first("value"), context.first("days")
        if kind not in BANS or days not in SPANS:
            raise unreadable_decision()
        expires = context.now + int(days) * DAY_MS if days else None
        who = context.moderator.name
        try:
            ban_id = await self._database.write(
                bans.add, kind, value[:VALUE_LENGTH], who, context.now, expires
            )
        except errors.BanRefused as error:
            problem = _("That cannot be done: %(reason)s.", reason=error)
            return await self._show(context.refused(422, problem))
        return redirect(f"bans?done=added&id={ban_id}")

    @post("/ban-comments", Permission.DECIDE_SERVICE)
    async def mark_comments(self, context: RequestContext) -> Response:
        """Mark the comments of a banned author or network as spam.

        303 to the bans. `id` is that of the ban; 404.
        """
        ban_id = number(context.first("id"))
        outcome = await self._database.write(
            authorized.ban_comments, context.actor, ban_id, MANY, context.now
        )
        return redirect(f"bans?done={done_text(SPAM, outcome)}")

    @post("/unban", Permission.DECIDE_SERVICE)
    async def remove(self, context: RequestContext) -> Response:
        """End a ban.

        303 to the bans, without the one with this `id`. 404, 409.
        """
        ban_id = number(context.first("id"))
        await self._database.write(bans.remove, ban_id)
        return redirect("bans?done=lifted")

    async def _show(self, context: RequestContext) -> Response:
        added = whole_number(context.first("id"))

        def work(snapshot: Snapshot) -> tuple[list[Ban], list[int], FlashMessage | None]:
            known = bans.listing(snapshot)
            newest = [ban for ban in known if ban.id == added]
            ids = [each for ban in newest for each in lists.ids_of_banned(snapshot, ban, MANY)]
            last_decision = undo.last_decision(snapshot, context.moderator.name)
            return known, ids, result_message(snapshot, context, last_decision)

        known, also, marked = await self._database.read(work)
        trusted = await self._database.read(accounts.trusted, context.actor.sites)
        return await self._layout.render(
            "bans.html",
            context,
            here="bans",
            bans=known,
            trusted=trusted,
            added=next((ban for ban in known if ban.id == added), None),
            also=len(also),
            marked=marked,
            kinds=BANS,
            kind=context.first("kind"),
            value=context.first("value")[:VALUE_LENGTH],
            spans=SPANS,
            longest=VALUE_LENGTH,
            done=DONE.get(context.first("done"), ""),
        )
