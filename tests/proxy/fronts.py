"""The proxies of config/proxy, each started as its own program with the file that we ship.

Only what the files say is to be changed is changed: names, certificates, the service's address;
and the ports, since a test has no right to 80 and 443.
"""

import contextlib
import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.conftest import find_program
from tests.journey.program import PATIENCE, ROOT, wait_for

PROXY = ROOT / "config/proxy"
HOST = "comments.test"
BLOG = "blog.test"


class Place(NamedTuple):
    """What a proxy is started for and with; the certificate is for HOST and BLOG."""

    folder: Path
    socket: Path  # that the service listens on
    chain: Path
    key: Path
    http: int
    https: int


class Command(NamedTuple):
    """How a proxy is started, and how its own program checks the same file."""

    start: list[str]
    check: list[str]
    environ: Mapping[str, str] = {}


def changed(name: str, changes: Mapping[str, str]) -> str:
    """The file of that name with `changes`, each of which must find its text there."""
    text = (PROXY / name).read_text()
    for old, new in changes.items():
        assert old in text, f"{name} has no {old!r} any more"
        text = text.replace(old, new)
    return text


def switched_on(text: str, mark: str) -> str:
    """The text with what it says to take away taken away: each `mark` before a line."""
    assert mark in text
    return text.replace(mark, "")


def nginx(place: Place, name: str = "nginx.conf", marks: Sequence[str] = ()) -> Command:
    """nginx with the file `name`, in which the lines after each of `marks` are switched on."""
    program = find_program("nginx", "/usr/sbin/nginx")
    host = HOST if name == "nginx.conf" else BLOG
    example = host.replace(".test", ".example")
    certificate = f"/etc/letsencrypt/live/{example}"
    changes = {
        "/run/commentsvc/commentsvc.sock": str(place.socket),
        f"{certificate}/fullchain.pem": str(place.chain),
        f"{certificate}/privkey.pem": str(place.key),
        f"server_name {example}": f"server_name {host}",
        "listen 80;": f"listen 127.0.0.1:{place.http};",
        "listen 443 ssl": f"listen 127.0.0.1:{place.https} ssl",
        "    listen [::]:80;\n": "",
        "    listen [::]:443 ssl http2;\n": "",
    }
    if name == "nginx.conf":
        changes["/var/log/nginx"] = str(place.folder)
        changes["/dev/shm/commentsvc"] = f"{place.folder}/cache"
    else:
        changes["/var/www/blog"] = str(_blog(place))
    text = changed(name, changes)
    for mark in marks:
        text = switched_on(text, mark)
    (place.folder / "site.conf").write_text(text)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {place.folder}/{kind};" for kind in kinds)
    user = "user root;" if os.geteuid() == 0 else ""  # who alone may enter a test's folder
    main = place.folder / "nginx.conf"
    main.write_text(
        f"daemon off; {user} pid {place.folder}/pid; error_log stderr; events {{}}\n"
        f"http {{ {temporary} include {place.folder}/site.conf; }}\n"
    )
    words = [program, "-e", "stderr", "-c", str(main)]
    return Command(words, [*words, "-t"])


def _blog(place: Place) -> Path:
    folder = place.folder / "blog"
    folder.mkdir()
    return folder


def caddy(place: Place) -> Command:
    """Caddy with our Caddyfile, and the test's certificate instead of one from the Internet."""
    own = "#tls /etc/ssl/comments.pem /etc/ssl/comments.key"
    return _caddy(place, changed("Caddyfile", {own: f"tls {place.chain} {place.key}"}))


def caddy_in_folder(place: Place) -> Command:
    """The same with the other site of the file, instead of the first one."""
    changes = {
        "blog.example {": f"{BLOG} {{\n\ttls {place.chain} {place.key}",
        "/var/www/blog": str(_blog(place)),
    }
    ours, others = changed("Caddyfile", changes).split("# A host name of its own", 1)
    return _caddy(
        place, ours + re.sub("^#(?! )", "", others[others.index(f"#{BLOG}") :], flags=re.M)
    )


