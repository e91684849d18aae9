"""The manual's lines for config/compose.yml, run by Compose: start, backup, upgrade, removal.

Debian 12 has Compose 1.29, Debian 13 the second version; both understand the lines. The containers
have no network: tests/proxy and tests/bare have Caddy between readers and the service.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.conftest import cannot_run, find_program
from tests.e2e.program import ROOT, UnixConnection, wait_for
from tests.image.engine import BASE, CLIENT, Engine

FILE = ROOT / "config/compose.yml"
PLAN = "docker compose -f config/compose.yml"
Run = Callable[[str], str]
JSON = {"Content-Type": "application/json"}


def lines(page: str, heading: str) -> list[str]:
    """Return the lines for Compose, and those that they need, below a heading of a page."""
    text = (ROOT / f"docs/{page}.md").read_text().partition(f"# {heading}\n")[2]
    return re.findall(r"^(?:docker |chown ).*", text.partition("\n## ")[0], re.MULTILINE)


@pytest.fixture(scope="module")
def compose(engine: Engine, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Return what runs a line in an empty folder, with the images of the tests."""
    folder = tmp_path_factory.mktemp("compose")
    shutil.copy(find_program("caddy"), folder / "caddy")
    (folder / "Dockerfile").write_text(
        f"FROM {BASE}\nCOPY caddy /usr/bin/\n"
        "ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config\n"
        'CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile"]\n'
    )
    engine.do("build", "--tag=commentsvc-tests-caddy", folder)
    services = {
        "comments": {
            "image": image,
            "build": {"args": {"BASE": BASE}, "network": "host"},
            "network_mode": "none",
            "environment": {"COMMENTSVC_MODERATION_POLICY": "none"},
        },
        "proxy": {
            "image": "commentsvc-tests-caddy",
            "network_mode": "none",
            "environment": {"COMMENTSVC_HOST": "localhost"},
        },
    }
    (folder / "tests.yml").write_text(json.dumps({"services": services}))
    program = "docker compose" if engine.run("compose", "version").code == 0 else "docker-compose"
    if program == "docker-compose" and shutil.which(program) is None:
        cannot_run("there is no Compose")
    environ = {
        **os.environ,
        "PATH": f"{CLIENT.parent}:{os.environ['PATH']}",
        "DOCKER_HOST": engine.host,
        "DOCKER_BUILDKIT": "1",
        "COMPOSE_DOCKER_CLI_BUILD": "1",
        "COMPOSE_PROJECT_NAME": "commentsvc-tests",
    }

    def run(line: str) -> str:
        line = line.replace(PLAN, f"{program} -f '{FILE}' -f tests.yml")
        # There is no terminal.
        line = re.sub(r"yml (exec|run)", r"yml \1 -T", line.replace("docker-compose", program))
        words = ["sh", "-euc", line]
        done = subprocess.run(
            words, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    yield run
    run(f"{PLAN} down --volumes")


def test_the_manuals_lines_start_back_up_restore_upgrade_and_remove(
    compose: Run, engine: Engine
) -> None:
    start, approve, upgrade, remove = lines("installing", "As a container")[:4]
    backup, take, own, stop, restore, again = lines("operating", "Containers")

    def ask(method: str, target: str, body: str = "") -> bytes:
        volume = "{{range .Mounts}}{{.Source}} {{end}}"
        folders = engine.do(
            "inspect", f"--format={volume}", compose(f"{PLAN} ps -q comments").strip()
        )
        [socket] = [each for each in folders.split() if "socket" in each]
        with closing(UnixConnection(f"{socket}/commentsvc.sock")) as connection:
            connection.request(method, target, body or None, JSON)
            return connection.getresponse().read()

    def is_up() -> bool:
        try:
            return ask("GET", "/api/ping") == b"OK"
        except OSError:
            return False

    def count() -> object:
        return json.loads(ask("GET", "/api/comments/count?url=/post/"))["count"]

    def submit(words: str) -> None:
        ask("POST", "/api/comments", json.dumps({"url": "/post/", "author": "A", "message": words}))

    compose(start)
    try:
        wait_for(is_up, "the service to answer")
    except AssertionError:  # the containers tell why
        print(compose(f"{PLAN} ps -a"), compose(f"{PLAN} logs"))
        raise
    submit("Of old")
    compose(approve)
    compose(backup)
    compose(take)
    submit("Newer")
    assert count() == 2
    compose(own)
    compose(stop)
    assert "restored 1 comment" in compose(restore)
    compose(again)
    wait_for(is_up, "the service to answer after the restoring")
    assert count() == 1
    compose(upgrade)
    wait_for(is_up, "the service to answer after the upgrade")
    assert count() == 1
    proxy = compose(f"{PLAN} ps -q proxy").strip()
    assert engine.do("inspect", "--format={{.State.Running}}", proxy) == "true"
    compose(remove)
    assert "commentsvc-tests" not in engine.do("volume", "ls") + engine.do("ps", "--all")
