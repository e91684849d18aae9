"""Comment page: answer, edit and pin a comment; its verdict and its history."""

from typing import Final, NamedTuple

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.comment_view import Viewer
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import number, redirect, target
from commentsvc.admin.review_queue import FlashMessage, result_message, with_flash
from commentsvc.api.images import HEADERS as IMAGE_HEADERS
from commentsvc.comments import images, search
from commentsvc.comments.submission import SubmissionError, message_from_text
from commentsvc.db.connection import Snapshot
from commentsvc.errors import NoteRefused, UnknownComment
from commentsvc.feedback import reports
from commentsvc.http.messages import NOT_STORED, HttpError, Response
from commentsvc.model import STATUSES, Entry
from commentsvc.moderation import (
    authorized,
    history,
    internal_notes,
    lists,
    pins,
    profiles,
    saved_replies,
    statements,
    undo,
)
from commentsvc.moderation.changes import ChangeResult
from commentsvc.moderation.history import HistoryEntry
from commentsvc.moderation.internal_notes import InternalNote
from commentsvc.moderation.permissions import Actor, Permission
from commentsvc.moderation.profiles import Profile
from commentsvc.moderation.review import MANY
from commentsvc.moderation.saved_replies import SavedReply
from commentsvc.moderation.statements import StatementOfReasons
from commentsvc.readers import accounts
from commentsvc.settings.schema import origins
from commentsvc.spam import bans
from commentsvc.util.i18n import canonical_tag
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import address_key
from commentsvc.util.text import excerpt, whole_number

NO_TAG: Final = _("This must be the tag of a language, such as de or pt-BR.")
LAST_COMMENTS: Final = 6  # of an author, on the page of one of them
SHOWN: Final = 100  # characters of each


class CommentDetails(NamedTuple):
    """What a comment's page shows; `profile` is the moderator's, `trust` as of `accounts.trust`."""

    entry: Entry
    viewer: Viewer
    history: list[HistoryEntry]
    done: FlashMessage | None
    seen: int
    network: str
    profile: Profile | None
    pinned: bool
    others: "AuthorHistory"
    trust: tuple[str, int] | None
    notes: list[InternalNote]
    author_notes: list[InternalNote]
    replies: list[SavedReply]
    statements: list[StatementOfReasons]


class AuthorHistory(NamedTuple):
    """The last comments with an author's address, each with the beginning of its text.

    `numbers` is how many of the newest have each status.
    """

    last: list[tuple[Entry, str]]
    numbers: dict[str, int]

    @classmethod
    def of(cls, snapshot: Snapshot, who: Actor, email: str) -> "AuthorHistory":
        """Return the history of an address on the sites of `who`; it is empty without one."""
        if not email:
            return cls([], {})
        found = search.find(
            snapshot, email, status="", sites=who.sites, limit=LAST_COMMENTS, before=None
        )
        numbers = {
            status: len(
                search.find_ids(snapshot, email, status=status, sites=who.sites, limit=MANY)
            )
            for status in STATUSES
        }
        last = [(entry, excerpt(entry.comment.html, SHOWN)) for entry in found.items]
        return cls(last, {status: number for status, number in numbers.items() if number})