def _caddy(place: Place, text: str) -> Command:
    program = find_program("caddy")
    file = place.folder / "Caddyfile"
    file.write_text(text)
    environ = {
        "HOME": str(place.folder),
        "XDG_DATA_HOME": str(place.folder),
        "XDG_CONFIG_HOME": str(place.folder),
        "CADDY_ADMIN": f"unix/{place.folder}/admin",
        "COMMENTSVC_HOST": HOST,
        "COMMENTSVC_UPSTREAM": f"unix/{place.socket}",
        "COMMENTSVC_HTTP_PORT": str(place.http),
        "COMMENTSVC_HTTPS_PORT": str(place.https),
    }
    words = ["--adapter", "caddyfile", "--config", str(file)]
    return Command([program, "run", *words], [program, "validate", *words], environ)


def haproxy(place: Place, name: str = "haproxy.cfg") -> Command:
    """HAProxy with the file `name`; what it says of variables is true of the environment."""
    program = find_program("haproxy", "/usr/sbin/haproxy")
    environ = {
        "COMMENTSVC_HOST": HOST,
        "COMMENTSVC_PEM": str(_pem(place)),
        "COMMENTSVC_SERVER": f"unix@{place.socket}",
        "COMMENTSVC_HTTP": f"127.0.0.1:{place.http}",
        "COMMENTSVC_HTTPS": f"127.0.0.1:{place.https}",
    }
    file = place.folder / "haproxy.cfg"
    file.write_text(changed(name, {}))
    return Command([program, "-f", str(file)], [program, "-c", "-f", str(file)], environ)


def hitch(place: Place) -> Command:
    """hitch, whose redirect is the service's."""
    program = find_program("hitch", "/usr/sbin/hitch")
    changes = {
        "/etc/hitch/comments.pem": str(_pem(place)),
        "[*]:443": f"[127.0.0.1]:{place.https}",
        "/run/commentsvc/commentsvc.sock": str(place.socket),
    }
    if os.geteuid() != 0:
        changes['user = "_hitch"\n'] = ""  # nobody but root may become somebody else
    file = place.folder / "hitch.conf"
    file.write_text(changed("hitch.conf", changes))
    return Command([program, f"--config={file}"], [program, "--test", f"--config={file}"])


def _pem(place: Place) -> Path:
    file = place.folder / "both.pem"
    file.write_bytes(place.chain.read_bytes() + place.key.read_bytes())
    return file


FRONTS: dict[str, Callable[[Place], Command]] = {
    "nginx": nginx,
    "caddy": caddy,
    "haproxy": haproxy,
    "haproxy-tcp": partial(haproxy, name="haproxy-tcp.cfg"),
    "hitch": hitch,
}
# Those that pass on bytes: the service itself speaks HTTP, and knows by the PROXY protocol to whom.
TLS_ONLY = ("haproxy-tcp", "hitch")
FOLDERS: dict[str, Callable[[Place], Command]] = {
    "nginx": partial(nginx, name="nginx-path.conf"),
    "caddy": caddy_in_folder,
}


def check(command: Command) -> None:
    """Let the program look at its configuration, as its documentation has it."""
    done = subprocess.run(
        command.check,
        env={**os.environ, **command.environ},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def running(command: Command, place: Place) -> Iterator[None]:
    """The proxy, listening; what it says goes to a file in its folder."""
    said = place.folder / "said"
    with said.open("wb") as log:
        process = subprocess.Popen(
            command.start, env={**os.environ, **command.environ}, stdout=log, stderr=log
        )

    def listens() -> bool:
        assert process.poll() is None, said.read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", place.https)):
            return True
        return False

    try:
        wait_for(listens, "the proxy to listen")
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def free_port() -> int:
    """A port that was free a moment ago: these programs cannot be told to choose one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
