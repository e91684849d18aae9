"""The name and badge over a moderator's comments, both new and old ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from commentsvc.auth import accounts
from commentsvc.comments import queries
from commentsvc.comments.submission import avatar
from commentsvc.db.database import Database
from commentsvc.errors import ProfileRefused
from commentsvc.moderation import answers, profiles
from commentsvc.moderation.profiles import Profile
from tests.unit.database_fixture import NOW, add, opened

ROSA = {"public_name": "Rosa Miller", "email": "rosa@blog.example", "site": "https://rosa.example"}


@pytest.fixture
def purged() -> list[str]:
    return []


@pytest.fixture
def database(tmp_path: Path, purged: list[str]) -> Iterator[Database]:
    with opened(tmp_path, purge=purged.extend) as database:
        for name in ("rosa", "mo"):
            database.write_now(accounts.add, name, "hash", NOW)
        yield database


def save(database: Database, name: str = "rosa", **changes: str) -> Profile:
    profile = database.read_now(profiles.named, name)
    return database.write_now(profiles.save, replace(profile, **changes))


def test_the_first_account_is_the_owners(database: Database) -> None:
    found = database.read_now(profiles.everyone)
    assert [(each.name, each.role, each.author) for each in found] == [
        ("mo", "moderator", "mo"),
        ("rosa", "owner", "rosa"),
    ]
    assert database.read_now(profiles.named, "").name == "rosa"


def test_a_profile_is_stored_tidily(database: Database) -> None:
    saved = save(database, public_name=" Rosa\u200b \n Miller ", email=" rosa@blog.example ")
    assert (saved.author, saved.email) == ("Rosa Miller", "rosa@blog.example")
    assert database.read_now(profiles.find, saved.id) == saved
    assert database.read_now(profiles.of_address, "ROSA@blog.example") == saved
    assert database.read_now(profiles.of_address, "") is None
    assert database.read_now(profiles.find, 99) is None


def test_comments_follow_the_profile_of_their_author(database: Database, purged: list[str]) -> None:
    add(database)
    rosa = database.read_now(profiles.named, "rosa")
    answer = database.write_now(answers.answer, 1, "Yes", rosa, NOW).comment
    purged.clear()
    save(database, role="moderator", **ROSA)
    entry = database.read_now(queries.find, answer.id)
    assert entry
    comment = entry.comment
    assert (comment.author, comment.site, comment.role) == (
        "Rosa Miller",
        "https://rosa.example",
        "moderator",
    )
    assert comment.avatar == avatar("rosa@blog.example")
    assert {"moderators", "thread:blog:/post/", "site:blog"} <= {*purged}
    others = database.read_now(queries.find, 1)
    assert others
    assert others.comment.author == "Ann"


def test_a_viewer_has_no_badge(database: Database) -> None:
    add(database)
    rosa = database.read_now(profiles.named, "rosa")
    number = database.write_now(answers.answer, 1, "Yes", rosa, NOW).comment.id
    database.write_now(profiles.assign, "mo", "owner", ())
    for role, sites, badge in (("viewer", (), ""), ("moderator", ("blog",), "moderator")):
        assert database.write_now(profiles.assign, "rosa", role, sites).badge == badge
        entry = database.read_now(queries.find, number)
        assert entry
        assert entry.comment.role == badge


def test_a_removed_account_takes_its_badge_along(database: Database, purged: list[str]) -> None:
    add(database)
    rosa = database.read_now(profiles.named, "rosa")
    answer = database.write_now(answers.answer, 1, "Yes", rosa, NOW).comment
    with pytest.raises(ProfileRefused, match="an owner"):
        database.write_now(profiles.remove, "rosa")
    database.write_now(profiles.assign, "mo", "owner", [])
    purged.clear()
    database.write_now(profiles.remove, "rosa")
    entry = database.read_now(queries.find, answer.id)
    assert entry
    assert (entry.comment.author, entry.comment.role) == ("rosa", "")
    assert {"moderators", "thread:blog:/post/"} <= {*purged}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"public_name": "M\u043e"}, "looks like the name of mo"),
        ({"public_name": "x" * 81}, "at most 80"),
        ({"email": "rosa"}, "is not an email address"),
        ({"email": "MO@blog.example"}, "is the address of mo"),
        ({"site": "javascript:alert(1)"}, "https://"),
        ({"role": "admin"}, "owner or moderator or viewer"),
    ],
)
def test_what_cannot_stand_there_is_refused(
    database: Database, changes: dict[str, str], reason: str
) -> None:
    save(database, "mo", email="mo@blog.example")
    with pytest.raises(ProfileRefused, match=reason):
        save(database, **changes)
    assert database.read_now(profiles.named, "rosa").author == "rosa"


def test_who_answers_has_to_be_named_where_there_is_not_one_owner(database: Database) -> None:
    save(database, "mo", role="owner")
    with pytest.raises(ProfileRefused, match="name a moderator"):
        database.read_now(profiles.named, "")
    with pytest.raises(ProfileRefused, match="nobody"):
        database.read_now(profiles.named, "nobody")
