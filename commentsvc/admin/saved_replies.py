"""Page of saved replies: texts that moderators put into their answers."""

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import number, redirect
from commentsvc.comments.submission import SubmissionError
from commentsvc.http.messages import Response
from commentsvc.moderation import saved_replies
from commentsvc.moderation.permissions import Permission
from commentsvc.util.i18n import gettext as _


class SavedReplyPages:
    """The handlers of the page of saved replies."""

    def __init__(self, context: AdminContext) -> None:
        self._database = context.service.database
        self._layout = context.layout
        self._bounds = context.service.settings.comments

    @get("/replies", Permission.DECIDE_SERVICE)
    async def page(self, context: RequestContext) -> Response:
        """Saved replies.

        `?id=N`: 200 with all of them, and a form, which has that one.
        """
        return await self._show(context)

    @post("/replies", Permission.DECIDE_SERVICE)
    async def change(self, context: RequestContext) -> Response:
        """Save a reply, or delete one.

        303 to the list, with the `message` under the title `name`; or without the one with the id
        `delete`. 404, 422.
        """
        if "delete" in context.form:
            reply_id = number(context.first("delete"))
            await self._database.write(saved_replies.remove, reply_id)
            return redirect("replies?saved=1")
        title, text = context.first("name"), context.first("message").replace("\r\n", "\n")
        who, bounds = context.moderator.name, self._bounds
        try:
            await self._database.write(saved_replies.save, title, text, who, context.now, bounds)
        except SubmissionError as error:
            problem = " ".join(map(str, error.problems.values()))
            return await self._show(context.refused(422, problem), name=title, text=text)
        return redirect("replies?saved=1")

    async def _show(self, context: RequestContext, name: str = "", text: str = "") -> Response:
        replies = await self._database.read(saved_replies.listing)
        for reply in replies:
            if not name and str(reply.id) == context.first("id"):
                name, text = reply.title, reply.message
        return await self._layout.render(
            "saved_replies.html",
            context,
            here="replies",
            replies=replies,
            name=name,
            text=text,
            of=context.first("id"),
            title_length=saved_replies.TITLE_LENGTH,
            longest=self._bounds.message_length,
            saved=_("Saved.") if context.first("saved") else "",
        )
