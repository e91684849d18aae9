"""The page behind the link that `serve` writes while there is no account: it makes an owner's."""

from typing import Final

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.accounts import problem_of
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.render import redirect, render
from commentsvc.auth import account_mails, first_owner, passwords, sessions
from commentsvc.auth.accounts import Moderator, ModeratorError
from commentsvc.auth.first_owner import OVER, LinkOver
from commentsvc.auth.signed_links import LinkError, SignedLinks
from commentsvc.comments.submission import is_email
from commentsvc.db.connection import Transaction
from commentsvc.http.messages import Response, TrustedProxies
from commentsvc.moderation.permissions import Permission
from commentsvc.outbox import MailAddress
from commentsvc.util.i18n import Text, spoken
from commentsvc.util.i18n import gettext as _

UNSAFE: Final = _(
    "Others may have read this link on its way, so it no longer works. Restart the service, and"
    " open the new link over https:// or on localhost."
)


class FirstOwnerPages:
    """The handlers of this page."""

    def __init__(self, context: AdminContext) -> None:
        settings = context.service.settings
        self._database = context.service.database
        self._links = SignedLinks(context.service.keys)
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._title = settings.sites[0].title or settings.sites[0].name
        self._sends_mail = bool(settings.mail.host)
        self._access = context.access
        self._cookies = context.authentication.cookies
        self._limiter = context.authentication.limiter

    @get("/owner", Permission.ANYBODY)
    async def page(self, context: RequestContext) -> Response:
        """The first account: choose a name.

        `?t=T`: 200 with a form for name and password; 403, 410.
        """
        return await self._refusal(context) or self._form(context)

    @post("/owner", Permission.ANYBODY)
    async def make(self, context: RequestContext) -> Response:
        """Create the first account, an owner's.

        303 to the account, signed in; 403, 410, 422, 429. The fields are `t`, `name`, `password`,
        `again`, the password repeated, and `email`, which is asked to confirm that it is theirs.
        """
        name, email = context.first("name").strip(), context.first("email").strip()
        client = self._proxies.client(context.request)
        await self._limiter.count(client, name, context.now, known=False)
        if refusal := await self._refusal(context):
            return refusal
        problem: Text = ""
        if context.first("password") != context.first("again"):
            problem = _("The two new passwords differ.")
        elif email and not is_email(email):
            reason = _("%(email)s is not an email address", email=email)
            problem = _("This cannot be saved: %(reason)s.", reason=reason)
        if problem:
            return self._form(context, 422, problem)
        token, cookie = self._access.renew()
        agent, asked = context.request.header("user-agent") or "", email and self._sends_mail

        def work(tx: Transaction) -> Moderator:
            made = first_owner.accept(
                tx, self._links, context.first("t"), name, password, context.now
            )
            sessions.begin(tx, token, made, agent, context.now)
            if asked:
                account_mails.ask(tx, made.id, MailAddress(email, spoken().tag), context.now)
            return made

        try:
            password = await self._limiter.hash_password(context.first("password"))
            account = await self._database.write(work)
        except (LinkError, LinkOver):
            return self._form(context, 410, OVER, is_over=True)
        except (ModeratorError, passwords.PasswordRefused) as error:
            return self._form(context, 422, problem_of(error))
        known = ("Set-Cookie", self._cookies.known(account))
        return redirect("account?done=asked" if asked else "account", (*cookie, known))

    async def _refusal(self, context: RequestContext) -> Response | None:
        """Return the page for a link that does not work here; None if it does.

        What came over the network as plain text may be known to others: that link ends.
        """
        try:
            word = await self._database.read(
                first_owner.find, self._links, context.first("t"), context.now
            )
            if self._proxies.keep_secret(context.request):
                return None
            await self._database.write(first_owner.end, word, context.now)
        except (LinkError, LinkOver):
            return self._form(context, 410, OVER, is_over=True)
        return self._form(context, 403, UNSAFE, is_over=True)

    def _form(
        self,
        context: RequestContext,
        status: int = 200,
        problem: Text = "",
        *,
        is_over: bool = False,
    ) -> Response:
        return render(
            "invitation.html",
            status,
            csrf_token=context.csrf_token,
            token="" if is_over else context.first("t"),
            name=context.first("name").strip()[:40],
            email=context.first("email")[:254],
            site=self._title,
            problem=problem,
            for_owner=True,
            sends_mail=self._sends_mail,
        )
