"""The link for the first account, as `serve` prints it: by several servers, and by a successor."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from tests.e2e.program import Service, command, database

pytestmark = pytest.mark.forked

Start = Callable[..., Service]
PASSWORD = "a good new password"


def printed_link(service: Service) -> str:
    """Return the target of the link that a server prints."""
    while line := service.read_line():
        if found := re.match(r"  http://localhost:\d+(/moderation/owner\?t=\S+)$", line):
            return found[1]
    pytest.fail("it printed no link")


def make(service: Service, target: str, name: str) -> int:
    """Fill in the form of a link; return the status of the answer."""
    page = service.request("GET", target, Host="localhost")
    if page.status != 200:
        return page.status
    [csrf] = re.findall(r'name="csrf_token" value="([0-9a-f]+)"', page.body.decode())
    fields = {"csrf_token": csrf, "t": urlsplit(target).query.removeprefix("t="), "name": name}
    fields |= {"password": PASSWORD, "again": PASSWORD}
    return service.request(
        "POST",
        "/moderation/owner",
        urlencode(fields).encode(),
        Host="localhost",
        Origin="null",
        Cookie=page.headers["Set-Cookie"].partition(";")[0],
        Content_Type="application/x-www-form-urlencoded",
    ).status


def accounts(data: Path) -> list[str]:
    lines = command("moderator", "list", "--data", data).out.splitlines()
    return [" ".join(line.split()[:2]) for line in lines]


def test_the_printed_link_makes_the_owner_and_the_next_start_prints_none(
    data: Path, start: Start
) -> None:
    service = start(data)
    target = printed_link(service)
    service.read_line()  # about a tunnel
    assert make(service, target, "ann") == 303
    assert make(service, target, "eve") == 410
    assert accounts(data) == ["ann owner"]
    assert service.stop() == 0
    again = start(data)
    assert make(again, target, "eve") == 410
    again.stop()
    assert again.process.stdout is not None
    rest = again.process.stdout.read().decode()
    assert "Moderation: http://localhost:" in rest
    assert "owner" not in rest


def test_the_link_of_a_server_still_works_at_its_successor(data: Path, start: Start) -> None:
    target = printed_link(start(data))
    successor = start(data, "--take-over")
    assert printed_link(successor) != target
    assert make(successor, target, "ann") == 303
    assert accounts(data) == ["ann owner"]


@pytest.mark.postgresql_only("one database for several servers")
def test_of_the_links_of_all_servers_on_a_database_one_works_once(
    data: Path, tmp_path: Path, start: Start
) -> None:
    """Several processes print one link together, and another instance its own."""
    several = start(data, "--processes", 2)
    first = printed_link(several)
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    (other / "secret.key").write_bytes((data / "secret.key").read_bytes())
    second = printed_link(start(other, environ=database(data)))
    assert make(several, second, "ann") == 303
    assert [make(several, target, "eve") for target in (first, second)] == [410, 410]
    assert accounts(data) == ["ann owner"]
