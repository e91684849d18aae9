"""Accounts page: owners change roles, remove accounts and invite; and accepting an invitation."""

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.invite import Inviter
from commentsvc.admin.layout import AdminContext, refuse_plain
from commentsvc.admin.reauthentication import (
    NEEDS_PASSWORD,
    WRONG_PASSWORD,
    GivenRole,
    give_role,
)
from commentsvc.admin.render import number, redirect, render
from commentsvc.admin.review_queue import unreadable_decision
from commentsvc.auth import invitations, passwords, sessions
from commentsvc.auth.accounts import Moderator, ModeratorError, NameRefused, NameTaken
from commentsvc.auth.invitations import OVER, AccountInvitation, InvitationOver, InvitationRef
from commentsvc.auth.signed_links import LinkError, SignedLinks
from commentsvc.comments.submission import is_email
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.errors import ProfileRefused
from commentsvc.http.messages import Response, TrustedProxies
from commentsvc.model import ROLES
from commentsvc.moderation import profiles
from commentsvc.moderation.permissions import Permission
from commentsvc.moderation.profiles import Profile
from commentsvc.util.i18n import Text
from commentsvc.util.i18n import gettext as _

# The message after a change, by the value of `done` in the page's address.
DONE = {
    "role": _("Saved."),
    "remove": _("Account removed."),
    "revoke": _("Invitation revoked."),
}


