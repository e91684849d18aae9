"""Signing in of readers: the pages in a window of our own, which hand a token to the widget.

The widget opens a window with the address of its `page` and a random `word`. The reader signs in
there by a method that the site's `sign_in` allows: by a mailed link, at a provider of OpenID
Connect, or in the blog's own login. At the first time the reader gets a name, which nobody else has
on the site. Then the last page passes the session's token to the blog's page: with postMessage,
which browsers deliver only to the origin of `page`, or else in the fragment of its address. The
origin must be one of the site's, so nobody else can get a token, and no redirect leads elsewhere.

No cookie is used. Instead, the widget accepts a token only together with its word; with another
word, it asks the reader first. So nobody can sign a reader in to a foreign account unnoticed. The
`state` that goes to a provider or to the blog is signed, works once, and the nonce of the token
that comes back is derived from it.
"""

import logging
from functools import partial
from os import urandom
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from commentsvc.api.parameters import LanguageTag, LinkQuery, SiteName
from commentsvc.api.submit import SIGNED_OUT
from commentsvc.auth import blog_tokens, oidc, signed_links
from commentsvc.auth.attempts import AttemptLimiter, Rate, buckets_of_network
from commentsvc.auth.blog_tokens import BlogTokenRefused
from commentsvc.auth.oidc import Attempt, OidcProvider, OidcRefused, OidcUnavailable
from commentsvc.auth.signed_links import LinkError, LinkExpired, SignedLinks
from commentsvc.comments.submission import KEY, avatar, is_email, is_key
from commentsvc.context import ServiceContext
from commentsvc.http.messages import (
    HTML_UTF8,
    NO_SNIFFING,
    NOT_STORED,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    first,
    too_fast,
)
from commentsvc.http.operation import HTML, NOTHING, Query, form_of, handles
from commentsvc.pages.embed import NO_WORD
from commentsvc.pages.mail_links import handles_link, names, to_html
from commentsvc.pages.personal_data import NO_MAIL, AddressForm, RequestLimiter, typed_address
from commentsvc.readers import accounts
from commentsvc.readers.accounts import BY_BLOG, BY_MAIL, ReaderNameTaken, SignedReader
from commentsvc.settings.schema import Site
from commentsvc.spam.protected_names import ProtectedNames, name_skeletons
from commentsvc.util.client_network import network_of
from commentsvc.util.http_client import SettingsClient
from commentsvc.util.i18n import Text, spoken
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import origin
from commentsvc.util.text import one_line
from commentsvc.util.timestamps import DAY_MS, HOUR_MS, MINUTE_MS

_log = logging.getLogger(__name__)

PER_ADDRESS: Final = Rate(5, DAY_MS)
PER_NETWORK: Final = Rate(60, HOUR_MS)  # sign-ins through a provider or the blog's login
TIME: Final = 10 * MINUTE_MS  # for signing in elsewhere, and for choosing a name
WORD_SIZE: Final = 16  # random bytes
PAGE_LENGTH: Final = 200  # characters of the address of the page to go back to
STATE, NAMING = "reader state", "reader name"  # purposes of signed tokens
RETURN: Final = "/reader/return"
PROVIDER: Final = "provider"


class SignInQuery(Query, frozen=True):
    """The page of the blog that asks, and its random word."""

    page: Annotated[str, Meta(description="The address of the page of the blog that asks.")]
    word: Annotated[
        str,
        Meta(
            description="A random word of the browser, which comes back with the token.",
            pattern=rf"^{KEY}(?![\s\S])",
            extra={"message": "This must have 8 to 64 characters out of A-Z, a-z, 0-9, - . _ ~."},
        ),
    ]
    site: SiteName = ""
    lang: LanguageTag = "en"


class NameForm(msgspec.Struct, frozen=True):
    """The form for a reader's name."""

    name: Annotated[str, Meta(description="The name, which nobody else has on the site.")]


class Return(NamedTuple):
    """Where the browser goes when a reader has signed in: the site, its page and the word."""

    site: Site
    page: str
    word: str


FAILURES: Final = dict.fromkeys((400, 403, 404, 410, 429, 502, 503), HTML)
_signs = partial(handles, ignores_unknown=True, errors=FAILURES)


