"""Reauthentication: what gives lasting access asks for the account's password again.

Whoever finds a signed-in browser, or a token, knows no password. So they can neither change the
address, the password, the second factor or a passkey, nor make a token, invite somebody, or give an
account more rights. Every account has a password, also one whose owner signs in in other ways.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from commentsvc.admin.access import RequestContext
from commentsvc.admin.login_limit import LoginLimiter
from commentsvc.auth import account_mails, accounts, passwords
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.moderation import profiles
from commentsvc.moderation.profiles import Profile
from commentsvc.util.i18n import gettext as _

WRONG_PASSWORD: Final = _("This is not your current password.")
NEEDS_PASSWORD: Final = _("A higher role or more sites need your current password.")


class Reauthentication:
    """Checks passwords of accounts whose browser or token is known.

    Each browser and each token has guesses of its own: those of a thief must not keep the owner
    from signing out everywhere.
    """

    def __init__(self, database: Database, limiter: LoginLimiter) -> None:
        self._database = database
        self._limiter = limiter

    async def passes(self, context: RequestContext) -> bool:
        """Return whether a form has the password of who sends it.

        Raise HttpError 429 after too many attempts.
        """
        name, password = context.moderator.name, context.first("password")
        return await self.knows(name, password, context.csrf_token, context.now)

    async def knows(self, name: str, password: str, asker: str, now: int) -> bool:
        """Return whether it is the password of the account `name`.

        The `asker` is a text of the browser or program alone; `now` is in Unix milliseconds. Raise
        HttpError 429 after too many attempts.
        """
        await self._limiter.count("", f"{asker} {name}", now, known=True)
        account = await self._database.read(accounts.find, name)
        stored = account.password_hash if account else passwords.NOBODY
        return await self._limiter.verify(password, stored, known=True)


class GivenRole(NamedTuple):
    """A role on `sites` that the account `owner` gives; `is_sure` with that account's password."""

    owner: int
    role: str
    sites: Sequence[str]
    is_sure: bool


def give_role(tx: Transaction, profile: Profile, given: GivenRole, now: int) -> bool:
    """Give an account a role; return False if that takes the password. Raise ProfileRefused.

    More rights than before are mailed to the owner.
    """
    gives_more = not profile.covers(given.role, given.sites)
    if gives_more and not given.is_sure:
        return False
    profiles.assign(tx, profile.name, given.role, given.sites)
    if gives_more:
        account_mails.tell(tx, given.owner, account_mails.ACCOUNTS, now)
    return True
