"""Embed: a comment thread as HTML, with a form that works without JavaScript.

The fragment has the same structure and class names as the widget's elements, so that one stylesheet
serves both; it is readable without a stylesheet. It is the same for everybody and is cached, so a
static site's build may fetch it as often as it likes. It contains the data that the widget needs of
each comment, and the time from which the widget asks for newer ones. The link in `<noscript>` leads
to the same thread as a page of its own. The form is posted to the service, which answers with a
small page; after a mistake, that page has the form again with everything that was typed. Buttons
for a reply and for the next comments lead to that page too. They are buttons of a form and not
links, since the policy for `base` applies to forms.

A fragment is part of a page of another origin, where a path alone would lead to the blog. So its
form uses `server.public_url`. A site may say in `base` at which address it expects the service;
another address is an error. So nobody can make a form lead elsewhere, or fill the cache with copies
of a page.
"""

from collections.abc import Collection
from typing import Annotated, Final, Literal, NamedTuple
from urllib.parse import urlencode

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from commentsvc.api.errors import foreseen
from commentsvc.api.feeds import REPLIES_FEED
from commentsvc.api.images import CommentImages
from commentsvc.api.parameters import NO_TAG, After, LanguageTag, PageQuery, WriteQuery
from commentsvc.api.reactions import Emoji, PageReactions
from commentsvc.api.serialize import CommentSerializer, Item, status
from commentsvc.api.submit import HttpSubmissions
from commentsvc.auth.edit_tokens import ReplyFeedWords
from commentsvc.comments import fediverse, queries
from commentsvc.comments.page_urls import Blog, PageRef, SiteOptions, UrlError
from commentsvc.comments.pagination import Sort
from commentsvc.comments.queries import CommentList, DeletedComment, InLanguage
from commentsvc.comments.structured_data import DescribedPage, json_ld
from commentsvc.comments.submission import (
    BIGGEST_ID,
    NO_PICTURE,
    SITE_LENGTH,
    Author,
    AuthorSite,
    Email,
    FormToken,
    Honeypot,
    Key,
    MessageText,
    SolvedWork,
    Title,
    Url,
    from_form,
    note_from_form,
)
from commentsvc.comments.tree import build_tree
from commentsvc.context import ServiceContext
from commentsvc.feedback import reactions
from commentsvc.http.messages import (
    ANY_ORIGIN,
    HTML_UTF8,
    NO_SNIFFING,
    NOT_STORED,
    HttpError,
    Request,
    Response,
    encode,
)
from commentsvc.http.operation import HTML as PAGE
from commentsvc.http.operation import NOTHING, Operation, form_of, read_fields
from commentsvc.http.router import Route, route
from commentsvc.markup.markdown import absolute
from commentsvc.model import APPROVED, fragment, thread_tag
from commentsvc.pages.error_pages import said_by_widget
from commentsvc.submissions.service import Accepted
from commentsvc.util.i18n import (
    ENGLISH,
    TAG,
    Language,
    Message,
    find_language,
    language_name,
    requested_language,
    translate,
)
from commentsvc.util.templates import Templates
from commentsvc.util.timestamps import MINUTE_MS, rfc3339

# Milliseconds by which a comment that is committed later may be older than the newest one. The
# service answers within 30 seconds.
OVERLAP = MINUTE_MS
# Characters of the message, and of other fields, that an error page repeats: twice a usual message.
# Otherwise an answer could be several times as long as the longest request.
ECHOED_MESSAGE, ECHOED_FIELD = 16_384, 2_048
KNOWN = (
    *("id", "parent", "author", "avatar", "site", "published", "edited", "picture", "anchor"),
    "role",
    "initial",
    "permalink",
    "verified",
    "lang",
)

NO_WORD = "without-scripts"  # in place of the widget's, which takes the token of no other word
WRONG_BASE = "This must be the public address of the service: see server.public_url."
HTML = ("Content-Type", HTML_UTF8)
POLICY = (
    "Content-Security-Policy",
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'",
)


def _moment(published: str) -> str:
    """Return a time (RFC 3339) for people, in UTC since the fragment is the same for all."""
    return f"{published[:10]} {published[11:16]} UTC"


def _known(comment: Item | DeletedComment) -> str:
    """Return the JSON that the widget needs of a comment; the comment's HTML stands below it."""
    shown = msgspec.structs.asdict(comment)
    if isinstance(comment, DeletedComment):
        return encode(shown).decode()
    return encode({name: shown[name] for name in KNOWN if shown[name]}).decode()


