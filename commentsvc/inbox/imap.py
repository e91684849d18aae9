"""IMAP: fetches answers from a mailbox (RFC 9051), with IDLE for new ones (RFC 2177).

Only mails to a reply address are read, and marked as seen after they are stored; all others stay
unchanged. So nothing is lost while the mail server or this service is down: unseen mails are read
later. IMAPClient runs in a thread of its own, since it blocks; closing its connection wakes the
thread when it has to stop.
"""

import asyncio
import contextlib
import imaplib
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final

from imapclient import SEEN, IMAPClient  # type: ignore[import-untyped]  # it has no types

from commentsvc.inbox.message import MAIL_SIZE
from commentsvc.settings.schema import InboxSettings
from commentsvc.util.threads import PROCESS, run_in
from commentsvc.util.tls import client_context

_log = logging.getLogger(__name__)

# Seconds for each step of a session.
DEADLINE: Final = 60.0
# Seconds after a failed session, doubled each time up to the longest pause.
FIRST_PAUSE: Final = 10.0
LONGEST_PAUSE: Final = 600.0
# Seconds to wait for the thread to stop.
GRACE: Final = 5.0

Take = Callable[[bytes], Coroutine[Any, Any, object]]


class ImapFetcher:
    """Fetches answers from one mailbox, and passes each to `take`."""

    def __init__(self, settings: InboxSettings, take: Take) -> None:
        """Take the settings. Raise OSError if `ca_file` cannot be read."""
        self._settings = settings
        self._take = take
        self._tls = client_context(settings.ca_file)
        self._stopping = threading.Event()
        self._client: IMAPClient | None = None
        self._fails = False

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
                if not self._fails:
                    _log.warning("%s is not read, and will be tried again: %s", self._place, error)
                self._fails = True
                self._stopping.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    @property
    def _place(self) -> str:
        return f"{self._settings.host}:{self._settings.port}"

    def _converse(self, loop: asyncio.AbstractEventLoop) -> None:
        """Fetch until the session ends. Raise the error that ends it."""
        wanted = self._settings
        secure = wanted.security != "none"
        client = IMAPClient(
            wanted.host,
            wanted.port,
            ssl=wanted.security == "tls",
            ssl_context=self._tls if secure else None,
            timeout=DEADLINE,
        )
        self._client = client
        try:
            if wanted.security == "starttls":
                client.starttls(self._tls)
            client.login(wanted.user, wanted.password)
            client.select_folder(wanted.folder)
            if self._fails:
                _log.info("%s is read again", self._place)
            self._fails = False
            waits = client.has_capability("IDLE")
            while not self._stopping.is_set():
                self._fetch(client, loop)
                self._wait(client, waits)
        finally:
            self._client = None
            with contextlib.suppress(Exception):  # the session is over in any case
                if not self._stopping.is_set():
                    client.logout()
            with contextlib.suppress(Exception):
                client.shutdown()

    def _fetch(self, client: IMAPClient, loop: asyncio.AbstractEventLoop) -> None:
        """Pass on each new answer, and mark it as seen."""
        local = self._settings.address.partition("@")[0]
        for number in client.search(["UNSEEN", "TO", f"{local}+"]):
            if self._stopping.is_set():
                return
            size = client.fetch([number], ["RFC822.SIZE"])[number][b"RFC822.SIZE"]
            if size > MAIL_SIZE:
                _log.info("nothing is done with a mail: it has %d bytes", size)
            else:
                raw = client.fetch([number], ["BODY.PEEK[]"])[number][b"BODY[]"]
                asyncio.run_coroutine_threadsafe(self._take(raw), loop).result(DEADLINE)
            client.add_flags([number], [SEEN])

    def _wait(self, client: IMAPClient, idles: bool) -> None:
        """Wait for a new mail, or for as long as the settings say."""
        patience = 60.0 * self._settings.poll_minutes
        if idles:
            client.idle()
            client.idle_check(timeout=patience)
            client.idle_done()
        else:
            self._stopping.wait(patience)
            client.noop()