class CommentPage:
    """The handlers of a comment's page."""

    def __init__(self, context: AdminContext) -> None:
        service = context.service
        self._database = service.database
        self._layout = context.layout
        self._origins = origins(service.settings.sites)
        self._bounds = service.settings.comments
        self._spam_from = service.settings.spam.spam_score
        self._mailing = service.settings.mailing_decisions

    @get("/comment", Permission.READ)
    async def page(self, context: RequestContext) -> Response:
        """One comment: its text, the verdict on it and its history.

        `?id=N&reply=R`: the answer begins with the saved reply R; 404 if there is no such comment.
        """
        return await self._show(context, number(context.first("id")))

    @get("/image", Permission.READ)
    async def image(self, context: RequestContext) -> Response:
        """A picture in a comment, also before it is shown.

        `?name=NAME`: 200 with a picture of a site of the moderator. 404.
        """
        name = context.first("name")
        found = await self._database.read(images.stored, name)
        for site, content in found.items():
            if context.actor.sees(site):
                return Response(200, (*IMAGE_HEADERS, NOT_STORED), content)
        raise HttpError(404, "not_found", _("Not found: %(reason)s.", reason=name))

    @post("/answer", Permission.DECIDE)
    async def answer(self, context: RequestContext) -> Response:
        """Answer a comment, and approve it if it waits.

        303 back; the comment `answer` is answered. 404, 409, 422. The text is in `text.N` for the
        comment N, since a list has a field for each comment.
        """
        comment_id = number(context.first("answer"))
        text = context.first(f"text.{comment_id}").replace("\r\n", "\n")
        try:
            message = message_from_text(text, self._bounds)
        except SubmissionError as error:
            problem = " ".join(map(str, error.problems.values()))
            return await self._show(context.refused(422, problem), comment_id, answer=text)

        result = await self._database.write(
            authorized.answer, context.actor, comment_id, message, context.now
        )
        approved = 1 if result.decision_id else 0
        done = f"answered.{approved}.0.{result.decision_id}"
        return redirect(with_flash(target(context.first("back")), done))

    @post("/pin", Permission.DECIDE)
    async def pin(self, context: RequestContext) -> Response:
        """Pin a comment to the top of its page, or unpin it.

        303 to the comment `pin` or `unpin`, which is changed. 404, 409.
        """
        comment_id = number(context.first("pin") or context.first("unpin"))
        await self._database.write(
            authorized.pin, context.actor, comment_id, pinned="pin" in context.form
        )
        return redirect(f"comment?id={comment_id}")

    @post("/trust", Permission.DECIDE)
    async def trust(self, context: RequestContext) -> Response:
        """Trust an author who has signed in, or no longer.

        303 back. `trust` or `distrust` is the id of the reader; 404.
        """
        reader_id = number(context.first("trust") or context.first("distrust"))
        await self._database.write(
            authorized.trust, context.actor, reader_id, context.now, trusted="trust" in context.form
        )
        return redirect(target(context.first("back")))

    @post("/internal-note", Permission.DECIDE)
    async def note(self, context: RequestContext) -> Response:
        """Add a note that only moderators see to a comment, or delete one.

        303 to the comment `id`. The note is in `internal`; or `delete` is the id of one. 404, 422.
        """
        comment_id = number(context.first("id"))
        write, who = self._database.write, context.actor
        if "delete" in context.form:
            note_id = number(context.first("delete"))
            await write(internal_notes.remove, who, comment_id, note_id)
        else:
            text = context.first("internal").replace("\r\n", "\n")
            try:
                await write(internal_notes.add, who, comment_id, text, context.now)
            except NoteRefused as error:
                return await self._show(context.refused(422, error.args[0]), comment_id, note=text)
        return redirect(f"comment?id={comment_id}&saved=1#notes")

    @post("/edit", Permission.DECIDE)
    async def edit(self, context: RequestContext) -> Response:
        """Change the text of a comment.

        303 to the comment, whose text becomes `message`. 404, 422.
        """
        comment_id = number(context.first("id"))
        text = context.first("message").replace("\r\n", "\n")
        try:
            message = message_from_text(text, self._bounds)
        except SubmissionError as error:
            problem = " ".join(map(str, error.problems.values()))
            return await self._show(context.refused(422, problem), comment_id, text=text)
        outcome = await self._database.write(
            authorized.edit, context.actor, comment_id, message, context.now
        )
        return _edited(comment_id, outcome)

    @post("/comment-language", Permission.DECIDE)
    async def correct_language(self, context: RequestContext) -> Response:
        """Correct the language of a comment.

        303 to the comment, whose language becomes `lang`. 404, 422.
        """
        comment_id, typed = number(context.first("id")), context.first("lang").strip()
        lang = canonical_tag(typed)
        if not lang:
            return await self._show(context.refused(422, NO_TAG), comment_id, lang=typed)
        outcome = await self._database.write(
            authorized.correct_language, context.actor, comment_id, lang, context.now
        )
        return _edited(comment_id, outcome)

    def _details(
        self, snapshot: Snapshot, context: RequestContext, comment_id: int
    ) -> CommentDetails:
        """Return what the page of a comment shows. Raise UnknownComment."""
        entry = authorized.find_comment(snapshot, context.actor, comment_id)
        viewer = Viewer(
            now=context.now,
            origins=self._origins,
            verdicts=lists.verdicts_of(snapshot, [comment_id]),
            parents=lists.parents_of(snapshot, [entry.comment]),
            reports=reports.of_comments(snapshot, [comment_id], reports.MOST),
            spam_from=self._spam_from,
            longest=self._bounds.message_length,
            mailing=self._mailing,
        )
        return CommentDetails(
            entry,
            viewer,
            history.entries(snapshot, comment_id, history.SHOWN),
            result_message(snapshot, context, undo.last_decision(snapshot, context.moderator.name)),
            snapshot.last_id("change"),
            bans.network_of(snapshot, comment_id),
            profiles.find(snapshot, context.moderator.moderator_id),
            pins.is_pinned(snapshot, comment_id),
            AuthorHistory.of(snapshot, context.actor, entry.comment.email),
            accounts.trust(snapshot, entry.comment.reader_id or 0),
            internal_notes.of_comment(snapshot, comment_id),
            internal_notes.of_author(
                snapshot,
                entry.comment,
                address_key(entry.comment.email),
                context.actor.sites,
            ),
            saved_replies.listing(snapshot),
            statements.of_comment(snapshot, comment_id),
        )

    async def _show(self, context: RequestContext, comment_id: int, **typed: str) -> Response:
        """Show a comment; `typed` has the typed `text`, `answer`, `note` or `lang`."""
        try:
            found = await self._database.read(self._details, context, comment_id)
        except UnknownComment as error:
            gone = _("This comment does not exist or was removed.")
            raise HttpError(404, "not_found", gone) from error
        entry = found.entry
        wanted = whole_number(context.first("reply"))
        chosen = next((each.message for each in found.replies if each.id == wanted), "")
        return await self._layout.render(
            "comment.html",
            context,
            here="",
            card=found.viewer.view(entry),
            history=found.history,
            network=found.network,
            profile=found.profile,
            pinned=found.pinned,
            others=found.others,
            trust=found.trust,
            internal=found.notes,
            of_author=found.author_notes,
            saved=_("Saved.") if context.first("saved") else "",
            replies=found.replies,
            statements=found.statements,
            grounds=statements.NAMES,
            note_length=internal_notes.LENGTH,
            **{
                "answer": chosen,
                "text": entry.comment.source,
                "note": "",
                "lang": entry.comment.lang,
                **typed,
            },
            longest=self._bounds.message_length,
            done=found.done,
            seen=found.seen,
            back=f"comment?id={comment_id}",
        )


def _edited(comment_id: int, outcome: ChangeResult) -> Response:
    """Return the answer that leads to a comment that was edited."""
    done = f"edited.{len(outcome.changed)}.0.{outcome.decision_id}"
    return redirect(f"comment?id={comment_id}&done={done}")
