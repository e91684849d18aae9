"""Outbox page: what was sent, what waits, what failed and why; and sending it again."""

from typing import Final

from commentsvc.admin.access import Gate, Visit
from commentsvc.admin.layout import Frame
from commentsvc.admin.render import number, see
from commentsvc.admin.review_queue import address
from commentsvc.db import outbox
from commentsvc.db.database import Database
from commentsvc.db.schema.outbox import FATES
from commentsvc.http.forms import Form
from commentsvc.http.messages import Request, Response, first
from commentsvc.http.router import Route

MOST: Final = 50  # rows on one page
_LAST: Final = 2**63 - 1
DONE: Final = {"again": "It will be sent in a moment.", "nothing": "There was nothing to send."}


class OutboxPages:
    """The handlers of the outbox's page."""

    def __init__(self, database: Database, gate: Gate, frame: Frame) -> None:
        """Take where the outbox is."""
        self._database = database
        self._gate = gate
        self._frame = frame

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        gate = self._gate
        return [
            Route("GET", "/moderation/outbox", gate.page(self.page)),
            Route("POST", "/moderation/outbox", gate.act(self.retry)),
        ]

    async def page(self, request: Request, visit: Visit) -> Response:
        """GET /moderation/outbox[?state=S&before=N]: 200 with the newest rows, or some of them."""
        form = request.parameters()
        state = first(form, "state") if first(form, "state") in FATES else ""
        before = number(first(form, "before")) if first(form, "before") else _LAST
        rows = await self._database.read(
            lambda reader: outbox.listing(reader, state or None, before, MOST + 1)
        )
        more = len(rows) > MOST
        return await self._frame.show(
            "outbox.html",
            visit,
            here="outbox",
            posts=rows[:MOST],
            backlogs=await self._database.read(outbox.backlogs),
            state=state,
            states=FATES,
            done=DONE.get(first(form, "done"), ""),
            older=address("outbox", state=state, before=rows[MOST - 1].id) if more else "",
        )

    async def retry(self, request: Request, visit: Visit, form: Form) -> Response:
        """POST /moderation/outbox: 303 to the outbox; the row of this `id` is due now. 404."""
        post_id = number(first(form, "id"))
        again = await self._database.write(lambda tx: outbox.retry(tx, [post_id], visit.now))
        return see(f"outbox?done={'again' if again else 'nothing'}")