class AccountPages:
    def __init__(self, context: AdminContext) -> None:
        service = context.service
        settings = service.settings
        self._database = service.database
        self._links = SignedLinks(service.keys)
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._inviter = Inviter(service)
        self._sites = [site.name for site in settings.sites]
        self._title = settings.sites[0].title or settings.sites[0].name
        self._access = context.access
        self._layout = context.layout
        self._authentication = context.authentication
        self._cookies = context.authentication.cookies
        self._limiter = context.authentication.limiter
        self._reauthentication = context.reauthentication

    @get("/accounts", Permission.ADMINISTER)
    async def page(self, context: RequestContext) -> Response:
        """All accounts and open invitations."""
        return await self._show(context)

    @post("/accounts", Permission.ADMINISTER)
    async def change(self, context: RequestContext) -> Response:
        """Change an account's role, remove it, or revoke an invitation.

        303 to the page; `do` is role, remove or revoke, of an `id`. A role comes with `role` and
        `sites`; one with more rights than before takes the `password` of who gives it. 403, 404,
        429, and 422 for what would leave no owner.
        """
        verb, which = context.first("do"), number(context.first("id"))
        role, sites = context.first("role"), self._chosen(context)
        if verb not in DONE or (verb == "role" and role not in ROLES):
            raise unreadable_decision()
        has_password = verb == "role" and bool(context.first("password"))
        if has_password and not await self._reauthentication.passes(context):
            return await self._show(context.refused(403, WRONG_PASSWORD))

        def work(tx: Transaction) -> bool:
            if verb == "revoke":
                invitations.revoke(tx, which)
                return True
            profile = profiles.find(tx, which)
            if profile is None:
                return True  # somebody else has removed it
            if verb == "remove":
                profiles.remove(tx, profile.name, may_be_last=False)
                return True
            given = GivenRole(context.moderator.moderator_id, role, sites, has_password)
            return give_role(tx, profile, given, context.now)

        try:
            if not await self._database.write(work):
                return await self._show(context.refused(403, NEEDS_PASSWORD))
        except ProfileRefused as error:
            problem = _("This cannot be saved: %(reason)s.", reason=error)
            return await self._show(context.refused(422, problem))
        return redirect(f"accounts?done={verb}")

    @post("/invite", Permission.ADMINISTER)
    async def invite(self, context: RequestContext) -> Response:
        """Invite somebody.

        200 with a new link, which is shown once; 400, 403, 422, 429. The account will have `role`
        and `sites`; the link is mailed to `email`, if it is given. It takes the `password` of who
        invites.
        """
        role, email = context.first("role"), context.first("email").strip()
        if role not in ROLES or (email and not is_email(email)):
            raise unreadable_decision()
        owner, sites = context.moderator.moderator_id, self._chosen(context)
        if not await self._reauthentication.passes(context):
            return await self._show(context.refused(403, WRONG_PASSWORD))
        _made, link = await self._inviter.invite(context.request, owner, role, sites, email)
        return await self._show(context, link=link)

    @get("/invitation", Permission.ANYBODY)
    async def invitation(self, context: RequestContext) -> Response:
        """An invitation: choose a name.

        `?t=T`: 200 with a form for name and password; 403 over plain HTTP, 410.
        """
        if self._authentication.is_plain(context.request):
            return refuse_plain()
        token = context.first("t")
        try:
            which, _mailed_to = self._read(token, context)
            await self._database.read(invitations.find, which, context.now)
        except (LinkError, InvitationOver):
            return self._form(context, 410, problem=OVER)
        return self._form(context, token=token)

    @post("/invitation", Permission.ANYBODY)
    async def accept(self, context: RequestContext) -> Response:
        """Create the account of an invitation.

        303 to the account, signed in; 410, 422, 429. The fields are `t`, `name`, `password` and
        `again`, the password repeated.
        """
        token, name = context.first("t"), context.first("name").strip()
        await self._limiter.count(
            self._proxies.client(context.request), name, context.now, known=False
        )
        try:
            which, mailed_to = self._read(token, context)
            await self._database.read(invitations.find, which, context.now)
            if context.first("password") != context.first("again"):
                problem: Text = _("The two new passwords differ.")
                return self._form(context, 422, token=token, name=name, problem=problem)
            password = await self._limiter.hash_password(context.first("password"))
            given = (name, password)
            account, cookies = await self._make(context, which, given, mailed_to)
        except (LinkError, InvitationOver):
            return self._form(context, 410, problem=OVER)
        except (ModeratorError, ProfileRefused, passwords.PasswordRefused) as error:
            problem = problem_of(error)
            return self._form(context, 422, token=token, name=name[:40], problem=problem)
        known = ("Set-Cookie", self._cookies.known(account))
        return redirect("account", (*cookies, known))

    async def _make(
        self,
        context: RequestContext,
        which: InvitationRef,
        given: tuple[str, str],
        mailed_to: str,
    ) -> tuple[Moderator, tuple[tuple[str, str], ...]]:
        """Make the account with a name and password hash, and sign in; return it and the cookie.

        Who used the link of the mail has its address.
        """
        token, cookie = self._access.renew()
        agent = context.request.header("user-agent") or ""

        def work(tx: Transaction) -> Moderator:
            account, invitation = invitations.accept(tx, which, *given, context.now)
            sites = filter(None, invitation.sites.split("\n"))
            profile = profiles.assign(tx, account.name, invitation.role, sites)
            other = profiles.of_address(tx, mailed_to)
            if mailed_to and not (other and other.is_verified):
                profiles.verify(tx, profile, mailed_to)
            sessions.begin(tx, token, account, agent, context.now)
            return account

        return await self._database.write(work), cookie

    def _read(self, token: str, context: RequestContext) -> tuple[InvitationRef, str]:
        """Return the invitation that a link is for, and the address it was mailed to.

        The address is "" for a link that its maker passed on. Raise LinkError.
        """
        *which, mailed_to = self._links.read(invitations.PURPOSE, token, context.now)
        return InvitationRef(*which), mailed_to

    def _chosen(self, context: RequestContext) -> list[str]:
        """Return the sites that a form names; [] for all. Raise HttpError 400."""
        chosen = list(filter(None, context.form.get("sites", [])))
        if not {*chosen} <= {*self._sites}:
            raise unreadable_decision()
        return chosen

    def _form(
        self,
        context: RequestContext,
        status: int = 200,
        *,
        token: str = "",
        name: str = "",
        problem: Text = "",
    ) -> Response:
        return render(
            "invitation.html",
            status,
            csrf_token=context.csrf_token,
            token=token,
            name=name,
            site=self._title,
            problem=problem,
            for_owner=False,
            sends_mail=False,
        )

    async def _show(self, context: RequestContext, *, link: str = "") -> Response:
        def work(snapshot: Snapshot) -> tuple[list[Profile], list[AccountInvitation]]:
            return profiles.everyone(snapshot), invitations.listing(snapshot, context.now)

        known, offered = await self._database.read(work)
        return await self._layout.render(
            "accounts.html",
            context,
            here="accounts",
            accounts=known,
            invitations=offered,
            roles=ROLES,
            sites=self._sites,
            days=invitations.DAYS,
            mails=self._inviter.mails,
            link=link,
            done=DONE.get(context.first("done"), ""),
        )


def problem_of(error: Exception) -> Text:
    """Return the message for an account that cannot be made."""
    match error:
        case NameTaken():
            return _("An account with this name already exists.")
        case NameRefused():
            return _("A name may have 1 to 40 letters, digits, or the characters @ . + - _.")
        case ProfileRefused():
            return _("This cannot be saved: %(reason)s.", reason=error)
    return str(error)
