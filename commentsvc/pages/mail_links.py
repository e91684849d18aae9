"""The pages that links in mails lead to. They need no session, since the link contains the key.

Mail scanners follow links, so GET only shows what a link would do, on a page with one button, and
POST does it. A page shows nothing that its mail did not contain. Its policy allows no scripts and
frames, and it sends no referrer, since its URL contains the key.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec

from commentsvc.api.errors import as_http
from commentsvc.api.parameters import FORMER, LinkQuery
from commentsvc.auth import signed_links
from commentsvc.auth.signed_links import LinkError, LinkExpired, SignedLinks
from commentsvc.comments import queries
from commentsvc.comments.submission import MessageText, SubmissionError, message_from_text
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.http.messages import NO_SNIFFING, NOT_STORED, HttpError, Request, Response, first
from commentsvc.http.operation import HTML, Operation, form_of
from commentsvc.http.router import Handler, Route, route
from commentsvc.model import APPROVED, DELETED, MOVES, PENDING, SPAM, Entry, fragment
from commentsvc.moderation import authorized, changes, profiles
from commentsvc.moderation.answers import AnswerResult
from commentsvc.moderation.profiles import Profile
from commentsvc.outbox.channels import recipients
from commentsvc.outbox.decision_links import LINK_DAYS
from commentsvc.readers import subscriptions
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import speaking, spoken
from commentsvc.util.origin import address_key
from commentsvc.util.templates import Templates
from commentsvc.util.timestamps import DAY_MS

TEMPLATES: Final = Templates("", is_lenient=True)
HEADERS = (
    ("Content-Type", "text/html; charset=utf-8"),
    NOT_STORED,
    NO_SNIFFING,
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'",
    ),
    ("Referrer-Policy", "no-referrer"),
    ("X-Robots-Tag", "noindex"),
)
# For each status that a link can give: the question, the button, and the result.
WORDS = {
    APPROVED: (_("Publish this comment?"), _("Approve"), _("The comment is published.")),
    SPAM: (_("Is this comment spam?"), _("Mark as spam"), _("The comment is marked as spam.")),
    DELETED: (_("Delete this comment?"), _("Delete"), _("The comment is deleted.")),
}
ALREADY = {
    APPROVED: _("The comment is already published."),
    SPAM: _("The comment is already marked as spam."),
    DELETED: _("The comment is already deleted."),
}
NO_MODERATOR: Final = _("No moderator has this email address any more.")


class AnswerFields(msgspec.Struct, frozen=True):
    """The form of an answer."""

    message: MessageText


def link_operation(method: str, path: str, summary: str) -> Operation[LinkQuery]:
    """Return the operation of a link in a mail; mail programs may add parameters to it."""
    return Operation(
        method=method,
        path=path,
        summary=summary,
        query=LinkQuery,
        ignores_unknown=True,
        answers=dict.fromkeys((200, 400, 404, 410, 503), HTML),
    )


ASK = link_operation("GET", "/mail/comment", "Ask a moderator to confirm what the link does")
ACT = link_operation("POST", "/mail/comment", "Do what the link says. It works once")
ASK_ANSWER = link_operation("GET", "/mail/answer", "Ask a moderator for an answer to a comment")
ANSWER = replace(
    link_operation("POST", "/mail/answer", "Answer a comment, and approve it if it waits"),
    body=form_of(AnswerFields),
)
ASK_TO_CONFIRM = link_operation("GET", "/mail/confirm", "Ask an author whether to mail replies")
CONFIRM = link_operation("POST", "/mail/confirm", "Mail replies from now on")
ASK_TO_STOP = link_operation("GET", "/mail/stop", "Ask an author whether to stop mailing replies")
STOP = link_operation("POST", "/mail/stop", "Stop mailing replies (RFC 8058)")


class AnswerTo(NamedTuple):
    """The comment that a link for an answer names, and the moderator who answers."""

    entry: Entry
    profile: Profile
    outbox_id: int


class LinkPages:
    """The handlers of the links in mails."""

    def __init__(self, service: ServiceContext) -> None:
        settings = service.settings
        self._database = service.database
        self._links = SignedLinks(service.keys)
        self._clock = service.clock
        self._bounds = settings.comments
        self._recipients = recipients(settings)
        self._titles = {site.name: site.title for site in settings.sites}
        self._sites = service.sites

    def routes(self) -> list[Route]:
        """Return the table of routes."""
        return [
            route(ASK, errors_as_pages(self.ask)),
            route(ACT, errors_as_pages(self.act)),
            route(ASK_ANSWER, errors_as_pages(self.ask_answer)),
            route(ANSWER, errors_as_pages(self.answer)),
            route(ASK_TO_CONFIRM, errors_as_pages(self.ask_to_confirm)),
            route(CONFIRM, errors_as_pages(self.confirm)),
            route(ASK_TO_STOP, errors_as_pages(self.ask_to_stop)),
            route(STOP, errors_as_pages(self.stop)),
        ]

    async def ask(self, request: Request) -> Response:
        """GET /mail/comment?t=T: 200 with a page that shows a comment and one button.

        404 for a link that is not ours, 410 for one that is over.
        """
        action, comment_id, _outbox_id, who = self._read(request)
        entry = await self._find(comment_id)
        await self._database.read(self._check, who, entry)
        return self._shown(action, entry)

    async def act(self, request: Request) -> Response:
        """POST /mail/comment?t=T: 200 with a page that says what was done. 404, 410 as above."""
        action, comment_id, outbox_id, who = self._read(request)
        now = self._clock.now_ms()

        def work(tx: Transaction) -> None:
            self._check(tx, who, entry)
            signed_links.mark_used(
                tx, f"{action} {comment_id} {outbox_id}", now, LINK_DAYS * DAY_MS
            )
            changes.change(tx, [comment_id], action, who, now)

        entry = await self._find(comment_id)
        await self._database.write(work)
        return rendered("link.html", 200, title=WORDS[action][2], back=self._address(entry))

    async def ask_answer(self, request: Request) -> Response:
        """GET /mail/answer?t=T: 200 with a page that shows a comment and a field for an answer.

        404 for a link that is not ours, 410 for one that is over.
        """
        return self._ask_answer(await self._answered(request))

    async def answer(self, request: Request) -> Response:
        """POST /mail/answer?t=T, a form: 200 with a page that says what was done.

        The comment is approved if it waits, and answered by `message`. 400 with the page again
        where the text cannot be taken. 404, 409, 410.
        """
        to = await self._answered(request)
        text = first(request.form(), "message").replace("\r\n", "\n")
        try:
            message = message_from_text(text, self._bounds)
        except SubmissionError as error:
            return self._ask_answer(to, text, " ".join(map(str, error.problems.values())))
        comment_id, now = to.entry.comment.id, self._clock.now_ms()

        def work(tx: Transaction) -> AnswerResult:
            signed_links.mark_used(
                tx, f"answer {comment_id} {to.outbox_id}", now, LINK_DAYS * DAY_MS
            )
            return authorized.answer(tx, to.profile.actor, comment_id, message, now)

        answer = (await self._database.write(work)).comment
        back = self._address(to.entry) + fragment(answer.id)
        return rendered("link.html", 200, title=_("Your answer is published."), back=back)

    async def ask_to_confirm(self, request: Request) -> Response:
        """GET /mail/confirm?t=T: 200 with a page that asks whether to mail answers. 404, 410."""
        _number, site = await self._subscriber("confirm", request)
        title = _("Get a mail when someone replies to you on %(site)s?", site=site)
        return rendered("link.html", 200, title=title, button=_("Yes, mail me about replies"))

    async def confirm(self, request: Request) -> Response:
        """POST /mail/confirm?t=T: 200; answers are mailed from now on. 404, 410."""
        number, _site = await self._subscriber("confirm", request)
        if not await self._database.write(subscriptions.confirm, number, self._clock.now_ms()):
            raise LinkExpired(signed_links.USED)
        title = _("You will get a mail when someone replies to you")
        return rendered("link.html", 200, title=title)

    async def ask_to_stop(self, request: Request) -> Response:
        """GET /mail/stop?t=T: 200 with a page that asks whether to mail no more. 404, 410."""
        _number, site = await self._subscriber("stop", request)
        title = _("Stop mails about replies on %(site)s?", site=site)
        return rendered("link.html", 200, title=title, button=_("Unsubscribe"))

    async def stop(self, request: Request) -> Response:
        """POST /mail/stop?t=T: 200; no answers are mailed any more (RFC 8058). 404, 410."""
        number, site = await self._subscriber("stop", request)
        await self._database.write(subscriptions.stop, number)
        return rendered(
            "link.html", 200, title=_("No more mails about replies on %(site)s", site=site)
        )

    async def _subscriber(self, purpose: str, request: Request) -> tuple[int, str]:
        """Return the subscriber that a link is for, and the title of the site. Raise LinkError."""
        token, name = ASK.read(request).t, None
        if token != FORMER:
            [number] = self._links.read(purpose, token, self._clock.now_ms())
            name = await self._database.read(subscriptions.site_of, number)
        if name is None or (purpose == "confirm" and name not in self._titles):
            raise LinkExpired(_("This subscription does not exist any more."))
        return number, self._titles.get(name) or name

    def _read(self, request: Request) -> tuple[str, int, int, str]:
        """Return a link's new status, the ids of comment and mail, and who got it.

        Raise LinkError.
        """
        token = ASK.read(request).t
        action, comment_id, outbox_id, who = self._links.read(
            "comment", token, self._clock.now_ms()
        )
        return action, comment_id, outbox_id, who

    def _check(self, snapshot: Snapshot, who: str, entry: Entry) -> Profile | None:
        """Return the profile of who got a link; None without an account.

        Raise LinkExpired if they may not decide any more.
        """
        profile = profiles.of_address(snapshot, who)
        is_recipient = (address_key(who) or who) in self._recipients
        if not is_recipient or not (profile is None or profile.decides_by_mail(entry.site)):
            raise LinkExpired(NO_MODERATOR)
        return profile

    async def _answered(self, request: Request) -> AnswerTo:
        """Return the comment and the moderator that a link for an answer names. Raise LinkError."""
        token = ASK_ANSWER.read(request).t
        comment_id, email, outbox_id = self._links.read("answer", token, self._clock.now_ms())
        entry = await self._find(comment_id)
        profile = await self._database.read(self._check, email, entry)
        if profile is None:
            raise LinkExpired(NO_MODERATOR)
        return AnswerTo(entry, profile, outbox_id)

    def _ask_answer(self, to: AnswerTo, text: str = "", problem: str = "") -> Response:
        status, back = to.entry.comment.status, self._address(to.entry)
        if status not in (PENDING, APPROVED):
            return rendered("link.html", 200, title=ALREADY[status], back=back)
        return rendered(
            "link.html",
            400 if problem else 200,
            title=_("Answer this comment"),
            entry=to.entry,
            author=to.profile.author,
            longest=self._bounds.message_length,
            text=text,
            problem=problem,
            button=_("Approve and answer") if status == PENDING else _("Answer"),
            back=back,
        )

    async def _find(self, comment_id: int) -> Entry:
        entry = await self._database.read(queries.find, comment_id)
        if entry is None or entry.site not in self._titles:
            raise LinkExpired(_("The comment does not exist any more."))
        return entry

    def _shown(self, action: str, entry: Entry) -> Response:
        question, button, _done = WORDS[action]
        back, status = self._address(entry), entry.comment.status
        if status not in MOVES[action]:
            return rendered("link.html", 200, title=ALREADY[status], back=back)
        return rendered("link.html", 200, title=question, button=button, entry=entry, back=back)

    def _address(self, entry: Entry) -> str:
        return self._sites.address(entry.site, entry.url)


def errors_as_pages(handler: Callable[[Request], Awaitable[Response]]) -> Handler:
    """Return `handler` in the language of the request, with errors as HTML pages."""

    async def handle(request: Request) -> Response:
        with speaking(request.language()):
            try:
                return await handler(request)
            except LinkError as failure:
                status = 410 if isinstance(failure, LinkExpired) else 404
                return _failed(HttpError(status, "link", failure.message))
            except Exception as failure:
                error = as_http(failure)
                if error is None:
                    raise
                return _failed(error)

    return handle


def _failed(error: HttpError) -> Response:
    return rendered("link.html", error.status, title=_("This did not work"), problem=error.message)


def rendered(template: str, status: int, **values: Any) -> Response:  # Any: what it shows
    """Return a page made from a template."""
    html = TEMPLATES.render(template, spoken(), **values)
    return Response(status, HEADERS, html.encode(errors="replace"))
