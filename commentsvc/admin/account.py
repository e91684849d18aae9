"""Account: a moderator's own password, and the browsers that are signed in by it."""

from collections.abc import Callable

from commentsvc.admin.access import Gate, Visit
from commentsvc.admin.layout import Frame
from commentsvc.admin.login_limit import Throttle
from commentsvc.admin.render import number, see
from commentsvc.auth import accounts, passwords, sessions, two_factor
from commentsvc.auth.sessions import Cookies, Lifetime
from commentsvc.db.database import Database
from commentsvc.db.sqlite import Transaction
from commentsvc.http.forms import Form
from commentsvc.http.messages import Request, Response, first
from commentsvc.http.router import Route

# What was done, as the address of the page says it.
DONE = {
    "password": "Your password is changed, and all other browsers are signed out.",
    "session": "That browser is signed out.",
}


class Account:
    """The handlers of the account's page."""

    def __init__(
        self,
        database: Database,
        gate: Gate,
        frame: Frame,
        cookies: Cookies,
        throttle: Throttle,
        lifetime: Lifetime,
        monotonic: Callable[[], float],
    ) -> None:
        """Take where accounts are, and a clock that never goes back, in seconds."""
        self._database = database
        self._gate = gate
        self._frame = frame
        self._cookies = cookies
        self._throttle = throttle
        self._lifetime = lifetime
        self._monotonic = monotonic

    def routes(self) -> list[Route]:
        """Give the table of routes."""
        gate = self._gate
        return [
            Route("GET", "/moderation/account", gate.page(self.page)),
            Route("POST", "/moderation/password", gate.act(self.change_password)),
            Route("POST", "/moderation/session", gate.act(self.end_session)),
        ]

    async def page(self, request: Request, visit: Visit) -> Response:
        """GET /moderation/account: 200 with the form for a new password, and the sessions."""
        return await self._show(visit, done=DONE.get(first(request.parameters(), "done"), ""))

    async def change_password(self, request: Request, visit: Visit, form: Form) -> Response:
        """POST /moderation/password: 303 to the account, with a new cookie; 403, 422 or 429.

        All sessions of the moderator end but this one.
        """
        name = visit.moderator.name
        self._throttle.count("", name, self._monotonic(), known=True)
        account = await self._database.read(lambda reader: accounts.find(reader, name))
        stored = account.password if account else passwords.NOBODY
        if not await self._throttle.fits(first(form, "password"), stored, known=True):
            return await self._show(visit, 403, problem="This is not your present password.")
        if first(form, "new") != first(form, "again"):
            return await self._show(visit, 422, problem="The two new passwords differ.")
        try:
            new = await self._throttle.new_hash(first(form, "new"))
        except passwords.PasswordRefused as error:
            return await self._show(visit, 422, problem=str(error))
        return await self._renew(request, visit, new)

    async def _renew(self, request: Request, visit: Visit, password: str) -> Response:
        """Store the hash of a new password, and go on in a new session."""
        name, agent = visit.moderator.name, request.header("user-agent") or ""
        token, cookie = self._gate.renew()

        def work(tx: Transaction) -> accounts.Moderator:
            accounts.set_password(tx, name, password)
            account = accounts.find(tx, name)
            assert account is not None, "set_password found it"
            sessions.begin(tx, token, account, agent, visit.now)
            return account

        account = await self._database.write(work)
        known = ("Set-Cookie", self._cookies.known(account))
        return see("account?done=password", (*cookie, known))

    async def end_session(self, request: Request, visit: Visit, form: Form) -> Response:
        """POST /moderation/session: 303 to the account; the session `id` is ended, if it is theirs.

        404 for what is no id.
        """
        session_id, moderator_id = number(first(form, "id")), visit.moderator.moderator_id
        await self._database.write(lambda tx: sessions.end(tx, session_id, moderator_id))
        return see("account?done=session")

    async def _show(
        self, visit: Visit, status: int = 200, *, done: str = "", problem: str = ""
    ) -> Response:
        moderator_id = visit.moderator.moderator_id
        mine = await self._database.read(
            lambda reader: sessions.of_moderator(reader, moderator_id, self._lifetime, visit.now)
        )
        factor = await self._database.read(lambda reader: two_factor.is_on(reader, moderator_id))
        return await self._frame.show(
            "account.html",
            visit,
            status,
            sessions=mine,
            factor=factor,
            done=done,
            problem=problem,
        )