def _since(page: CommentList) -> str:
    """Return the time from which a reader who has all of `page` asks for more; "" if none."""
    newest = max(
        (max(each.published_at or 0, each.edited_at or 0) for each in page.items), default=0
    )
    return rfc3339(newest - OVERLAP) if newest else ""


TEMPLATES: Final = Templates(
    "", {"moment": _moment, "translate": translate, "known": _known}, is_lenient=True
)


class ThreadQuery(PageQuery, frozen=True):
    """A page, and how its thread is shown."""

    lang: LanguageTag = "en"
    base: Annotated[
        str,
        Meta(
            description="The address of this service, which must equal `server.public_url`. The "
            "form is sent there in any case.",
            max_length=SITE_LENGTH,
            extra={"message": WRONG_BASE},
        ),
    ] = ""
    view: (
        Annotated[Literal["page"], Meta(description="A whole page instead of a fragment.")]
        | UnsetType
    ) = UNSET
    closed: (
        Annotated[
            Literal["yes"], Meta(description="Leave out the form, because the page is closed.")
        ]
        | UnsetType
    ) = UNSET
    parent: (
        Annotated[
            int,
            Meta(
                description="The id of the comment that the form replies to.",
                ge=1,
                le=BIGGEST_ID,
                extra={"message": "This must be the id of a comment."},
            ),
        ]
        | UnsetType
    ) = UNSET
    after: After = ""
    only: Annotated[
        str,
        Meta(
            description="The tag of a language: only comments in it are listed. If there are none, "
            "the answer is not cached.",
            pattern=rf"^(?:{TAG})?(?![\s\S])",
            examples=["de"],
            extra={"message": NO_TAG},
        ),
    ] = ""


class FormFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of the plain form. An empty field counts as missing."""

    url: Url
    author: Author
    message: MessageText
    email: Email = ""
    site: AuthorSite = ""
    parent: Annotated[
        str,
        Meta(
            description="The id of the comment that this one replies to.",
            extra_json_schema={"pattern": "^(?:[1-9][0-9]{0,17})?$"},
        ),
    ] = ""
    title: Title = ""
    key: Key = ""
    image: Annotated[
        str,
        Meta(
            description="A picture, which is shown below the message: see POST /api/images.",
            extra_json_schema={"format": "binary"},
        ),
    ] = ""
    alt: Annotated[str, Meta(description="The description of the picture.")] = ""
    notify: Annotated[
        str,
        Meta(
            description="`page`: mail the author all new comments on the page. Any other text: "
            "only replies. Needs an `email`; the author must confirm it once."
        ),
    ] = ""
    agreed: Annotated[
        str, Meta(description="Any text: the author has ticked the box with the `agreement`.")
    ] = ""
    session: Annotated[
        str, Meta(description="The token of a reader who signed in without scripts.")
    ] = ""
    private: Annotated[
        str,
        Meta(
            description="Any text sends a private note, which is never shown: see POST /api/notes."
        ),
    ] = ""
    thank: Annotated[
        str, Meta(description="Any text: the author of a note may be thanked by name.")
    ] = ""
    subject: Honeypot = ""
    form_token: FormToken = ""
    proof_of_work: SolvedWork = ""


class ReactionFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of the form for reactions."""

    url: Url
    emoji: Emoji


THREAD = Operation(
    method="GET",
    path="/embed/thread",
    summary="The comments of a page and a form, as HTML that works without JavaScript",
    query=ThreadQuery,
    answers={200: PAGE},
    errors=(400, 503),
)
REACT = Operation(
    method="POST",
    path="/embed/reactions",
    summary="React to a page by a plain form; errors are HTML pages",
    query=WriteQuery,
    body=form_of(ReactionFields),
    answers={303: NOTHING, **dict.fromkeys((400, 403, 404, 409, 415, 429, 503), PAGE)},
)
SUBMIT = Operation(
    method="POST",
    path="/embed/thread",
    summary="Submit a comment with a plain form. Every answer is an HTML page",
    query=WriteQuery,
    body=form_of(FormFields),
    answers=dict.fromkeys((201, 202, 400, 401, 403, 404, 409, 413, 415, 429, 503), PAGE),
    takes_file=True,
)


