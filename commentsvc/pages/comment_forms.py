"""What readers without JavaScript do with existing comments: vote, react, report, edit, delete.

The page of a thread has a form for each comment (see `pages.embed`). The page that answers a new
comment has a form with its edit token, so its author can change it until the token expires.
"""

from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from commentsvc.api.author import AuthorActions
from commentsvc.api.errors import foreseen
from commentsvc.api.parameters import LanguageQuery
from commentsvc.api.serialize import status
from commentsvc.comments.page_urls import PageRef
from commentsvc.comments.submission import EMAIL_LENGTH, MessageText
from commentsvc.context import ServiceContext
from commentsvc.feedback.reports import EXPLANATION_LENGTH, NAME_LENGTH, NAMES, Reason
from commentsvc.http.messages import Request, Response
from commentsvc.http.operation import HTML as PAGE
from commentsvc.http.operation import NOTHING, Operation, form_of, read_fields
from commentsvc.http.router import Route, route
from commentsvc.model import fragment
from commentsvc.pages.embed import (
    ECHOED_FIELD,
    ECHOED_MESSAGE,
    OwnForm,
    answer_page,
    refusal_page,
    to_thread,
)
from commentsvc.pages.mail_links import AGAIN
from commentsvc.util.i18n import Language, find_language, requested_language
from commentsvc.util.text import whole_number

VOTES: Final = {"up": 1, "down": -1}
NO_EMOJI: Final = "none"  # takes a reaction back


class ActionFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of the forms of a comment."""

    comment: Annotated[
        str, Meta(description="The id of the comment.", pattern=r"^[1-9][0-9]{0,17}(?![\s\S])")
    ]
    do: Annotated[
        Literal["up", "down", "react", "report", "edit", "delete"],
        Meta(description="What happens to it. The last two need the `token`."),
    ] = "react"
    emoji: Annotated[
        str,
        Meta(
            description="The reaction, one of those that the site has chosen; `none` takes it back."
            " Without it, a page asks first."
        ),
    ] = ""
    token: Annotated[str, Meta(description="The edit token of the comment.")] = ""
    sure: Annotated[
        Literal["", "yes"],
        Meta(description="`yes` deletes the comment at once; otherwise a page asks first."),
    ] = ""
    reason: Annotated[
        Literal["", "illegal", "abuse", "spam", "other"],
        Meta(description="Why it is reported; without it, a page asks first."),
    ] = ""
    explanation: Annotated[
        str, Meta(description="An explanation for the moderators; its beginning is kept.")
    ] = ""
    name: Annotated[str, Meta(description="The name of who reports it.")] = ""
    email: Annotated[str, Meta(description="The address that is mailed the decision.")] = ""
    in_good_faith: Annotated[
        Literal["", "yes"], Meta(description="`yes` says that the report is accurate and complete.")
    ] = ""
    message: MessageText = ""


ACT = Operation(
    method="POST",
    path="/embed/actions",
    summary="Vote for, react to, report, edit or delete a comment by a plain form. Answers are HTML"
    " pages",
    query=LanguageQuery,
    body=form_of(ActionFields),
    answers={
        200: PAGE,
        303: NOTHING,
        **dict.fromkeys((400, 401, 403, 404, 409, 413, 415, 429, 503), PAGE),
    },
)


class ReportForm(NamedTuple):
    """The form that asks why a comment is reported, with what a reader typed."""

    id: int
    chosen: str = ""
    explanation: str = ""
    name: str = ""
    email: str = ""
    in_good_faith: bool = False
    notices: bool = False
    reasons: tuple[str, ...] = tuple(NAMES)
    longest: int = EXPLANATION_LENGTH


class ReactionForm(NamedTuple):
    """The form with the emoji for a comment, and the one that this network has chosen, or ""."""

    id: int
    offered: tuple[str, ...]
    own: str
    none: str = NO_EMOJI


class CommentForms:
    """The handler of forms about one comment."""

    def __init__(self, service: ServiceContext, actions: AuthorActions) -> None:
        self._actions = actions
        self._bounds = service.settings.comments
        self._sites = service.sites

    def routes(self) -> list[Route]:
        return [route(ACT, self.act)]

    async def act(self, request: Request) -> Response:
        """POST /embed/actions, a form with `comment` and `do`: an HTML page with the result.

        Votes and reactions lead back to the comment with 303. To delete a comment, `sure=yes` is
        needed too, a `reason` to report one, and an `emoji` to react to it; otherwise the page
        shows the comment and asks. Without scripts, readers have no word that identifies them, so a
        network has one vote or reaction for each comment of others. 400, 401, 403, 404, 409,
        413, 415, 429 or 503 with the reason.
        """
        language = find_language(requested_language(request.query))
        own = reporting = None
        try:
            ACT.read(request)
            form = {field: texts[0] for field, texts in request.form().items()}
            number = whole_number(form.get("comment", "")) or 0
            if number and form.get("do") == "edit":
                token, message = form.get("token", ""), form.get("message", "")
                own = OwnForm(number, token[:ECHOED_FIELD], message[:ECHOED_MESSAGE])
            elif number and form.get("do") == "report" and form.get("reason") in NAMES:
                said = form.get("explanation", "")[:EXPLANATION_LENGTH]
                reporting = ReportForm(
                    number,
                    form["reason"],
                    said,
                    form.get("name", "")[:NAME_LENGTH],
                    form.get("email", "")[:EMAIL_LENGTH],
                    form.get("in_good_faith") == "yes",
                    # What was typed there is shown again, where it was asked for
                    notices="email" in form,
                )
            sent = read_fields(form, ActionFields)
            number = int(sent.comment)
            if sent.do in VOTES:
                entry = await self._actions.vote_by_form(request, number, VOTES[sent.do])
                return to_thread(PageRef(entry.site, entry.url), language, fragment(number))
            if sent.do == "react":
                return await self._react(request, sent, language)
            if sent.do == "report":
                return await self._report(request, sent, language)
            if sent.do == "delete":
                return await self._delete(request, sent, language)
            entry = await self._actions.edit_by_form(request, number, sent.token, sent.message)
        except Exception as failure:
            error = foreseen(failure)
            return refusal_page(
                error,
                language,
                self._sites.blogs(),
                own=own,
                bounds=self._bounds,
                reporting=reporting if error.status in AGAIN else None,
            )
        comment = entry.comment
        return answer_page(
            language,
            language.widget[status(comment)],
            self._sites.blogs(entry.site),
            comment=comment,
            own=own,
            bounds=self._bounds,
            back=self._sites.address(entry.site, entry.url),
        )

    async def _react(self, request: Request, sent: ActionFields, language: Language) -> Response:
        """Ask a reader for a reaction, or store it. Raise as AuthorActions."""
        number = int(sent.comment)
        if sent.emoji:
            emoji = "" if sent.emoji == NO_EMOJI else sent.emoji
            entry = await self._actions.react_by_form(request, number, emoji)
            return to_thread(PageRef(entry.site, entry.url), language, fragment(number))
        entry, own = self._actions.find_reacted(request, number)
        return answer_page(
            language,
            "",
            self._sites.blogs(entry.site),
            comment=entry.comment,
            reacting=ReactionForm(number, self._sites.options[entry.site].emoji, own),
            back=self._sites.address(entry.site, entry.url) + fragment(number),
        )

    async def _report(self, request: Request, sent: ActionFields, language: Language) -> Response:
        """Ask a reader why to report a comment, or store the report. Raise as AuthorActions."""
        number = int(sent.comment)
        if sent.reason:
            faith = int(sent.in_good_faith == "yes")
            reason = Reason(
                sent.reason,
                sent.explanation,
                sent.name,
                sent.email[: EMAIL_LENGTH + 1],
                in_good_faith=faith,
            )
            entry = await self._actions.report_by_form(request, number, reason)
            back = self._sites.address(entry.site, entry.url) + fragment(number)
            blogs = self._sites.blogs(entry.site)
            return answer_page(language, language.tools["reported"], blogs, back=back)
        entry = self._actions.find_shown(request, number)
        return answer_page(
            language,
            "",
            self._sites.blogs(entry.site),
            comment=entry.comment,
            reporting=ReportForm(number, notices=self._sites.options[entry.site].notices),
            back=self._sites.address(entry.site, entry.url) + fragment(number),
        )

    async def _delete(self, request: Request, sent: ActionFields, language: Language) -> Response:
        """Ask the author whether to delete a comment, or delete it. Raise as AuthorActions."""
        number = int(sent.comment)
        if sent.sure:
            entry = await self._actions.delete_by_form(request, number, sent.token)
            back = self._sites.address(entry.site, entry.url)
            blogs = self._sites.blogs(entry.site)
            return answer_page(language, language.tools["deleted"], blogs, back=back)
        entry = self._actions.find_by_form(request, number, sent.token)
        return answer_page(
            language,
            "",
            self._sites.blogs(entry.site),
            comment=entry.comment,
            deleting=OwnForm(number, sent.token, ""),
            back=self._sites.address(entry.site, entry.url) + fragment(number),
        )
