"""`commentsvc doctor` with real proxies: first all is well, then one fault at a time."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loadtest.harness.running import free_port
from loadtest.proxies.configs import CONFIGS, TLS_ONLY, Command, ProxyValues, nginx
from tests.e2e.program import Outcome, Service, command
from tests.proxy.client import Client
from tests.proxy.conftest import proxy_header_settings, serving
from tests.proxy.proxies import HOST

Begin = Callable[..., Client]
ORIGIN = "https://blog.test"
# What redirects plain HTTP needs an address, so the doctor tells that the port is not in it.
NO_PORT = "public-url"
# Without an address of its own: those of the proxies have different ports.
SETTINGS = {"COMMENTSVC_SITE_ORIGINS": ORIGIN, "COMMENTSVC_SERVER_PUBLIC_URL": ""}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service behind a unix socket, for one blog."""
    with serving(tmp_path_factory.mktemp("service"), SETTINGS) as service:
        yield service


@pytest.fixture
def examine(service: Service, authority_file: str) -> Callable[..., Outcome]:
    """Run the doctor on the proxy in front of the service."""

    def examine(front: Client, *more: object, service: Service = service) -> Outcome:
        return command(
            *("doctor", f"https://{HOST}:{front.values.https}", "--address", "127.0.0.1"),
            *("--plain-port", front.values.http, "--ca-file", authority_file),
            *("--data", service.data, "--origin", ORIGIN, *more),
        )

    return examine


def faults(done: Outcome) -> list[str]:
    """Return the names of the checks that failed."""
    return re.findall(r"^fault (\S+):", done.out, re.MULTILINE)


Examine = Callable[..., Outcome]


@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in TLS_ONLY])
def test_the_shipped_files_have_no_fault(begin: Begin, examine: Examine, name: str) -> None:
    done = examine(begin(CONFIGS[name]))
    assert (done.code, faults(done)) == (0, []), done
    for check in (
        *("answer", "certificate", "hsts", "redirect", "host", "client", "cors", "body"),
        *("monitoring", "clock", "permissions", "keep-alive"),
    ):
        assert f"ok    {check}: " in done.out
    assert "-     mail: mail.host is not set" in done.out


FILES = ("site.conf", "Caddyfile", "haproxy.cfg")


def changed(
    make: Callable[[ProxyValues], Command], old: str, new: str
) -> Callable[[ProxyValues], Command]:
    """Run the proxy with a fault in its file."""

    def faulty(values: ProxyValues) -> Command:
        made = make(values)
        [file] = [values.folder / name for name in FILES if (values.folder / name).exists()]
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
        return made

    return faulty


FORWARDED = "proxy_set_header X-Forwarded-For $remote_addr;"
HSTS = "add_header Strict-Transport-Security $commentsvc_hsts always;"


@pytest.mark.parametrize(
    ("check", "old", "new", "line"),
    [
        ("hsts", HSTS, "", "add_header Strict-Transport-Security"),
        ("hsts", HSTS, HSTS * 2, "add_header Strict-Transport-Security"),
        ("hsts", '"max-age=63072000"', '"max-age=86400"', "add_header Strict-Transport-Security"),
        ("redirect", "return 308", "return 302", "return 308 https://"),
        ("redirect", "$server_name$request_uri", "elsewhere.test/", "return 308 https://"),
        ("host", "Host $host", "Host $proxy_host", "proxy_set_header Host $host;"),
        ("client", FORWARDED, 'proxy_set_header X-Forwarded-For "";', FORWARDED),
        ("claim", FORWARDED, "", FORWARDED),
        (
            "cors-twice",
            HSTS,
            f"{HSTS} add_header Access-Control-Allow-Origin *;",
            "remove add_header",
        ),
        ("cors", HSTS, f"{HSTS} if ($request_method = OPTIONS) {{ return 405; }}", "[[site]]"),
        ("body", "client_max_body_size 256k", "client_max_body_size 10k", "client_max_body_size"),
        ("keep-alive", 'Connection ""', "Connection close", "keepalive 256;"),
    ],
)
def test_a_fault_of_nginx_is_found_and_the_line_to_change_is_told(
    begin: Begin, examine: Examine, check: str, old: str, new: str, line: str
) -> None:
    done = examine(begin(changed(nginx, old, new)), "--proxy", "nginx")
    assert (done.code, faults(done)) == (1, [check]), done
    advice = done.out.partition(f"fault {check}:")[2].splitlines()[1]
    assert line in advice
    assert done.err == "commentsvc: 1 fault found\n"


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        ("hsts", 'header Strict-Transport-Security "max-age=63072000"', ""),
        ("body", "max_size 256KiB", "max_size 10KB"),
        ("keep-alive", "keepalive 60s", "keepalive off"),
        ("client", "transport http {", "header_up -X-Forwarded-For\ntransport http {"),
    ],
)
def test_a_fault_of_caddy_is_found(
    begin: Begin, examine: Examine, check: str, old: str, new: str
) -> None:
    done = examine(begin(changed(CONFIGS["caddy"], old, new)))
    assert (done.code, faults(done)) == (1, [check]), done
    assert "        caddy: " in done.out
    assert "        nginx: " in done.out


