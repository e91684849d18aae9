"""Tokens page: list, make and revoke the API tokens of an account."""

from os import urandom

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.reauthentication import WRONG_PASSWORD
from commentsvc.admin.render import number, redirect
from commentsvc.admin.review_queue import unreadable_decision
from commentsvc.auth import account_mails, api_tokens
from commentsvc.auth.api_tokens import DAYS, NAME_LENGTH, TOKEN_SIZE
from commentsvc.db.connection import Transaction
from commentsvc.http.messages import Response
from commentsvc.model import SCOPES
from commentsvc.moderation.permissions import Permission
from commentsvc.util.i18n import gettext as _


class TokenPages:
    """The handlers of the tokens page."""

    def __init__(self, context: AdminContext) -> None:
        self._database = context.service.database
        self._sites = [site.name for site in context.service.settings.sites]
        self._layout = context.layout
        self._reauthentication = context.reauthentication

    @get("/tokens", Permission.ACCOUNT)
    async def page(self, context: RequestContext) -> Response:
        """The account's tokens for programs."""
        return await self._show(context)

    @post("/tokens", Permission.ACCOUNT)
    async def change(self, context: RequestContext) -> Response:
        """Make or revoke a token for programs.

        303 after `revoke`; or 200 with a new token, shown once. A new one needs a `name`, a
        `scope`, `sites` and `days`, and the account's `password`. 400, 403, 404, 429.
        """
        owner = context.moderator.moderator_id
        if "revoke" in context.form:
            token_id = number(context.first("revoke"))
            await self._database.write(api_tokens.revoke, token_id, owner)
            return redirect("tokens?done=revoked")
        name, scope, days = (context.first(field).strip() for field in ("name", "scope", "days"))
        sites = [*filter(None, context.form.get("sites", []))]
        seen = [site for site in self._sites if context.actor.sees(site)]
        if (
            not 0 < len(name) <= NAME_LENGTH
            or scope not in _scopes(context)
            or days not in map(str, DAYS)
            or not {*sites} <= {*seen}
        ):
            raise unreadable_decision()
        if not await self._reauthentication.passes(context):
            return await self._show(context.refused(403, WRONG_PASSWORD), name=name)
        token, digest = api_tokens.new_token(urandom(TOKEN_SIZE))
        offer = api_tokens.offer(owner, name, scope, "\n".join(sites), context.now, int(days))

        def work(tx: Transaction) -> None:
            api_tokens.add(tx, offer, digest)
            account_mails.tell(tx, owner, account_mails.TOKEN, context.now)

        await self._database.write(work)
        return await self._show(context, token=token)

    async def _show(self, context: RequestContext, *, token: str = "", name: str = "") -> Response:
        owner = context.moderator.moderator_id
        return await self._layout.render(
            "tokens.html",
            context,
            name=name,
            tokens=await self._database.read(api_tokens.of_moderator, owner),
            scopes=_scopes(context),
            sites=[site for site in self._sites if context.actor.sees(site)],
            name_length=NAME_LENGTH,
            days=DAYS,
            token=token,
            done=_("Token revoked.") if context.first("done") else "",
        )


def _scopes(context: RequestContext) -> list[str]:
    """Return the scopes of the tokens that an account can make."""
    return [scope for scope in SCOPES if context.may(scope)]
