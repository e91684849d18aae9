"""Signing in by the OpenID Connect provider that the settings name.

The `state` that goes to the provider and comes back is a signed word for this browser, and works
once. The nonce and the PKCE verifier are derived from it and the secret key (`auth.oidc.Attempt`).
Since the browser comes back from another site, it sends its cookie only with the second request:
see `AccessControl`. As after a password, an account with two-factor authentication is then
asked for a code.
"""

import logging
from os import urandom
from typing import Final

from commentsvc.admin.access import BASE, RequestContext, get, public_address
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import redirect, target
from commentsvc.admin.sign_in import SignIn
from commentsvc.auth import account_mails, identities, oidc, signed_links
from commentsvc.auth.accounts import Moderator
from commentsvc.auth.oidc import Attempt, Identity, OidcProvider, OidcRefused, OidcUnavailable
from commentsvc.auth.signed_links import LinkError, SignedLinks
from commentsvc.db.connection import Transaction
from commentsvc.http.messages import HttpError, Request, Response, TrustedProxies
from commentsvc.moderation.permissions import Permission
from commentsvc.util.http_client import SettingsClient
from commentsvc.util.i18n import gettext as _
from commentsvc.util.timestamps import MINUTE_MS

_log = logging.getLogger(__name__)

STATE: Final = "provider"
STATE_TIME: Final = 10 * MINUTE_MS  # time for signing in at the provider
STATE_SIZE: Final = 16  # random bytes
TARGET_LENGTH: Final = 200  # characters of the address of the page to show afterwards
RETURN: Final = "/provider-return"


class ProviderPages:
    """The handlers; they answer 404 if the settings name no provider."""

    def __init__(self, context: AdminContext, sign_in: SignIn) -> None:
        service = context.service
        settings = service.settings
        self._database = service.database
        self._keys = service.keys
        self._links = SignedLinks(service.keys)
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._public_url = settings.server.public_url
        self._sign_in = sign_in
        self._provider = OidcProvider(
            settings.oidc, SettingsClient(settings.hooks.allowed_networks), service.clock
        )
        self._limiter = context.authentication.limiter
        self._name = oidc.provider_name(settings.oidc)

    @get("/provider", Permission.ANYBODY)
    async def go(self, context: RequestContext) -> Response:
        """Sign in with the OpenID Connect provider.

        `?to=PAGE`: 303 to the provider; 502 if it does not answer.
        """
        self._need_provider()
        to = target(context.first("to"))
        word = urandom(STATE_SIZE).hex()
        state = self._links.make(
            STATE,
            context.csrf_token,
            word,
            to if len(to) <= TARGET_LENGTH else "",
            expires=context.now + STATE_TIME,
        )
        try:
            address = await self._provider.address(self._attempt(context.request, word), state)
        except OidcRefused as error:
            raise self._refused(502, error) from error
        return redirect(address)

    @get(RETURN, Permission.ANYBODY)
    async def come_back(self, context: RequestContext) -> Response:
        """Finish a sign-in with the provider.

        303 as after a password; 403, 429. The provider adds `state`, and either `code` or `error`.
        """
        self._need_provider()
        code, state = context.first("code"), context.first("state")
        try:
            browser, word, to = self._links.read(STATE, state, context.now)
            if browser != context.csrf_token:
                raise OidcRefused("provider: the state is of another browser")
            client = self._proxies.client(context.request)
            await self._limiter.count(client, word, context.now, known=False)
            await self._database.write(signed_links.mark_used, word, context.now, STATE_TIME)
            if not code:
                raise OidcRefused(f"provider: {context.first('error')[:80]!a}")
            identity = await self._provider.identity(self._attempt(context.request, word), code)
            account = await self._account(identity, context.now)
        except (OidcRefused, LinkError) as error:
            raise self._refused(403, error) from error
        return await self._sign_in.go_on(context, account, target(to))

    async def _account(self, identity: Identity, now: int) -> Moderator:
        """Return the account of an identity. Raise OidcRefused."""

        def work(tx: Transaction) -> Moderator | None:
            account, is_new = identities.account_of(tx, identity, now)
            if account is not None and is_new:
                account_mails.tell(tx, account.id, account_mails.IDENTITY, now)
            return account

        account = await self._database.write(work)
        if account is None:
            raise OidcRefused(f"provider: no account belongs to {identity.subject[:80]!a}")
        return account

    def _need_provider(self) -> None:
        """Raise HttpError 404 if the settings name no provider."""
        if not self._name:
            raise HttpError(404, "not_found", _("There is no such page."))

    def _refused(self, status: int, reason: Exception) -> HttpError:
        """Return the error for a failed sign-in; log its reason, unless anybody can cause it."""
        if not isinstance(reason, LinkError | OidcUnavailable):
            _log.warning("nobody was signed in by %s: %s", self._name, reason)
        message = _(
            "%(provider)s did not sign you in, or no account here has your email address. Try"
            " again, or sign in with your name and password.",
            provider=self._name,
        )
        return HttpError(status, "provider", message)

    def _attempt(self, request: Request, word: str) -> Attempt:
        base = public_address(self._public_url, request)
        return Attempt.of(base + BASE + RETURN, word, self._keys[0])
