"""Start the proxies of config/proxy with the configuration files that we ship."""

import contextlib
import os
import pwd
import socket
import subprocess
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer

from loadtest.harness.programs import MissingError
from loadtest.proxies.configs import Command, ProxyValues, socket_folder
from loadtest.proxies.configs import blog as blog_of
from tests.background import background
from tests.conftest import cannot_run
from tests.e2e.program import PATIENCE, wait_for

# The certificates of the tests are for both names.
HOST = "comments.test"
BLOG = "blog.test"


def checked(make: Callable[[ProxyValues], Command], values: ProxyValues) -> Command:
    """Return the command of a proxy after the proxy itself has checked its file."""
    try:
        command = make(values)
    except MissingError as reason:
        cannot_run(str(reason))
    done = subprocess.run(
        command.check,
        env={**os.environ, **command.environ},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "[warn]" not in done.stderr  # nginx warns of what a later version will refuse
    return command


@contextlib.contextmanager
def running(command: Command, values: ProxyValues) -> Iterator[None]:
    """Run a proxy until it listens; its output goes to a file in its folder."""
    said = values.folder / "said"
    with said.open("wb") as log:
        process = subprocess.Popen(
            command.start, env={**os.environ, **command.environ}, stdout=log, stderr=log
        )

    def listens() -> bool:
        assert process.poll() is None, said.read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", values.https)):
            return True
        return False

    try:
        wait_for(listens, "the proxy to listen")
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


class BlogPage(BaseHTTPRequestHandler):
    """The only page of a blog."""

    def do_GET(self) -> None:
        """Send the page."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"A blog")

    def log_message(self, *_: object) -> None:
        """Do not log: a client of a unix socket has no address that could be logged."""


@contextlib.contextmanager
def serving_blog(values: ProxyValues) -> Iterator[None]:
    """Run a blog for the proxy at a place: a file for proxies that serve files, and a server."""
    (blog_of(values) / "index.html").write_text("A blog")
    path = socket_folder(values) / "blog.sock"
    with background(UnixStreamServer(str(path), BlogPage)):
        path.chmod(0o666)
        yield
    path.unlink()


def proxy_users(values: ProxyValues) -> set[str]:
    """Return the users of the processes that read requests: those of the proxy without children."""
    ours = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            if str(values.folder) in (process / "cmdline").read_text():
                status = dict(
                    line.split(":\t", 1) for line in (process / "status").read_text().splitlines()
                )
                ours.append((status["Pid"], status["PPid"], int(status["Uid"].split()[1])))
    parents = {parent for _, parent, _ in ours}
    return {pwd.getpwuid(user).pw_name for number, _, user in ours if number not in parents}
