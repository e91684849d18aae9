"""The hook through which a mail server delivers answers: POST /api/inbox.

People choose its secret, so it may be guessed. After `WRONG_SECRETS` a network must wait, and what
it sends meanwhile is not compared.
"""

import hmac
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from commentsvc.http.messages import (
    NOT_STORED,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    too_many,
)
from commentsvc.http.operation import NOTHING, Content, handles
from commentsvc.util.client_network import network_of
from commentsvc.util.clock import SYSTEM_CLOCK, Clock
from commentsvc.util.i18n import said_duration, translate
from commentsvc.util.lasting import Lasting
from commentsvc.util.ratelimit import NetworkLimiter

WRONG_SECRETS: Final = "20/hour"  # from one network, at each instance


class InboxHook:
    """The handler of the hook."""

    def __init__(
        self,
        secret: str,
        take: Callable[[bytes], Awaitable[object]] | None,
        lasting: Lasting,
        trusted_proxies: Sequence[str] = (),
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Take the secret of the settings, and the receiver; None if mails cannot be answered."""
        self._secret = secret
        self._take = take
        self._proxies = TrustedProxies(trusted_proxies)
        self._clock = clock
        self._guesses = lasting.get("wrong secrets", NetworkLimiter, WRONG_SECRETS)

    @handles(
        "POST",
        "/api/inbox",
        {202: NOTHING},
        body=(Content("message/rfc822"),),
        ignores_unknown=True,
        errors=(400, 401, 404, 429, 503),
        takes_file=True,
        note="For mail servers. `Authorization: Bearer` holds the setting `inbox.hook_secret`; the "
        "body is the mail as it arrived. Other mails are accepted too, but ignored.",
    )
    async def receive(self, request: Request) -> Response:
        """Receive a mail that answers one of ours.

        401 without the secret, 404 if none is set.
        """
        if not self._secret or self._take is None:
            raise HttpError(404, "no_hook", "inbox.hook_secret is not set.")
        self._authenticate(request)
        await self._take(request.body)
        return Response(202, (NOT_STORED,), b"")

    def _authenticate(self, request: Request) -> None:
        """Raise HttpError 401 without the secret, 429 after too many wrong ones."""
        network = network_of(self._proxies.client(request))
        if wait := self._guesses.take(network, self._clock.monotonic_ms()):
            text = f"These were many wrong secrets. Try again in {translate(said_duration(wait))}."
            raise too_many(text, wait, "too_many_attempts")
        given = request.bearer().encode(errors="surrogatepass")
        if not hmac.compare_digest(given, self._secret.encode()):
            headers = (("WWW-Authenticate", 'Bearer realm="commentsvc"'),)
            raise HttpError(401, "token", "This needs the secret of the hook.", headers=headers)
        self._guesses.charge(network, -1)
