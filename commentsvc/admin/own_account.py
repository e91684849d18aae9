"""Account page: a moderator's profile, address, password, language, and what opens the account.

An address becomes the account's when somebody signed in to it follows a link that was mailed there.
"""

from typing import Final

from msgspec.structs import replace

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.login_limit import too_many_attempts
from commentsvc.admin.reauthentication import WRONG_PASSWORD
from commentsvc.admin.render import number, redirect
from commentsvc.admin.review_queue import unreadable_decision
from commentsvc.auth import (
    account_mails,
    accounts,
    credentials,
    passwords,
    sessions,
    signed_links,
    two_factor,
)
from commentsvc.auth.account_mails import AskedAddress
from commentsvc.auth.attempts import AttemptLimiter, Bucket, Rate
from commentsvc.auth.signed_links import LinkError, LinkExpired, SignedLinks
from commentsvc.comments.submission import is_email
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.errors import NotPermitted, ProfileRefused
from commentsvc.http.messages import Response
from commentsvc.moderation import profiles
from commentsvc.moderation.permissions import Permission
from commentsvc.moderation.profiles import Profile
from commentsvc.outbox import MailAddress
from commentsvc.util.i18n import Text, language_name, moderators_tags, spoken
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import DAY_MS

MAILS_TO_ADDRESS: Final = Rate(5, DAY_MS)  # with links, so that nobody annoys others with them

# The message after a change, by the value of `done` in the page's address.
DONE = {
    "profile": _("Your profile is saved. Your comments show it."),
    "password": _("Your password is changed. All else that opened the account is removed."),
    "credential": _("Removed."),
    "language": _("Saved."),
    "asked": _("We sent a link to that address. Open it in this browser within a day."),
    "address": _("This address is confirmed."),
    "no-address": _("Removed."),
}


