"""The page of bans: a form that adds them, and buttons that remove them."""

import re

import pytest

from commentsvc.comments import search
from commentsvc.spam import bans
from commentsvc.spam.bans import Ban
from commentsvc.util.timestamps import DAY_MS
from tests.unit.admin_client import Seat, header, text
from tests.unit.app_fixture import NOW, Served
from tests.unit.database_fixture import add


def listed(service: Served) -> list[Ban]:
    return service.database.read_now(bans.listing)


def test_without_bans_there_is_a_kind_word(seat: Seat) -> None:
    assert "No bans" in text(seat.get("bans"))


def test_a_ban_is_made_shown_and_lifted(service: Served, seat: Seat) -> None:
    answer = seat.send("ban", kind="domain", value="www.Spam.example", days="30")
    assert header(answer, "Location") == "bans?done=added&id=1"
    [ban] = listed(service)
    now = int(NOW * 1_000)
    assert (ban.kind, ban.value, ban.actor) == ("domain", "spam.example", "ann")
    assert ban.expires_at == now + 30 * DAY_MS
    html = text(seat.get("bans?done=added"))
    assert "Ban added" in html
    found = re.search(r'name="id" value="(\d+)"', html)
    assert found
    assert header(seat.send("unban", id=found[1]), "Location") == "bans?done=lifted"
    assert listed(service) == []


def test_a_ban_holds_for_good_or_until_it_ended(service: Served, seat: Seat) -> None:
    seat.send("ban", kind="word", value="walrus", days="")
    assert "for good" in text(seat.get("bans"))
    seat.send("ban", kind="word", value="walrus", days="7")
    assert "until 25 Nov 2026" in text(seat.get("bans"))
    service.database.write_now(bans.add, "word", "old", "bob", 1, 2)
    assert "expired" in text(seat.get("bans"))


def test_a_submission_meets_the_ban(service: Served, seat: Seat) -> None:
    seat.send("ban", kind="word", value="walrus", days="")
    assert service.submit("The walrus sings").status == 202
    assert service.stored()[0].comment.status == "spam"


def test_a_comments_page_leads_to_its_ban(service: Served, seat: Seat) -> None:
    add(service.database, author='A & "B"', network=b"\x01\x02\x03\x04\x05\x06\x07\x08")
    html = text(seat.get("comment?id=1"))
    assert "bans?kind=author&amp;value=A%20%26%20%22B%22" in html
    assert "bans?kind=network&amp;value=0102030405060708" in html
    html = text(seat.get("bans?kind=network&value=0102030405060708"))
    assert 'value="0102030405060708"' in html
    assert '<option value="network" selected>' in html
    assert listed(service) == [], "only a form bans"


@pytest.mark.parametrize(
    ("kind", "value", "days", "status"),
    [
        ("domain", "nonsense", "", 422),
        ("network", "192.0.2.1", "", 422),
        ("author", "", "", 422),
        ("word", "x" * 10_000, "", 422),
        ("everybody", "x", "", 400),
        ("word", "x", "8", 400),
    ],
)
def test_what_cannot_be_banned_is_told(
    service: Served, seat: Seat, kind: str, value: str, days: str, status: int
) -> None:
    answer = seat.send("ban", kind=kind, value=value, days=days)
    assert answer.status == status
    assert 'role="alert"' in text(answer)
    assert listed(service) == []


def test_a_ban_that_does_not_exist_is_told(seat: Seat) -> None:
    assert seat.send("unban", id="77").status in (404, 409)
    assert seat.send("unban", id="x").status == 404


def test_a_hostile_value_stays_text(seat: Seat) -> None:
    seat.send("ban", kind="author", value="<script>alert(1)</script>", days="")
    assert "<script>alert" not in text(seat.get("bans?value=%3Cscript%3Ealert(1)"))


NETWORK = b"\x01\x02\x03\x04\x05\x06\x07\x08"


@pytest.mark.parametrize(
    ("kind", "value", "ids"),
    [
        ("author", "ＡDA", [1, 2, 5]),
        ("author", "Ada@X.example", [1, 4]),
        ("network", NETWORK.hex(), [1, 4]),
        ("word", "Ada", []),
        ("domain", "x.example", []),
    ],
)
@pytest.mark.parametrize("indexed", [0, 3, 100])
def test_a_ban_offers_the_comments_that_are_there_already(
    service: Served, seat: Seat, kind: str, value: str, ids: list[int], indexed: int
) -> None:
    add(service.database, author="Ada", email="ada@x.example", network=NETWORK)
    add(service.database, author="ada", status="pending")
    add(service.database, author="Ada", status="deleted")
    add(service.database, author="Bo", email="ADA@x.example", network=NETWORK)
    add(service.database, author="ADA")
    add(service.database, author="Ada B")
    service.database.write_now(search.index_pending, indexed)
    html = text(seat.get(header(seat.send("ban", kind=kind, value=value, days=""), "Location")))
    assert ("ban-comments" in html) == bool(ids)
    if ids:
        assert f"{len(ids)} comments that this ban covers are published or waiting." in html
        assert f"Also mark these {len(ids)} comments as spam" in html
    before = {entry.comment.id: entry.comment.status for entry in service.stored()}
    done = header(seat.send("ban-comments", id=1), "Location")
    after = {entry.comment.id: entry.comment.status for entry in service.stored()}
    assert after == before | dict.fromkeys(ids, "spam")
    if ids:
        assert f"{len(ids)} comments marked as spam" in text(seat.get(done))
        seat.send("undo", act=1, back="bans")
        assert before == {entry.comment.id: entry.comment.status for entry in service.stored()}


def test_comments_of_a_ban_that_does_not_exist_are_left_alone(seat: Seat) -> None:
    assert seat.send("ban-comments", id="77").status in (404, 409)
    assert seat.send("ban-comments", id="x").status == 404
    assert "ban-comments" not in text(seat.get("bans?done=added&id=77"))
