"""A real Postfix hands answers over, by the lines of docs/mail.md and as the users it takes."""

import contextlib
import os
import pwd
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from email import message_from_string
from email.policy import default
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlencode

import pytest

from commentsvc.auth import edit_tokens
from commentsvc.auth.reply_addresses import MODERATE, ReplyAddresses
from loadtest.harness.running import free_port
from tests.conftest import cannot_run
from tests.e2e.program import serving, wait_for

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "docs" / "mail.md").read_text()
PROGRAM = "/opt/commentsvc/bin/commentsvc"
SECRET = "hook-secret-of-24-signs!"
ENVIRON = {
    "COMMENTSVC_SERVER_PUBLIC_URL": "https://comments.example",
    "COMMENTSVC_MAIL_HOST": "localhost",
    "COMMENTSVC_MAIL_PORT": "9",
    "COMMENTSVC_MAIL_SECURITY": "none",
    "COMMENTSVC_MAIL_MODERATORS": "me@blog.example",
    "COMMENTSVC_MAIL_SENDER": "comments@blog.example",
    "COMMENTSVC_INBOX_ADDRESS": "comments@blog.example",
    "COMMENTSVC_INBOX_HOOK_SECRET": SECRET,
    "COMMENTSVC_AUTH_SECRET_KEY": "k" * 32,
    "COMMENTSVC_MODERATION_POLICY": "all",
}
SERVICES = """
pickup unix n - n 1 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 1 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
local unix - n n - - local
retry unix - - n - - error
showq unix n - n - - showq
postlog unix-dgram n - n - 1 postlogd
"""
SETTINGS = """
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
mail_owner = postfix
setgid_group = postdrop
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mail.blog.example
mydestination = blog.example
alias_maps = $default_database_type:{folder}/etc/aliases
local_recipient_maps =
recipient_delimiter = +
minimal_backoff_time = 1s
queue_run_delay = 1s
"""


def example(begin: str) -> str:
    """Return the example of the manual that begins so."""
    found = re.search(rf"```\n({re.escape(begin)}.*?)```", MANUAL, re.DOTALL)
    assert found, f"docs/mail.md has an example that begins with {begin}"
    return found[1]


def _python() -> Path:
    """Return a Python of our version that every user may run; skip the test if there is none."""
    names = (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}")
    found = [
        path
        for path in (Path(name).resolve() for name in names)
        if path.exists() and all(each.stat().st_mode & 0o1 for each in (path, *path.parents))
    ]
    if not found:
        cannot_run("no other user may run this Python")
    return found[0]


