"""Finding all data of an address, nothing of others, and quickly."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from commentsvc.comments import search
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.database import Database
from commentsvc.moderation import personal_data
from commentsvc.readers import follows, subscriptions
from tests.unit.database_fixture import NOW, add, opened, plan
from tests.unit.exports.test_contents import sign_in

EMAIL = "Rosa.Weber@mail.example"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def feed(database: Database) -> None:
    while database.write_now(search.index_pending, 10):
        pass


def ids(database: Database, email: str) -> list[int]:
    return database.read_now(personal_data.ids, email)


def test_comments_are_found_in_the_index_and_behind_it(database: Database) -> None:
    mine = [add(database, email=EMAIL).comment.id]
    add(database, email="x" + EMAIL)
    add(database, email="")
    add(database, source=f"I am {EMAIL}")
    feed(database)
    mine.append(add(database, email=EMAIL.lower(), status="spam").comment.id)
    add(database, email=EMAIL + ".evil.example")
    assert ids(database, EMAIL.upper()) == mine
    assert ids(database, "nobody@mail.example") == []
    assert ids(database, '" OR email:*') == []


def test_all_of_it_is_told(database: Database) -> None:
    first = add(database, email=EMAIL, url="/a/", title="A", author="Rosa", source="*Hi*").comment
    other = add(database, NOW + 5_000, email=EMAIL, status="pending", parent=None).comment
    database.write_now(subscriptions.subscribe, first.id)
    export = database.read_now(personal_data.export, EMAIL, NOW + 60_000)
    found = msgspec.to_builtins(export)
    second = found["comments"].pop()
    assert (second["id"], second["status"], second["published"]) == (other.id, "pending", None)
    assert found == {
        "email": EMAIL,
        "exported": "2026-11-18T11:07:40Z",
        "comments": [
            {
                "id": first.id,
                "site": "blog",
                "url": "/a/",
                "title": "A",
                "parent": None,
                "status": "approved",
                "author": "Rosa",
                "author_site": "",
                "message": "*Hi*",
                "created": "2026-11-18T11:06:40Z",
                "published": "2026-11-18T11:06:40Z",
                "edited": None,
                "votes": 0,
                "reactions": {},
                "images": [],
                "internal_notes": [],
                "reasons_given": [],
            },
        ],
        "wishes": [{"site": "blog", "answers_by_mail": "asked"}],
        "follows": [],
        "sign_ins": [],
        "by_mail": [],
        "notes": [],
        "reports": [],
    }


def test_what_readers_follow_and_how_they_sign_in_is_told(database: Database) -> None:
    add(database, url="/a/")
    page = PageRef("blog", "/a/")
    database.write_now(follows.request, page, EMAIL, "en", NOW)
    assert database.read_now(personal_data.is_known, EMAIL)
    export = database.read_now(personal_data.export, EMAIL, NOW)
    assert [(each.site, each.url, each.consent) for each in export.follows] == [
        ("blog", "/a/", "asked")
    ]
    rosa = sign_in(database, "blog", "Rosa", "rosa@id.example")
    assert database.read_now(personal_data.is_known, "Rosa@id.example")
    export = database.read_now(personal_data.export, "rosa@id.example", NOW)
    assert [(each.site, each.name, each.trusted) for each in export.sign_ins] == [
        ("blog", "Rosa", False)
    ]
    assert export.comments == []
    earlier = add(database, email="rosa@old.example", reader_id=rosa.id).comment.id
    assert ids(database, "rosa@id.example") == [earlier]


def test_an_address_is_known_by_its_comments_or_its_wishes(database: Database) -> None:
    number = add(database, email=EMAIL).comment.id
    database.write_now(subscriptions.subscribe, number)
    for email, known in ((EMAIL, True), (EMAIL.upper(), True), ("x@mail.example", False)):
        assert database.read_now(personal_data.is_known, email) is known
    database.write_now(lambda tx: tx.execute("UPDATE comment SET email = ''"))
    assert database.read_now(personal_data.is_known, EMAIL)


@pytest.mark.sqlite_only("it looks at SQLite's plan")
def test_a_million_comments_of_others_are_not_looked_at(database: Database) -> None:
    for query in personal_data.own_comments("a@b.c"):
        steps = [step for step in plan(database, query) if " t1" in step]
        assert steps
        assert all(step.startswith("SEARCH") for step in steps), steps
