"""Outbox page: messages that were sent, wait or failed, and sending one again."""

from typing import Final

from commentsvc import outbox
from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import number, redirect
from commentsvc.admin.review_queue import address
from commentsvc.db.schema.outbox import STATES
from commentsvc.http.messages import Response
from commentsvc.moderation.permissions import Permission
from commentsvc.util.i18n import gettext as _

MOST: Final = 50  # rows on one page
_LAST: Final = 2**63 - 1
DONE: Final = {
    "again": _("It will be sent in a moment."),
    "nothing": _("There was nothing to send."),
}


class OutboxPages:
    """The handlers of the outbox page."""

    def __init__(self, context: AdminContext) -> None:
        self._database = context.service.database
        self._layout = context.layout

    @get("/outbox", Permission.READ_SERVICE)
    async def page(self, context: RequestContext) -> Response:
        """Mails and webhooks: what was sent, what waits or failed.

        `?state=S&before=N`: with `state`, only those in that state.
        """
        state = context.first("state") if context.first("state") in STATES else ""
        before = number(context.first("before")) if context.first("before") else _LAST
        rows = await self._database.read(outbox.listing, state or None, before, MOST + 1)
        more = len(rows) > MOST
        return await self._layout.render(
            "outbox.html",
            context,
            here="outbox",
            posts=rows[:MOST],
            backlogs=await self._database.read(outbox.backlogs),
            state=state,
            states=STATES,
            done=DONE.get(context.first("done"), ""),
            older=address("outbox", state=state, before=rows[MOST - 1].id) if more else "",
        )

    @post("/outbox", Permission.DECIDE_SERVICE)
    async def retry(self, context: RequestContext) -> Response:
        """Send something again.

        303 to the outbox; sends the row with this `id` now. 404.
        """
        outbox_id = number(context.first("id"))
        again = await self._database.write(outbox.retry, [outbox_id], context.now)
        return redirect(f"outbox?done={'again' if again else 'nothing'}")
