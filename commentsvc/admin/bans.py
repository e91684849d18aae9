"""Ban page: what is not welcome, until when, and lifting it."""

from typing import Final

from commentsvc.admin.access import Gate, Visit
from commentsvc.admin.layout import Frame
from commentsvc.admin.render import number, see
from commentsvc.admin.review_queue import unreadable_decision
from commentsvc.comments import errors
from commentsvc.db.database import Database
from commentsvc.http.forms import Form
from commentsvc.http.messages import Request, Response, first
from commentsvc.http.router import Route
from commentsvc.model import BANS
from commentsvc.spam import bans
from commentsvc.util.timestamps import DAY

SPANS: Final = {"": "for good", "7": "for a week", "30": "for a month", "365": "for a year"}
VALUE_LENGTH: Final = 300  # characters of what is to be banned
DONE: Final = {"added": "That is banned from now on.", "lifted": "The ban is lifted."}


class BanPages:
    """The handlers of the bans' page."""

    def __init__(self, database: Database, gate: Gate, frame: Frame) -> None:
        """Take where bans are."""
        self._database = database
        self._gate = gate
        self._frame = frame

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        gate = self._gate
        return [
            Route("GET", "/moderation/bans", gate.page(self.page)),
            Route("POST", "/moderation/ban", gate.act(self.add)),
            Route("POST", "/moderation/unban", gate.act(self.remove)),
        ]

    async def page(self, request: Request, visit: Visit) -> Response:
        """GET /moderation/bans[?kind=K&value=V]: 200 with all bans, and a form for a new one."""
        form = request.parameters()
        return await self._show(visit, form, done=DONE.get(first(form, "done"), ""))

    async def add(self, request: Request, visit: Visit, form: Form) -> Response:
        """POST /moderation/ban: 303 to the bans, with a new one. 400, 422."""
        kind, value, days = first(form, "kind"), first(form, "value"), first(form, "days")
        if kind not in BANS or days not in SPANS:
            raise unreadable_decision()
        expires = visit.now + int(days) * DAY if days else None
        who = visit.moderator.name
        try:
            await self._database.write(
                lambda tx: bans.add(tx, kind, value[:VALUE_LENGTH], who, visit.now, expires)
            )
        except errors.BanRefused as error:
            return await self._show(visit, form, 422, problem=f"That cannot be done: {error}.")
        return see("bans?done=added")

    async def remove(self, request: Request, visit: Visit, form: Form) -> Response:
        """POST /moderation/unban: 303 to the bans, without the one of this `id`. 404, 409."""
        ban_id = number(first(form, "id"))
        await self._database.write(lambda tx: bans.remove(tx, ban_id))
        return see("bans?done=lifted")

    async def _show(
        self, visit: Visit, form: Form, status: int = 200, *, done: str = "", problem: str = ""
    ) -> Response:
        return await self._frame.show(
            "bans.html",
            visit,
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