class SignInPages:
    """The handlers of these pages; they answer 404 for a site without a method to sign in."""

    def __init__(self, service: ServiceContext, names: ProtectedNames) -> None:
        settings = service.settings
        self._sites = {site.name: site for site in settings.sites}
        self._known_sites = service.sites
        self._database = service.database
        self._clock = service.clock
        self._keys = service.keys
        self._names = names
        self._links = SignedLinks(service.keys)
        self._mails = RequestLimiter(service, "sign in", PER_ADDRESS)
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._limiter = AttemptLimiter(service.database, service.keys[0])
        self._base = settings.server.public_url.rstrip("/")
        self._bounds = settings.comments
        self._longest = settings.comments.author_length
        self._provider = OidcProvider(
            settings.readers, SettingsClient(settings.hooks.allowed_networks), service.clock
        )
        self._issuer = settings.readers.issuer
        self._provider_name = oidc.provider_name(settings.readers)
        self._methods = {site.name: self._offered(site) for site in settings.sites}

    @_signs("GET", "/reader/sign-in", HTML)
    async def choose(self, query: SignInQuery) -> Response:
        """Show a reader the ways to sign in."""
        return self._choices(self._back(query))

    @_signs("POST", "/reader/sign-in", {200: HTML, 415: HTML}, body=form_of(AddressForm))
    async def ask(self, request: Request, query: SignInQuery) -> Response:
        """Mail a link that signs a reader in.

        400, 404, 415, 429.
        """
        back = self._back(query)
        self._need(back.site, BY_MAIL)
        email, problem = typed_address(request)
        if problem:
            return self._choices(back, email, problem)
        await self._mails.count(request, email)
        return_to, tag = (back.site.name, back.page, back.word), spoken().tag
        now = self._clock.now_ms()
        await self._database.write(accounts.ask_by_mail, return_to, email, tag, now)
        return _shown(200, title=_("Please check your mailbox"), texts=(NO_MAIL,))

    @_signs("GET", f"/reader/{PROVIDER}", {303: NOTHING})
    async def go(self, request: Request, query: SignInQuery) -> Response:
        """Send a reader to the OpenID Connect provider to sign in."""
        back = self._back(query)
        self._need(back.site, PROVIDER)
        word, state = await self._begin(request, back, PROVIDER)
        try:
            address = await self._provider.address(self._attempt(word), state)
        except OidcRefused as error:
            raise self._refused(502, error) from error
        return Response(303, (("Location", address), NOT_STORED), b"")

    @_signs("GET", f"/reader/{BY_BLOG}", {303: NOTHING})
    async def go_to_blog(self, request: Request, query: SignInQuery) -> Response:
        """Send a reader to the blog's login to sign in."""
        back = self._back(query)
        self._need(back.site, BY_BLOG)
        word, state = await self._begin(request, back, BY_BLOG)
        attempt = self._attempt(word)
        sent = urlencode(
            {"return_to": f"{attempt.redirect_uri}?state={state}", "nonce": attempt.nonce}
        )
        joint = "&" if "?" in back.site.sso_url else "?"
        return Response(303, (("Location", back.site.sso_url + joint + sent), NOT_STORED), b"")

    @_signs("GET", RETURN, HTML)
    async def come_back(self, request: Request) -> Response:
        """Sign in a reader who comes back from the provider or from the blog's login.

        A provider adds `code` or `error`, the blog's login `token`.
        """
        parameters, now = request.parameters(), self._clock.now_ms()
        try:
            content = self._links.read(STATE, first(parameters, "state"), now)
            method, word, name, page, back_word = content
            back = self._known(name, page, back_word)
            self._need(back.site, method)
            await self._database.write(signed_links.mark_used, f"{STATE} {word}", now, TIME)
            attempt = self._attempt(word)
            if method == BY_BLOG:
                given = blog_tokens.read(
                    first(parameters, "token"), back.site.sso_secret, self._base, now
                )
                if given.nonce != attempt.nonce:
                    raise BlogTokenRefused("blog: the token is for another sign-in")
                identity, email, named = (BY_BLOG, given.sub), given.email, given.name
            else:
                if not (code := first(parameters, "code")):
                    raise OidcRefused(f"provider: {first(parameters, 'error')[:80]!a}")
                found = await self._provider.identity(attempt, code)
                identity, email, named = (found.issuer, found.subject), found.email, found.name
        except (OidcRefused, BlogTokenRefused, LinkError) as error:
            raise self._refused(403, error) from error
        return await self._go_on(request, back, (identity, email), named)

    @handles_link("GET", "/reader/link")
    async def ask_link(self, query: LinkQuery) -> Response:
        """Ask a reader whether to sign in."""
        link = await self._database.read(accounts.find_link, *self._link(query.t))
        if link is None:
            raise LinkExpired(signed_links.USED)
        title = spoken().form["signInAs"].replace("#", link.email)
        return _shown(200, title=title, button=_("Sign in"))

    @handles_link("POST", "/reader/link")
    async def use_link(self, request: Request, query: LinkQuery) -> Response:
        """Sign in a reader by a mailed link, once."""
        link = await self._database.write(accounts.use_link, *self._link(query.t))
        if link is None:
            raise LinkExpired(signed_links.USED)
        back = self._known(link.site, link.page, link.word)
        self._need(back.site, BY_MAIL)
        return await self._go_on(request, back, ((BY_MAIL, link.email), link.email), "")

    @handles_link("POST", "/reader/name", body=form_of(NameForm))
    async def name(self, request: Request, query: LinkQuery) -> Response:
        """Set the name of a reader who has signed in.

        400 for a taken one. The address works until the reader has a name, since logs may contain
        it.
        """
        now = self._clock.now_ms()
        number, page, word = self._links.read(NAMING, query.t, now)
        who = await self._database.read(accounts.find, number)
        if who is None or who.name:
            raise LinkExpired(signed_links.USED)
        back = self._known(who.site, page, word)
        name = first(request.form(), "name")
        return await self._give_name(back, who, name, self._ask_name(back, who, name))

    async def _go_on(
        self, request: Request, back: Return, identity: tuple[tuple[str, str], str], named: str
    ) -> Response:
        """Return the last page for a reader with an identity and address, or ask for a name."""
        (who_says, email), now = identity, self._clock.now_ms()
        if not is_email(email):
            email = ""
        named = named.encode(errors="replace").decode()  # "?" for half of a pair of surrogates
        write = self._database.write
        who = await write(accounts.identified, back.site.name, who_says, email, now)
        if who.name:
            return await self._pass_token(back, who)
        asking = self._ask_name(back, who, named, is_new=True)
        return await self._give_name(back, who, named, asking) if named else asking

    async def _give_name(
        self, back: Return, who: SignedReader, name: str, asking: Response
    ) -> Response:
        """Return the last page if a reader may have the name, else the page `asking` for one."""
        name = one_line(name)
        if not 0 < len(name) <= self._longest or self._is_protected(name, back.site.name):
            return asking
        try:
            who = await self._database.write(accounts.choose_name, who, name, name_skeletons(name))
        except ReaderNameTaken:
            return asking
        return await self._pass_token(back, who)

    def _is_protected(self, name: str, site: str) -> bool:
        """Return whether a name is a moderator's, or stands for authors without one."""
        nobody = self._known_sites.options[site].asks.anonymous
        if nobody and {*name_skeletons(name)} & {*name_skeletons(nobody)}:
            return True
        if not self._names.is_current():
            self._database.read_now(self._names.load)
        return self._names.check(name, "", avatar("")) is not None

    async def _pass_token(self, back: Return, who: SignedReader) -> Response:
        """Return the page that passes a new session's token to the blog's page."""
        now = self._clock.now_ms()
        token = await self._database.write(accounts.begin_session, who.id, now)
        handed = {"word": back.word, "token": token, "name": who.name}
        form = {"url": back.page, "session": token, "author": who.name}
        return _shown(
            200,
            title=_("Sign in"),
            handed=msgspec.json.encode(handed).decode(),
            page=back.page,
            origin=origin(back.page),
            action=f"../embed/thread?{urlencode({'site': back.site.name, 'lang': spoken().tag})}",
            values=form if back.word == NO_WORD else {},
            options=self._known_sites.options[back.site.name],
            bounds=self._bounds,
        )

    def _ask_name(
        self, back: Return, who: SignedReader, name: str, *, is_new: bool = False
    ) -> Response:
        expires = self._clock.now_ms() + TIME
        token = self._links.make(NAMING, who.id, back.page, back.word, expires=expires)
        problem: Text = _("Somebody else has this name, or it cannot be used. Choose another one.")
        return _shown(
            200 if is_new else 400,
            title=_("Sign in"),
            action=f"name?{urlencode({'t': token, 'lang': spoken().tag})}",
            name=one_line(name)[: self._longest],
            longest=self._longest,
            problem=problem if name or not is_new else "",
            asks_name=True,
        )

    def _choices(self, back: Return, email: str = "", problem: Text = "") -> Response:
        methods = self._methods[back.site.name]
        query = urlencode(
            {
                "page": back.page,
                "word": back.word,
                "site": back.site.name,
                "lang": spoken().tag,
            }
        )
        provider = self._provider_name if PROVIDER in methods else ""
        title = back.site.title or back.site.name
        names = {PROVIDER: provider, BY_BLOG: title if BY_BLOG in methods else ""}
        return _shown(
            400 if problem else 200,
            title=_("Sign in"),
            links=[
                (f"{method}?{query}", _("Sign in with %(provider)s", provider=name))
                for method, name in names.items()
                if name
            ],
            asks=BY_MAIL in methods,
            submit=_("Mail me a link to sign in"),
            email=email,
            problem=problem,
        )

    def _offered(self, site: Site) -> set[str]:
        """Return the methods that a site offers and the service supports."""
        if not self._base:
            return set()
        able = {
            BY_MAIL: self._mails.sends,
            PROVIDER: bool(self._provider_name),
            BY_BLOG: bool(site.sso_url and site.sso_secret) and blog_tokens.is_installed(),
        }
        return {method for method in site.methods if able[method]}

    def _need(self, site: Site, method: str) -> None:
        """Raise HttpError 404 if a site does not offer a method."""
        if method not in self._methods[site.name]:
            raise HttpError(404, "not_found", _("There is no such page."))

    def _back(self, query: SignInQuery) -> Return:
        """Return where the browser goes back to. Raise HttpError 400 for a foreign page, 404."""
        if not any(self._methods.values()):
            raise HttpError(404, "not_found", _("There is no such page."))
        back = self._known(query.site, query.page, query.word)
        if not self._methods[back.site.name]:
            raise HttpError(404, "not_found", _("There is no such page."))
        return back

    def _known(self, name: str, page: str, word: str) -> Return:
        """Return where to go back to: the canonical address of a page of the site `name`.

        Without a name, the page decides which site. Raise HttpError 400 if it is not one of the
        site's, or is malformed.
        """
        ref = self._known_sites.locate_or_none(page, name)
        site = self._sites.get(ref.site) if ref else None
        if ref is None or site is None or not is_key(word) or origin(page) not in site.origins:
            raise HttpError(400, "invalid", _("There is no such page."))
        names(self._known_sites.blogs(site.name))
        addresses = [origin(page) + path for path in (ref.url, ref.url.partition("?")[0], "/")]
        return Return(site, next(each for each in addresses if len(each) <= PAGE_LENGTH), word)

    async def _begin(self, request: Request, back: Return, method: str) -> tuple[str, str]:
        """Return a random word and the state for signing in elsewhere. Raise HttpError 429."""
        client = network_of(self._proxies.client(request))
        attempts = buckets_of_network(b"reader sign-in", client, PER_NETWORK)
        if wait := await self._limiter.take(attempts, self._clock.now_ms()):
            raise too_fast(wait)
        word = urandom(WORD_SIZE).hex()
        content = (method, word, back.site.name, back.page, back.word)
        return word, self._links.make(STATE, *content, expires=self._clock.now_ms() + TIME)

    def _attempt(self, word: str) -> Attempt:
        return Attempt.of(self._base + RETURN, word, self._keys[0])

    def _link(self, token: str) -> tuple[int, int]:
        number, asked_at = self._links.read("sign-in", token, self._clock.now_ms())
        return number, asked_at

    def _refused(self, status: int, reason: Exception) -> HttpError:
        """Return the error for a failed sign-in; log its reason, unless anybody can cause it."""
        if not isinstance(reason, LinkError | OidcUnavailable):
            _log.warning("no reader was signed in: %s", reason)
        return HttpError(status, "sign_in", SIGNED_OUT)


def _shown(status: int, **values: Any) -> Response:  # Any: what the template shows
    # A form on a page without a referrer comes from "null", which may not send comments.
    policy = SENDS_FORM if values.get("values") else NO_REFERRER
    return Response(status, (*HEADERS, policy), to_html("reader.html", **values))


NO_REFERRER: Final = ("Referrer-Policy", "no-referrer")
SENDS_FORM: Final = ("Referrer-Policy", "same-origin")
# Without Cross-Origin-Opener-Policy, since the last page talks to the window that opened it.
HEADERS: Final = (
    ("Content-Type", HTML_UTF8),
    NOT_STORED,
    NO_SNIFFING,
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'",
    ),
    ("X-Robots-Tag", "noindex"),
)