FIELD = 'set-header Strict-Transport-Security "max-age=63072000"'
SOURCE = "http-request set-header X-Forwarded-For %[src]"


@pytest.mark.parametrize(
    ("checks", "changes"),
    [
        (
            ["hsts", "redirect", "cors-twice", "body", "keep-alive"],
            {
                FIELD: "add-header Access-Control-Allow-Origin *",
                "redirect code 308": "redirect code 302",
                SOURCE: f"{SOURCE}\n    http-request deny deny_status 413 if "
                "{ req.body_size gt 10000 }",
                "http-reuse always": "option http-server-close",
            },
        ),
        (
            ["hsts", "redirect", "host", "claim", "cors"],
            {
                FIELD: FIELD.replace("63072000", "86400"),
                "%[capture.req.uri]": "/",
                SOURCE: "http-request set-header Host service.test\n"
                "    http-request return status 405 if METH_OPTIONS",
            },
        ),
        (["client"], {SOURCE: "http-request del-header X-Forwarded-For"}),
    ],
)
def test_faults_of_haproxy_are_found(
    begin: Begin, examine: Examine, checks: list[str], changes: dict[str, str]
) -> None:
    make = CONFIGS["haproxy"]
    for old, new in changes.items():
        make = changed(make, old, new)
    done = examine(begin(make), "--proxy", "haproxy")
    assert (done.code, faults(done)) == (1, checks), done
    for check in checks:
        advice = done.out.partition(f"fault {check}:")[2].splitlines()[1]
        assert advice.startswith(("        haproxy: ", "        commentsvc: "))


@pytest.fixture(scope="module")
def by_proxy_header(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, int]]:
    """The same behind a TLS terminator, and the port where it listens for plain HTTP."""
    port, folder = free_port(), tmp_path_factory.mktemp("by_proxy_header")
    settings = {**proxy_header_settings(port), "COMMENTSVC_SITE_ORIGINS": ORIGIN}
    with serving(folder, settings) as service:
        yield service, port


@pytest.mark.parametrize("name", TLS_ONLY)
def test_a_terminator_of_tls_has_no_fault(
    begin: Begin, examine: Examine, by_proxy_header: tuple[Service, int], name: str
) -> None:
    service, port = by_proxy_header
    front = begin(CONFIGS[name], service, port if name == "hitch" else None)
    done = examine(front, service=service)
    assert faults(done) == [NO_PORT], done
    for check in ("hsts", "redirect", "client", "keep-alive"):
        assert f"ok    {check}: " in done.out


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        ("hsts", "send-proxy-v2-ssl", "send-proxy-v2"),
        ("redirect", "http-request redirect code 308", "http-request redirect code 302"),
    ],
)
def test_a_fault_of_a_terminator_is_found(
    begin: Begin,
    examine: Examine,
    by_proxy_header: tuple[Service, int],
    check: str,
    old: str,
    new: str,
) -> None:
    front = begin(changed(CONFIGS["haproxy-tcp"], old, new), by_proxy_header[0])
    done = examine(front, service=by_proxy_header[0])
    assert (done.code, faults(done)) == (1, [check, NO_PORT]), done
    assert old.split()[0] in done.out.partition(f"fault {check}:")[2]


