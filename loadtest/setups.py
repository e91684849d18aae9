"""What is measured of the proxies: each file of config/proxy as we ship it, and changes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from loadtest.fronts import FRONTS, TLS_ONLY


@dataclass(frozen=True, slots=True)
class Setup:
    """A proxy and its way to the service; `more` are changes of its file beyond what it asks for.

    Where it is `plain` there is no TLS. `key` is the certificate's kind. Over `tcp` the service is
    reached by a port instead of a unix socket. `marks` switch lines on. `fixed` puts a program in
    the service's place that answers the same bytes to everything: what the proxy could do at most.
    """

    name: str
    front: str
    plain: bool = False
    more: Mapping[str, str] = field(default_factory=dict)
    key: str = "ec"
    tcp: bool = False
    marks: tuple[str, ...] = ()
    fixed: bool = False


_REDIRECT: Final = (
    '    http-request redirect code 308 location "https://${COMMENTSVC_HOST}%[capture.req.uri]"'
    " unless { ssl_fc }\n"
)
# How a file speaks plain HTTP instead of redirecting. hitch knows none.
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

SHIPPED: Final = tuple(Setup(name, name) for name in FRONTS)
PLAINLY: Final = tuple(
    Setup(f"{name}, plain HTTP", name, plain=True, more=more) for name, more in PLAIN.items()
)
MICROCACHE: Final = Setup("nginx, micro-cache", "nginx", marks=("#m ",))
# The program says nothing of the client to one that would not understand it.
FIXED: Final = (
    Setup("nginx: TCP to a fixed answer", "nginx", fixed=True),
    Setup(
        "hitch: TCP to a fixed answer",
        "hitch",
        more={"write-proxy-v2 = on": "write-proxy-v2 = off"},
        fixed=True,
    ),
)

_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
_CHACHA: Final = {
    f"ssl_ciphers {_CIPHERS};": "ssl_conf_command Ciphersuites TLS_CHACHA20_POLY1305_SHA256;"
}
_LOG: Final = "combined buffer=64k flush=5s;"
# One change of a shipped file each, to see what it is worth.
CHANGES: Final = (
    Setup("nginx: TCP to the service", "nginx", tcp=True),
    Setup("nginx: no kept connections", "nginx", more={"    keepalive 256;\n": ""}),
    Setup("nginx: 64 kept connections", "nginx", more={"keepalive 256;": "keepalive 64;"}),
    Setup("nginx: a log line each", "nginx", more={_LOG: "combined;"}),
    Setup("nginx: no log", "nginx", more={"access_log ": "access_log off; # "}),
    Setup("nginx: records of 16 KiB", "nginx", more={"ssl_buffer_size 4k;": ""}),
    Setup("nginx: ChaCha20", "nginx", more=_CHACHA),
    Setup("nginx: RSA certificate", "nginx", key="rsa"),
    Setup("haproxy: http-reuse safe", "haproxy", more={"http-reuse always": "http-reuse safe"}),
    Setup("haproxy: TCP to the service", "haproxy", tcp=True),
    Setup("haproxy-tcp: TCP to the service", "haproxy-tcp", tcp=True),
    Setup("hitch: TCP to the service", "hitch", tcp=True),
    Setup("hitch: RSA certificate", "hitch", key="rsa"),
)


def is_prefaced(setup: Setup) -> bool:
    """Whether the service has to read the PROXY protocol."""
    return setup.front in TLS_ONLY
