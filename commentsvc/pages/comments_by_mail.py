"""Comments by mail: the page with the link to write one, and the page that sends it.

The link opens the reader's mail program with the signed address of the page. It stands on a page of
ours alone, not in forms, feeds and static files: these have a link to that page, so they need no
key, stay the same for ever, and do not hand the address to programs that collect addresses. It is
made anew for each request, and expires.

A mail proves nothing about its sender, who gets a mail back. The page of the link in it shows the
comment, and sends it as a form does: with the same checks, and as coming from the network of who
opened the page.
"""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Final
from urllib.parse import quote

import msgspec
from msgspec import Meta

from commentsvc.api.parameters import LanguageTag, LinkQuery, PageQuery
from commentsvc.api.serialize import status
from commentsvc.api.submit import HttpSubmissions
from commentsvc.auth import signed_links
from commentsvc.auth.reply_addresses import ReplyAddresses
from commentsvc.auth.signed_links import LinkExpired, SignedLinks
from commentsvc.comments.submission import (
    AuthorSite,
    MessageText,
    SubmissionError,
    SubmissionFields,
    check,
)
from commentsvc.context import ServiceContext
from commentsvc.http.messages import HttpError, Request, Response
from commentsvc.http.operation import HTML, form_of, handles
from commentsvc.model import APPROVED, fragment
from commentsvc.pages.mail_links import handles_link, names, rendered
from commentsvc.readers import mailed_comments
from commentsvc.readers.mailed_comments import WaitingComment
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import spoken
from commentsvc.util.timestamps import DAY_MS

ADDRESS_DAYS: Final = 30  # for which the address of a page works


class WriteByMailQuery(PageQuery, frozen=True):
    """The page to comment on, and the language of this one and of the mails."""

    lang: LanguageTag = "en"


class MailedForm(msgspec.Struct, frozen=True):
    """The form that sends a comment which came by mail."""

    message: MessageText
    name: Annotated[str, Meta(description="The author's name.")] = ""
    site: AuthorSite = ""
    agreed: Annotated[str, Meta(description="Anything: the author agrees, if the site asks.")] = ""


class CommentsByMail:
    """The handlers of these pages; they answer 404 for a site that takes no comments by mail."""

    def __init__(self, service: ServiceContext, submissions: HttpSubmissions) -> None:
        settings = service.settings
        self._taking = {site.name for site in settings.sites if site.comments_by_mail}
        self._addresses = ReplyAddresses(service.keys, settings.inbox.address)
        self._secret = hashlib.blake2b(service.keys[0], person=b"comment by mail").digest()
        self._links = SignedLinks(service.keys)
        self._submissions = submissions
        self._bounds = settings.comments
        self._database = service.database
        self._sites = service.sites
        self._clock = service.clock

    @handles(
        "GET", "/mail/write", dict.fromkeys((200, 400, 404), HTML), ignores_unknown=True, errors=()
    )
    async def write(self, query: WriteByMailQuery) -> Response:
        """Show a link that opens a mail to the address of a page.

        404 where no comments are taken by mail.
        """
        page = self._sites.locate(query.url, query.site)
        if page.site not in self._taking:
            raise HttpError(404, "not_found", _("There is no such page."))
        names(self._sites.blogs(page.site))
        expires = self._clock.now_ms() + ADDRESS_DAYS * DAY_MS
        to = self._addresses.make_for_page(*page, spoken().tag, expires)
        address = self._sites.address(*page)
        subject = quote(str(_("Comment on %(page)s", page=address)), safe="")
        return rendered(
            "by_mail.html",
            200,
            title=spoken().form["byMail"],
            page=address,
            options=self._sites.options[page.site],
            mailto=f"mailto:{to}?subject={subject}",
        )

    @handles_link("GET", "/mail/submit")
    async def ask(self, query: LinkQuery) -> Response:
        """Ask who wrote a comment by mail whether to send it.

        404 for a link that is not ours, 410 for one that is over.
        """
        waiting = await self._waiting(query.t)
        return self._asking(waiting, {"name": waiting.author, "message": waiting.words})

    @handles_link(
        "POST",
        "/mail/submit",
        answer=dict.fromkeys((200, 400, 403, 404, 409, 410, 429, 503), HTML),
        body=form_of(MailedForm),
    )
    async def submit(self, request: Request, query: LinkQuery) -> Response:
        """Send a comment that came by mail, once.

        400 with the form again where a field is wrong.
        """
        waiting = await self._waiting(query.t)
        network = self._submissions.admit(request)
        form = {name: texts[0] for name, texts in request.form().items()}
        fields = SubmissionFields(
            url=self._sites.address(waiting.site, waiting.url),
            author=form.get("name", ""),
            message=form.get("message", ""),
            email=waiting.email,
            site=form.get("site"),
            key=self._key(waiting),
            agreed=bool(form.get("agreed")),
        )
        rules = self._submissions.rules(request, self._sites.locator(waiting.site))
        try:
            submission = check(fields, rules)
        except SubmissionError as error:
            return self._asking(waiting, form, error)
        # The link takes the place of a form token, as for clients that know none.
        submission = msgspec.structs.replace(submission, form_token=None)
        accepted, _headers = await self._submissions.submit(request, network, submission)
        now = self._clock.now_ms()
        await self._database.write(mailed_comments.finish, waiting.id, now)
        comment = accepted.comment
        part = fragment(comment.id) if comment.status == APPROVED else ""
        return rendered(
            "dialog.html",
            200,
            title=spoken().widget[status(comment)],
            back=self._sites.address(waiting.site, waiting.url) + part,
        )

    def _asking(
        self,
        waiting: WaitingComment,
        values: Mapping[str, str],
        error: SubmissionError | None = None,
    ) -> Response:
        """Return the form that sends a comment, with the fields that the site asks for."""
        problems = error.problems if error else {}
        return rendered(
            "by_mail.html",
            400 if error else 200,
            title=_("Do you want to send your comment?"),
            page=self._sites.address(waiting.site, waiting.url),
            options=self._sites.options[waiting.site],
            values=values,
            bounds=self._bounds,
            problem=" ".join(map(str, problems.values())),
            button=spoken().widget["send"],
        )

    async def _waiting(self, token: str) -> WaitingComment:
        """Return the comment that a link is for. Raise LinkError."""
        now = self._clock.now_ms()
        number, moment = self._links.read("submit", token, now)
        waiting = await self._database.read(mailed_comments.find, number, moment, now)
        if waiting is None or not waiting.words:
            raise LinkExpired(signed_links.USED)
        if waiting.site not in self._taking:
            raise LinkExpired(_("The comment does not exist any more."))
        names(self._sites.blogs(waiting.site))
        return waiting

    def _key(self, waiting: WaitingComment) -> str:
        """Return the key of a submission, which nobody else can know: it is stored once."""
        content = f"{waiting.id} {waiting.received_at}".encode()
        return hashlib.blake2b(content, key=self._secret, digest_size=16).hexdigest()
