"""IMAP: fetches answers from a mailbox (RFC 9051), with IDLE for new ones (RFC 2177).

Mails to a reply address are read, and marked as seen once they are stored; all others stay
unchanged. The database knows the last mail that was read by its UID (RFC 9051, 2.3.1.1), so nothing
is lost while the mail server or this service is down, or if a mail program opens a mail first. When
a mailbox is read for the first time, its unseen mails count; when its UIDs have become invalid, all
mails since the last time do. A mail that is read twice is stored once. IMAPClient runs in a thread
of its own, since it blocks; closing its connection wakes the thread when it has to stop.
"""

import asyncio
import contextlib
import imaplib
import logging
import shlex
import ssl
import subprocess
import threading
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from imapclient import (  # type: ignore[import-untyped]  # it has no types
    SEEN,
    IMAPClient,
    SocketTimeout,
)

from commentsvc.db.database import Database
from commentsvc.db.schema.inbox import MailboxProgress
from commentsvc.inbox import inbox
from commentsvc.inbox.message import MAIL_SIZE
from commentsvc.settings.schema import InboxSettings
from commentsvc.util.clock import Clock
from commentsvc.util.connect_advice import advice
from commentsvc.util.error_texts import error_text
from commentsvc.util.threads import PROCESS, run_in
from commentsvc.util.timestamps import DAY_MS
from commentsvc.util.tls import certificate_fault, client_context

_log = logging.getLogger(__name__)

# Seconds for each step of a session.
DEADLINE: Final = 60.0
# Seconds for each address of the server, and for each step of TLS: the next one is tried then.
CONNECT_DEADLINE: Final = 10.0
# Seconds after a failed session, doubled each time up to the longest pause.
FIRST_PAUSE: Final = 10.0
LONGEST_PAUSE: Final = 600.0
# Seconds to wait for the thread to stop.
GRACE: Final = 5.0
# Milliseconds before the last reading of which mails are read again if UIDs have become invalid:
# servers search by days, of any time zone.
OVERLAP: Final = 2 * DAY_MS
# Seconds between two searches for new mails. A server that announces them (IDLE) may end a silent
# connection after half an hour (RFC 3501, 5.4), and a router after less.
PATIENCE: Final = 300.0
# And at first after a mail was announced: the client may read the announcement of one that comes
# just before IDLE together with the server's answer to it, and then knows of none.
FIRST_PATIENCE: Final = 2.0
# The part of a mail that is fetched: one byte more than may be read, so that a larger one is told.
_PEEK: Final = f"BODY.PEEK[]<0.{MAIL_SIZE + 1}>"
_BODY: Final = b"BODY[]<0>"

# Stores a mail; returns whether it answers one of ours.
Take = Callable[[bytes], Coroutine[Any, Any, bool]]
T = TypeVar("T")


def opened(wanted: InboxSettings, tls: ssl.SSLContext) -> IMAPClient:
    """Return a connection to the server, nobody signed in. Raise OSError, IMAP4.error."""
    return IMAPClient(
        wanted.host,
        wanted.port,
        ssl=wanted.security == "tls",
        ssl_context=tls if wanted.security != "none" else None,
        timeout=SocketTimeout(CONNECT_DEADLINE, DEADLINE),
    )