class Postfix:
    """A mail server in a folder of its own, which everybody may read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.etc = folder / "etc"
        for name in ("etc", "queue", "data"):
            (folder / name).mkdir()
        shutil.chown(folder / "data", "postfix")
        self.program = folder / "commentsvc"
        path = f"{ROOT}:{sysconfig.get_path('purelib')}"
        self.program.write_text(
            f'#!/bin/sh\nPYTHONPATH={path} exec {_python()} -m commentsvc "$@"\n'
        )
        self.program.chmod(0o755)

    def start(self, services: str = "", settings: str = "", aliases: str = "") -> None:
        (self.etc / "master.cf").write_text(SERVICES + services)
        (self.etc / "main.cf").write_text(SETTINGS.format(folder=self.folder) + settings)
        (self.etc / "aliases").write_text(aliases)
        self.run("postalias", str(self.etc / "aliases"))
        self.run("postfix", "start")

    def run(self, *words: str, given: str | None = None) -> str:
        done = subprocess.run(
            [words[0], "-C" if words[0] == "sendmail" else "-c", str(self.etc), *words[1:]],
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (words, done.stderr, self.log())
        return done.stdout

    def log(self) -> str:
        log = self.folder / "log"
        return log.read_text() if log.exists() else ""

    def wait_for(self, text: str, what: str) -> None:
        """Wait until the log has `text`."""
        try:
            wait_for(lambda: text in self.log(), what)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.log()}") from None

    def deliver(self, address: str, words: str, number: int, kind: str = "text/plain") -> None:
        mail = (
            f"From: me@blog.example\nTo: {address}\nSubject: Re: hi\nMessage-ID: <{number}@x>\n"
            f"In-Reply-To: <y@z>\nMIME-Version: 1.0\nContent-Type: {kind}\n\n{words}\n"
        )
        self.send("me@blog.example", address, mail)

    def send(self, sender: str, address: str, mail: str) -> None:
        self.run("sendmail", "-f", sender, address, given=mail)


LINES = f"{'A' * 76}\n" * 40_000  # 3 MB


@pytest.fixture
def postfix() -> Iterator[Postfix]:
    if shutil.which("postfix") is None:
        cannot_run("Postfix is not installed")
    if os.geteuid() != 0:
        pytest.skip("Postfix starts as root only")
    with tempfile.TemporaryDirectory(prefix="pf", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = Postfix(folder)
        try:
            yield server
        finally:
            with contextlib.suppress(AssertionError):
                server.run("postfix", "stop")


def address(comment: int) -> str:
    keys = edit_tokens.load_keys(Path("unused"), "k" * 32)
    made = ReplyAddresses(keys, "comments@blog.example")
    return made.make(MODERATE, comment, 1, "me@blog.example", 1 << 41)


def settings_file(data: Path) -> None:
    """Write the settings where the pipe finds them: Postfix passes no variables on."""
    lines = []
    for name, value in ENVIRON.items():
        section, _, key = name.removeprefix("COMMENTSVC_").lower().partition("_")
        written = value if value.isdigit() else repr([value] if key == "moderators" else value)
        lines.append((section, f"{key} = {written}"))
    text = "".join(
        f"[{section}]\n" + "".join(f"{line}\n" for of, line in lines if of == section)
        for section in dict.fromkeys(section for section, _ in lines)
    )
    text += "[mail.x]\n" if not text else ""
    (data / "commentsvc.toml").write_text(text)


def given_to(user: str, data: Path) -> None:
    for path in (data, *data.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            shutil.chown(path, user)


@pytest.mark.sqlite_only("the pipe knows the database by its folder")
def test_the_pipe_of_the_manual_delivers_and_keeps_mails_that_it_may_not_store(
    postfix: Postfix,
) -> None:
    data = postfix.folder / "service"
    with serving(data, ENVIRON) as service:
        assert service.submit("/p/", "Are you open?").status == 202
    settings_file(data)
    given_to("root", data)
    data.chmod(0o700)
    lines = example("commentsvc unix").replace("user=commentsvc", "user=nobody")
    lines = lines.replace(PROGRAM, str(postfix.program)).replace("/var/lib/commentsvc", str(data))
    postfix.start(lines, example("commentsvc_destination"))
    postfix.deliver(address(1), "ok", 1)
    postfix.wait_for("status=deferred", "the mail to be kept")
    assert "cannot be received now" in postfix.log()
    given_to("nobody", data)
    postfix.run("postqueue", "-f")
    postfix.wait_for("status=sent", "the mail to be delivered")
    assert "status=bounced" not in postfix.log()
    given_to(pwd.getpwuid(os.geteuid()).pw_name, data)
    with serving(data, ENVIRON) as service:
        wait_for(lambda: service.count("/p/") == 1, "the comment to be approved")


def test_the_alias_of_the_manual_delivers_as_nobody_and_waits_for_the_service(
    postfix: Postfix,
) -> None:
    secret = postfix.folder / "secret"
    secret.write_text(f"Authorization: Bearer {SECRET}\n")
    shutil.chown(secret, "nobody")
    secret.chmod(0o400)
    port = free_port()
    alias = example("comments: ").replace("/etc/postfix/commentsvc-secret", str(secret))
    postfix.start(aliases=alias.replace("127.0.0.1:8080", f"127.0.0.1:{port}"))
    picture = f"Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n{LINES}"
    parts = f"--b\nContent-Type: text/plain\n\nok\n--b\n{picture}--b--"
    postfix.deliver(address(1), parts, 1, "multipart/mixed; boundary=b")
    postfix.wait_for("status=deferred", "the mail to be kept")
    with serving(postfix.folder / "service", ENVIRON, f"127.0.0.1:{port}") as service:
        assert service.submit("/p/", "Are you open?").status == 202
        postfix.run("postqueue", "-f")
        postfix.wait_for("status=sent", "the mail to be delivered")
        wait_for(lambda: service.count("/p/") == 1, "the comment to be approved")
    assert "status=bounced" not in postfix.log()


def test_a_mail_to_the_address_of_a_page_becomes_a_comment_when_it_is_confirmed(
    postfix: Postfix,
) -> None:
    """Both ways lead through Postfix: the mail to the service, and the one to its sender."""
    secret, mailbox = postfix.folder / "secret", postfix.folder / "mailbox" / "ann"
    secret.write_text(f"Authorization: Bearer {SECRET}\n")
    mailbox.parent.mkdir()
    for path in (secret, mailbox.parent):
        shutil.chown(path, "nobody")
    port, smtp = free_port(), free_port()
    alias = example("comments: ").replace("/etc/postfix/commentsvc-secret", str(secret))
    postfix.start(
        f"127.0.0.1:{smtp} inet n - n - - smtpd\nanvil unix - - n - 1 anvil\n",
        "mydestination = blog.example, mail.example\n",
        f"{alias.replace('127.0.0.1:8080', f'127.0.0.1:{port}')}ann: {mailbox}\n",
    )
    environ = ENVIRON | {
        "COMMENTSVC_MAIL_PORT": str(smtp),
        "COMMENTSVC_MODERATION_POLICY": "none",
        "COMMENTSVC_SITE_COMMENTS_BY_MAIL": "true",
    }
    with serving(postfix.folder / "service", environ, f"127.0.0.1:{port}") as service:
        page = service.request("GET", "/mail/write?" + urlencode({"url": "/p/"}))
        [mailto] = re.findall(r'href="mailto:([^"]+)', page.body.decode())
        to, _, query = unescape(mailto).partition("?")
        to, [subject] = unquote(to), parse_qs(query)["subject"]
        assert re.fullmatch(r"comments\+[^@]+@blog\.example", to)
        fields = (
            f"From: Ann Ash <ann@mail.example>\nTo: {to}\nSubject: {subject}\nMessage-ID: <1@x>"
        )
        postfix.send("ann@mail.example", to, f"{fields}\n\nHello *you*!\n")
        postfix.wait_for("(delivered to file", "the mail that asks Ann")
        assert service.count("/p/") == 0
        asking = message_from_string(mailbox.read_text(), policy=default)
        assert asking["To"] == "ann@mail.example"
        body = asking.get_body(("plain",))
        assert body
        text = body.get_content()
        [link] = re.findall(r"https://comments\.example/mail/submit\?t=\S+", text)
        path = link.removeprefix("https://comments.example")
        assert "Hello *you*!" in service.request("GET", path).body.decode()
        assert service.count("/p/") == 0, "who only opens the link has sent nothing"
        form = urlencode({"name": "Ann Ash", "message": "Hello *you*!"}).encode()
        kind = "application/x-www-form-urlencoded"
        assert service.request("POST", path, form, Content_Type=kind).status == 200
        shown = service.request("GET", "/api/comments?url=/p/")
        [comment] = shown.json()["data"]
        assert (comment["author"], comment["content"]) == ("Ann Ash", "Hello *you*!")
        assert b"mail.example" not in shown.body
        again = service.request("POST", path, form, Content_Type=kind)
        assert (again.status, service.count("/p/")) == (410, 1)
    assert "status=bounced" not in postfix.log()
