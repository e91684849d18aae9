"""The hook through which a mail server delivers answers: POST /api/inbox."""

import hmac
from collections.abc import Awaitable, Callable

from commentsvc.http.messages import NOT_STORED, HttpError, Request, Response
from commentsvc.http.operation import NOTHING, Content, Operation, Query
from commentsvc.http.router import Route, route

RECEIVE = Operation(
    method="POST",
    path="/api/inbox",
    summary="Receive a mail that answers one of ours",
    query=Query,
    body=(Content("message/rfc822"),),
    answers={202: NOTHING},
    errors=(400, 401, 404, 503),
    note="For mail servers. `Authorization: Bearer` holds the setting `inbox.hook_secret`; the "
    "body is the mail as it arrived. Other mails are accepted too, but ignored.",
)


class InboxHook:
    """The handler of the hook."""

    def __init__(self, secret: str, take: Callable[[bytes], Awaitable[None]] | None) -> None:
        """Take the secret of the settings, and the receiver; None if mails cannot be answered."""
        self._secret = secret
        self._take = take

    def routes(self) -> list[Route]:
        """Return the table of routes."""
        return [route(RECEIVE, self.receive)]

    async def receive(self, request: Request) -> Response:
        """POST /api/inbox with a mail: 202. 401 without the secret, 404 if none is set."""
        if not self._secret or self._take is None:
            raise HttpError(404, "no_hook", "inbox.hook_secret is not set.")
        given = request.header("authorization") or ""
        if not hmac.compare_digest(given.encode(), f"Bearer {self._secret}".encode()):
            headers = (("WWW-Authenticate", 'Bearer realm="commentsvc"'),)
            raise HttpError(401, "token", "This needs the secret of the hook.", headers=headers)
        await self._take(request.body)
        return Response(202, (NOT_STORED,), b"")