class ImapFetcher:
    """Fetches answers from one mailbox, and passes each to `take`."""

    def __init__(
        self, settings: InboxSettings, take: Take, database: Database, clock: Clock
    ) -> None:
        """Take the settings. Raise OSError if `ca_file` cannot be read."""
        self._settings = settings
        self._take = take
        self._database = database
        self._clock = clock
        self._tls = client_context(settings.ca_file)
        self._stopping = threading.Event()
        self._client: IMAPClient | None = None
        self.trouble = ""  # why the mailbox is not read

    async def run(self) -> None:
        """Fetch mails until cancelled."""
        loop = asyncio.get_running_loop()
        self._stopping.clear()
        # Not from a pool: a server that hangs must not keep the program from ending.
        thread = threading.Thread(target=self._repeat, args=(loop,), name="imap", daemon=True)
        thread.start()
        try:
            await loop.create_future()
        finally:
            self._stopping.set()
            if client := self._client:
                with contextlib.suppress(OSError, imaplib.IMAP4.error):
                    client.shutdown()
            await run_in(PROCESS, thread.join, GRACE)

    def _repeat(self, loop: asyncio.AbstractEventLoop) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            try:
                self._converse(loop)
                pause = FIRST_PAUSE
            except Exception as error:  # any failure of a mailbox is retried
                if self._stopping.is_set():
                    return
                before, why = self.trouble, certificate_fault(error) or error_text(error)
                hint = advice(error, "inbox")
                if isinstance(error, IMAPClient.Error):
                    hint = " Look at inbox.user, inbox.password and inbox.folder."
                text = f"{self._server} is not read, and will be tried again: {why}"
                self.trouble = f"{text.rstrip('.')}.{hint}" if hint else text
                if not before:
                    _log.warning("%s", self.trouble)
                self._stopping.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    @property
    def _server(self) -> str:
        return f"{self._settings.host}:{self._settings.port}"

    def _converse(self, loop: asyncio.AbstractEventLoop) -> None:
        """Fetch until the session ends. Raise the error that ends it."""
        wanted, client = self._settings, opened(self._settings, self._tls)
        self._client = client
        try:
            if wanted.security == "starttls":
                client.starttls(self._tls)
            if wanted.token_command:
                client.oauth2_login(wanted.user, _token(wanted.token_command))
            else:
                client.login(wanted.user, wanted.password)
            folder = client.select_folder(wanted.folder)
            if self.trouble:
                _log.info("%s is read again", self._server)
            self.trouble = ""
            waits = client.has_capability("IDLE")
            _has_announced(client)  # how many mails there are
            patience = FIRST_PATIENCE if waits else PATIENCE
            while not self._stopping.is_set():
                self._fetch(client, folder, loop)
                is_announced = _has_announced(client) or self._wait(client, waits, patience)
                patience = FIRST_PATIENCE if is_announced else min(2 * patience, PATIENCE)
        finally:
            self._client = None
            with contextlib.suppress(Exception):  # the session is over in any case
                if not self._stopping.is_set():
                    client.logout()
            with contextlib.suppress(Exception):
                client.shutdown()

    def _fetch(
        self,
        client: IMAPClient,
        folder: dict[bytes, Any],  # Any: as IMAPClient gives it
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Pass on each new answer, and mark it as seen."""

        def run(work: Coroutine[Any, Any, T]) -> T:
            return asyncio.run_coroutine_threadsafe(work, loop).result(DEADLINE)

        mailbox = f"{self._settings.user}@{self._server}/{self._settings.folder}"
        before = run(self._database.read(inbox.progress, mailbox))
        validity = folder[b"UIDVALIDITY"]
        continues = before is not None and before.validity == validity
        first = before.uid + 1 if before and continues else 0
        # What comes later is found again, and known. Some servers do not tell what comes next.
        last = max(first, folder.get(b"UIDNEXT", 1)) - 1
        if before is None:
            since: list[object] = ["UNSEEN"]
        elif continues:
            since = ["UID", f"{first}:*"]
        else:
            day = datetime.fromtimestamp((before.read_at - OVERLAP) // 1_000, UTC).date()
            since = ["SINCE", day]
        for uid in sorted(client.search([*since, *self._to_us()])):
            if self._stopping.is_set():
                return
            if uid < first:  # a search up to "*" always has the last mail
                continue
            last = max(last, uid)
            found = client.fetch([uid], [_PEEK]).get(uid, {})  # it may have been moved meanwhile
            if (raw := found.get(_BODY)) and run(self._take(raw)):
                client.add_flags([uid], [SEEN])
        now = self._clock.now_ms()
        if not (before and continues and before.uid == last and now - before.read_at < DAY_MS):
            read = MailboxProgress(validity, last, now)
            run(self._database.write(inbox.save_progress, mailbox, read))

    def _to_us(self) -> list[object]:
        """Return the condition of a search for mails to a reply address."""
        local = f"{self._settings.address.partition('@')[0]}+"
        delivered = ["OR", ["HEADER", "Delivered-To", local], ["HEADER", "X-Original-To", local]]
        return ["OR", ["TO", local], ["OR", ["CC", local], delivered]]

    def _wait(self, client: IMAPClient, idles: bool, patience: float) -> bool:
        """Wait for a new mail, or for `patience` seconds; return whether the server told of any."""
        if not idles:
            self._stopping.wait(patience)
            client.noop()
            return False
        client.idle()
        lines = client.idle_check(timeout=patience)
        client.idle_done()
        return bool(lines)


def _has_announced(client: IMAPClient) -> bool:
    """Return whether the server told of mails since the last call, which IDLE does not repeat.

    It does so with the result of any command (RFC 9051, 5.2), also of a search without those mails.
    """
    return bool(client._imap.untagged_responses.pop("EXISTS", ()))


def _token(command: str) -> str:
    """Return the access token that a command prints. Raise OSError."""
    try:
        done = subprocess.run(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE,
            text=True,
            check=False,
        )
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise OSError(f"inbox.token_command gives no token: {error}") from None
    token = done.stdout.strip()
    if done.returncode or not token or len(token.split()) > 1:
        output = " ".join(done.stderr.split())[-200:]
        raise OSError(f"inbox.token_command gives no token (exit code {done.returncode}): {output}")
    return token
