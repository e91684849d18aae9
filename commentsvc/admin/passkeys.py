"""Passkeys page: list and add passkeys of an account; the account page removes them."""

from commentsvc.admin.access import RequestContext, get, post, public_address
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.reauthentication import WRONG_PASSWORD
from commentsvc.admin.render import browser, redirect
from commentsvc.auth import account_mails, passkeys, signed_links
from commentsvc.auth.passkeys import NewCredential, PasskeyRefused, RelyingParty
from commentsvc.auth.signed_links import LinkError, SignedLinks
from commentsvc.db.connection import Transaction
from commentsvc.http.messages import Response
from commentsvc.moderation.permissions import Permission
from commentsvc.util.i18n import gettext as _
from commentsvc.util.threads import ACCOUNTS, run_in

# The message after a change, by the value of `done` in the page's address.
DONE = {"added": _("You can sign in with this passkey now.")}


class PasskeyPages:
    """The handlers of the passkeys page."""

    def __init__(self, context: AdminContext) -> None:
        service = context.service
        self._database = service.database
        self._links = SignedLinks(service.keys)
        self._public_url = service.settings.server.public_url
        self._layout = context.layout
        self._reauthentication = context.reauthentication

    @get("/passkeys", Permission.ACCOUNT)
    async def page(self, context: RequestContext) -> Response:
        """The account's passkeys."""
        return await self._show(context)

    @post("/passkeys", Permission.ACCOUNT)
    async def change(self, context: RequestContext) -> Response:
        """Add a passkey.

        303 to the page; stores a new one. 403, 429. It is a `credential` that the device made for
        the `challenge`; it comes with a `name` and the account's `password`.
        """
        name = context.first("name")
        if not await self._reauthentication.passes(context):
            return await self._show(context.refused(403, WRONG_PASSWORD), name=name)
        try:
            await self._add(context)
        except (LinkError, PasskeyRefused):
            problem = _("This passkey cannot be stored. Please try again.")
            return await self._show(context.refused(403, problem), name=name)
        return redirect("passkeys?done=added")

    async def _add(self, context: RequestContext) -> None:
        """Store the passkey sent by a form. Raise LinkError, PasskeyRefused."""
        owner, now = context.moderator.moderator_id, context.now
        challenge, sent, name = (context.first(key) for key in ("challenge", "credential", "name"))
        asked, random = self._links.read(passkeys.REGISTRATION, challenge, now)
        if asked != context.csrf_token:
            raise PasskeyRefused("passkey: asked for by another browser")
        party = RelyingParty.of(public_address(self._public_url, context.request))
        made = await run_in(ACCOUNTS, passkeys.read_new, party, challenge, sent)

        def work(tx: Transaction, made: NewCredential) -> None:
            signed_links.mark_used(tx, random, now, passkeys.CHALLENGE_TIME)
            if not passkeys.add(tx, owner, made, name, now):
                raise PasskeyRefused("passkey: without a name, known already, or too many")
            account_mails.tell(tx, owner, account_mails.PASSKEY, now)

        await self._database.write(work, made)

    async def _show(self, context: RequestContext, *, name: str = "") -> Response:
        owner = context.moderator
        known = await self._database.read(passkeys.of_moderator, owner.moderator_id)
        challenge = passkeys.make_challenge(
            self._links, passkeys.REGISTRATION, context.csrf_token, context.now
        )
        party = RelyingParty.of(public_address(self._public_url, context.request))
        return await self._layout.render(
            "passkeys.html",
            context,
            passkeys=known,
            most=passkeys.MOST,
            name_length=passkeys.NAME_LENGTH,
            name=name or browser(context.request.header("user-agent") or ""),
            challenge=challenge,
            options=passkeys.creation_options(
                party, owner.moderator_id, owner.name, challenge, known
            ),
            done=DONE.get(context.first("done"), ""),
        )
