"""Account: a moderator's own password, and the browsers that are signed in by it."""

from commentsvc.admin.access import AccessControl, Authentication, RequestContext, page_operation
from commentsvc.admin.layout import Layout
from commentsvc.admin.render import number, redirect
from commentsvc.auth import accounts, passwords, sessions, two_factor
from commentsvc.context import ServiceContext
from commentsvc.db.sqlite import Transaction
from commentsvc.http.forms import Form
from commentsvc.http.messages import Request, Response, first
from commentsvc.http.router import Route, route

# What was done, as the address of the page says it.
DONE = {
    "password": "Your password is changed, and all other browsers are signed out.",
    "session": "That browser is signed out.",
}


ACCOUNT = page_operation(
    "GET", "/moderation/account", "The account: the password, and where it is signed in"
)
PASSWORD = page_operation("POST", "/moderation/password", "Change the password")
END_SESSION = page_operation("POST", "/moderation/session", "Sign out elsewhere")


class Account:
    """The handlers of the account's page."""

    def __init__(
        self,
        service: ServiceContext,
        access: AccessControl,
        layout: Layout,
        authentication: Authentication,
    ) -> None:
        self._database = service.database
        self._clock = service.clock
        self._access = access
        self._layout = layout
        self._cookies = authentication.cookies
        self._limiter = authentication.limiter
        self._lifetime = authentication.lifetime

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        access = self._access
        return [
            route(ACCOUNT, access.login_required(self.page)),
            route(PASSWORD, access.login_required_form(self.change_password)),
            route(END_SESSION, access.login_required_form(self.end_session)),
        ]

    async def page(self, request: Request, context: RequestContext) -> Response:
        """GET /moderation/account: 200 with the form for a new password, and the sessions."""
        return await self._show(context, done=DONE.get(first(request.parameters(), "done"), ""))

    async def change_password(
        self, request: Request, context: RequestContext, form: Form
    ) -> Response:
        """POST /moderation/password: 303 to the account, with a new cookie; 403, 422 or 429.

        All sessions of the moderator end but this one.
        """
        name = context.moderator.name
        self._limiter.count("", name, self._clock.monotonic_ms(), known=True)
        account = await self._database.read(accounts.find, name)
        stored = account.password_hash if account else passwords.NOBODY
        if not await self._limiter.verify(first(form, "password"), stored, known=True):
            return await self._show(context, 403, problem="This is not your present password.")
        if first(form, "new") != first(form, "again"):
            return await self._show(context, 422, problem="The two new passwords differ.")
        try:
            new = await self._limiter.hash_password(first(form, "new"))
        except passwords.PasswordRefused as error:
            return await self._show(context, 422, problem=str(error))
        return await self._renew(request, context, new)

    async def _renew(self, request: Request, context: RequestContext, password: str) -> Response:
        """Store the hash of a new password, and go on in a new session."""
        name, agent = context.moderator.name, request.header("user-agent") or ""
        token, cookie = self._access.renew()

        def work(tx: Transaction) -> accounts.Moderator:
            accounts.set_password(tx, name, password)
            account = accounts.find(tx, name)
            assert account is not None, "set_password found it"
            sessions.begin(tx, token, account, agent, context.now)
            return account

        account = await self._database.write(work)
        known = ("Set-Cookie", self._cookies.known(account))
        return redirect("account?done=password", (*cookie, known))

    async def end_session(self, request: Request, context: RequestContext, form: Form) -> Response:
        """POST /moderation/session: 303 to the account; the session `id` is ended, if it is theirs.

        404 for what is no id.
        """
        session_id, moderator_id = number(first(form, "id")), context.moderator.moderator_id
        await self._database.write(sessions.end, session_id, moderator_id)
        return redirect("account?done=session")

    async def _show(
        self, context: RequestContext, status: int = 200, *, done: str = "", problem: str = ""
    ) -> Response:
        moderator_id = context.moderator.moderator_id
        mine = await self._database.read(
            sessions.of_moderator, moderator_id, self._lifetime, context.now
        )
        factor = await self._database.read(two_factor.is_on, moderator_id)
        return await self._layout.render(
            "account.html",
            context,
            status,
            sessions=mine,
            factor=factor,
            done=done,
            problem=problem,
        )
