"""Reauthentication: what gives lasting access asks for the account's password again.

Whoever finds a signed-in browser, or a token, knows no password. So they can neither change the
address, the password, the second factor or a passkey, nor make a token, invite somebody, or give an
account more rights. Every account has a password, also one whose owner signs in in other ways.
"""

from typing import Final

from commentsvc.admin.login_limit import LoginLimiter
from commentsvc.auth import accounts, passwords
from commentsvc.db.database import Database
from commentsvc.util.i18n import gettext as _

WRONG_PASSWORD: Final = _("This is not your current password.")
NEEDS_PASSWORD: Final = _("A higher role or more sites need your current password.")


class Reauthentication:
    """Checks passwords of accounts whose browser or token is known."""

    def __init__(self, database: Database, limiter: LoginLimiter) -> None:
        self._database = database
        self._limiter = limiter

    async def passes(self, name: str, password: str, now: int) -> bool:
        """Return whether it is the password of the account `name`.

        `now` is in Unix milliseconds. Raise HttpError 429 after too many attempts.
        """
        await self._limiter.count("", name, now, known=True)
        account = await self._database.read(accounts.find, name)
        stored = account.password_hash if account else passwords.NOBODY
        return await self._limiter.verify(password, stored, known=True)
