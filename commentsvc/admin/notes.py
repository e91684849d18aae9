"""Page of private notes: what readers wrote to the author alone, answers to them, and thanks."""

from typing import Final

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import number, redirect
from commentsvc.admin.review_queue import address, unreadable_decision
from commentsvc.api.errors import foreseen
from commentsvc.comments.submission import SubmissionError, message_from_text
from commentsvc.db.connection import Transaction
from commentsvc.http.messages import Response
from commentsvc.model import DONE, NEW, NOTE_STATES, SPAM
from commentsvc.moderation import private_notes
from commentsvc.moderation.permissions import Permission
from commentsvc.settings.schema import origins
from commentsvc.util.i18n import gettext as _

MOST: Final = 50  # notes on one page
_LAST: Final = 2**63 - 1
# The message after a change, by the value of `do` in its form.
MESSAGES: Final = {
    NEW: _("The note waits again."),
    DONE: _("The note is marked as done."),
    SPAM: _("The note is marked as spam."),
    "delete": _("The note is deleted."),
    "answer": _("Your answer is on its way."),
    "thank": _("Your thanks are published."),
}


class NotePages:
    """The handlers of the page of private notes."""

    def __init__(self, context: AdminContext) -> None:
        settings = context.service.settings
        self._database = context.service.database
        self._layout = context.layout
        self._origins = origins(settings.sites)
        self._languages = {site.name: site.language for site in settings.sites}
        self._bounds = settings.comments
        self._mails = bool(settings.mail.host)

    @get("/notes", Permission.DECIDE)
    async def page(self, context: RequestContext) -> Response:
        """Private notes of readers to the author.

        `?state=S&before=N`: 200 with the newest that are in that state, at first those that wait.
        """
        return await self._show(context)

    @post("/notes", Permission.DECIDE)
    async def change(self, context: RequestContext) -> Response:
        """Answer a private note, thank for it, mark it as done or spam, or delete it.

        303 to the list, after what `do` says with the note `id`; an answer is the `message`. 404,
        409, 422.
        """
        verb, note_id = context.first("do"), number(context.first("id"))
        if verb not in MESSAGES:
            raise unreadable_decision()
        who, now = context.actor, context.now
        text = ""
        if verb == "answer":
            try:
                text = message_from_text(context.first("message"), self._bounds)
            except SubmissionError as wrong:
                return await self._show(context.refused(422, wrong.problems["message"]))

        def work(tx: Transaction) -> None:
            note = private_notes.get(tx, who, note_id)
            if verb == "answer":
                private_notes.answer(tx, note, text, who.name, now)
            elif verb == "thank":
                private_notes.thank(tx, note, who, self._languages.get(note.site, ""), now)
            elif verb == "delete":
                private_notes.remove(tx, note)
            else:
                private_notes.move(tx, note, verb, who.name, now)

        try:
            await self._database.write(work)
        except Exception as failure:
            error = foreseen(failure)
            return await self._show(context.refused(error.status, error.message))
        return redirect(address("notes", state=context.first("state"), done=verb))

    async def _show(self, context: RequestContext) -> Response:
        state = context.first("state") if context.first("state") in NOTE_STATES else NEW
        before = number(context.first("before")) if context.first("before") else _LAST
        sites = context.actor.sites
        rows = await self._database.read(private_notes.listing, state, sites, before, MOST + 1)
        return await self._layout.render(
            "private_notes.html",
            context,
            here="notes",
            found=rows[:MOST],
            state=state,
            origins=self._origins,
            several=len(self._origins) > 1,
            mails=self._mails,
            longest=self._bounds.message_length,
            typed=(context.first("id"), context.first("message")),
            done=MESSAGES.get(context.first("done"), ""),
            older=address("notes", state=state, before=rows[MOST - 1].id)
            if len(rows) > MOST
            else "",
        )
