"""The pages that links in mails lead to. They need no session, since the link contains the key.

Mail scanners follow links, so GET only shows what a link would do, on a page with one button, and
POST does it. A page shows nothing that its mail did not contain. Its policy allows no scripts and
frames, and it sends no referrer, since its URL contains the key.
"""

from contextvars import ContextVar
from functools import partial
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from commentsvc.api.errors import foreseen
from commentsvc.api.parameters import FORMER, LinkQuery
from commentsvc.auth import signed_links
from commentsvc.auth.signed_links import LinkError, LinkExpired, SignedLinks
from commentsvc.comments import queries
from commentsvc.comments.page_urls import Blog, Sites
from commentsvc.comments.submission import MessageText, SubmissionError, message_from_text
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.delivery.channels import recipients
from commentsvc.delivery.decision_links import LINK_DAYS
from commentsvc.delivery.mail_contents import OUTCOMES
from commentsvc.feedback import reports
from commentsvc.feedback.reports import Reason
from commentsvc.http.messages import (
    HTML_UTF8,
    NO_SNIFFING,
    NOT_STORED,
    HttpError,
    Request,
    Response,
    first,
)
from commentsvc.http.operation import HTML, form_of, handles
from commentsvc.http.router import Handler
from commentsvc.model import APPROVED, DELETED, MOVES, PENDING, SPAM, Entry, fragment
from commentsvc.moderation import authorized, changes, notices, profiles
from commentsvc.moderation.answers import AnswerResult
from commentsvc.moderation.profiles import Profile
from commentsvc.pages.error_pages import START_AGAIN, blogs_of
from commentsvc.readers import subscriptions
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import speaking, spoken
from commentsvc.util.origin import address_key
from commentsvc.util.templates import Templates
from commentsvc.util.timestamps import DAY_MS

