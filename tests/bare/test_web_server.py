"""The manual's lines for nginx: certbot gets its certificate and renews it."""

from collections.abc import Iterator

import pytest

from tests.bare import pebble
from tests.bare.booted import ENVIRONMENT, BootedSystem
from tests.bare.system import System
from tests.bare.units import DATA, from_manual, reading, stored
from tests.e2e.program import wait_for

HOST = "comments.blog.example"
# What an operator is asked at a terminal; and renewals in which nobody waits for minutes.
TYPED = f"""
server = {pebble.DIRECTORY}
agree-tos = true
email = me@blog.example
no-random-sleep-on-renew = true
"""
SERVED = """
import ssl, sys
print(ssl.get_server_certificate((sys.argv[1], 443)))
"""
FETCH = """
import ssl, sys, urllib.request
context = ssl._create_unverified_context()
sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1], context=context).read())
"""


@pytest.fixture
def front(unit: BootedSystem, debian: System) -> Iterator[BootedSystem]:
    """Return the system with nginx and certbot, by the manual's line, and an ACME server."""
    pebble.program()
    [install] = from_manual("proxies", "apt-get install")
    words = install.replace("install", "install -qq -y --no-install-recommends", 1)
    process = debian.start("sh", "-euc", f"export DEBIAN_FRONTEND=noninteractive\n{words}")
    said, _ = process.communicate()
    assert process.returncode == 0, said
    # ./test of an earlier test may have masked it: see config/packages.sh.
    unit.shell("systemctl unmask --quiet nginx; systemctl start nginx")
    pebble.start(unit, HOST)
    (unit.root / "etc/letsencrypt/cli.ini").write_text(TYPED)
    yield unit
    unit.shell("systemctl disable --quiet --now nginx; systemctl stop pebble")
    unit.shell("rm /etc/nginx/conf.d/commentsvc.conf /var/log/nginx/commentsvc.log")


def test_certbot_gets_and_renews_a_certificate_that_nginx_loads(front: BootedSystem) -> None:
    environ = {**ENVIRONMENT, "REQUESTS_CA_BUNDLE": pebble.AUTHORITY}

    def do(line: str) -> None:
        line = line.replace("comments.your-blog.org", HOST)
        front.run("sh", "-euc", line, environ=environ)

    def served() -> str:
        return front.run("python3", "-c", SERVED, HOST).strip()

    lines = from_manual("proxies", "certbot certonly", "cp ", "sed ", "nginx -t", "certbot renew")
    for line in lines:
        do(line)
    first = served()
    chain = front.root / f"etc/letsencrypt/live/{HOST}/fullchain.pem"
    assert chain.read_text().startswith(first)
    with reading(front, "neighbour") as reader:
        do("certbot renew --quiet --force-renewal")
        wait_for(lambda: served() != first, "nginx to load the new certificate")
        assert chain.read_text().startswith(served())
        reader.wait_for_more()
        root = front.run("python3", "-c", FETCH, pebble.ROOT_CERTIFICATE)
        (front.root / "root/authority.pem").write_text(root)
        words = ["doctor", f"https://{HOST}", "--data", DATA, "--ca-file", "/root/authority.pem"]
        said = front.run("commentsvc", *words, code=None)
        assert "the certificate is valid" in said
        assert "http: is redirected to https:" in said
    assert reader.acknowledged() <= stored(front)
