"""The page of one comment: its text to edit, the verdict on it, and its history."""

from collections.abc import Sequence

from commentsvc.admin.access import Gate, Visit
from commentsvc.admin.comment_view import card
from commentsvc.admin.layout import Frame
from commentsvc.admin.render import number, see
from commentsvc.admin.review_queue import read_done
from commentsvc.comments import queries
from commentsvc.comments.submission import SubmissionError, message_from_text
from commentsvc.db.database import Database
from commentsvc.db.sqlite import Reader
from commentsvc.http.forms import Form
from commentsvc.http.messages import HttpError, Request, Response, first
from commentsvc.http.router import Route
from commentsvc.model import Entry
from commentsvc.moderation import actions, verdicts
from commentsvc.moderation.actions import Change
from commentsvc.moderation.verdicts import Told
from commentsvc.settings.schema import Comments, Site, origins
from commentsvc.spam import bans


class CommentPage:
    """The handlers of a comment's page."""

    def __init__(
        self,
        database: Database,
        gate: Gate,
        frame: Frame,
        sites: Sequence[Site],
        bounds: Comments,
    ) -> None:
        """Take where comments are, the sites of the settings, and the bounds of a text."""
        self._database = database
        self._gate = gate
        self._frame = frame
        self._origins = origins(sites)
        self._bounds = bounds

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        gate = self._gate
        return [
            Route("GET", "/moderation/comment", gate.page(self.page)),
            Route("POST", "/moderation/edit", gate.act(self.edit)),
        ]

    async def page(self, request: Request, visit: Visit) -> Response:
        """GET /moderation/comment?id=N: 200 with a comment and all that happened to it. 404."""
        form = request.parameters()
        return await self._show(visit, number(first(form, "id")), done=first(form, "done"))

    async def edit(self, request: Request, visit: Visit, form: Form) -> Response:
        """POST /moderation/edit: 303 to the comment, which has the text `message` now. 404, 422."""
        comment_id = number(first(form, "id"))
        text = first(form, "message").replace("\r\n", "\n")
        try:
            message = message_from_text(text, self._bounds)
        except SubmissionError as error:
            return await self._show(
                visit, comment_id, 422, problem=" ".join(error.problems.values()), text=text
            )
        who = visit.moderator.name
        outcome = await self._database.write(
            lambda tx: actions.edit(tx, comment_id, message, who, visit.now)
        )
        return see(f"comment?id={comment_id}&done=edited.{len(outcome.changed)}.0.{outcome.act}")

    async def _show(
        self,
        visit: Visit,
        comment_id: int,
        status: int = 200,
        *,
        done: str = "",
        problem: str = "",
        text: str | None = None,
    ) -> Response:
        def work(reader: Reader) -> tuple[Entry | None, dict[int, Told], list[Change], int, str]:
            return (
                queries.find(reader, comment_id),
                verdicts.of(reader, [comment_id]),
                actions.history(reader, comment_id),
                actions.last_act(reader, visit.moderator.name),
                bans.network_of(reader, comment_id),
            )

        entry, told, history, last_act, network = await self._database.read(work)
        if entry is None:
            raise HttpError(404, "not_found", "There is no such comment, or no more.")
        return await self._frame.show(
            "comment.html",
            visit,
            status,
            here="",
            card=card(entry, told, self._origins, visit.now),
            history=history,
            network=network,
            problem=problem,
            text=entry.comment.source if text is None else text,
            longest=self._bounds.message_length,
            done=read_done(done, last_act),
            back=f"comment?id={comment_id}",
        )