def test_hitch_without_the_redirect_of_the_service_is_told(
    begin: Begin, examine: Examine, by_proxy_header: tuple[Service, int]
) -> None:
    done = examine(
        begin(CONFIGS["hitch"], by_proxy_header[0]), service=by_proxy_header[0]
    )  # at another port
    assert (done.code, faults(done)) == (1, ["redirect", NO_PORT]), done
    assert "server.redirect_listen = " in done.out.partition("fault redirect:")[2]


def test_a_terminator_that_does_not_agree_with_the_service_is_told(
    begin: Begin, examine: Examine, service: Service, by_proxy_header: tuple[Service, int]
) -> None:
    silent = changed(CONFIGS["haproxy-tcp"], "send-proxy-v2-ssl", "")
    done = examine(begin(silent, by_proxy_header[0]))
    assert done.code == 1
    assert "closes the connection without an answer" in done.err
    done = examine(begin(CONFIGS["haproxy-tcp"], service))
    assert done.code == 1
    assert "it speaks the PROXY protocol but server.proxy_protocol is not true" in done.err


@pytest.mark.parametrize(
    ("name", "said"), [("hitch", "closes the connection"), ("haproxy", "answers 503")]
)
def test_a_proxy_without_rights_to_the_socket_is_told_who_has_them(
    begin: Begin, examine: Examine, by_proxy_header: tuple[Service, int], name: str, said: str
) -> None:
    service, port = by_proxy_header
    front = begin(CONFIGS[name], service, port if name == "hitch" else None)
    socket = Path(service.address.removeprefix("unix:"))
    mode, group = socket.stat().st_mode, socket.group()
    socket.chmod(0o600)
    try:
        done = examine(front, service=service)
    finally:
        socket.chmod(mode)
    assert done.code == 1
    assert said in done.err
    assert "that the proxy's user may write to the socket" in done.err
    assert f"{socket}, to which the user {socket.owner()} may write (mode 0600)" in done.err
    assert group not in done.err


def test_a_proxy_that_does_not_reach_the_service_is_told(begin: Begin, examine: Examine) -> None:
    done = examine(begin(changed(nginx, "/http.sock", "/nobody.sock")))
    assert done.code == 1
    assert "the proxy answers 502: it does not reach the service" in done.err


def test_a_wrong_certificate_and_a_closed_port_are_told(
    begin: Begin, service: Service, tmp_path: Path
) -> None:
    front = begin(nginx)
    where = ("--address", "127.0.0.1")
    done = command("doctor", f"https://{HOST}:{front.values.https}", *where)
    assert done.code == 1
    assert "the certificate is not valid: " in done.err
    assert "with --ca-file" in done.err
    done = command("doctor", f"https://{HOST}:1", *where)
    assert "does not answer" in done.err


def test_an_authority_that_the_machine_trusts_is_trusted(begin: Begin, authority_file: str) -> None:
    words = (f"https://{HOST}:{begin(nginx).values.https}", "--address", "127.0.0.1")
    done = command("doctor", *words, environ={"SSL_CERT_FILE": authority_file})
    assert "ok    certificate: " in done.out


def test_files_that_others_may_read_are_told(
    begin: Begin, examine: Examine, service: Service
) -> None:
    front, key = begin(nginx), service.data / "secret.key"
    key.chmod(0o644)
    try:
        done = examine(front)
    finally:
        key.chmod(0o600)
    assert faults(done) == ["permissions"]
    assert f"chmod go= {key}" in done.out


def test_a_mail_server_that_does_not_answer_and_another_public_url_are_told(
    begin: Begin, examine: Examine, tmp_path: Path
) -> None:
    settings = {
        "COMMENTSVC_SITE_ORIGINS": ORIGIN,
        "COMMENTSVC_SERVER_PUBLIC_URL": "https://other.test",
        "COMMENTSVC_MAIL_HOST": "127.0.0.1",
        "COMMENTSVC_MAIL_PORT": "1",
        "COMMENTSVC_MAIL_SECURITY": "none",
        "COMMENTSVC_MAIL_SENDER": "a@blog.test",
    }
    with serving(tmp_path, settings) as other:
        done = examine(begin(nginx, other), service=other)
    assert faults(done) == ["public-url", "mail"]