class OwnAccountPages:
    """The handlers of the account page."""

    def __init__(self, context: AdminContext) -> None:
        service = context.service
        self._database = service.database
        self._links = SignedLinks(service.keys)
        self._attempts = AttemptLimiter(service.database, service.keys[0])
        self._reauthentication = context.reauthentication
        self._sends_mail = bool(service.settings.mail.host)
        self._mailed = service.settings.mail.moderators
        self._access = context.access
        self._layout = context.layout
        self._cookies = context.authentication.cookies
        self._limiter = context.authentication.limiter
        self._lifetime = context.authentication.lifetime

    @get("/account", Permission.ACCOUNT)
    async def page(self, context: RequestContext) -> Response:
        """The account: the profile, the password, and where it is signed in."""
        return await self._show(context)

    @post("/profile", Permission.ACCOUNT)
    async def change_profile(self, context: RequestContext) -> Response:
        """Change what readers see of a moderator.

        303 to the account; its comments show the new profile. 422. The fields are `public_name` and
        `site`; moderators cannot change their own role.
        """
        given = {field: context.first(field) for field in ("public_name", "site")}

        def work(tx: Transaction) -> None:
            profiles.save(tx, replace(_profile(tx, context), **given))

        try:
            await self._database.write(work)
        except ProfileRefused as error:
            problem = _("This cannot be saved: %(reason)s.", reason=error)
            return await self._show(context.refused(422, problem), **given)
        return redirect("account?done=profile")

    @post("/password", Permission.ACCOUNT)
    async def change_password(self, context: RequestContext) -> Response:
        """Change the password.

        303 to the account, with a new cookie; 403, 422 or 429. All else that opens the account
        ends: see `accounts.end_credentials`.
        """
        if not await self._reauthentication.passes(context):
            return await self._show(context.refused(403, WRONG_PASSWORD))
        if context.first("new") != context.first("again"):
            return await self._show(context.refused(422, _("The two new passwords differ.")))
        try:
            new = await self._limiter.hash_password(context.first("new"))
        except passwords.PasswordRefused as error:
            return await self._show(context.refused(422, str(error)))
        return await self._renew(context, new)

    async def _renew(self, context: RequestContext, password: str) -> Response:
        """Store the hash of a new password, and continue in a new session."""
        name, agent = context.moderator.name, context.request.header("user-agent") or ""
        token, cookie = self._access.renew()

        def work(tx: Transaction) -> accounts.Moderator:
            accounts.set_password(tx, name, password)
            account = accounts.find(tx, name)
            assert account is not None, "set_password found it"
            sessions.begin(tx, token, account, agent, context.now)
            account_mails.tell(tx, account.id, account_mails.PASSWORD, context.now)
            return account

        account = await self._database.write(work)
        known = ("Set-Cookie", self._cookies.known(account))
        return redirect("account?done=password", (*cookie, known))

    @post("/language", Permission.ACCOUNT)
    async def set_language(self, context: RequestContext) -> Response:
        """Choose the language of the pages.

        303 to the account; 400.
        """
        tag = context.first("language")
        if tag and tag not in moderators_tags():
            raise unreadable_decision()
        await self._database.write(accounts.set_language, context.moderator.moderator_id, tag)
        return redirect("account?done=language")

    @post("/credentials", Permission.ACCOUNT)
    async def remove_credentials(self, context: RequestContext) -> Response:
        """Remove a session, token, passkey or identity, or all of them.

        303 to the account without a credential, or signed out. `remove` is a kind and an id;
        `everywhere` removes all. Everything but a session or a token takes the account's
        `password`. 400, 403, 404, 429.
        """
        who, now = context.moderator, context.now
        everywhere = "everywhere" in context.form
        kind, _dot, which = context.first("remove").partition(".")
        if not everywhere and kind not in credentials.TABLES:
            raise unreadable_decision()
        if (everywhere or kind in credentials.LASTING) and not await self._reauthentication.passes(
            context
        ):
            return await self._show(context.refused(403, WRONG_PASSWORD))
        if everywhere:
            await self._database.write(self._end_all, who.moderator_id, now)
            _token, cookie = self._access.renew()
            return redirect("sign-in", cookie)
        await self._database.write(
            account_mails.remove_credential, kind, number(which), who.moderator_id, now
        )
        return redirect("account?done=credential")

    def _end_all(self, tx: Transaction, moderator_id: int, now: int) -> None:
        accounts.end_credentials(tx, moderator_id)
        account_mails.tell(tx, moderator_id, account_mails.ENDED, now)

    @post("/address", Permission.ACCOUNT)
    async def change_address(self, context: RequestContext) -> Response:
        """Ask for a link that confirms an address of the account, or remove it.

        303 to the account, after a link was mailed to `email`. An empty `email` removes the address
        at once. Both take the account's `password`. 403, 422, 429.
        """
        email, who, now = context.first("email").strip(), context.moderator, context.now
        self._may_leave(await self._database.read(_profile, context), context, email)
        if not await self._reauthentication.passes(context):
            return await self._show(context.refused(403, WRONG_PASSWORD), email=email)
        if not email:
            await self._database.write(self._remove_address, context)
            return redirect("account?done=no-address")
        problem: Text = ""
        if not is_email(email):
            reason = _("%(email)s is not an email address", email=email)
            problem = _("This cannot be saved: %(reason)s.", reason=reason)
        elif not self._sends_mail:
            problem = _(
                "This service sends no mail, so its operator has to confirm the address: "
                "commentsvc moderator profile NAME --email ADDRESS"
            )
        if problem:
            return await self._show(context.refused(422, problem), email=email)
        bucket = Bucket(b"confirm address", address_key(email).encode(), MAILS_TO_ADDRESS)
        if wait := await self._attempts.take([bucket], now):
            raise too_many_attempts(wait)
        to = MailAddress(email, spoken().tag)
        await self._database.write(account_mails.ask, who.moderator_id, to, now)
        return redirect("account?done=asked")

    def _may_leave(self, profile: Profile, context: RequestContext, email: str) -> None:
        """Raise NotPermitted if only an owner may take this address from the account.

        It gets mails by the settings, and without an account these allow all decisions.
        """
        own = address_key(profile.email)
        is_mailed = bool(own) and own in map(address_key, self._mailed)
        if is_mailed and own != address_key(email) and not context.may(Permission.ADMINISTER):
            raise NotPermitted(f"{profile.name} may not change an address of mail.moderators")

    def _remove_address(self, tx: Transaction, context: RequestContext) -> None:
        before = _profile(tx, context)
        account_mails.tell(tx, before.id, account_mails.ADDRESS, context.now)
        profiles.save(tx, replace(before, email=""))

    @get("/confirm-address", Permission.ACCOUNT)
    async def ask_to_confirm(self, context: RequestContext) -> Response:
        """Ask whether to use an address.

        `?t=T`: 200 with one button. 410 for a link that is over.
        """
        token = context.first("t")
        try:
            asked = await self._database.read(self._asked, token, context)
        except LinkError as error:
            return await self._show(context.refused(410, error.message))
        return await self._layout.render("confirm-address.html", context, token=token, asked=asked)

    @post("/confirm-address", Permission.ACCOUNT)
    async def confirm(self, context: RequestContext) -> Response:
        """Use the address of a link.

        303 to the account, which has the address of `t`. 410 for a link that is over, 422 if
        another account has confirmed the address.
        """
        token = context.first("t")

        def work(tx: Transaction) -> None:
            asked, before = self._asked(tx, token, context), _profile(tx, context)
            self._may_leave(before, context, asked.email)
            saved = profiles.verify(tx, before, asked.email)
            if address_key(before.email) != address_key(saved.email):
                account_mails.tell(
                    tx, saved.id, account_mails.ADDRESS, context.now, former=before.email
                )

        try:
            await self._database.write(work)
        except LinkError as error:
            return await self._show(context.refused(410, error.message))
        except ProfileRefused as error:
            problem = _("This cannot be saved: %(reason)s.", reason=error)
            return await self._show(context.refused(422, problem))
        return redirect("account?done=address")

    def _asked(self, snapshot: Snapshot, token: str, context: RequestContext) -> AskedAddress:
        """Return the address that a link confirms for this account. Raise LinkError."""
        number, at = self._links.read(account_mails.CONFIRM_ADDRESS, token, context.now)
        asked = account_mails.asked_of(snapshot, context.moderator.moderator_id)
        if asked is None or (asked.moderator_id, asked.at) != (number, at):
            raise LinkExpired(signed_links.USED)
        return asked

    async def _show(self, context: RequestContext, **given: str) -> Response:
        moderator_id = context.moderator.moderator_id
        profile = await self._database.read(_profile, context)
        mine = await self._database.read(
            credentials.of_moderator, moderator_id, self._lifetime, context.now
        )
        factor = await self._database.read(two_factor.is_on, moderator_id)
        return await self._layout.render(
            "account.html",
            context,
            credentials=mine,
            lasting=credentials.LASTING,
            profile=replace(profile, **given),
            name_length=profiles.NAME_LENGTH,
            factor=factor,
            languages={tag: language_name(tag) for tag in moderators_tags()},
            done=DONE.get(context.first("done"), ""),
        )


def _profile(snapshot: Snapshot, context: RequestContext) -> Profile:
    profile = profiles.find(snapshot, context.moderator.moderator_id)
    assert profile is not None, "a session ends with its account"
    return profile