class Embed:
    """The handlers of the embedded thread."""

    def __init__(
        self,
        service: ServiceContext,
        submissions: HttpSubmissions,
        serializer: CommentSerializer,
        page_reactions: PageReactions,
        images: CommentImages,
    ) -> None:
        settings = service.settings
        self._database = service.database
        self._sites = service.sites
        self._clock = service.clock
        self._submissions = submissions
        self._serializer = serializer
        self._reactions = page_reactions
        self._images = images
        self._most = settings.comments.list_limit
        self._base = settings.server.public_url.rstrip("/")
        cache_control = ("Cache-Control", settings.server.cache_control)
        self._fragment = (HTML, cache_control, ANY_ORIGIN, NO_SNIFFING, POLICY)
        self._bounds = settings.comments
        self._body_bytes = settings.server.max_body_kib << 10
        self._feed_words = ReplyFeedWords(service.keys)
        self._mails = bool(settings.mail.host)
        self._answered_for = {site.name for site in settings.sites if site.contact}
        self._replies = self._mails and settings.mail.reply_notifications
        self._webmentions = {site.name for site in settings.sites if site.webmentions}
        self._by_mail = {site.name for site in settings.sites if site.comments_by_mail}

    def routes(self) -> list[Route]:
        return [
            route(THREAD, self.thread),
            route(SUBMIT, self.submit),
            route(REACT, self.react),
        ]

    async def thread(self, request: Request) -> Response:
        """GET /embed/thread?url=U[&lang=L&base=B&view=page&only=L]: 200, thread and form, HTML.

        It is a fragment, or a whole page with `view=page`. The form of a fragment leads to
        `server.public_url`, or to the page's own host if that is not set. `lang` is the page's
        language; English replaces a language that the service does not have. The form is left out
        if the page is closed, or if `closed` says so. Buttons request the page with `after`, the
        cursor of the next comments, with `parent`, the id of the comment to answer, or with `only`,
        the language of comments. 400 for an invalid url, site, base, view, closed, after, parent or
        only. The answer is cached, so a page that
        closes by its age may show a form until a comment changes; a submission is refused then.
        """
        given = THREAD.read(request)
        if given.base.rstrip("/") not in ("", self._base):
            raise HttpError(400, "invalid", "Please look at: base.", {"base": WRONG_BASE})
        page = self._sites.locate(given.url, given.site)
        open_for, after = self._sites.options[page.site].open_for, given.after or None
        wanted: Sort | InLanguage = InLanguage(given.only) if given.only else "oldest"
        part = await self._database.read_for_public(
            queries.list_comments, page, wanted, self._most, after, open_for
        )
        title, counts = "", dict[str, int]()
        tags = {comment.lang for comment in part.items} | {given.only}
        if given.view and (part.next or after or given.only):
            thread_id = part.thread.id
            tags |= await self._database.read_for_public(queries.page_languages, thread_id)
        if given.view:
            title = await self._database.read_for_public(queries.page_title, part.thread.id)
            counts = await self._database.read_for_public(reactions.counts, part.thread.id)
        language = find_language(requested_language(request.query))
        html = self._show(given, language, page, part, (title, counts), tags - {""})
        # Else anybody could fill the cache with languages that the thread does not have.
        is_cached = part.items or not given.only
        cache_tags = (thread_tag(page.site, part.thread.url),) if is_cached else ()
        return Response(200, self._fragment, html.encode(), cache_tags)

    def _show(
        self,
        given: ThreadQuery,
        language: Language,
        page: PageRef,
        part: CommentList,
        described: tuple[str, dict[str, int]],
        tags: Collection[str],
    ) -> str:
        """Return the HTML; the page is `described` by its title and its reactions.

        Readers choose one of the languages with these `tags`.
        """
        title, counts = described
        shown = self._serializer.items(part.items, page.site, part.anchors, part.thread.pinned)
        back = self._sites.address(*page)
        if given.view:
            shown = [
                replace(item, html=absolute(item.html, back, keeps_notes=True)) for item in shown
            ]
        whole = not (given.view or given.after or given.only or part.next)
        # Our own page uses a relative path, since it may be in a folder of its host.
        folder = "" if given.view else f"{self._base}/embed/"
        above = "../" if given.view else f"{self._base}/"
        query = _query(given.site, language)
        branches, thread = build_tree(shown, part.deleted), part.thread
        structured = ""
        if branches and (not given.view or "://" in back):
            about = DescribedPage(back, title, thread.count, thread.likes, thread.reposts)
            structured = json_ld(about, branches, votes=self._bounds.votes != "off")
        return TEMPLATES.render(
            "standalone.html" if given.view else "thread.html",
            language,
            since=_since(part) if whole else "",
            bounds=self._bounds,
            replies=self._replies,
            images=bool(self._sites.options[page.site].images),
            options=self._sites.options[page.site],
            sign_in=self._sign_in(page, language, is_page=bool(given.view)),
            mails=self._mails,
            privacy=page.site in self._answered_for,
            back=back,
            blogs=self._sites.blogs(page.site),
            title=title,
            reactions=self._sites.reactions(page.site, counts) if given.view else {},
            branches=branches,
            structured=structured,
            answered=next((each for each in shown if each.id == given.parent), None),
            after=given.after,
            only=given.only,
            languages={tag: language_name(tag) for tag in sorted(tags)},
            next=part.next,
            site=given.site,
            preset=given.closed or "",
            count=part.thread.count,
            likes=part.thread.likes,
            posts=self._database.read_now(fediverse.posts, page.site, part.thread.url)
            if self._sites.names_posts(page.site)
            else [],
            webmentions=page.site in self._webmentions,
            by_mail=self._mail_page(above, page, language) if page.site in self._by_mail else "",
            reposts=part.thread.reposts,
            closed=given.closed or self._is_past(part.closes),
            url=page.url,
            action=f"{folder}thread{query}",
            reacting=f"reactions{query}",
            acting=f"actions{_query('', language)}" if given.view else "",
            query=query,
            votes=self._bounds.votes,
        )

    async def react(self, request: Request) -> Response:
        """POST /embed/reactions, a form with `url` and `emoji`: 303 to the page that has the form.

        Without scripts, readers have no word that identifies them, so a network can react once with
        each emoji. 400, 403, 404, 409, 415, 429 or 503 with the reason, in HTML.
        """
        language = find_language(requested_language(request.query))
        back = ""
        try:
            name = REACT.read(request).site
            form = {field: texts[0] for field, texts in request.form().items()}
            sent = read_fields(form, ReactionFields)
            page = self._sites.locate(sent.url, name)
            back = self._sites.address(*page)
            await self._reactions.react_by_form(request, page, sent.emoji)
        except Exception as failure:
            error = foreseen(failure)
            return refusal_page(error, language, self._sites.blogs("", back), back=back)
        return to_thread(page, language)

    async def submit(self, request: Request) -> Response:
        """POST /embed/thread, a form with the fields of POST /api/comments: an HTML page.

        A picture may be sent too, as a file. 201 or 202 with thanks; 400, 401, 403, 404, 409, 413,
        415, 429 or 503 with the reason and the form as it was filled in.
        """
        values: dict[str, str] = {}
        try:
            form, picture = request.upload("image", self._body_bytes)
            values.update((name, texts[0]) for name, texts in form.items())
            network = self._submissions.admit(request)
            locate = self._sites.locator(SUBMIT.read(request).site)
            if any(form.get("private", ())):
                return await self._send_note(request, network, values, bool(picture))
            session = values.get("session", "")
            if picture:
                site = locate(values.get("url", "")).site
                self._submissions.writer(request, site, session)
                alt = values.get("alt", "")
                image = await self._images.add_by_form(request, site, picture, alt)
                values["message"] = f"{values.get('message', '')}\n\n{image}"
                values["alt"] = ""
            beside = ("image", "alt", "session")
            fields = {name: text for name, text in values.items() if name not in beside}
            rules = self._submissions.rules(request, locate, session)
            submission = from_form(fields, rules)
            accepted, _ = await self._submissions.submit(request, network, submission, session)
        except Exception as failure:
            error = foreseen(failure)
            return self._refused(request, values, error)
        language = find_language(requested_language(request.query))
        return self._thanked(accepted, submission.page, language)

    async def _send_note(
        self, request: Request, network: bytes, values: dict[str, str], pictured: bool
    ) -> Response:
        """Store a private note: it never becomes a comment, whatever is wrong with it.

        Raise HttpError and as HttpSubmissions.
        """
        if pictured:  # stored pictures can be seen by whoever knows their address
            raise HttpError(400, "invalid", NO_PICTURE, {"image": NO_PICTURE})
        locate = self._sites.locator(SUBMIT.read(request).site)
        beside, session = ("image", "alt", "session"), values.get("session", "")
        fields = {name: text for name, text in values.items() if name not in beside}
        note = note_from_form(fields, self._submissions.rules(request, locate, session))
        await self._submissions.submit_note(request, network, note, session)
        language = find_language(requested_language(request.query))
        site, url = note.submission.page
        return answer_page(
            language,
            language.note["sent"],
            self._sites.blogs(site),
            202,
            back=self._sites.address(site, url),
        )

    def _thanked(self, accepted: Accepted, page: tuple[str, str], language: Language) -> Response:
        comment = accepted.comment
        shown = comment.status == APPROVED
        own = OwnForm(comment.id, accepted.token, comment.source) if accepted.token else None
        return answer_page(
            language,
            language.widget[status(comment)],
            self._sites.blogs(page[0]),
            201 if shown else 202,
            comment=comment,
            own=own,
            bounds=self._bounds,
            feed=REPLIES_FEED + self._feed_words.make(comment.id),
            back=self._sites.address(*page) + (fragment(comment.id) if shown else ""),
        )

    def _refused(self, request: Request, values: dict[str, str], error: HttpError) -> Response:
        language = find_language(requested_language(request.query))
        values = {
            name: text[: ECHOED_MESSAGE if name == "message" else ECHOED_FIELD]
            for name, text in values.items()
        }
        try:
            name = SUBMIT.read(request).site
            page = self._sites.locate(values.get("url", ""), name)
            back = self._sites.address(*page)
            values["form_token"] = self._submissions.form_token(page.site)
            options: SiteOptions | None = self._sites.options[page.site]
            sign_in = self._sign_in(page, language, is_page=True)
            action = "thread" + _query(name, language)
            if values.get("private") and not self._sites.options[page.site].notes:
                action = ""  # sent again by a form without that box, it would be public
            if error.status == 401:
                values.pop("session", None)
        except (UrlError, HttpError):
            # A form would not say for which page it is.
            action, back, options, sign_in = "", "", None, ""
        return refusal_page(
            error,
            language,
            self._sites.blogs("", back),
            bounds=self._bounds,
            replies=self._replies,
            images=bool(options and options.images),
            options=options,
            sign_in=sign_in,
            values=values,
            back=back,
            action=action,
        )

    def _sign_in(self, page: PageRef, language: Language, *, is_page: bool) -> str:
        """Return the address at which a reader without scripts signs in; "" if there is none.

        It is relative on a page of ours.
        """
        options, back = self._sites.options[page.site], self._sites.address(*page)
        if not options.members_only or not self._base or "://" not in back:
            return ""
        query = {"page": back, "word": NO_WORD, "site": page.site, "lang": language.tag}
        return f"{'..' if is_page else self._base}/reader/sign-in?{urlencode(query)}"

    def _mail_page(self, above: str, page: PageRef, language: Language) -> str:
        """Return the address of the page from which to write a mail: see `comments_by_mail`."""
        tag = {} if language.tag == ENGLISH else {"lang": language.tag}
        return f"{above}mail/write?{urlencode({'url': page.url, 'site': page.site, **tag})}"

    def _is_past(self, moment: int | None) -> bool:
        """Return whether the time `moment` (Unix milliseconds) has passed; False for None."""
        return moment is not None and moment <= self._clock.now_ms()


