"""Two-factor page: moderators turn two-factor authentication on or off."""

from collections.abc import Sequence
from os import urandom
from urllib.parse import urlsplit

from commentsvc.admin.access import RequestContext, get, post
from commentsvc.admin.layout import AdminContext
from commentsvc.admin.reauthentication import WRONG_PASSWORD
from commentsvc.admin.render import redirect
from commentsvc.auth import account_mails, totp, two_factor
from commentsvc.auth.two_factor import SECRET_SIZE, WRONG_CODE
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.http.messages import Response
from commentsvc.moderation.permissions import Permission


class FactorPages:
    """The handlers of the two-factor page."""

    def __init__(self, context: AdminContext) -> None:
        self._database = context.service.database
        self._layout = context.layout
        self._two_factor = context.authentication.two_factor
        self._reauthentication = context.reauthentication
        # The name that the app shows next to the code.
        self._issuer = urlsplit(context.service.settings.server.public_url).hostname or "Comments"

    @get("/factor", Permission.ACCOUNT)
    async def page(self, context: RequestContext) -> Response:
        """Set up two-factor authentication."""
        return await self._show(context)

    @post("/factor", Permission.ACCOUNT)
    async def change(self, context: RequestContext) -> Response:
        """Turn two-factor authentication on or off.

        `do` is begin, confirm or off. The last two take a `code` and the account's `password`. 303
        to the page; 200 with the recovery codes, once; 403 for a wrong code or password, 429.
        """
        who, now = context.moderator, context.now
        what, code = context.first("do"), context.first("code")
        if what == "begin":
            word = urandom(SECRET_SIZE)
            await self._database.write(self._two_factor.begin, who.moderator_id, word)
            return redirect("factor")
        if not await self._reauthentication.passes(context):
            return await self._show(context.refused(403, WRONG_PASSWORD))
        if what == "confirm":

            def switch_on(tx: Transaction) -> list[str]:
                codes = self._two_factor.confirm(
                    tx, who.moderator_id, code, context.csrf_token, now
                )
                if codes:
                    account_mails.tell(tx, who.moderator_id, account_mails.FACTOR, now)
                return codes

            codes = await self._database.write(switch_on)
            shown = context if codes else context.refused(403, WRONG_CODE)
            return await self._show(shown, codes=codes)

        def switch_off(tx: Transaction) -> bool:
            good = self._two_factor.accept(tx, who.moderator_id, code, now)
            if good:
                two_factor.switch_off(tx, who.moderator_id)
                account_mails.tell(tx, who.moderator_id, account_mails.FACTOR, now)
            return good

        if await self._database.write(switch_off):
            return redirect("factor")
        return await self._show(context.refused(403, WRONG_CODE))

    async def _show(self, context: RequestContext, codes: Sequence[str] = ()) -> Response:
        who = context.moderator

        def work(snapshot: Snapshot) -> tuple[bool, int, bytes | None]:
            number = who.moderator_id
            return (
                two_factor.is_on(snapshot, number),
                two_factor.codes_left(snapshot, number),
                self._two_factor.offered(snapshot, number, context.csrf_token),
            )

        on, left, secret = await self._database.read(work)
        return await self._layout.render(
            "two-factor.html",
            context,
            on=on,
            left=left,
            secret=totp.written(secret) if secret else "",
            picture=_picture(totp.address(secret, self._issuer, who.name)) if secret else "",
            codes=codes,
        )


def _picture(text: str) -> str:
    """Return a QR code as inline SVG."""
    import segno  # rarely needed: only to set up an app

    return str(segno.make(text, micro=False, error="m").svg_inline(omitsize=True, light="#fff"))
