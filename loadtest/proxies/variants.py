"""The proxies that are measured: each file of config/proxy as shipped, and with one change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from loadtest.proxies.configs import CONFIGS, TLS_ONLY


@dataclass(frozen=True, slots=True)
class Setup:
    """A proxy and its way to the service; `more` are changes of its file beyond the required ones.

    `plain` is without TLS. `key` is the kind of certificate. With `tcp` the service is reached by a
    port in place of a Unix socket. `marks` switch lines on. `fixed` replaces the service by a
    program with a constant answer, which shows the proxy's limit. `workers` are the proxy's, else
    one for each of its cores; `environ` is added to its environment.
    """

    name: str
    front: str
    plain: bool = False
    more: Mapping[str, str] = field(default_factory=dict)
    key: str = "ec"
    tcp: bool = False
    marks: tuple[str, ...] = ()
    fixed: bool = False
    workers: int = 0
    environ: Mapping[str, str] = field(default_factory=dict)


_REDIRECT: Final = (
    '    http-request redirect code 308 location "https://${COMMENTSVC_HOST}%[capture.req.uri]"'
    " unless { ssl_fc }\n"
)
# Changes of a file for plain HTTP in place of a redirect. hitch has no plain HTTP.
PLAIN: Final[dict[str, Mapping[str, str]]] = {
    "nginx": {
        "    if ($scheme = http) {\n"
        "        return 308 https://$server_name$request_uri;\n    }\n": ""
    },
    "caddy": {
        "#tls /etc/ssl/comments.pem /etc/ssl/comments.key": "",
        "{$COMMENTSVC_HOST:comments.example} {": "http://{$COMMENTSVC_HOST} {",
    },
    "haproxy": {_REDIRECT: ""},
    "haproxy-tcp": {' ssl crt "${COMMENTSVC_PEM}" alpn http/1.1': ""},
}

SHIPPED: Final = tuple(Setup(name, name) for name in CONFIGS)
PLAIN_HTTP: Final = tuple(
    Setup(f"{name}, plain HTTP", name, plain=True, more=more) for name, more in PLAIN.items()
)
MICROCACHE: Final = Setup("nginx, micro-cache", "nginx", marks=("#m ",))
# The program says nothing of the client to one that would not understand it.
FIXED: Final = (
    Setup("nginx: a fixed answer", "nginx", fixed=True),
    Setup("haproxy: a fixed answer", "haproxy", fixed=True),
    Setup(
        "haproxy-tcp: a fixed answer", "haproxy-tcp", more={" send-proxy-v2-ssl": ""}, fixed=True
    ),
    Setup(
        "hitch: a fixed answer",
        "hitch",
        more={"write-proxy-v2 = on": "write-proxy-v2 = off"},
        fixed=True,
    ),
)

_CIPHERS: Final = "ssl_ciphers ECDHE+AESGCM:ECDHE+CHACHA20;"
_SUITES: Final = "ssl_conf_command Ciphersuites"
_LOG: Final = "combined buffer=64k flush=5s;"
_KEPT: Final = {
    "    keepalive_requests 1000000;\n": "",
    "    keepalive_requests 100000;\n": "",
}
_UNBUFFERED: Final = {"proxy_buffers 8 32k;": "proxy_buffers 8 32k; proxy_buffering off;"}
_GLOBAL: Final = "    tune.ssl.lifetime 86400\n"
_EDGES: Final = "    expose-experimental-directives\n    tune.fd.edge-triggered on\n"
_TLS: Final = "ssl-min-ver TLSv1.2\n"
# Single changes of a shipped file, to measure their effect.
CHANGES: Final = (
    Setup("nginx: TCP to the service", "nginx", tcp=True),
    Setup("nginx: no kept connections", "nginx", more={"    keepalive 256;\n": ""}),
    Setup("nginx: 64 kept connections", "nginx", more={"keepalive 256;": "keepalive 64;"}),
    Setup("nginx: 1,000 requests for each", "nginx", more=_KEPT),
    Setup("nginx: a log line each", "nginx", more={_LOG: "combined;"}),
    Setup("nginx: no log", "nginx", more={"access_log ": "access_log off; # "}),
    Setup("nginx: records of 16 KiB", "nginx", more={"ssl_buffer_size 4k;": ""}),
    Setup("nginx: unbuffered", "nginx", more=_UNBUFFERED),
    Setup("nginx: AES-128", "nginx", more={_CIPHERS: f"{_SUITES} TLS_AES_128_GCM_SHA256;"}),
    Setup("nginx: ChaCha20", "nginx", more={_CIPHERS: f"{_SUITES} TLS_CHACHA20_POLY1305_SHA256;"}),
    Setup("nginx: TLS 1.2", "nginx", more={"TLSv1.2 TLSv1.3": "TLSv1.2"}),
    Setup("haproxy: http-reuse safe", "haproxy", more={"http-reuse always": "http-reuse safe"}),
    Setup("haproxy: TCP to the service", "haproxy", tcp=True),
    Setup("haproxy-tcp: TCP to the service", "haproxy-tcp", tcp=True),
    Setup("haproxy-tcp: edge-triggered", "haproxy-tcp", more={_GLOBAL: _GLOBAL + _EDGES}),
    Setup(
        "haproxy-tcp: buffers of 4 KiB",
        "haproxy-tcp",
        more={_GLOBAL: f"{_GLOBAL}    tune.bufsize 4096\n    tune.maxrewrite 512\n"},
    ),
    Setup(
        "haproxy-tcp: splice", "haproxy-tcp", more={"mode tcp": "mode tcp\n    option splice-auto"}
    ),
    Setup("haproxy-tcp: TLS 1.2", "haproxy-tcp", more={_TLS: f"{_TLS[:-1]} ssl-max-ver TLSv1.2\n"}),
    Setup("hitch: TCP to the service", "hitch", tcp=True),
    Setup("hitch: TLS 1.2", "hitch", more={"TLSv1.2 TLSv1.3": "TLSv1.2"}),
    # libev chooses epoll by default, which needs a system call for each change.
    Setup("hitch: poll()", "hitch", environ={"LIBEV_FLAGS": "2"}),
)


def _by_nginx(coding: str, level: int) -> Setup:
    """Return an nginx that compresses plain answers of the service itself."""
    head = "    proxy_set_header Host $host;\n"
    own = (
        f'    proxy_set_header Accept-Encoding "";\n    {coding} on;\n'
        f"    {coding}_comp_level {level};\n    {coding}_types application/json text/javascript;\n"
    )
    more = {**PLAIN["nginx"], head: head + own + "    gzip_proxied any;\n" * (coding == "gzip")}
    return Setup(f"nginx, {coding} of level {level}", "nginx", plain=True, more=more)


_BY_SERVICE: Final = Setup("the service", "nginx", plain=True, more=PLAIN["nginx"])
# Who compresses, by the content coding that is asked for.
COMPRESSION: Final[dict[str, tuple[Setup, ...]]] = {
    "gzip": (_BY_SERVICE, _by_nginx("gzip", 1), _by_nginx("gzip", 6)),
    "br": (_BY_SERVICE, _by_nginx("brotli", 1), _by_nginx("brotli", 6)),
}
# Where new connections are measured.
RSA: Final = (
    Setup("nginx: RSA certificate", "nginx", key="rsa"),
    Setup("hitch: RSA certificate", "hitch", key="rsa"),
)
# Where proxy, service and clients share both cores: one worker leaves more to the others.
WORKERS: Final = (
    Setup("nginx: one worker", "nginx", workers=1),
    Setup("nginx: reuseport", "nginx", more={"ssl http2;": "ssl http2 reuseport;"}),
    Setup("haproxy-tcp: one thread", "haproxy-tcp", more={_GLOBAL: f"{_GLOBAL}    nbthread 1\n"}),
    Setup("hitch: one worker", "hitch", workers=1),
)
# nginx for TLS alone. It has only version 1 of the PROXY protocol, which the service does not read,
# so the service would not know the client: this is measured, and not shipped.
STREAM: Final = (
    Setup("nginx's stream module", "nginx-stream"),
    Setup("nginx's stream module, plain HTTP", "nginx-stream", plain=True),
)


def uses_proxy_protocol(setup: Setup) -> bool:
    """Return whether the service has to read the PROXY protocol."""
    return setup.front in TLS_ONLY
