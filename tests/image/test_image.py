"""The container image, built and run: isolated, behind TLS, through restarts and upgrades."""

import json
import os
import re
import signal
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

import pytest
import trustme
import yaml
from packaging.utils import canonicalize_name

from loadtest.harness.running import free_ports
from loadtest.proxies.configs import CONFIGS, ProxyValues
from tests import requirements
from tests.conftest import find_program
from tests.e2e.program import ROOT, UnixConnection, wait_for
from tests.image.engine import Engine, network
from tests.proxy.client import Client
from tests.proxy.proxies import HOST, checked, running

USER = 10_001
MOST = 125_000_000  # bytes that the image may have
SHUT_IN = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=none")
OPEN = ("--env=COMMENTSVC_MODERATION_POLICY=none", "--env=COMMENTSVC_SPAM_RATE_LIMIT=off")
# An earlier version, whose database this one must open; "same" is the image of this version.
PREVIOUS = os.environ.get("PREVIOUS_VERSION", "40d7b792")
JSON = {"Content-Type": "application/json"}
COMMENT = '{"url": "/post/", "author": "Ann", "message": "Of old"}'


@dataclass(frozen=True)
class Box:
    """Containers that keep their data in `data` and listen below `sockets`."""

    engine: Engine
    data: Path
    sockets: Path

    @property
    def address(self) -> str:
        """Return the address at which a proxy reaches it."""
        return f"unix:{self.sockets}/commentsvc.sock"

    def start(self, image: str, name: str) -> None:
        """Start a container, and wait until it is healthy."""
        folders = (f"--volume={self.data}:/data", f"--volume={self.sockets}:/run/commentsvc")
        listen = "--env=COMMENTSVC_SERVER_LISTEN=unix:/run/commentsvc/commentsvc.sock"
        words = ("run", "--detach", "--name", name, *SHUT_IN, *OPEN, *folders, listen, image)
        self.engine.do(*words)
        self.wait(name)

    def wait(self, name: str) -> None:
        """Wait until the container's own health check succeeds."""
        said = ""

        def is_healthy() -> bool:
            nonlocal said
            done = self.engine.run("exec", name, "commentsvc", "healthcheck")
            said = done.err or done.out
            return done.code == 0

        try:
            wait_for(is_healthy, f"{name} to be healthy")
        except AssertionError as error:
            raise AssertionError(f"{error}; it said {said}") from None

    def stop(self, name: str) -> int:
        """Stop the container as `docker stop` does; return its exit code."""
        self.engine.do("stop", "--time=20", name)
        return int(self.engine.do("inspect", "--format={{.State.ExitCode}}", name))

    def ask(self, method: str, target: str, body: str = "") -> tuple[int, bytes]:
        """Send one request without the proxy; return its status and body."""
        with closing(UnixConnection(self.address.removeprefix("unix:"))) as connection:
            connection.request(method, target, body or None, JSON)
            response = connection.getresponse()
            return response.status, response.read()


@pytest.fixture
def box(engine: Engine, tmp_path: Path) -> Iterator[Box]:
    """Return folders for containers; the containers end with the test."""
    for name in ("data", "sockets"):
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, USER, USER)
    before = {*engine.do("ps", "--all", "--quiet").split()}
    yield Box(engine, tmp_path / "data", tmp_path / "sockets")
    for made in {*engine.do("ps", "--all", "--quiet").split()} - before:
        engine.do("rm", "--force", "--volumes", made)


@pytest.fixture
def front(box: Box, tmp_path: Path) -> Iterator[Callable[[], Client]]:
    """Start Caddy before the box, with a certificate of the test."""
    authority = trustme.CA()
    certificate = authority.issue_cert(HOST)
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(b"".join(pem.bytes() for pem in certificate.cert_chain_pems))
    key.write_bytes(certificate.private_key_pem.bytes())
    with ExitStack() as stack:

        def start() -> Client:
            values = ProxyValues(tmp_path, box.address, chain, key, *free_ports(), HOST)
            stack.enter_context(running(checked(CONFIGS["caddy"], values), values))
            return Client(values, trust)

        yield start


