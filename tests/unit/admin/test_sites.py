"""The page of sites: what an owner adds is served at once; what the file sets stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.auth import accounts
from commentsvc.http.messages import Response
from commentsvc.moderation import profiles, stored_settings
from commentsvc.runtime.settings_watch import SettingsInForce
from commentsvc.settings import everyday
from commentsvc.settings.everyday import MOST_ORIGINS, MOST_SITES, ORIGIN_LENGTH, ORIGINS
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.schema import Site
from tests.unit.admin_client import HASH, PASSWORD, Seat, header, seated, text
from tests.unit.app_fixture import SETTINGS, Served, data, served

OTHER = "https://other.example"
FILE = {("blog", ORIGINS): "/etc/commentsvc.toml:3: site.origins"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, locations=FILE) as service:
        yield service


@pytest.fixture
def seat(service: Served) -> Seat:
    return seated(service)


def send(
    seat: Seat, do: str, name: str = "other", origins: str = OTHER, **more: object
) -> Response:
    seat.service.now += 3_600  # the limit of attempts with a password
    changes = seat.service.database.read_now(stored_settings.current)
    seen = max((each.id for each in changes), default=0)
    fields = {"do": do, "name": name, "origins": origins, "seen": seen, "password": PASSWORD}
    return seat.send("sites", **fields | more)


def names(service: Served) -> list[str]:
    service.running.renew()
    return [site.name for site in service.running.settings.sites]


def write(service: Served, origin: str, url: str) -> Response:
    fields = {"url": url, "author": "Zoe", "message": "Hello there"}
    return service.post("/api/comments", fields, origin=origin)


def test_an_added_site_takes_comments_from_its_pages_at_once(service: Served, seat: Seat) -> None:
    assert write(service, OTHER, f"{OTHER}/a/").status == 400
    service.purged.clear()
    answer = send(seat, "add", origins=f"{OTHER}/\r\nhttps://www.other.example:443")
    assert header(answer, "Location") == "snippet?site=other"
    assert "*" in service.purged
    answer = write(service, OTHER, f"{OTHER}/a/")
    assert (answer.status, data(answer)["status"]) == (201, "approved")
    assert header(answer, "Access-Control-Allow-Origin") == OTHER
    page = text(seat.get("snippet?site=other"))
    assert f'&lt;comment-thread url="{OTHER}/post/"&gt;' in page
    assert "https://www.other.example" in text(seat.get("sites"))
    assert f"other</bdi>: Addresses of the blog: {OTHER}" in text(seat.get("settings"))
    assert "changed here by ann" in text(seat.get("settings"))


def test_a_removed_site_keeps_its_comments(service: Served, seat: Seat) -> None:
    send(seat, "add")
    assert write(service, OTHER, f"{OTHER}/a/").status == 201
    assert "Remove other" in text(seat.get("sites?remove=other"))
    assert send(seat, "remove").status == 303
    assert "other" not in names(service)
    assert write(service, OTHER, f"{OTHER}/a/").status == 400
    for page in (
        "queue",
        "comments?status=approved",
        "comment?id=1",
        "threads",
        "settings",
        "sites",
    ):
        assert seat.get(page).status == 200, page
    send(seat, "add")
    assert "Hello there" in service.get(f"/api/comments?url={OTHER}/a/").body.decode()


def test_a_comment_of_a_removed_site_has_no_page(service: Served, seat: Seat) -> None:
    send(seat, "add")
    assert write(service, OTHER, f"{OTHER}/a/").status == 201
    assert service.get("/comment/1").status == 200
    send(seat, "remove")
    names(service)
    assert service.get("/comment/1").status == 404


@pytest.mark.parametrize("name", ["aaa", "zzz"])
def test_no_site_takes_the_addresses_of_another(service: Served, seat: Seat, name: str) -> None:
    """Sites are made in the order of their names, so that the first one would have them."""
    send(seat, "add")
    assert send(seat, "add", name, OTHER).status == 409
    assert send(seat, "add", name, f"{OTHER}:8443").status == 303
    assert send(seat, "change", name, OTHER).status == 409
    assert {*names(service)} == {"blog", "notes", "other", name}


def test_adding_and_removing_are_undone_on_the_page_of_settings(
    service: Served, seat: Seat
) -> None:
    send(seat, "add")
    for expected in (["blog", "notes"], ["blog", "notes", "other"]):
        service.now += 3_600
        newest = service.database.read_now(stored_settings.history)[0]
        assert newest.of == ("other", ORIGINS)
        assert f"undo={newest.id}" in text(seat.get("settings"))
        assert seat.send("settings", undo=newest.id, password=PASSWORD).status == 303
        assert names(service) == expected


def test_an_added_site_has_settings_of_its_own_which_come_back_with_it(
    service: Served, seat: Seat
) -> None:
    send(seat, "add")
    fields = {"group": "form", "site": "other", "seen": 99, "text.site.title": "Oaks"}
    assert seat.send("settings", **fields, password=PASSWORD).status == 303
    names(service)
    assert everyday.value(service.running.settings, ("other", "site.title")) == "Oaks"
    send(seat, "remove")
    assert seat.send("settings", **fields, password=PASSWORD).status == 409
    send(seat, "add")
    names(service)
    assert everyday.value(service.running.settings, ("other", "site.title")) == "Oaks"


# What is sent, in place of a valid new site; the status, and a part of the reason.
REFUSED: list[tuple[dict[str, str], int, str]] = [
    ({"name": "Other"}, 422, "The name of a site has"),
    ({"name": "x" * 41}, 422, "The name of a site has"),
    ({"name": "a\nb"}, 422, "The name of a site has"),
    ({"name": "blog"}, 422, "There is a site blog already."),
    ({"origins": ""}, 422, "Write at least one address."),
    ({"origins": f"{OTHER}/path"}, 422, "is not possible"),
    ({"origins": "javascript:alert(1)"}, 422, "is not possible"),
    ({"origins": "*"}, 422, "is not possible"),
    ({"origins": "null"}, 422, "is not possible"),
    ({"origins": "\n".join(f"{OTHER}:{n}" for n in range(1, MOST_ORIGINS + 2))}, 422, "most"),
    ({"origins": f"https://{'x' * ORIGIN_LENGTH}"}, 422, "is not possible"),
    ({"origins": "https://blog.example"}, 409, "belongs to another site"),
    ({"do": "change", "name": "gone"}, 422, "There is no site gone any more."),
    ({"do": "change", "name": "blog"}, 409, "is set elsewhere"),
    ({"do": "remove", "name": "blog"}, 422, "The settings file has this site"),
    ({"do": "remove", "name": "gone"}, 422, "There is no site gone any more."),
    ({"password": "wrong"}, 403, "This is not your current password."),
]


def test_what_cannot_be_is_refused_with_the_reason(service: Served, seat: Seat) -> None:
    for fields, status, said in REFUSED:
        answer = send(seat, **{"do": "add"} | fields)
        assert (answer.status, said in text(answer)) == (status, True), fields
    assert names(service) == ["blog", "notes"]
    assert service.database.read_now(stored_settings.current) == []


def test_addresses_of_a_site_that_the_file_leaves_open_can_be_changed(
    service: Served, seat: Seat
) -> None:
    assert send(seat, "change", "notes").status == 303
    assert write(service, OTHER, f"{OTHER}/a/").status == 201
    assert "set in commentsvc.toml, line 3" in text(seat.get("sites"))


def test_two_owners_do_not_overwrite_each_other(service: Served, seat: Seat) -> None:
    send(seat, "add")
    assert send(seat, "change", origins="https://second.example").status == 303
    late = send(seat, "change", origins="https://third.example", seen=1)
    assert late.status == 409
    assert "ann has changed" in text(late)
    assert "https://third.example" in text(late), "what was typed is not lost"


def test_a_moderator_may_look_and_not_change(service: Served, seat: Seat) -> None:
    service.database.write_now(accounts.add, "kim", HASH, 1)
    service.database.write_now(profiles.assign, "kim", "moderator", [])
    kim = Seat(service, "192.0.2.7")
    assert kim.sign_in("kim").status == 303
    assert kim.get("sites").status == 200
    assert send(kim, "add").status == 403
    assert names(service) == ["blog", "notes"]


@pytest.mark.parametrize("name", ["aaa", "third"])
def test_there_is_a_bound_on_sites(
    service: Served, seat: Seat, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(everyday, "MOST_SITES", 3)
    assert MOST_SITES > 3
    assert send(seat, "add").status == 303
    answer = send(seat, "add", name, "https://third.example")
    assert answer.status == 409
    assert "There can be 3 sites at most." in text(answer)


def test_a_site_that_the_file_names_too_is_as_the_file_has_it(service: Served, seat: Seat) -> None:
    send(seat, "add")
    send(seat, "add", "third", "https://third.example")
    own = Site(name="other", origins=("https://own.example",))
    theirs = Site(name="mine", origins=("https://third.example",))
    file = replace(SETTINGS, sites=(*SETTINGS.sites, own, theirs))
    locations = {("other", ORIGINS): "COMMENTSVC_SITE_ORIGINS"}
    starting = SettingsInForce(LoadedSettings(file, locations))
    starting.renew(service.database)
    assert starting.settings == file
    stored = service.database.read_now(stored_settings.values)
    left_out = everyday.apply(LoadedSettings(file, locations), stored).left_out
    assert {key: str(reason) for key, reason in left_out.items()} == {
        ("other", ORIGINS): "It is set by COMMENTSVC_SITE_ORIGINS, which has priority.",
        ("third", ORIGINS): "An address belongs to one site, and one of these belongs to another"
        " site.",
    }


def test_removing_does_not_put_another_setting_out_of_force(service: Served, seat: Seat) -> None:
    send(seat, "add")
    emoji = {"group": "site", "site": "other", "seen": 99, "text.site.reactions": "👍"}
    shown = {"group": "readers", "site": "blog", "seen": 99, "text.comments.votes": "reactions"}
    for fields in (emoji, shown):
        assert seat.send("settings", **fields, password=PASSWORD).status == 303
    answer = send(seat, "remove")
    assert answer.status == 409
    assert "other" in names(service)
