"""Makes invitations, for the page of all accounts and for programs."""

from collections.abc import Sequence

from commentsvc import outbox
from commentsvc.admin.access import public_address
from commentsvc.auth import account_mails, invitations
from commentsvc.auth.invitations import AccountInvitation
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Transaction
from commentsvc.http.messages import Request
from commentsvc.moderation import profiles
from commentsvc.outbox import MailAddress
from commentsvc.util.i18n import spoken


class Inviter:
    """Makes invitations and their links; `mails` is true if they can be mailed."""

    def __init__(self, service: ServiceContext) -> None:
        self._database = service.database
        self._clock = service.clock
        self._links = SignedLinks(service.keys)
        self._public_url = service.settings.server.public_url
        self.mails = bool(service.settings.mail.host)

    async def invite(
        self, request: Request, owner: int, role: str, sites: Sequence[str], email: str
    ) -> tuple[AccountInvitation, str]:
        """Return a new invitation by an owner, and its link; mail it to `email` if there is one.

        The account will have the role on those sites, on all for none. Raise ProfileRefused.
        """
        now, language = self._clock.now_ms(), spoken().tag
        mailed = email if self.mails else ""

        def work(tx: Transaction) -> AccountInvitation:
            profiles.check_sites(tx, sites)
            made = invitations.add(tx, owner, role, "\n".join(dict.fromkeys(sites)), mailed, now)
            if mailed:
                outbox.mail(tx, "invitation", MailAddress(mailed, language), now)
            account_mails.tell(tx, owner, account_mails.ACCOUNTS, now)
            return made

        made = await self._database.write(work)
        base = public_address(self._public_url, request)
        return made, f"{base}/moderation/invitation?t={made.token(self._links)}"
