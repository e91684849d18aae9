"""Outbox page: messages that were sent, wait or failed, and sending one again."""

from typing import Final

from commentsvc.admin.access import RequestContext, page_operation
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import number, redirect
from commentsvc.admin.review_queue import address
from commentsvc.db.schema.outbox import STATES
from commentsvc.http.forms import Form
from commentsvc.http.messages import Request, Response, first
from commentsvc.http.router import Route
from commentsvc.moderation.permissions import Permission
from commentsvc.outbox import outbox
from commentsvc.util.i18n import gettext as _

MOST: Final = 50  # rows on one page
_LAST: Final = 2**63 - 1
DONE: Final = {
    "again": _("It will be sent in a moment."),
    "nothing": _("There was nothing to send."),
}


OUTBOX = page_operation(
    "GET",
    "/moderation/outbox",
    "Mails and webhooks: what was sent, what waits or failed",
    Permission.READ_SERVICE,
)
RETRY = page_operation(
    "POST", "/moderation/outbox", "Send something again", Permission.DECIDE_SERVICE
)


class OutboxPages:
    """The handlers of the outbox page."""

    def __init__(self, context: AdminContext) -> None:
        self._database = context.service.database
        self._access = context.access
        self._layout = context.layout

    def routes(self) -> list[Route]:
        """Return the table of routes."""
        access = self._access
        return [
            access.page(OUTBOX, self.page),
            access.form(RETRY, self.retry),
        ]

    async def page(self, request: Request, context: RequestContext) -> Response:
        """GET /moderation/outbox[?state=S&before=N]: 200 with the newest rows.

        With `state`, only those in that state are listed.
        """
        form = request.parameters()
        state = first(form, "state") if first(form, "state") in STATES else ""
        before = number(first(form, "before")) if first(form, "before") else _LAST
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
            done=DONE.get(first(form, "done"), ""),
            older=address("outbox", state=state, before=rows[MOST - 1].id) if more else "",
        )

    async def retry(self, request: Request, context: RequestContext, form: Form) -> Response:
        """POST /moderation/outbox: 303 to the outbox; sends the row with this `id` now. 404."""
        post_id = number(first(form, "id"))
        again = await self._database.write(outbox.retry, [post_id], context.now)
        return redirect(f"outbox?done={'again' if again else 'nothing'}")
