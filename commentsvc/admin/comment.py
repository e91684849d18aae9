"""The page of one comment: its text to edit, the verdict on it, and its history."""

from commentsvc.admin.access import AccessControl, RequestContext, page_operation
from commentsvc.admin.comment_view import Viewer
from commentsvc.admin.layout import Layout
from commentsvc.admin.render import number, redirect
from commentsvc.admin.review_queue import flash_message
from commentsvc.comments import queries
from commentsvc.comments.submission import SubmissionError, message_from_text
from commentsvc.context import ServiceContext
from commentsvc.db.sqlite import Reader
from commentsvc.http.forms import Form
from commentsvc.http.messages import HttpError, Request, Response, first
from commentsvc.http.router import Route, route
from commentsvc.model import Entry
from commentsvc.moderation import actions, lists
from commentsvc.moderation.actions import HistoryEntry
from commentsvc.settings.schema import origins
from commentsvc.spam import bans
from commentsvc.util.i18n import translate

COMMENT = page_operation(
    "GET", "/moderation/comment", "One comment: its text, the verdict on it and its history"
)
EDIT = page_operation("POST", "/moderation/edit", "Change the text of a comment")


class CommentPage:
    """The handlers of a comment's page."""

    def __init__(self, service: ServiceContext, access: AccessControl, layout: Layout) -> None:
        self._database = service.database
        self._access = access
        self._layout = layout
        self._origins = origins(service.settings.sites)
        self._bounds = service.settings.comments
        self._spam_from = service.settings.spam.spam_score

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        access = self._access
        return [
            route(COMMENT, access.login_required(self.page)),
            route(EDIT, access.login_required_form(self.edit)),
        ]

    async def page(self, request: Request, context: RequestContext) -> Response:
        """GET /moderation/comment?id=N: 200 with a comment and all that happened to it. 404."""
        form = request.parameters()
        return await self._show(context, number(first(form, "id")), done=first(form, "done"))

    async def edit(self, request: Request, context: RequestContext, form: Form) -> Response:
        """POST /moderation/edit: 303 to the comment, which has the text `message` now. 404, 422."""
        comment_id = number(first(form, "id"))
        text = first(form, "message").replace("\r\n", "\n")
        try:
            message = message_from_text(text, self._bounds)
        except SubmissionError as error:
            problem = " ".join(map(translate, error.problems.values()))
            return await self._show(context, comment_id, 422, problem=problem, text=text)
        who = context.moderator.name
        outcome = await self._database.write(actions.edit, comment_id, message, who, context.now)
        return redirect(
            f"comment?id={comment_id}&done=edited.{len(outcome.changed)}.0.{outcome.decision_id}"
        )

    async def _show(
        self,
        context: RequestContext,
        comment_id: int,
        status: int = 200,
        *,
        done: str = "",
        problem: str = "",
        text: str | None = None,
    ) -> Response:
        def work(
            reader: Reader,
        ) -> tuple[Entry | None, Viewer, list[HistoryEntry], int, str]:
            entry = queries.find(reader, comment_id)
            viewer = Viewer(
                now=context.now,
                origins=self._origins,
                verdicts=lists.verdicts_of(reader, [comment_id]),
                parents=lists.parents_of(reader, [entry.comment] if entry else []),
                spam_from=self._spam_from,
            )
            return (
                entry,
                viewer,
                actions.history(reader, comment_id),
                actions.last_act(reader, context.moderator.name),
                bans.network_of(reader, comment_id),
            )

        entry, viewer, history, last_act, network = await self._database.read(work)
        if entry is None:
            raise HttpError(404, "not_found", "There is no such comment, or no more.")
        return await self._layout.render(
            "comment.html",
            context,
            status,
            here="",
            card=viewer.view(entry),
            history=history,
            network=network,
            problem=problem,
            text=entry.comment.source if text is None else text,
            longest=self._bounds.message_length,
            done=flash_message(done, last_act),
            back=f"comment?id={comment_id}",
        )
