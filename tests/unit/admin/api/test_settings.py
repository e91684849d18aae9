"""The JSON API of the settings that owners change: programs have the rules of the pages."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from commentsvc.auth import accounts
from commentsvc.http.messages import Response
from commentsvc.moderation import stored_settings
from tests.unit.admin.api.test_token_access import Program
from tests.unit.admin_client import HASH, PASSWORD
from tests.unit.app_fixture import Served, served

FILE = {("", "spam.max_links"): "/etc/commentsvc.toml:3: spam.max_links"}
OTHER = "https://other.example"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, locations=FILE) as service:
        service.database.write_now(accounts.add, "ann", HASH, 1)
        yield service


@pytest.fixture
def owner(service: Served) -> Program:
    return Program(service, "administer", name="ann")


def shown(owner: Program) -> Any:  # Any: JSON
    return json.loads(owner.ask("GET", "/settings/everyday").body)


def change(owner: Program, values: Mapping[str, object], **more: object) -> Response:
    owner.service.now += 3_600  # the limit of attempts with a password
    seen = shown(owner)["seen"]
    fields = {"values": values, "seen": seen, "password": PASSWORD}
    return owner.ask("POST", "/settings/changes", **fields | more)


def test_a_program_reads_changes_and_undoes_settings(service: Served, owner: Program) -> None:
    values = {"moderation.policy": "all", "spam.blocked_words": ["casino"]}
    assert change(owner, values).status == 204
    service.running.renew()
    assert service.running.settings.moderation.policy == "all"
    found = shown(owner)
    in_force = {(each["site"], each["name"]): each for each in found["data"]}
    assert in_force["", "spam.blocked_words"]["value"] == ["casino"]
    assert in_force["", "spam.max_links"]["set_in"] == "set in commentsvc.toml, line 3"
    assert {"id", "name", "new", "actor", "changed"} <= found["changes"][0].keys()
    undone = f"/settings/changes/{found['seen']}/undo"
    assert owner.ask("POST", undone, password="wrong").status == 403
    assert owner.ask("POST", undone, password=PASSWORD).status == 204
    assert owner.ask("POST", undone, password=PASSWORD).status == 409
    service.running.renew()
    assert service.running.settings.spam.blocked_words == ()


def test_a_program_adds_and_removes_a_site(service: Served, owner: Program) -> None:
    assert change(owner, {"site.origins": [OTHER]}, site="other").status == 204
    service.running.renew()
    assert service.running.settings.sites[-1].origins == (OTHER,)
    assert change(owner, {"site.origins": []}, site="other").status == 204
    service.running.renew()
    assert [site.name for site in service.running.settings.sites] == ["blog", "notes"]


def test_what_the_pages_refuse_is_refused(service: Served, owner: Program) -> None:
    for values, more, status in (
        ({"moderation.policy": "all"}, {"password": "wrong"}, 403),
        ({"moderation.policy": "maybe"}, {}, 400),
        ({"mail.host": "evil.example"}, {}, 400),
        ({"spam.max_links": 9}, {}, 409),
        ({"site.title": "Oaks"}, {"site": "gone"}, 409),
        ({"site.origins": [OTHER]}, {"site": "No Name"}, 409),
        ({"site.origins": [f"{OTHER}/path"]}, {"site": "other"}, 400),
        ({}, {}, 400),
    ):
        answer = change(owner, values, **more)
        assert answer.status == status, (values, answer.body)
    assert service.database.read_now(stored_settings.current) == []


def test_nothing_is_changed_that_somebody_else_has_changed(service: Served, owner: Program) -> None:
    assert change(owner, {"moderation.policy": "all"}).status == 204
    answer = change(owner, {"moderation.policy": "none"}, seen=0)
    assert (answer.status, b"ann has changed" in answer.body) == (409, True)
