"""Fixtures: a certificate authority, a service on a unix socket, and a proxy in front of it."""

import itertools
import os
import shutil
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trustme

from loadtest.harness.running import free_port, free_ports
from loadtest.proxies.configs import CONFIGS, TLS_ONLY, Command, ProxyValues
from tests.e2e.program import Service
from tests.proxy.client import Client
from tests.proxy.proxies import BLOG, HOST, checked, running

Begin = Callable[..., Client]
Network = Iterator[str]


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """Return the authority that signs the proxies' certificates."""
    return trustme.CA()


@pytest.fixture(scope="session")
def trust(authority: trustme.CA) -> ssl.SSLContext:
    """Return a client's TLS context, which trusts that authority alone."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture(scope="session")
def authority_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of that authority's certificate."""
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    path.write_bytes(authority.cert_pem.bytes())
    return str(path)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that accepts one comment an hour from each network, and publishes it."""
    with serving(tmp_path_factory.mktemp("service"), {}) as service:
        yield service


@pytest.fixture(scope="module")
def by_proxy_header(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, int]]:
    """The same behind a TLS terminator, and the port where it listens for plain HTTP."""
    port = free_port()
    with serving(
        tmp_path_factory.mktemp("by_proxy_header"), proxy_header_settings(port)
    ) as service:
        yield service, port


def proxy_header_settings(port: int) -> dict[str, str]:
    """Return the settings behind a TLS terminator; the service redirects plain HTTP at `port`."""
    return {
        "COMMENTSVC_SERVER_PROXY_PROTOCOL": "true",
        "COMMENTSVC_SERVER_HSTS": "max-age=63072000",
        "COMMENTSVC_SERVER_REDIRECT_LISTEN": f"127.0.0.1:{port}",
    }


@contextmanager
def serving(folder: Path, more: Mapping[str, str]) -> Iterator[Service]:
    """Run a service on `folder`; its socket has the permissions that commentsvc.socket gives."""
    environ = {
        "COMMENTSVC_MODERATION_POLICY": "none",
        "COMMENTSVC_SPAM_RATE_LIMIT": "1/hour",
        "COMMENTSVC_SERVER_TRUSTED_PROXIES": "unix",
        "COMMENTSVC_SERVER_PUBLIC_URL": f"https://{HOST}",
        "COMMENTSVC_SITE_IMAGES": "true",
        **more,
    }
    with TemporaryDirectory() as socket_folder:
        path = Path(socket_folder, "http.sock")
        running = Service(folder / "data", listen=f"unix:{path}", environ=environ)
        try:
            running.wait_until_ready()
            path.parent.chmod(0o711)
            path.chmod(0o660)
            if os.geteuid() == 0:
                shutil.chown(path, group="www-data")
            yield running
        finally:
            running.close()


@pytest.fixture(scope="module")
def begin(
    service: Service,
    authority: trustme.CA,
    trust: ssl.SSLContext,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Begin]:
    """Start a proxy in front of `service` or another one; it ends with the tests of the file."""
    certificate = authority.issue_cert(HOST, BLOG)
    with ExitStack() as stack:

        def begin(
            make: Callable[[ProxyValues], Command],
            other: Service | None = None,
            http: int | None = None,
            host: str = HOST,
        ) -> Client:
            folder = tmp_path_factory.mktemp("front")
            chain, key = folder / "chain.pem", folder / "key.pem"
            chain.write_bytes(b"".join(pem.bytes() for pem in certificate.cert_chain_pems))
            key.write_bytes(certificate.private_key_pem.bytes())
            plain, https = free_ports()
            values = ProxyValues(
                folder, (other or service).address, chain, key, http or plain, https, host
            )
            stack.enter_context(running(checked(make, values), values))
            return Client(values, trust)

        yield begin


@pytest.fixture(scope="module", params=CONFIGS)
def front(request: pytest.FixtureRequest, begin: Begin) -> Client:
    """Return each proxy in turn, in front of the service that it needs."""
    if request.param not in TLS_ONLY:
        return begin(CONFIGS[request.param])
    service, port = request.getfixturevalue("by_proxy_header")
    return begin(CONFIGS[request.param], service, port if request.param == "hitch" else None)


@pytest.fixture(scope="session")
def networks() -> Network:
    """Yield IP addresses of this machine, each in another network."""
    return (f"127.{number}.7.1" for number in itertools.count(1))


@pytest.fixture
def reader(front: Client, networks: Network) -> Client:
    """Return a client from a network that has not sent anything yet."""
    return front._replace(source=next(networks))
