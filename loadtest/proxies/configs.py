"""The files of config/proxy, filled in to run here, for tests and measurements.

Changed is only what the files tell their reader to change (names, certificates, the service's
address), and the ports, since 80 and 443 need privileges. Raises MissingError for a missing proxy.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from loadtest.harness.programs import ROOT, MissingError

PROXY = ROOT / "config/proxy"
BROTLI_MODULE = Path("/usr/lib/nginx/modules/ngx_http_brotli_filter_module.so")


class ProxyValues(NamedTuple):
    """The values for a proxy's file; `workers` is for a proxy that does not count the cores."""

    folder: Path
    upstream: str  # HOST:PORT or unix:PATH
    chain: Path
    key: Path
    http: int
    https: int
    host: str
    workers: int = 2


class Command(NamedTuple):
    """The command that starts a proxy, and the one that checks its file."""

    start: list[str]
    check: list[str]
    environ: Mapping[str, str] = {}


def find(name: str) -> str:
    """Return the path of a program. Raise MissingError."""
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if path is None:
        raise MissingError(f"{name} is missing. Run: apt-get install -y {name}")
    return path


def changed(name: str, changes: Mapping[str, str], marks: Sequence[str] = ()) -> str:
    """Return the file of that name with `changes`, each of which must find its text.

    The lines after each of `marks` are switched on. Raise ValueError.
    """
    text = (PROXY / name).read_text()
    for old, new in changes.items():
        if old not in text:
            raise ValueError(f"{name} has no {old!r} any more")
        text = text.replace(old, new)
    for mark in marks:
        text = text.replace(mark, "")
    return text


def nginx(
    values: ProxyValues,
    name: str = "nginx.conf",
    marks: Sequence[str] = (),
    more: Mapping[str, str] = {},
) -> Command:
    """Return nginx with the file `name`; `more` are further changes, for `marks` see `changed`."""
    program = find("nginx")
    example = "comments.example" if name == "nginx.conf" else "blog.example"
    certificate = f"/etc/letsencrypt/live/{example}"
    changes = {
        "unix:/run/commentsvc/commentsvc.sock": f'"{values.upstream}"',
        f"{certificate}/fullchain.pem": f'"{values.chain}"',
        f"{certificate}/privkey.pem": f'"{values.key}"',
        f"server_name {example}": f"server_name {values.host}",
        "listen 80;": f"listen 127.0.0.1:{values.http};",
        "listen 443 ssl": f"listen 127.0.0.1:{values.https} ssl",
        "    listen [::]:80;\n": "",
        "    listen [::]:443 ssl http2;\n": "",
    }
    if name == "nginx.conf":
        changes["listen 443 quic"] = f"listen 127.0.0.1:{values.https} quic"
        changes["    #3 listen [::]:443 quic reuseport;\n"] = ""
        changes["/var/log/nginx/"] = ""
        changes["/dev/shm/commentsvc"] = "cache"
    else:
        changes["/var/www/blog"] = blog(values).name
    text = changed(name, {**changes, **more}, marks)
    if _nginx_version(program) >= (1, 25, 1):  # as the file says
        text = text.replace(" ssl http2", " ssl").replace("#2 ", "")
    (values.folder / "site.conf").write_text(text)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {kind};" for kind in kinds)
    user = "user root;" if os.geteuid() == 0 else ""  # who alone may enter this folder
    main = values.folder / "nginx.conf"
    modules = f"load_module {BROTLI_MODULE}; " if BROTLI_MODULE.exists() else ""
    main.write_text(
        f"{modules}daemon off; {user} pid pid; error_log stderr crit;\n"
        f"worker_processes {values.workers}; events {{ worker_connections 4096; }}\n"
        f"http {{ {temporary} include site.conf; }}\n"
    )
    words = [program, "-e", "stderr", "-p", str(values.folder), "-c", str(main)]
    return Command(words, [*words, "-t"])


def _nginx_version(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "-v"], capture_output=True, text=True, check=True).stderr
    found = re.search(r"nginx/([0-9.]+)", said)
    return tuple(map(int, found[1].split("."))) if found else ()


def blog(values: ProxyValues) -> Path:
    """Return the folder of the blog on the same host."""
    folder = values.folder / "blog"
    folder.mkdir(exist_ok=True)
    return folder


def caddy(values: ProxyValues, more: Mapping[str, str] = {}) -> Command:
    """Return Caddy with our Caddyfile and a local certificate instead of one from the Internet."""
    own = "#tls /etc/ssl/comments.pem /etc/ssl/comments.key"
    return _caddy(values, changed("Caddyfile", {own: f"tls {values.chain} {values.key}", **more}))


def caddy_in_folder(values: ProxyValues) -> Command:
    """Return Caddy with the second site of the file in place of the first."""
    changes = {
        "blog.example {": f"{values.host} {{\n\ttls {values.chain} {values.key}",
        "/var/www/blog": str(blog(values)),
    }
    ours, others = changed("Caddyfile", changes).split("# A host name of its own", 1)
    site = others[others.index(f"#{values.host} {{") :]
    return _caddy(values, ours + re.sub("^#(?! )", "", site, flags=re.MULTILINE))


