"""Hints: the line to change for each fault that `remote` and `local` find."""

from typing import Final

PROXIES: Final = ("nginx", "caddy", "haproxy")

# By the name of the check: what to do, or the line to change in each proxy.
ADVICE: Final[dict[str, str | dict[str, str]]] = {
    "https": "put a proxy with TLS in front (docs/proxies.md)",
    "certificate": "find out why it is not renewed: journalctl -u certbot, or the proxy's own log",
    "hsts": {
        "nginx": 'in server: add_header Strict-Transport-Security "max-age=63072000" always;',
        "caddy": 'in the site: header Strict-Transport-Security "max-age=63072000"',
        "haproxy": "in frontend: http-after-response set-header Strict-Transport-Security "
        '"max-age=63072000"; in tcp mode, to the server: send-proxy-v2-ssl',
        "commentsvc": "if the proxy only terminates TLS, in the settings: server.hsts = "
        '"max-age=63072000"',
    },
    "redirect": {
        "nginx": "in server for port 80: return 308 https://$server_name$request_uri;",
        "caddy": "remove http:// before the site's name, and auto_https off",
        "haproxy": "in frontend: http-request redirect scheme https code 308 unless { ssl_fc }",
        "commentsvc": 'behind hitch, in the settings: server.redirect_listen = "0.0.0.0:80"',
    },
    "host": {
        "nginx": "in location: proxy_set_header Host $host;",
        "caddy": "in reverse_proxy: remove header_up Host",
        "haproxy": "remove http-request set-header Host",
    },
    "client": {
        "nginx": "in location: proxy_set_header X-Forwarded-For $remote_addr;",
        "caddy": "in reverse_proxy: remove header_up -X-Forwarded-For",
        "haproxy": "in frontend: http-request set-header X-Forwarded-For %[src]",
        "commentsvc": "and in the settings the proxy's address: server.trusted_proxies; behind a "
        "container's published port all clients have one address (docs/installing.md)",
    },
    "claim": {
        "nginx": "in location: proxy_set_header X-Forwarded-For $remote_addr;",
        "caddy": "in reverse_proxy (from Caddy 2.6.3 on, in servers): trusted_proxies only with "
        "the addresses of a CDN",
        "haproxy": "in frontend: http-request set-header X-Forwarded-For %[src]",
        "commentsvc": "and in the settings only the proxy's own address: server.trusted_proxies",
    },
    "cors": {
        "commentsvc": 'in [[site]]: origins = ["https://blog.example"], with the blog\'s own; a '
        "proxy that answers OPTIONS by itself must let it through"
    },
    "cors-twice": {
        "nginx": "remove add_header Access-Control-Allow-Origin: the service sends it",
        "caddy": "remove header Access-Control-Allow-Origin: the service sends it",
        "haproxy": "remove set-header Access-Control-Allow-Origin: the service sends it",
    },
    "body": {
        "nginx": "in server: client_max_body_size 256k;",
        "caddy": "in the site: request_body { max_size 256KiB }",
        "haproxy": "remove http-request deny with req.body_size below 262144",
    },
    "monitoring": "if you are not in server.monitoring_networks: let the proxy send "
    "X-Forwarded-For or, in tcp mode, the PROXY protocol",
    "clock": "timedatectl set-ntp true, on the machine whose clock is wrong",
    "keep-alive": {
        "nginx": "in upstream: keepalive 256; in location: proxy_http_version 1.1; "
        'proxy_set_header Connection "";',
        "caddy": "in reverse_proxy: transport http with keepalive 60s; remove keepalive off",
        "haproxy": "in backend: http-reuse always; remove option httpclose and http-server-close",
    },
    "public-url": "in [server]: public_url, the address that browsers use, with https://",
}


def lines(check: str, proxy: str) -> list[str]:
    """Return what to change for one of PROXIES, or for all of them if `proxy` is none of them."""
    advice = ADVICE.get(check, {})
    if isinstance(advice, str):
        return [advice]
    wanted = {proxy} if proxy in PROXIES else {*PROXIES}
    return [f"{name}: {text}" for name, text in advice.items() if name in wanted | {"commentsvc"}]
