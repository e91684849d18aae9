"""The password of a token's account, which the JSON API asks for where the pages ask for it."""

from typing import Any

from commentsvc.admin.api.token_access import Call
from commentsvc.admin.login_limit import LoginLimiter
from commentsvc.admin.reauthentication import Reauthentication
from commentsvc.context import ServiceContext
from commentsvc.http.messages import HttpError


class PasswordCheck:
    """Checks the passwords that programs send."""

    def __init__(self, service: ServiceContext) -> None:
        limiter = LoginLimiter(service.database, service.keys[0])
        self._reauthentication = Reauthentication(service.database, limiter)

    async def require(self, call: Call[Any, Any], password: str) -> None:
        """Raise HttpError 403 unless it is the password of the token's account; 429, 503."""
        name, token = call.who.name, call.request.bearer()
        if not await self._reauthentication.knows(name, password, token, call.now):
            raise needs_password()


def needs_password() -> HttpError:
    """Return the error for a wrong password, or none."""
    return HttpError(403, "password", "This needs the password of the token's account.")