def _caddy(values: ProxyValues, text: str) -> Command:
    program, file = find("caddy"), values.folder / "Caddyfile"
    file.write_text(text)
    environ = {
        "HOME": str(values.folder),
        "XDG_DATA_HOME": str(values.folder),
        "XDG_CONFIG_HOME": str(values.folder),
        "CADDY_ADMIN": f"unix/{values.folder}/admin",
        "COMMENTSVC_HOST": values.host,
        "COMMENTSVC_UPSTREAM": values.upstream.replace("unix:", "unix/"),
        "COMMENTSVC_HTTP_PORT": str(values.http),
        "COMMENTSVC_HTTPS_PORT": str(values.https),
    }
    words = ["--adapter", "caddyfile", "--config", str(file)]
    return Command([program, "run", *words], [program, "validate", *words], environ)


def haproxy(
    values: ProxyValues,
    name: str = "haproxy.cfg",
    marks: Sequence[str] = (),
    more: Mapping[str, str] = {},
) -> Command:
    """Return HAProxy with the file `name`; its variables come from the environment.

    The blog, if there is one, is a server at the socket `blog.sock` beside the service's.
    """
    root = socket_folder(values) if os.geteuid() == 0 else Path("/")
    own = {"chroot /run/commentsvc": f"chroot {root}"}
    if os.geteuid() != 0:  # nobody but root may become somebody else
        own = {"    user haproxy\n    group www-data\n    chroot /run/commentsvc\n": ""}
    if name == "haproxy.cfg":
        own["quic4@:443"] = f"quic4@127.0.0.1:{values.https}"
    environ = {
        "COMMENTSVC_HOST": values.host,
        "COMMENTSVC_PEM": str(_pem(values)),
        "COMMENTSVC_SERVER": _seen_from(root, values.upstream),
        "COMMENTSVC_HTTP": f"127.0.0.1:{values.http}",
        "COMMENTSVC_HTTPS": f"127.0.0.1:{values.https}",
        "COMMENTSVC_BLOG": _seen_from(root, f"unix:{socket_folder(values)}/blog.sock"),
    }
    program, file = find("haproxy"), values.folder / "haproxy.cfg"
    file.write_text(changed(name, {**own, **more}, marks))
    return Command([program, "-f", str(file)], [program, "-c", "-f", str(file)], environ)


def socket_folder(values: ProxyValues) -> Path:
    """Return the folder of the service's socket; where it has none, that of the proxy."""
    path = Path(values.upstream.removeprefix("unix:"))
    return path.parent if path.is_absolute() else values.folder


def _seen_from(root: Path, upstream: str) -> str:
    """Return a server's address for HAProxy, which sees no file outside `root`."""
    path = Path(upstream.removeprefix("unix:"))
    return f"unix@/{path.relative_to(root)}" if path.is_absolute() else upstream


def hitch(values: ProxyValues, more: Mapping[str, str] = {}) -> Command:
    """Return hitch; its redirect is the service's."""
    host, _, port = values.upstream.rpartition(":")
    backend = port if host == "unix" else f"[{host}]:{port}"
    changes = {
        "/etc/hitch/comments.pem": str(_pem(values)),
        "[*]:443": f"[127.0.0.1]:{values.https}",
        "/run/commentsvc/commentsvc.sock": backend,
        "workers = 2": f"workers = {values.workers}",
    }
    if os.geteuid() != 0:
        changes['user = "_hitch"\ngroup = "www-data"\n'] = ""  # nobody but root may change these
    program, file = find("hitch"), values.folder / "hitch.conf"
    file.write_text(changed("hitch.conf", {**changes, **more}))
    return Command([program, f"--config={file}"], [program, "--test", f"--config={file}"])


def _pem(values: ProxyValues) -> Path:
    file = values.folder / "both.pem"
    file.write_bytes(values.chain.read_bytes() + values.key.read_bytes())
    return file


Make = Callable[..., Command]
CONFIGS: dict[str, Make] = {
    "nginx": nginx,
    "caddy": caddy,
    "haproxy": haproxy,
    "haproxy-tcp": partial(haproxy, name="haproxy-tcp.cfg"),
    "hitch": hitch,
}
# Those that pass on bytes: the service itself speaks HTTP, and knows by the PROXY protocol to whom.
TLS_ONLY = ("haproxy-tcp", "hitch")
# Those that put a service into a folder of the blog's host.
FOLDERS: dict[str, Make] = {
    "nginx": partial(nginx, name="nginx-path.conf"),
    "caddy": caddy_in_folder,
    "haproxy": partial(haproxy, marks=("#f ",)),
}
# Those that speak HTTP/3, and what their program says of itself where it was built with that.
HTTP_3: dict[str, tuple[Make, str]] = {
    "caddy": (caddy, ""),
    "nginx": (partial(nginx, marks=("#3 ",)), "http_v3_module"),
    "haproxy": (partial(haproxy, marks=("#3 ",)), "+QUIC"),
}


def knows_http_3(name: str) -> bool:
    """Return whether a program of HTTP_3 was built with it. Raise MissingError."""
    program, mark = find(name), HTTP_3[name][1]
    words = [program, "version" if name == "caddy" else "-vv" if name == "haproxy" else "-V"]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    return mark in said.stdout + said.stderr