def test_each_container_is_shut_in_and_has_limits() -> None:
    text = (ROOT / "config/compose.yml").read_text()
    _, comments, proxy = re.split(r"^  (?:comments|proxy):$", text, flags=re.MULTILINE)
    for service in (comments, proxy):
        lines = set(service.splitlines())
        wanted = ("read_only: true", "cap_drop: [ALL]")
        assert {f"    {line}" for line in wanted} <= lines
        assert '    security_opt: ["no-new-privileges:true"]' in lines
        assert re.search(r"^    mem_limit: \d+m$", service, re.MULTILINE)
        assert re.search(r"^    pids_limit: \d+$", service, re.MULTILINE)
    assert "    ports:" not in comments  # all readers would have the same address
    assert "    cap_add:" not in comments


def test_instances_of_a_cluster_are_shut_in_and_share_key_and_database(tmp_path: Path) -> None:
    text = (ROOT / "config/compose-cluster.yml").read_text()
    plan = yaml.safe_load(text)
    one, two = plan["services"]["one"], plan["services"]["two"]
    for service in (one, two, plan["services"]["proxy"]):
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["mem_limit"]
        assert service["pids_limit"]
    paths = {service["environment"].pop("COMMENTSVC_SERVER_LISTEN") for service in (one, two)}
    assert one["environment"] == two["environment"], "else the second one does not start"
    assert one["volumes"][0] != two["volumes"][0]
    assert one["build"]["args"] == {"LOCK": "postgres"}
    proxy = plan["services"]["proxy"]
    assert proxy["image"] in (ROOT / "config/compose.yml").read_text()
    assert "configs" not in plan, "Compose cannot write them into a read-only container"
    assert all([*secret] == ["file"] for secret in plan["secrets"].values()), "as above"
    [caddyfile] = [each for each in proxy["volumes"] if each.endswith("/Caddyfile:ro")]
    file = ROOT / "config" / caddyfile.partition(":")[0]
    words = [find_program("caddy"), "adapt", "--validate", "--config", str(file)]
    environ = {**os.environ, **proxy["environment"], "HOME": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 0, done.stderr
    dials = re.findall(r'"dial":"unix/(/[^"]+)"', done.stdout)
    assert {f"unix:{path}" for path in dials} == paths
    assert '"try_duration":5000000000' in done.stdout


def test_foreign_images_are_named_by_their_digest() -> None:
    named = re.findall(r"^ARG BASE=(.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    named += re.findall(r"^    image: (.*:.*)$", (ROOT / "config/compose.yml").read_text(), re.M)
    assert len(named) == 2
    for name in named:
        assert re.fullmatch(r"[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}", name), name


def test_the_image_is_small_and_has_no_shell(engine: Engine, image: str) -> None:
    [described] = json.loads(engine.do("image", "inspect", image))
    assert described["Size"] < MOST
    assert described["Config"]["User"] == f"{USER}:{USER}"
    assert [*described["Config"]["Volumes"]] == ["/data"]
    for program in ("/bin/sh", "/bin/bash", "/usr/bin/apt"):
        assert engine.run("run", "--rm", "--entrypoint", program, image).code == 127
    history = engine.do("history", "--no-trunc", image)
    assert "BEGIN CERTIFICATE" not in history
    print(f"{described['Size'] / 1e6:.1f} MB")


def test_scanners_find_every_package_of_the_image(
    engine: Engine, image: str, tmp_path: Path
) -> None:
    engine.do("create", "--name", "looked-into", image)
    try:
        for path in ("/var/lib/dpkg/status", "/etc/os-release", "/opt/commentsvc/lib"):
            engine.do("cp", "--follow-link", f"looked-into:{path}", tmp_path)
    finally:
        engine.do("rm", "looked-into")
    assert "ID=debian" in (tmp_path / "os-release").read_text().splitlines()
    status = (tmp_path / "status").read_text()
    entries = dict(re.findall(r"^Package: (\S+)$.*?^Version: (\S+)$", status, re.M | re.S))
    assert {"libc6", "libsqlite3-0", "python3.13-minimal", "tzdata"} <= entries.keys()
    assert entries.keys().isdisjoint({"apt", "bash", "dpkg", "gcc"})
    folders = [str(path) for path in (tmp_path / "lib").glob("python3*/site-packages")]
    found = {
        str(canonicalize_name(dist.name)): dist.version for dist in distributions(path=folders)
    }
    locked = requirements.versions("runtime")
    assert found.pop("commentsvc")
    assert found == {name: locked[name] for name in found}
    assert {"h11", "jinja2", "nh3"} <= found.keys()


def test_a_comment_by_https_outlives_restarts_and_a_new_image(
    box: Box, image: str, front: Callable[[], Client]
) -> None:
    box.start(image, "first")
    client = front()
    assert client.submit("/post/").status == 201
    assert box.engine.run("restart", "--time=20", "first").code == 0
    box.wait("first")
    assert client.submit("/other/").status == 201
    assert box.stop("first") == 0
    box.start(image, "second")
    answer = client.ask("GET", "/api/comments/counts?url=/post/&url=/other/")
    assert answer.json() == {"counts": {"/post/": 1, "/other/": 1}}
    assert (box.data / "comments.sqlite3").stat().st_uid == USER


def test_new_volumes_for_data_and_socket_are_its_own(box: Box, image: str) -> None:
    """Regression: with config/compose.yml the socket's volume was root's, and nothing started."""
    listen = "--env=COMMENTSVC_SERVER_LISTEN=unix:/run/commentsvc/commentsvc.sock"
    volumes = ("--volume=/data", "--volume=/run/commentsvc")
    box.engine.do("run", "--detach", "--name", "first", *SHUT_IN, *volumes, listen, image)
    box.wait("first")


def test_a_stop_answers_what_was_read(box: Box, image: str) -> None:
    box.start(image, "first")
    with closing(UnixConnection(box.address.removeprefix("unix:"))) as connection:
        connection.request("POST", "/api/comments", COMMENT, JSON)
        box.engine.do("kill", f"--signal={signal.SIGTERM.name}", "first")
        assert connection.getresponse().status == 201
    assert box.engine.do("wait", "first") == "0"


def test_the_engine_of_the_tests_leaves_the_network_as_it_was(
    engine: Engine, network_before: dict[str, str]
) -> None:
    assert engine.answers
    assert network() == network_before


def previous(engine: Engine, folder: Path) -> str:
    """Build the image of PREVIOUS, and return its name."""
    words = ["git", "archive", PREVIOUS]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the history of these sources does not reach back to {PREVIOUS}")
    sources, secrets = folder / "previous", folder / "secrets"
    secrets.mkdir()
    sources.mkdir()
    subprocess.run(["tar", "-C", sources, "-x"], input=done.stdout, check=True)
    engine.build("commentsvc:previous", sources, secrets)
    return "commentsvc:previous"


def test_the_previous_image_leaves_its_data_to_this_one(
    box: Box, image: str, tmp_path: Path
) -> None:
    box.start(image if PREVIOUS == "same" else previous(box.engine, tmp_path), "first")
    assert box.ask("POST", "/api/comments", COMMENT)[0] == 201
    assert box.stop("first") == 0
    box.start(image, "second")
    assert box.ask("GET", "/api/comments/count?url=/post/") == (200, b'{"count":1}')


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--volume={root}:/data"], "Run: chown -R 10001:10001 /data (in a container, "),
        (["--tmpfs=/data:size=64k,uid=10001,mode=700"], "make room on its disk"),
        (["--env=COMMENTSVC_MAIL_PASSWORD_FILE=/run/secrets/mail"], "Name another file or unset"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    engine: Engine, image: str, tmp_path: Path, options: list[str], said: str
) -> None:
    (tmp_path / "root").mkdir(mode=0o700)
    given = [option.format(root=tmp_path / "root") for option in options]
    done = engine.run("run", "--rm", *SHUT_IN, *given, image)
    assert done.code == 1
    assert done.err.count("\n") == 1, done
    assert said in done.err