TEMPLATES: Final = Templates("", is_lenient=True)
LINK: Final = "link"  # the code of errors of links
FOR_MODERATORS: Final = ("/mail/comment", "/mail/answer")
_BLOGS: Final = ContextVar[list[Blog]]("blogs")
HEADERS = (
    ("Content-Type", HTML_UTF8),
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

KEPT_LENGTH: Final = 16_384  # characters of a text that is shown with an error


class ObjectionFields(msgspec.Struct, frozen=True):
    """The form of an objection."""

    message: Annotated[str, Meta(description="Why; its beginning is kept.")] = ""


class AnswerFields(msgspec.Struct, frozen=True):
    """The form of an answer."""

    message: MessageText


# A link in a mail: its pages are HTML. Mail programs may add parameters to it.
handles_link = partial(
    handles, answer=dict.fromkeys((200, 400, 404, 410, 503), HTML), ignores_unknown=True, errors=()
)


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

    @handles_link("GET", "/mail/comment")
    async def ask(self, query: LinkQuery) -> Response:
        """Ask a moderator to confirm what the link does.

        404 for a link that is not ours, 410 for one that is over.
        """
        action, comment_id, _outbox_id, who = self._read(query.t)
        entry = await self._find(comment_id)
        await self._database.read(self._check, who, entry)
        return self._shown(action, entry)

    @handles_link("POST", "/mail/comment")
    async def act(self, query: LinkQuery) -> Response:
        """Do what the link says. It works once."""
        action, comment_id, outbox_id, who = self._read(query.t)
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

    @handles_link("GET", "/mail/answer")
    async def ask_answer(self, query: LinkQuery) -> Response:
        """Ask a moderator for an answer to a comment.

        404 for a link that is not ours, 410 for one that is over.
        """
        return self._ask_answer(await self._answered(query.t))

    @handles_link("POST", "/mail/answer", body=form_of(AnswerFields))
    async def answer(self, request: Request, query: LinkQuery) -> Response:
        """Answer a comment, and approve it if it waits.

        The comment is approved if it waits, and answered by `message`. 400 with the page again
        where the text cannot be taken. 404, 409, 410.
        """
        to = await self._answered(query.t)
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

    @handles_link("GET", "/mail/confirm")
    async def ask_to_confirm(self, query: LinkQuery) -> Response:
        """Ask an author whether to mail replies."""
        _number, site = await self._subscriber("confirm", query.t)
        title = _("Get a mail when someone replies to you on %(site)s?", site=site)
        return rendered("link.html", 200, title=title, button=_("Yes, mail me about replies"))

    @handles_link("POST", "/mail/confirm")
    async def confirm(self, query: LinkQuery) -> Response:
        """Mail replies from now on."""
        number, _site = await self._subscriber("confirm", query.t)
        if not await self._database.write(subscriptions.confirm, number, self._clock.now_ms()):
            raise LinkExpired(signed_links.USED)
        title = _("You will get a mail when someone replies to you")
        return rendered("link.html", 200, title=title)

    @handles_link("GET", "/mail/stop")
    async def ask_to_stop(self, query: LinkQuery) -> Response:
        """Ask an author whether to stop mailing replies."""
        _number, site = await self._subscriber("stop", query.t)
        title = _("Stop mails about replies on %(site)s?", site=site)
        return rendered("link.html", 200, title=title, button=_("Unsubscribe"))

    @handles_link("POST", "/mail/stop")
    async def stop(self, query: LinkQuery) -> Response:
        """Stop mailing replies (RFC 8058)."""
        number, site = await self._subscriber("stop", query.t)
        await self._database.write(subscriptions.stop, number)
        return rendered(
            "link.html", 200, title=_("No more mails about replies on %(site)s", site=site)
        )

    @handles_link("GET", "/mail/object")
    async def ask_to_object(self, query: LinkQuery) -> Response:
        """Ask for an objection to a decision about a comment.

        404 for a link that is not ours, 410 for one that is over.
        """
        status, comment_id, _email, outbox_id = self._links.read(
            "object", query.t, self._clock.now_ms()
        )
        entry = await self._find(comment_id)
        back = self._address(entry)
        if status != entry.comment.status:
            return rendered("link.html", 200, title=OUTCOMES[entry.comment.status], back=back)
        objects = _("Object to the decision")
        said = await self._database.read(notices.statement, outbox_id)
        shown = {"title": objects, "button": objects, "objects": True, "statement": said}
        return rendered("link.html", 200, **shown, back=back)

    @handles_link("POST", "/mail/object", body=form_of(ObjectionFields))
    async def object(self, request: Request, query: LinkQuery) -> Response:
        """Object to a decision about a comment, once.

        A person decides again, with the `message`. 404, 410.
        """
        status, comment_id, email, outbox_id = self._links.read(
            "object", query.t, self._clock.now_ms()
        )
        entry = await self._find(comment_id)
        now, language = self._clock.now_ms(), request.language()
        text = first(request.form(), "message")
        reason = Reason("", text, "", email, language.tag, objects=1)

        def work(tx: Transaction) -> None:
            signed_links.mark_used(
                tx, f"object {comment_id} {outbox_id}", now, notices.OBJECTION_MS
            )
            reports.report(tx, comment_id, f"{outbox_id} objects", now, reason)

        back = self._address(entry)
        if status != entry.comment.status:
            return rendered("link.html", 200, title=OUTCOMES[entry.comment.status], back=back)
        await self._database.write(work)
        return rendered("link.html", 200, title=language.tools["reported"], back=back)

    async def _subscriber(self, purpose: str, token: str) -> tuple[int, str]:
        """Return the subscriber that a link is for, and the title of the site. Raise LinkError."""
        found = None
        if token != FORMER:
            [named] = self._links.read(purpose, token, self._clock.now_ms())
            found = await self._database.read(subscriptions.find, named)
        if found is None or (purpose == "confirm" and found[1] not in self._titles):
            raise LinkExpired(_("This subscription does not exist any more."))
        number, name = found
        names(self._sites.blogs(name))
        return number, self._titles.get(name) or name

    def _read(self, token: str) -> tuple[str, int, int, str]:
        """Return a link's new status, the ids of comment and mail, and who got it.

        Raise LinkError.
        """
        action, comment_id, outbox_id, who = self._links.read(
            "comment", token, self._clock.now_ms()
        )
        return action, comment_id, outbox_id, who

    def _check(self, snapshot: Snapshot, who: str, entry: Entry) -> Profile | None:
        """Return the profile of who got a link; None without an account.

        Raise LinkExpired if they may not decide any more.
        """
        profile = profiles.of_address(snapshot, who)
        is_recipient = address_key(who) in self._recipients
        if not is_recipient or not (profile is None or profile.decides_by_mail(entry.site)):
            raise LinkExpired(NO_MODERATOR)
        return profile

    async def _answered(self, token: str) -> AnswerTo:
        """Return the comment and the moderator that a link for an answer names. Raise LinkError."""
        comment_id, email, outbox_id = self._links.read("answer", token, self._clock.now_ms())
        entry = await self._find(comment_id)
        profile = await self._database.read(self._check, email, entry)
        if profile is None:
            raise LinkExpired(NO_MODERATOR)
        return AnswerTo(entry, profile, outbox_id)

    def _ask_answer(self, to: AnswerTo, text: str = "", problem: str = "") -> Response:
        status, back = to.entry.comment.status, self._address(to.entry)
        if status not in (PENDING, APPROVED):
            kept = {"message": text} if text else {}
            return rendered("link.html", 200, title=ALREADY[status], back=back, kept=kept)
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
        names(self._sites.blogs(entry.site))
        return entry

    def _shown(self, action: str, entry: Entry) -> Response:
        question, button, _done = WORDS[action]
        back, status = self._address(entry), entry.comment.status
        if status not in MOVES[action]:
            return rendered("link.html", 200, title=ALREADY[status], back=back)
        return rendered("link.html", 200, title=question, button=button, entry=entry, back=back)

    def _address(self, entry: Entry) -> str:
        return self._sites.address(entry.site, entry.url)


def errors_as_pages(sites: Sites, handler: Handler) -> Handler:
    """Return `handler` in the language of the request, with errors as HTML pages.

    They name the blog that the handler says (`names`), that of the request, or all.
    """

    async def handle(request: Request) -> Response:
        _BLOGS.set(blogs_of(sites, request))
        with speaking(request.language()):
            try:
                answer = handler(request)
                return answer if isinstance(answer, Response) else await answer
            except LinkError as failure:
                status = 410 if isinstance(failure, LinkExpired) else 404
                error = HttpError(status, LINK, failure.message)
            except Exception as failure:
                error = foreseen(failure)
            return _failed(error, _kept(request), request.path in FOR_MODERATORS)

    return handle


# Errors of which the same form can be sent again, perhaps later; others stay.
AGAIN: Final = (400, 413, 429, 500, 503)


def _kept(request: Request) -> dict[str, str]:
    """Return what was typed into a form, to be shown with the error."""
    try:
        form = request.form() if request.method == "POST" else {}
    except HttpError:
        return {}
    texts = {name: first(form, name)[:KEPT_LENGTH] for name in ("message", "email", "name")}
    return {name: text for name, text in texts.items() if text}


def _failed(error: HttpError, kept: dict[str, str], moderates: bool) -> Response:
    """Return the page of an error; who `moderates` can decide after signing in, too."""
    return rendered(
        "link.html",
        error.status,
        title=_("This did not work"),
        problem=error.message,
        texts=(START_AGAIN,) if error.code == LINK and not moderates else (),
        kept=kept,
        again=error.status in AGAIN,
        moderates=moderates,
    )


def names(blogs: list[Blog]) -> None:
    """Have the pages that answer the current request name these blogs."""
    _BLOGS.set(blogs)


def to_html(template: str, **values: Any) -> bytes:  # Any: what it shows
    """Return a page that names the blog, made from a template."""
    html = TEMPLATES.render(template, spoken(), blogs=_BLOGS.get(), **values)
    return html.encode(errors="replace")


def rendered(template: str, status: int, **values: Any) -> Response:  # Any: what it shows
    """Return a page made from a template."""
    return Response(status, HEADERS, to_html(template, **values))
