"""Signing in and out: with a password, or with a passkey, which needs neither name nor code.

Signing in makes a new cookie and ends the session of the old one, if any. A failure only says that
name and password do not match, and takes the same time for existing and other names. An account
with an authenticator app is asked for a code next, by a page with a signed text that says what was
checked so far, valid for this browser and a few minutes.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from commentsvc.admin.access import (
    RequestContext,
    get,
    page_operation,
    post,
    public_address,
)
from commentsvc.admin.layout import AdminContext, refuse_plain
from commentsvc.admin.render import HOME, redirect, render, target
from commentsvc.auth import accounts, oidc, passkeys, passwords, sessions, signed_links, two_factor
from commentsvc.auth.accounts import Moderator
from commentsvc.auth.passkeys import Passkey, PasskeyRefused, RelyingParty
from commentsvc.auth.sessions import SignInOver
from commentsvc.auth.signed_links import LinkError, SignedLinks
from commentsvc.auth.two_factor import WRONG_CODE
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.http.messages import Request, Response, TrustedProxies
from commentsvc.moderation.permissions import Permission
from commentsvc.util.i18n import Text
from commentsvc.util.i18n import gettext as _
from commentsvc.util.threads import ACCOUNTS, run_in
from commentsvc.util.timestamps import MINUTE_MS

_log = logging.getLogger(__name__)

WRONG: Final = _("Wrong name or password.")
UNKNOWN_PASSKEY: Final = _("This passkey does not belong to any account here.")
TOO_LATE: Final = _("That took too long. Please start again.")
STEP: Final = "second step"
STEP_TIME: Final = 5 * MINUTE_MS  # milliseconds to find the phone and type the code


ENTRY = page_operation(
    "GET", "", "Redirect to the queue, or to the sign-in page", Permission.ANYBODY
)


def home(_request: Request) -> Response:
    """Redirect to the queue."""
    return redirect(f"moderation/{HOME}")


class SignIn:
    """The handlers for signing in and out."""

    def __init__(self, context: AdminContext) -> None:
        service = context.service
        self._database = service.database
        self._links = SignedLinks(service.keys)
        self._public_url = service.settings.server.public_url
        self._provider = oidc.provider_name(service.settings.oidc)
        self._proxies = TrustedProxies(service.settings.server.trusted_proxies)
        self._access = context.access
        self._authentication = context.authentication
        self._cookies = context.authentication.cookies
        self._lifetime = context.authentication.lifetime
        self._limiter = context.authentication.limiter
        self._two_factor = context.authentication.two_factor

    @get("/sign-in", Permission.ANYBODY)
    async def form(self, context: RequestContext) -> Response:
        """The sign-in page.

        `?to=PAGE`: where to go then. 403 over plain HTTP.
        """
        to = target(context.first("to"))
        if context.session is not None:
            return redirect(to)
        if self._authentication.is_plain(context.request):
            return refuse_plain()
        return await self._form(context, to=to)

    @post("/sign-in", Permission.ANYBODY)
    async def sign_in(self, context: RequestContext) -> Response:
        """Sign in.

        303 to the page `to`, with a new cookie, or 200: needs a code. 403 if name and password do
        not match, 429 or 503 after too many attempts.
        """
        name, to = context.first("name").strip(), target(context.first("to"))
        account = await self._database.read(accounts.find, name)
        known = account is not None and self._cookies.is_known(
            context.request.header("cookie"), account
        )
        await self._limiter.count(
            self._proxies.client(context.request), name, context.now, known=known
        )
        stored = account.password_hash if account else passwords.NOBODY
        fits = await self._limiter.verify(context.first("password"), stored, known=known)
        if account is None or not fits:
            _log.warning("somebody could not sign in as %s", ascii(name[:40]))
            return await self._form(context, 403, name=name[:40], to=to, problem=WRONG)
        return await self.go_on(context, account, to)

    async def go_on(self, context: RequestContext, account: Moderator, to: str) -> Response:
        """Sign in the person who proved to be `account`, or ask for the code that it requires."""
        if await self._database.read(two_factor.is_on, account.id):
            mark = sessions.mark(account)
            step = self._links.make(
                STEP, account.name, context.csrf_token, mark, expires=context.now + STEP_TIME
            )
            return _code_form(context, step=step, to=to)
        return await self._let_in(context, account, to)

    @post("/code", Permission.ANYBODY)
    async def code(self, context: RequestContext) -> Response:
        """Enter the second factor of a sign-in.

        303 as after signing in, if `code` is right. 403, 429.
        """
        to, step = target(context.first("to")), context.first("step")
        try:
            name, browser, mark = self._links.read(STEP, step, context.now)
        except LinkError:
            return await self._form(context, 403, to=to, problem=TOO_LATE)
        account = await self._database.read(accounts.find, name)
        if account is None or (browser, mark) != (context.csrf_token, sessions.mark(account)):
            return await self._form(context, 403, to=to, problem=TOO_LATE)
        known = self._cookies.is_known(context.request.header("cookie"), account)
        await self._limiter.count(
            self._proxies.client(context.request), name, context.now, known=known
        )
        number, given, now = account.id, context.first("code"), context.now
        if not await self._database.write(self._two_factor.accept, number, given, now):
            _log.warning("somebody with the password of %s gave a wrong code", ascii(name))
            return _code_form(context, 403, step=step, to=to, problem=WRONG_CODE)
        return await self._let_in(context, account, to)

    @post("/passkey", Permission.ANYBODY)
    async def passkey(self, context: RequestContext) -> Response:
        """Sign in with a passkey.

        303 as after signing in, if `credential` is right. 403, 429. `credential` is JSON with the
        device's signature of the `challenge`.
        """
        to, sent, challenge = (context.first(name) for name in ("to", "credential", "challenge"))
        to = target(to)
        try:
            browser, used = self._links.read(passkeys.ASSERTION, challenge, context.now)
            wanted = passkeys.read_id(sent)
        except (LinkError, PasskeyRefused):
            return await self._form(context, 403, to=to, problem=TOO_LATE)
        passkey = await self._database.read(passkeys.find, wanted)
        account = await self._database.read(accounts.find, passkey.moderator) if passkey else None
        known = account is not None and self._cookies.is_known(
            context.request.header("cookie"), account
        )
        await self._limiter.count(
            self._proxies.client(context.request), wanted.hex(), context.now, known=known
        )
        if passkey is None or account is None or browser != context.csrf_token:
            return await self._form(context, 403, to=to, problem=UNKNOWN_PASSKEY)
        party = RelyingParty.of(public_address(self._public_url, context.request))
        try:
            counted = await run_in(ACCOUNTS, passkeys.verify, party, challenge, sent, passkey)
            return await self._let_in(
                context, account, to, partial(_use, passkey, counted, used, context.now)
            )
        except (LinkError, PasskeyRefused) as error:
            _log.warning("a passkey of %s was refused: %s", ascii(account.name), ascii(str(error)))
            return await self._form(context, 403, to=to, problem=UNKNOWN_PASSKEY)

    async def _let_in(
        self,
        context: RequestContext,
        account: Moderator,
        to: str,
        prove: Callable[[Transaction], None] = lambda _tx: None,
    ) -> Response:
        """Begin a session, if what was checked still opens the account then.

        Raise what `prove` raises.
        """
        token, cookie = self._access.renew()
        agent = context.request.header("user-agent") or ""

        def work(tx: Transaction) -> None:
            prove(tx)
            sessions.sweep(tx, self._lifetime, context.now)
            if context.session is not None:
                sessions.end(tx, context.session.id, context.session.moderator_id)
            sessions.begin(tx, token, account, agent, context.now)

        try:
            await self._database.write(work)
        except SignInOver:
            return await self._form(context, 403, to=to, problem=TOO_LATE)
        return redirect(to, (*cookie, ("Set-Cookie", self._cookies.known(account))))

    async def _form(
        self,
        context: RequestContext,
        status: int = 200,
        *,
        name: str = "",
        to: str,
        problem: Text = "",
    ) -> Response:
        def work(snapshot: Snapshot) -> tuple[bool, bool]:
            return not accounts.everyone(snapshot), passkeys.exist(snapshot)

        empty, has_passkeys = await self._database.read(work)
        challenge = options = ""
        if has_passkeys:
            challenge = passkeys.make_challenge(
                self._links, passkeys.ASSERTION, context.csrf_token, context.now
            )
            party = RelyingParty.of(public_address(self._public_url, context.request))
            options = passkeys.request_options(party, challenge)
        return render(
            "sign-in.html",
            status,
            csrf_token=context.csrf_token,
            name=name,
            to=to,
            problem=problem,
            empty=empty,
            challenge=challenge,
            options=options,
            provider=self._provider,
        )

    @post("/sign-out", Permission.ACCOUNT)
    async def sign_out(self, context: RequestContext) -> Response:
        """Sign out.

        303 to the sign-in page; ends the session.
        """
        session = context.moderator
        await self._database.write(sessions.end, session.id, session.moderator_id)
        _, cookie = self._access.renew()
        return redirect("sign-in", cookie)


def _use(passkey: Passkey, counted: int, challenge: str, now: int, tx: Transaction) -> None:
    """Note that a passkey answered a challenge. Raise PasskeyRefused, LinkError."""
    signed_links.mark_used(tx, challenge, now, passkeys.CHALLENGE_TIME)
    if not passkeys.use(tx, passkey.id, counted, now):
        raise PasskeyRefused("passkey: its counter did not rise, so its key may have been copied")


def _code_form(
    context: RequestContext, status: int = 200, *, step: str, to: str, problem: Text = ""
) -> Response:
    return render(
        "sign-in-code.html",
        status,
        csrf_token=context.csrf_token,
        step=step,
        to=to,
        problem=problem,
    )