class OwnForm(NamedTuple):
    """The form with which authors change their comment."""

    id: int
    token: str
    message: str


def to_thread(page: PageRef, language: Language, part: str = "") -> Response:
    """Return the answer that leads to the page of a thread, or to a `part` of it (``#id``)."""
    query = {"url": page.url, "view": "page", "site": page.site}
    if language.tag != ENGLISH:
        query["lang"] = language.tag
    return Response(303, (("Location", f"thread?{urlencode(query)}{part}"), NOT_STORED), b"")


def answer_page(
    language: Language, message: str, blogs: list[Blog], code: int = 200, **more: object
) -> Response:
    """Return the page that says what was done; `more` is for its template."""
    acting = "actions" + _query("", language)
    html = TEMPLATES.render(
        "result.html", language, message=message, blogs=blogs, faults={}, acting=acting, **more
    )
    return Response(code, (HTML, NOT_STORED, NO_SNIFFING, POLICY), html.encode())


def refusal_page(
    error: HttpError, language: Language, blogs: list[Blog], **more: object
) -> Response:
    """Return the page with the reason of an error; `more` is for its template."""
    html = TEMPLATES.render(
        "result.html",
        language,
        message=_translated(error, language),
        blogs=blogs,
        problem=str(error),
        faults=error.fields or {},
        acting="actions" + _query("", language),
        **more,
    )
    headers = (HTML, NOT_STORED, NO_SNIFFING, POLICY, *error.headers)
    return Response(error.status, headers, html.encode())


def _translated(error: HttpError, language: Language) -> str:
    """Return the message of an error in a language; "" if it is only known in English.

    That of 413 is about any body, so readers of English get the widget's about comments, too.
    """
    if isinstance(error.message, Message):
        return translate(error.message, language.tag)
    if language.tag == ENGLISH and error.status != 413:
        return ""
    return said_by_widget(error.status, language, error.headers)


def _query(name: str, language: Language) -> str:
    tag = "" if language.tag == ENGLISH else language.tag
    given = {key: value for key, value in (("site", name), ("lang", tag)) if value}
    return f"?{urlencode(given)}" if given else ""
