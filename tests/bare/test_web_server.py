"""The manual's lines for nginx, with certbot, and for Caddy: they get their certificates."""

import re
import shutil
from collections.abc import Iterator

import pytest

from tests.bare import pebble
from tests.bare.booted import ENVIRONMENT, BootedSystem
from tests.bare.system import System
from tests.bare.units import DATA, from_manual, reading, stored
from tests.e2e.program import ROOT, wait_for

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


@pytest.fixture(scope="module")
def acme(booted: BootedSystem) -> Iterator[None]:
    """Run an ACME server in the system, which gives certificates for HOST."""
    pebble.program()
    with pebble.running(booted, HOST):
        yield


def install(unit: BootedSystem, debian: System, line: str, program: str) -> None:
    """Install and start a web server by a line of the manual."""
    words = line.replace("install", "install -qq -y --no-install-recommends", 1)
    process = debian.start("sh", "-euc", f"export DEBIAN_FRONTEND=noninteractive\n{words}")
    said, _ = process.communicate()
    assert process.returncode == 0, said
    # ./test of an earlier test may have masked it: see config/packages.sh.
    unit.shell(f"systemctl unmask --quiet {program}; systemctl start {program}")


@pytest.fixture
def front(unit: BootedSystem, debian: System, acme: None) -> Iterator[BootedSystem]:
    """Return the system with nginx and certbot."""
    [line] = from_manual("proxies", "apt-get install")
    install(unit, debian, line, "nginx")
    (unit.root / "etc/letsencrypt/cli.ini").write_text(TYPED)
    yield unit
    unit.shell("systemctl disable --quiet --now nginx")
    unit.shell("rm /etc/nginx/conf.d/commentsvc.conf /var/log/nginx/commentsvc.log")


def assert_well(unit: BootedSystem) -> None:
    """Assert that doctor, which trusts the ACME server, finds a certificate and a redirect."""
    root = unit.run("python3", "-c", FETCH, pebble.ROOT_CERTIFICATE)
    (unit.root / "root/authority.pem").write_text(root)
    words = ["doctor", f"https://{HOST}", "--data", DATA, "--ca-file", "/root/authority.pem"]
    said = unit.run("commentsvc", *words, code=None)
    assert "the certificate is valid" in said
    assert "http: is redirected to https:" in said


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
        assert_well(front)
    assert reader.acknowledged() <= stored(front)


@pytest.fixture
def caddy(unit: BootedSystem, debian: System, acme: None) -> Iterator[BootedSystem]:
    """Return the system with Caddy, before its settings are ours."""
    [sentence] = re.findall(r"`(apt-get install caddy)`", (ROOT / "docs/installing.md").read_text())
    install(unit, debian, sentence, "caddy")
    shutil.copy(unit.root / pebble.AUTHORITY[1:], unit.root / "etc/caddy")
    yield unit
    unit.shell("systemctl disable --quiet --now caddy")


def test_caddy_gets_a_certificate_by_itself_and_reaches_the_service(caddy: BootedSystem) -> None:
    copy, change, reload = from_manual(
        "installing", "cp ", "sed -i 's/comments", "systemctl reload"
    )
    caddy.shell(f"{copy}\n{change.replace('comments.YOUR-BLOG.org', HOST)}")
    file = caddy.root / "etc/caddy/Caddyfile"
    test_server = f"acme_ca {pebble.DIRECTORY}\n\tacme_ca_root /etc/caddy/authority.pem"
    file.write_text(file.read_text().replace("\n{\n", f"\n{{\n\t{test_server}\n", 1))
    with reading(caddy, "caddy") as reader:
        caddy.shell(reload)
        caddy.wait_for_entry("caddy", "certificate obtained successfully")
        assert_well(caddy)
        reader.wait_for_more()
    assert reader.acknowledged() <= stored(caddy)
