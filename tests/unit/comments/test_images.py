"""Images in the database: whose they are, who sees them, and when they are removed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.api.image_worker import BYTES
from commentsvc.comments import images, site_rows
from commentsvc.db.database import Database
from commentsvc.errors import ImagesFull, ImagesWait
from commentsvc.markup import image_names
from commentsvc.model import APPROVED, DELETED, PENDING
from commentsvc.moderation import changes, retention
from tests.unit.database_fixture import NOW, add, decide, opened, plan

RED, BLUE = b"RIFF red", b"RIFF blue\x00\xff"
DAY = 86_400_000


def named(content: bytes) -> str:
    return image_names.name(content, 40, 30)


def put(
    database: Database,
    content: bytes,
    site: str = "blog",
    most: int = 100,
    now: int = NOW,
    networks: tuple[bytes, ...] = (),
) -> str:
    quota = images.Quota(most, networks)
    database.write_now(images.put, site, named(content), content, now, quota)
    return f"![x](image:{named(content)})"


ANN, BEA = (b"ann next", b"ann last"), (b"bea next", b"bea last")
MOST = 4_000_000  # bytes of a site, of which a network has a tenth


def large(number: int) -> bytes:
    """Return an image of half of a network's share."""
    return b"%d" % number + bytes(199_999)


def send(database: Database, number: int, networks: tuple[bytes, ...], now: int = NOW) -> str:
    return put(database, large(number), most=MOST, now=now, networks=networks)


def shown(database: Database, content: bytes) -> images.ShownImage | None:
    return database.read_now(images.shown, named(content))


def stored(database: Database, content: bytes) -> list[str]:
    return sorted(database.read_now(images.stored, named(content)))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        database.write_now(site_rows.sync, ["blog", "other"])
        yield database


def test_an_image_is_shown_with_an_approved_comment_that_names_it(database: Database) -> None:
    text = put(database, RED)
    assert shown(database, RED) is None
    for status in (PENDING, APPROVED):
        add(database, url="/a/", source=text, status=status)
    assert shown(database, RED) == (RED, "blog", "/a/")
    decide(database, DELETED, 2)
    assert shown(database, RED) is None
    decide(database, APPROVED, 1)
    assert shown(database, RED) == (RED, "blog", "/a/")
    assert database.read_now(images.of_comment, 1) == [RED]


def test_a_site_shows_its_own_images_only(database: Database) -> None:
    text = put(database, RED)
    add(database, source=text, site="other")
    assert shown(database, RED) is None
    put(database, RED, "other")
    assert stored(database, RED) == ["blog", "other"]
    add(database, source=text, site="other", url="/there/")
    assert shown(database, RED) == (RED, "other", "/there/")


def test_the_images_of_a_site_have_a_bound(database: Database) -> None:
    put(database, RED, most=len(RED))
    with pytest.raises(ImagesFull):
        put(database, BLUE, most=len(RED) + len(BLUE) - 1)
    put(database, BLUE, most=len(RED) + len(BLUE))
    put(database, RED, "other", most=len(RED))


def test_one_network_cannot_fill_the_quota_of_pictures(database: Database) -> None:
    waiting, approved = send(database, 1, ANN), send(database, 2, ANN[::-1])
    with pytest.raises(ImagesWait):
        send(database, 3, ANN)
    for number in (4, 5):
        send(database, number, BEA)
        put(database, large(number), "other", MOST, networks=ANN)
    add(database, source=waiting, status=PENDING)
    add(database, source=approved, status=APPROVED)
    with pytest.raises(ImagesWait):
        send(database, 3, ANN)  # it has sent that much in a day
    send(database, 3, ANN, NOW + DAY + 1)
    with pytest.raises(ImagesWait):
        send(database, 6, ANN, NOW + DAY + 1)  # that much waits
    for status, allowed in ((APPROVED, True), ("spam", False), (DELETED, False)):
        decide(database, status, 1)
        with contextlib.nullcontext() if allowed else pytest.raises(ImagesWait):
            send(database, 6, ANN, NOW + DAY + 1)
        database.write_now(images.drop_unused, NOW + 9 * DAY, 10)
        send(database, 3, ANN, NOW + DAY + 1)


def test_a_small_site_takes_the_largest_picture(database: Database) -> None:
    put(database, bytes(BYTES), most=1 << 20, networks=ANN)
    with pytest.raises(ImagesWait):
        put(database, b"more", most=1 << 20, networks=ANN)


@pytest.mark.sqlite_only("it looks at SQLite's plan")
def test_what_a_network_has_waiting_is_found_without_reading_the_pictures(
    database: Database,
) -> None:
    steps = " / ".join(plan(database, images.waiting, "blog", *ANN, NOW))
    assert "image_by_network" in steps


def test_pictures_of_comments_that_were_deleted_long_ago_are_removed(database: Database) -> None:
    red, blue = put(database, RED), put(database, BLUE)
    add(database, source=red)
    add(database, source=f"{red} {blue}")
    for now, status in ((NOW, APPROVED), (NOW + DAY, DELETED)):
        database.write_now(changes.change, [2], status, "bob", now)
    for before, left in ((NOW + DAY, ["blog"]), (NOW + DAY + 1, [])):
        assert database.read_now(retention.has_deleted_images, before) is (left == [])
        database.write_now(retention.drop_deleted_images, before, 9)
        assert (stored(database, RED), stored(database, BLUE)) == (["blog"], left)
    assert not database.read_now(retention.has_deleted_images, NOW + 9 * DAY)


def test_an_image_without_a_comment_is_removed_after_a_day(database: Database) -> None:
    text = put(database, RED)
    put(database, BLUE)
    add(database, source=text)
    assert not database.read_now(images.is_due, NOW)
    assert database.read_now(images.is_due, NOW + DAY)
    database.write_now(images.drop_unused, NOW + DAY, 10)
    assert (stored(database, RED), stored(database, BLUE)) == (["blog"], [])
    assert not database.read_now(images.is_due, NOW + DAY)


def test_an_erased_comment_takes_its_images_along(database: Database) -> None:
    red, blue = put(database, RED), put(database, BLUE)
    add(database, source=f"{red} {red} {blue}", email="ann@blog.example")
    add(database, source=blue, author="Bea")
    database.write_now(retention.forget, "ann@blog.example", "bob", NOW)
    assert (stored(database, RED), stored(database, BLUE)) == ([], ["blog"])


def test_removed_spam_leaves_no_image(database: Database) -> None:
    add(database, source=put(database, RED), status="spam")
    assert database.write_now(retention.drop_spam, NOW + DAY, 10, NOW + DAY) == 1
    database.write_now(images.drop_unused, NOW + DAY, 10)
    assert stored(database, RED) == []


def test_names_are_found_in_markdown() -> None:
    name = named(RED)
    assert image_names.names(f"![a](image:{name}) [b](image:{name}) image:{'0' * 32}-1x2") == [
        name,
        f"{'0' * 32}-1x2",
    ]
    assert image_names.names(f"image:{name}000 image:x noimage:{name}") == []
    assert image_names.is_named_so(name, RED)
    assert not image_names.is_named_so(name, BLUE)
    assert not image_names.is_named_so(f"{name}/x", RED)
