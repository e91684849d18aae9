"""Run Debian's IMAP server Dovecot as an ordinary user in a folder of its own."""

import contextlib
import grp
import os
import pwd
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest
import trustme
from imapclient import IMAPClient  # type: ignore[import-untyped]  # it has no types

from loadtest.harness.running import free_port
from tests.e2e.program import PATIENCE, wait_for

PASSWORD: Final = "correct-horse"
TOKEN: Final = "ya29.good-token"
PROGRAM: Final = shutil.which("dovecot", path=f"{os.environ['PATH']}:/usr/sbin")
# The tests may run as root, and Dovecot refuses to open mailboxes for root.
USER: Final = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name

# The configuration by version: 2.4 renamed many settings, and the version must come first.
CONFIGURATIONS: Final = {
    "2.3": """
mail_location = maildir:{folder}/mail
ssl_cert = <{folder}/server.pem
ssl_key = <{folder}/server.key
disable_plaintext_auth = yes
auth_mechanisms = plain xoauth2
service anvil {{
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
passdb {{
  driver = oauth2
  mechanisms = xoauth2
  args = {folder}/oauth2.conf
}}
passdb {{
  driver = static
  mechanisms = plain
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}
}}
""",
    "2.4": """
dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
mail_driver = maildir
mail_path = {folder}/mail
ssl_server_cert_file = {folder}/server.pem
ssl_server_key_file = {folder}/server.key
auth_allow_cleartext = no
auth_mechanisms = plain xoauth2
oauth2_tokeninfo_url = http://127.0.0.1:{tokens}/?token=
oauth2_username_attribute = user
passdb oauth2 {{
  mechanisms_filter = xoauth2
}}
passdb static {{
  mechanisms_filter = plain
  password = {password}
}}
userdb static {{
  fields {{
    uid = {uid}
    gid = {gid}
    home = {folder}
  }}
}}
""",
}
# Of version 2.3 only.
OAUTH2: Final = """
tokeninfo_url = http://127.0.0.1:{tokens}/?token=
username_attribute = user
"""
EVERY_VERSION: Final = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
first_valid_uid = 1
auth_failure_delay = 0
mailbox_idle_check_interval = 1s
first_valid_gid = 1
ssl = required
service imap-login {{
  chroot =
  inet_listener imap {{
    port = 0
  }}
  inet_listener imaps {{
    port = {port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
"""


class _TokenInfo(BaseHTTPRequestHandler):
    """Tells Dovecot whose token TOKEN is, as an OAuth provider does."""

    def do_GET(self) -> None:
        is_good = self.path == f"/?token={TOKEN}"
        body = b'{"user": "me"}' if is_good else b'{"error": "invalid_token"}'
        self.send_response(200 if is_good else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def _provider() -> Iterator[int]:
    """Run the provider of tokens; give its port."""
    provider = ThreadingHTTPServer(("127.0.0.1", 0), _TokenInfo)
    threading.Thread(target=provider.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield provider.server_port
    finally:
        provider.shutdown()
        provider.server_close()


class ImapServer:
    """A server for the user "me"; `authority` is the certificate that clients verify it with."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.authority = str(folder / "authority.pem")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start serving."""
        assert PROGRAM
        command = [PROGRAM, "-F", "-c", str(self.folder / "dovecot.conf")]
        if os.geteuid() == 0:
            group = pwd.getpwnam(USER).pw_gid
            self._process = subprocess.Popen(
                command, user=USER, group=group, extra_groups=[], process_group=0
            )
        else:
            self._process = subprocess.Popen(command, process_group=0)
        try:
            wait_for(self._listens, "Dovecot to listen")
        except AssertionError as error:
            log = self.folder / "log"
            raise AssertionError(f"{error}: {log.read_text() if log.exists() else ''}") from None

    def _listens(self) -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), PATIENCE).close()
            return True
        return False

    def stop(self) -> None:
        """Stop the server and end all its connections."""
        if self._process:
            os.killpg(self._process.pid, signal.SIGKILL)  # else some last for ten seconds
            self._process.wait(PATIENCE)
            self._process = None
            # Its children have the port, too.
            wait_for(lambda: not self._listens(), "Dovecot to end")
            # Otherwise the next one waits for two minutes until it takes them for left behind.
            for lock in (self.folder / "mail").glob("*.lock"):
                lock.unlink()

    @contextlib.contextmanager
    def mailbox(self) -> Iterator[IMAPClient]:
        """Connect with a client that verifies no certificate."""
        context = ssl._create_unverified_context()
        with IMAPClient("127.0.0.1", self.port, ssl_context=context, timeout=PATIENCE) as client:
            client.login("me", PASSWORD)
            client.select_folder("INBOX")
            yield client

    def clear(self) -> None:
        """Delete all mails."""
        with self.mailbox() as client:
            client.delete_messages(client.search("ALL"))
            client.expunge()

    def renumber(self) -> None:
        """Give all mails other UIDs, as after a restore of the mailbox; restarts the server."""
        self.stop()
        for name in ("dovecot-uidlist", "dovecot-uidvalidity*", "dovecot.index*", "dovecot.list*"):
            for path in (self.folder / "mail").glob(name):
                path.unlink()
        self.start()

    def unseen(self) -> int:
        """Return how many mails are unread."""
        with self.mailbox() as client:
            return len(client.search("UNSEEN"))


@contextlib.contextmanager
def imap_server() -> Iterator[ImapServer]:
    """Run a server during the block; skip the test if no supported version is installed."""
    if PROGRAM is None:
        pytest.skip("dovecot is not installed")
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    configuration = CONFIGURATIONS.get(version.stdout[:3])
    if configuration is None:
        pytest.skip(f"dovecot {version.stdout.strip()} has other settings")
    owner = pwd.getpwnam(USER)
    port = free_port()
    with _provider() as tokens, tempfile.TemporaryDirectory(prefix="imap") as name:
        folder = Path(name)
        authority = trustme.CA()
        certificate = authority.issue_cert("localhost")
        certificate.private_key_pem.write_to_path(str(folder / "server.key"))
        for blob in certificate.cert_chain_pems:
            blob.write_to_path(str(folder / "server.pem"), append=True)
        authority.cert_pem.write_to_path(str(folder / "authority.pem"))
        text = (configuration + EVERY_VERSION).format(
            folder=folder,
            user=USER,
            group=grp.getgrgid(owner.pw_gid).gr_name,
            uid=owner.pw_uid,
            gid=owner.pw_gid,
            port=port,
            password=PASSWORD,
            tokens=tokens,
        )
        (folder / "dovecot.conf").write_text(text)
        (folder / "oauth2.conf").write_text(OAUTH2.format(tokens=tokens))
        if os.geteuid() == 0:
            for path in (folder, *folder.iterdir()):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        server = ImapServer(folder, port)
        try:
            server.start()
            yield server
        finally:
            server.stop()
